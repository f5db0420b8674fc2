/* The ports of solver.sidl for C: made by `mastermind proxy`. Edit the SIDL and make them again.
 * Each method returns CCA_OK, or another status after cca_fail(); what it gives back is in *result. */
#ifndef SOLVER_PORTS_H
#define SOLVER_PORTS_H

#include <stdbool.h>

#include "cca.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a matrix is kept. */
/* As an argument; any number but these is an error. */
typedef uint32_t solver_storage;
#define SOLVER_STORAGE_FULL INT64_C(0)
#define SOLVER_STORAGE_BANDED INT64_C(1)
#define SOLVER_STORAGE_PACKED INT64_C(2)

/* A text that the caller gets and gives back by `release`, which may be null. */
typedef struct {
    char *data;
    size_t length;
    void (*release)(char *data, size_t length);
} solver_owned_text;

/* Lent for the call. */
typedef struct {
    const double *data;
    size_t length;
} solver_double_slice;

/* Lent for the call, to be written to. */
typedef struct {
    double *data;
    size_t length;
} solver_double_slice_mut;

/* The caller gets it, and gives it back by `release`, which may be null. */
typedef struct {
    double *data;
    size_t length;
    void (*release)(double *data, size_t length);
} solver_double_owned;

/* Elements from the one with the least indices on; where each lies: the least value of each index, how many
 * values it takes, and elements from one to the next. */
typedef struct {
    solver_double_slice_mut elements;
    int64_t lower[2];
    uint64_t extent[2];
    uint64_t stride[2];
} solver_double_array2_mut;

/* How a solution was found. */
typedef struct {
    int32_t steps;
    double residual;
} solver_effort;

/* What every part of a calculation can say of itself. */
#define DEMO_NAMED_NAME "demo.Named"
#define DEMO_NAMED_VERSION "1.0"
#define DEMO_NAMED_HASH UINT64_C(0xefd202c398b6bbeb)

typedef struct {
    cca_vtable_header header;
    /* Its name. */
    int32_t (*get_name)(const void *object, solver_owned_text *result, cca_error *error);
} demo_named_vtable;

/* Begins a table: static const demo_named_vtable table = { DEMO_NAMED_HEADER, … }; */
#define DEMO_NAMED_HEADER { sizeof(demo_named_vtable), CCA_TEXT(DEMO_NAMED_NAME), CCA_TEXT(DEMO_NAMED_VERSION), DEMO_NAMED_HASH }

/* For add_provides_port and register_uses_port; defined in solver_ports.c. */
extern const cca_interface demo_named_interface;

static inline int32_t demo_named_get_name(const cca_slot *slot, solver_owned_text *result, cca_error *error) {
    cca_port target_ = cca_target(slot);
    return ((const demo_named_vtable *)(const void *)target_.vtable)->get_name(target_.object, result, error);
}

/* What sortNumbers of demo.Solver returns. */
typedef struct {
    bool result;
    double least;
    double greatest;
    solver_double_owned sorted;
} solver_solver_sort_numbers_result;

/* Solves systems of linear equations. */
#define DEMO_SOLVER_NAME "demo.Solver"
#define DEMO_SOLVER_VERSION "1.0"
#define DEMO_SOLVER_HASH UINT64_C(0x1c5ab89e69f3cd3e)

typedef struct {
    cca_vtable_header header;
    /* Its name. */
    int32_t (*get_name)(const void *object, solver_owned_text *result, cca_error *error);
    /* Solves A x = b.
     * 
     * The matrix has n rows of n numbers.
     * SIDL: throws SingularMatrix.
     * SIDL: require square: n > 0.
     * SIDL: ensure result >= 0. */
    int32_t (*solve)(const void *object, int32_t n, solver_storage storage, solver_double_slice a, solver_double_slice b, solver_double_slice_mut x, int32_t *result, cca_error *error);
    /* The norm of a vector. */
    int32_t (*norm)(const void *object, solver_double_slice v, int32_t order, double *result, cca_error *error);
    /* What the last solution took. */
    int32_t (*get_effort)(const void *object, solver_effort *result, cca_error *error);
    /* The least and the greatest of some numbers, and all of them in order. */
    int32_t (*sort_numbers)(const void *object, solver_double_slice values, solver_solver_sort_numbers_result *result, cca_error *error);
    /* The sum of a table of numbers, scaled in place. */
    int32_t (*scale_table)(const void *object, double factor, solver_double_array2_mut table, double *result, cca_error *error);
} demo_solver_vtable;

/* Begins a table: static const demo_solver_vtable table = { DEMO_SOLVER_HEADER, … }; */
#define DEMO_SOLVER_HEADER { sizeof(demo_solver_vtable), CCA_TEXT(DEMO_SOLVER_NAME), CCA_TEXT(DEMO_SOLVER_VERSION), DEMO_SOLVER_HASH }

/* For add_provides_port and register_uses_port; defined in solver_ports.c. */
extern const cca_interface demo_solver_interface;

static inline int32_t demo_solver_get_name(const cca_slot *slot, solver_owned_text *result, cca_error *error) {
    cca_port target_ = cca_target(slot);
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->get_name(target_.object, result, error);
}

static inline int32_t demo_solver_solve(const cca_slot *slot, int32_t n, solver_storage storage, solver_double_slice a, solver_double_slice b, solver_double_slice_mut x, int32_t *result, cca_error *error) {
    cca_port target_ = cca_target(slot);
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->solve(target_.object, n, storage, a, b, x, result, error);
}

static inline int32_t demo_solver_norm(const cca_slot *slot, solver_double_slice v, int32_t order, double *result, cca_error *error) {
    cca_port target_ = cca_target(slot);
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->norm(target_.object, v, order, result, error);
}

static inline int32_t demo_solver_get_effort(const cca_slot *slot, solver_effort *result, cca_error *error) {
    cca_port target_ = cca_target(slot);
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->get_effort(target_.object, result, error);
}

static inline int32_t demo_solver_sort_numbers(const cca_slot *slot, solver_double_slice values, solver_solver_sort_numbers_result *result, cca_error *error) {
    cca_port target_ = cca_target(slot);
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->sort_numbers(target_.object, values, result, error);
}

static inline int32_t demo_solver_scale_table(const cca_slot *slot, double factor, solver_double_array2_mut table, double *result, cca_error *error) {
    cca_port target_ = cca_target(slot);
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->scale_table(target_.object, factor, table, result, error);
}

#ifdef __cplusplus
}
#endif

#endif
