/* Cholesky's factorisation by CHOLMOD: column by column, or with -DSUPERNODAL by blocks of columns with the same pattern. */
#include <suitesparse/cholmod.h>

#include "sparse_matrix.h"

#ifdef SUPERNODAL
#define KIND CHOLMOD_SUPERNODAL
#else
#define KIND CHOLMOD_SIMPLICIAL
#endif

static int32_t solve(ARGUMENTS) {
    (void)object;
    (void)bandwidth;
    int32_t status = check_lengths(n, nnz, starts, rows, entries, b, x, error);
    if (status != CCA_OK) return status;
    cholmod_common common;
    cholmod_start(&common);
    common.supernodal = KIND;
    common.print = 0;
    /* Minimum degree only; by default CHOLMOD also tries METIS if the fill is large. */
    common.nmethods = 1;
    common.method[0].ordering = CHOLMOD_AMD;
    cholmod_sparse matrix;
    memset(&matrix, 0, sizeof matrix);
    matrix.nrow = matrix.ncol = (size_t)n;
    matrix.nzmax = (size_t)nnz;
    matrix.p = UNCHANGED(starts.data);
    matrix.i = UNCHANGED(rows.data);
    matrix.x = UNCHANGED(entries.data);
    matrix.stype = -1; /* CHOLMOD reads only the lower of both triangles */
    matrix.itype = CHOLMOD_INT;
    matrix.xtype = CHOLMOD_REAL;
    matrix.dtype = CHOLMOD_DOUBLE;
    matrix.sorted = matrix.packed = 1;
    cholmod_dense right;
    memset(&right, 0, sizeof right);
    right.nrow = right.d = right.nzmax = (size_t)n;
    right.ncol = 1;
    right.x = UNCHANGED(b.data);
    right.xtype = CHOLMOD_REAL;
    right.dtype = CHOLMOD_DOUBLE;
    cholmod_factor *factor = cholmod_analyze(&matrix, &common);
    cholmod_dense *solution = NULL;
    if (factor != NULL && cholmod_factorize(&matrix, factor, &common) && common.status == CHOLMOD_OK)
        solution = cholmod_solve(CHOLMOD_A, factor, &right, &common);
    if (solution != NULL) memcpy(x.data, solution->x, x.length * sizeof *x.data);
    else status = cca_fail(error, common.status == CHOLMOD_NOT_POSDEF ? "cannot solve: CHOLMOD finds no positive definite matrix"
                                                                    : "cannot solve: CHOLMOD fails");
    cholmod_free_dense(&solution, &common);
    cholmod_free_factor(&factor, &common);
    cholmod_finish(&common);
    return status;
}

static const sparse_solver_vtable TABLE = { SPARSE_SOLVER_HEADER, solve };

#ifdef SUPERNODAL
#define CLASS_NAME "sparse.CholmodSupernodal"
#define CLASS_DOC "Cholesky's factorisation by CHOLMOD, in blocks of columns."
#else
#define CLASS_NAME "sparse.CholmodSimplicial"
#define CLASS_DOC "Cholesky's factorisation by CHOLMOD, column by column."
#endif
#define PORT_NAME "solver"
#define PORT_TABLE TABLE
#define PORT_INTERFACE sparse_solver_interface
#include "one_port.h"
