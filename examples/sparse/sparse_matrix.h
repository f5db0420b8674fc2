/* Common code of this example's solvers. */
#ifndef SPARSE_MATRIX_H
#define SPARSE_MATRIX_H

#include "sparse_ports.h"

/* Whether the lengths of the arrays match their extents. */
static inline int32_t check_lengths(int32_t n, int32_t nnz, sparse_int_slice starts, sparse_int_slice rows,
                                    sparse_double_slice entries, sparse_double_slice b, sparse_double_slice_mut x,
                                    cca_error *error) {
    if (n < 1 || nnz < n || starts.length != (size_t)n + 1 || rows.length != (size_t)nnz ||
        entries.length != (size_t)nnz || b.length != (size_t)n || x.length != (size_t)n)
        return cca_fail(error, "cannot solve: extents differ, expected n + 1 starts, nnz rows and entries, n numbers in b and x");
    if (starts.data[0] != 0 || starts.data[n] != nnz)
        return cca_fail(error, "cannot solve: bad starts, expected 0 first and nnz last");
    return CCA_OK;
}

/* The pointer without const, for libraries that do not write to it but do not declare that. */
#define UNCHANGED(pointer) ((void *)(uintptr_t)(pointer))

#define ARGUMENTS                                                                                                      \
    const void *object, int32_t n, int32_t nnz, int32_t bandwidth, sparse_int_slice starts, sparse_int_slice rows,     \
        sparse_double_slice entries, sparse_double_slice b, sparse_double_slice_mut x, cca_error *error

#endif
