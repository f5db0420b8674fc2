/* A system solved by CHOLMOD, once by columns and once by blocks of them. */
#include <stdio.h>
#include <suitesparse/cholmod.h>

#include "system.h"

int main(void) {
    make_system();
    cholmod_common common;
    printf("%d\n", cholmod_start(&common));
    cholmod_sparse *matrix = cholmod_allocate_sparse(N, N, 5 * N, 1, 1, -1, CHOLMOD_REAL, &common);
    cholmod_dense *b = cholmod_zeros(N, 1, CHOLMOD_REAL, &common);
    for (int j = 0; j <= N; j++) ((int *)matrix->p)[j] = starts[j];
    for (int place = 0; place < starts[N]; place++) {
        ((int *)matrix->i)[place] = rows[place];
        ((double *)matrix->x)[place] = entries[place];
    }
    for (int j = 0; j < N; j++) ((double *)b->x)[j] = right[j];
    printf("%a\n", cholmod_norm_sparse(matrix, 1, &common));
    for (int kind = CHOLMOD_SIMPLICIAL; kind <= CHOLMOD_SUPERNODAL; kind += CHOLMOD_SUPERNODAL - CHOLMOD_SIMPLICIAL) {
        common.supernodal = kind;
        cholmod_factor *factor = cholmod_analyze(matrix, &common);
        printf("%d\n", cholmod_factorize(matrix, factor, &common));
        cholmod_dense *x = cholmod_solve(CHOLMOD_A, factor, b, &common);
        for (int j = 0; j < N; j += 10) printf("%a\n", ((double *)x->x)[j]);
        cholmod_free_dense(&x, &common);
        cholmod_free_factor(&factor, &common);
    }
    cholmod_free_dense(&b, &common);
    cholmod_free_sparse(&matrix, &common);
    printf("%d\n", cholmod_finish(&common));
    return 0;
}
