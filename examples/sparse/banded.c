/* Cholesky's factorisation of the band, by LAPACK. */
#include <stdlib.h>

#include "sparse_matrix.h"

extern void dpbsv_(const char *uplo, const int *n, const int *kd, const int *nrhs, double *ab, const int *ldab, double *b,
                   const int *ldb, int *info, size_t uplo_length);

static int32_t solve(ARGUMENTS) {
    (void)object;
    int32_t status = check_lengths(n, nnz, starts, rows, entries, b, x, error);
    if (status != CCA_OK) return status;
    if (bandwidth < 0 || bandwidth >= n) return cca_fail(error, "cannot solve: bad bandwidth, expected 0 to n - 1");
    size_t height = (size_t)bandwidth + 1;
    double *band = calloc(height * (size_t)n, sizeof *band);
    if (band == NULL) return cca_fail(error, "cannot solve: no memory for the band");
    for (int32_t column = 0; status == CCA_OK && column < n; column++)
        for (int32_t place = starts.data[column]; place < starts.data[column + 1]; place++) {
            int32_t below = rows.data[place] - column;
            if (below > bandwidth) status = cca_fail(error, "cannot solve: an entry outside the bandwidth");
            else if (below >= 0) band[(size_t)below + height * (size_t)column] = entries.data[place];
        }
    if (status == CCA_OK) {
        int one = 1, info = 0, leading = (int)height;
        memcpy(x.data, b.data, b.length * sizeof *b.data);
        dpbsv_("L", &n, &bandwidth, &one, band, &leading, x.data, &n, &info, 1);
        if (info != 0) status = cca_fail(error, "cannot solve: LAPACK finds no positive definite matrix");
    }
    free(band);
    return status;
}

static const sparse_solver_vtable TABLE = { SPARSE_SOLVER_HEADER, solve };

#define CLASS_NAME "sparse.Banded"
#define CLASS_DOC "Cholesky's factorisation of the band by LAPACK."
#define PORT_NAME "solver"
#define PORT_TABLE TABLE
#define PORT_INTERFACE sparse_solver_interface
#include "one_port.h"
