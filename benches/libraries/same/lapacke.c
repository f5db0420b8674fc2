/* Equations solved, and the eigenvalues and singular values of a matrix, by LAPACK in C: a header of thousands of functions. */
#include <lapacke.h>
#include <stdio.h>

#define N 20

int main(void) {
    double a[N * N], b[N], values[N], work[N];
    lapack_int pivots[N];
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) a[i * N + j] = 1.0 / (1 + (i > j ? i - j : j - i)) + (i == j ? 2 : 0);
        for (int i = 0; i < N; i++) b[i] = i % 3;
        lapack_int status = 0;
        if (turn == 0) status = LAPACKE_dgesv(LAPACK_ROW_MAJOR, N, 1, a, N, pivots, b, 1);
        if (turn == 1) status = LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', N, a, N, values);
        if (turn == 2) status = LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', N, N, a, N, values, NULL, 1, NULL, 1, work);
        printf("%d\n", (int)status);
        for (int i = 0; i < N; i++) printf("%a\n", turn == 0 ? b[i] : values[i]);
    }
    /* Refused, with its number and a word on standard output. */
    printf("%d\n", (int)LAPACKE_dgesv(LAPACK_ROW_MAJOR, N, 1, a, 1, pivots, b, 1));
    return 0;
}
