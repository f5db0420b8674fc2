/* The supernodal LU factorisation of SuperLU, as its guide recommends for matrices with a symmetric pattern. */
#include <superlu/slu_ddefs.h>

#include "sparse_matrix.h"

static int32_t solve(ARGUMENTS) {
    (void)object;
    (void)bandwidth;
    int32_t status = check_lengths(n, nnz, starts, rows, entries, b, x, error);
    if (status != CCA_OK) return status;
    superlu_options_t options;
    set_default_options(&options);
    options.SymmetricMode = YES;
    options.ColPerm = MMD_AT_PLUS_A;
    options.DiagPivotThresh = 0.001;
    int *row_order = intMalloc(n), *column_order = intMalloc(n), info = 0;
    SuperMatrix matrix, lower, upper, right;
    SuperLUStat_t statistics;
    dCreate_CompCol_Matrix(&matrix, n, n, nnz, UNCHANGED(entries.data), UNCHANGED(rows.data), UNCHANGED(starts.data), SLU_NC,
                           SLU_D, SLU_GE);
    memcpy(x.data, b.data, b.length * sizeof *b.data);
    dCreate_Dense_Matrix(&right, n, 1, x.data, n, SLU_DN, SLU_D, SLU_GE);
    StatInit(&statistics);
    dgssv(&options, &matrix, column_order, row_order, &lower, &upper, &right, &statistics, &info);
    if (info != 0) status = cca_fail(error, "cannot solve: SuperLU finds a singular matrix, or no memory");
    if (info >= 0 && info <= n) {
        Destroy_SuperNode_Matrix(&lower);
        Destroy_CompCol_Matrix(&upper);
    }
    /* The contents of the other two matrices do not belong to SuperLU. */
    Destroy_SuperMatrix_Store(&matrix);
    Destroy_SuperMatrix_Store(&right);
    StatFree(&statistics);
    SUPERLU_FREE(row_order);
    SUPERLU_FREE(column_order);
    return status;
}

static const sparse_solver_vtable TABLE = { SPARSE_SOLVER_HEADER, solve };

#define CLASS_NAME "sparse.SuperLu"
#define CLASS_DOC "The supernodal LU factorisation of SuperLU."
#define PORT_NAME "solver"
#define PORT_TABLE TABLE
#define PORT_INTERFACE sparse_solver_interface
#include "one_port.h"
