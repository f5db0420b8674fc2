/* The multifrontal LU factorisation of UMFPACK. */
#include <suitesparse/umfpack.h>

#include "sparse_matrix.h"

static int32_t solve(ARGUMENTS) {
    (void)object;
    (void)bandwidth;
    int32_t status = check_lengths(n, nnz, starts, rows, entries, b, x, error);
    if (status != CCA_OK) return status;
    double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
    umfpack_di_defaults(control);
    void *symbolic = NULL, *numeric = NULL;
    int found = umfpack_di_symbolic(n, n, starts.data, rows.data, entries.data, &symbolic, control, info);
    if (found == UMFPACK_OK)
        found = umfpack_di_numeric(starts.data, rows.data, entries.data, symbolic, &numeric, control, info);
    if (found == UMFPACK_OK)
        found = umfpack_di_solve(UMFPACK_A, starts.data, rows.data, entries.data, x.data, b.data, numeric, control, info);
    if (found != UMFPACK_OK) status = cca_fail(error, "cannot solve: UMFPACK finds a singular matrix, or no memory");
    umfpack_di_free_symbolic(&symbolic);
    umfpack_di_free_numeric(&numeric);
    return status;
}

static const sparse_solver_vtable TABLE = { SPARSE_SOLVER_HEADER, solve };

#define CLASS_NAME "sparse.Umfpack"
#define CLASS_DOC "The multifrontal LU factorisation of UMFPACK."
#define PORT_NAME "solver"
#define PORT_TABLE TABLE
#define PORT_INTERFACE sparse_solver_interface
#include "one_port.h"
