/* The LU factorisation of KLU, made for circuits. */
#include <suitesparse/klu.h>

#include "sparse_matrix.h"

static int32_t solve(ARGUMENTS) {
    (void)object;
    (void)bandwidth;
    int32_t status = check_lengths(n, nnz, starts, rows, entries, b, x, error);
    if (status != CCA_OK) return status;
    klu_common common;
    klu_defaults(&common);
    int *p = UNCHANGED(starts.data), *i = UNCHANGED(rows.data);
    klu_symbolic *symbolic = klu_analyze(n, p, i, &common);
    klu_numeric *numeric = symbolic == NULL ? NULL : klu_factor(p, i, UNCHANGED(entries.data), symbolic, &common);
    memcpy(x.data, b.data, b.length * sizeof *b.data);
    if (numeric == NULL || !klu_solve(symbolic, numeric, n, 1, x.data, &common))
        status = cca_fail(error, "cannot solve: KLU finds a singular matrix, or no memory");
    klu_free_numeric(&numeric, &common);
    klu_free_symbolic(&symbolic, &common);
    return status;
}

static const sparse_solver_vtable TABLE = { SPARSE_SOLVER_HEADER, solve };

#define CLASS_NAME "sparse.Klu"
#define CLASS_DOC "The LU factorisation of KLU."
#define PORT_NAME "solver"
#define PORT_TABLE TABLE
#define PORT_INTERFACE sparse_solver_interface
#include "one_port.h"
