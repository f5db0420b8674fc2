/* A system solved by UMFPACK. */
#include <stdio.h>
#include <suitesparse/umfpack.h>

#include "system.h"

int main(void) {
    make_system();
    double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
    void *symbolic, *numeric;
    umfpack_di_defaults(control);
    printf("%d\n", umfpack_di_symbolic(N, N, starts, rows, entries, &symbolic, control, info));
    printf("%d\n", umfpack_di_numeric(starts, rows, entries, symbolic, &numeric, control, info));
    printf("%d\n", umfpack_di_solve(UMFPACK_A, starts, rows, entries, solution, right, numeric, control, info));
    double mantissa, exponent;
    printf("%d\n", umfpack_di_get_determinant(&mantissa, &exponent, numeric, info));
    printf("%a %a\n", mantissa, exponent);
    umfpack_di_free_symbolic(&symbolic);
    umfpack_di_free_numeric(&numeric);
    for (int j = 0; j < N; j += 10) printf("%a\n", solution[j]);
    return 0;
}
