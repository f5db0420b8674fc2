/* The method of conjugate gradients, preconditioned by the diagonal (Hestenes and Stiefel, 1952). It stops when no component of the
 * residual exceeds 5e-12 of the largest of the right side. This is half of the intended backward error, because the recurrence's
 * residual drifts from the true one. */
#include <math.h>
#include <stdlib.h>

#include "sparse_matrix.h"

#define RELATIVE_RESIDUAL 5e-12

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double largest(size_t n, const double *a) {
    double found = 0.0;
    for (size_t i = 0; i < n; i++)
        /* Keeps NaN, unlike fmax. */
        if (!(fabs(a[i]) <= found)) found = fabs(a[i]);
    return found;
}

/* y = A p; A is symmetric, so its columns equal its rows. */
static void multiply(size_t n, sparse_int_slice starts, sparse_int_slice rows, sparse_double_slice entries, const double *p,
                     double *y) {
    for (size_t j = 0; j < n; j++) {
        double sum = 0.0;
        for (int32_t place = starts.data[j]; place < starts.data[j + 1]; place++)
            sum += entries.data[place] * p[rows.data[place]];
        y[j] = sum;
    }
}

static int32_t solve(ARGUMENTS) {
    (void)object;
    (void)bandwidth;
    int32_t status = check_lengths(n, nnz, starts, rows, entries, b, x, error);
    if (status != CCA_OK) return status;
    size_t size = (size_t)n;
    double *work = calloc(size * 5, sizeof *work);
    if (work == NULL) return cca_fail(error, "cannot solve: no memory");
    double *r = work, *z = work + size, *p = work + 2 * size, *ap = work + 3 * size, *inverse = work + 4 * size;
    for (size_t j = 0; j < size; j++)
        for (int32_t place = starts.data[j]; place < starts.data[j + 1]; place++)
            if (rows.data[place] == (int32_t)j) inverse[j] = 1.0 / entries.data[place];
    memset(x.data, 0, size * sizeof *x.data);
    memcpy(r, b.data, size * sizeof *r);
    for (size_t i = 0; i < size; i++) p[i] = z[i] = inverse[i] * r[i];
    double rz = dot(size, r, z), limit = RELATIVE_RESIDUAL * largest(size, r);
    /* In exact arithmetic n steps suffice; rounding may require more. */
    int64_t step = 0, most = 10 * (int64_t)n + 100;
    for (; step < most && !(largest(size, r) <= limit); step++) {
        multiply(size, starts, rows, entries, p, ap);
        double alpha = rz / dot(size, p, ap);
        for (size_t i = 0; i < size; i++) {
            x.data[i] += alpha * p[i];
            r[i] -= alpha * ap[i];
            z[i] = inverse[i] * r[i];
        }
        double next = dot(size, r, z), beta = next / rz;
        rz = next;
        for (size_t i = 0; i < size; i++) p[i] = z[i] + beta * p[i];
    }
    if (step == most) status = cca_fail(error, "cannot solve: conjugate gradients do not converge");
    free(work);
    return status;
}

static const sparse_solver_vtable TABLE = { SPARSE_SOLVER_HEADER, solve };

#define CLASS_NAME "sparse.ConjugateGradients"
#define CLASS_DOC "Conjugate gradients, preconditioned by the diagonal."
#define PORT_NAME "solver"
#define PORT_TABLE TABLE
#define PORT_INTERFACE sparse_solver_interface
#include "one_port.h"
