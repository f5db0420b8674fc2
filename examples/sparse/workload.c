/* Solves systems of several families and sizes: Laplacians on squares and on cubes, matrices with a full narrow band, and
 * Laplacians on squares with pseudorandomly numbered unknowns. Each solution is checked. */
#include <math.h>

#define CLASS_NAME "sparse.Workload"
#define CLASS_DOC "Sparse systems: Laplacians in two and three dimensions, narrow bands, unknowns in disorder."
#include "driver.h"
#include "sparse_ports.h"

#define MAX_SYSTEMS 400

enum { SQUARE, CUBE, BAND, DISORDER, N_FAMILIES };
static const char *const FAMILIES[] = { "square", "cube", "band", "disorder" };

typedef struct {
    int family;
    int32_t n, nnz, bandwidth;
    int32_t *starts, *rows;
    double *entries, *b;
    int64_t calls;
} system_t;

static void free_system(system_t *system) {
    free(system->starts);
    free(system->rows);
    free(system->entries);
    free(system->b);
}

/* Allocates space for n columns of at most `most` entries each. */
static int allocate(system_t *system, int32_t n, int32_t most) {
    system->n = n;
    system->starts = calloc((size_t)n + 1, sizeof *system->starts);
    system->rows = calloc((size_t)n * (size_t)most, sizeof *system->rows);
    system->entries = calloc((size_t)n * (size_t)most, sizeof *system->entries);
    system->b = calloc((size_t)n, sizeof *system->b);
    return system->starts != NULL && system->rows != NULL && system->entries != NULL && system->b != NULL;
}

static void add(system_t *system, int32_t row, double entry) {
    system->rows[system->nnz] = row;
    system->entries[system->nnz++] = entry;
}

/* -1 for each neighbour in a 2- or 3-dimensional grid of `side` points per dimension; the diagonal is slightly above the largest
 * number of neighbours. Point p is unknown order[p]. Rows of a column are in ascending order after `sort`. */
static int grid(system_t *system, int32_t side, int dimensions, const int32_t *order, const int32_t *point_of) {
    int32_t n = dimensions == 2 ? side * side : side * side * side;
    if (!allocate(system, n, 2 * dimensions + 1)) return 0;
    for (int32_t column = 0; column < n; column++) {
        int32_t point = point_of == NULL ? column : point_of[column], stride = 1, first = system->nnz;
        add(system, column, 2.0 * dimensions + 1e-2);
        for (int d = 0; d < dimensions; d++, stride *= side) {
            int32_t place = point / stride % side;
            if (place > 0) add(system, order == NULL ? point - stride : order[point - stride], -1.0);
            if (place + 1 < side) add(system, order == NULL ? point + stride : order[point + stride], -1.0);
        }
        /* Insertion sort, since there are few entries. */
        for (int32_t i = first + 1; i < system->nnz; i++)
            for (int32_t j = i; j > first && system->rows[j] < system->rows[j - 1]; j--) {
                int32_t row = system->rows[j];
                double entry = system->entries[j];
                system->rows[j] = system->rows[j - 1];
                system->entries[j] = system->entries[j - 1];
                system->rows[j - 1] = row;
                system->entries[j - 1] = entry;
            }
        system->starts[column + 1] = system->nnz;
    }
    return 1;
}

static int disorder(system_t *system, int32_t side, uint64_t *random) {
    int32_t n = side * side;
    int32_t *order = malloc((size_t)n * sizeof *order), *point_of = malloc((size_t)n * sizeof *point_of);
    int made = 0;
    if (order != NULL && point_of != NULL) {
        for (int32_t i = 0; i < n; i++) {
            int32_t j = (int32_t)(uniform(random) * (i + 1));
            point_of[i] = point_of[j];
            point_of[j] = i;
        }
        for (int32_t i = 0; i < n; i++) order[point_of[i]] = i;
        made = grid(system, side, 2, order, point_of);
    }
    free(order);
    free(point_of);
    return made;
}

/* A full band of a given width, with off-diagonal entries between -1 and 0. */
static int band(system_t *system, int32_t n, int32_t width) {
    if (!allocate(system, n, 2 * width + 1)) return 0;
    for (int32_t column = 0; column < n; column++) {
        int32_t first = column > width ? column - width : 0, last = column + width < n ? column + width : n - 1;
        for (int32_t row = first; row <= last; row++)
            add(system, row, row == column ? 2.0 * width + 1e-2 : -1.0 / (1 + (row + column) % 7));
        system->starts[column + 1] = system->nnz;
    }
    return 1;
}

/* A system of a family with about the given number of unknowns. */
static int make(system_t *system, int family, double n, uint64_t *random) {
    memset(system, 0, sizeof *system);
    system->family = family;
    int made = 0;
    if (family == SQUARE) made = grid(system, (int32_t)fmax(lround(sqrt(n)), 2), 2, NULL, NULL);
    if (family == CUBE) made = grid(system, (int32_t)fmax(lround(cbrt(n)), 2), 3, NULL, NULL);
    if (family == BAND) made = band(system, (int32_t)n, (int32_t)lround(pow(2.0, 5.0 * uniform(random))));
    if (family == DISORDER) made = disorder(system, (int32_t)fmax(lround(sqrt(n)), 2), random);
    for (int32_t column = 0; made && column < system->n; column++) {
        system->b[column] = uniform(random) - 0.5;
        for (int32_t place = system->starts[column]; place < system->starts[column + 1]; place++) {
            int32_t off = abs(system->rows[place] - column);
            if (off > system->bandwidth) system->bandwidth = off;
        }
    }
    return made;
}

/* The backward error |b - A x| / (|A| |x| + |b|) in maximum norms: the relative distance to the system that x solves exactly
 * (Rigal and Gaches, 1967). */
static double backward_error(const system_t *system, const double *x) {
    double residual = 0.0, matrix = 0.0, solution = 0.0, right = 0.0;
    for (int32_t j = 0; j < system->n; j++) {
        double sum = system->b[j], row = 0.0;
        for (int32_t place = system->starts[j]; place < system->starts[j + 1]; place++) {
            sum -= system->entries[place] * x[system->rows[place]];
            row += fabs(system->entries[place]);
        }
        /* Keeps NaN, which fmax would drop. */
        if (!(fabs(sum) <= residual)) residual = fabs(sum);
        matrix = fmax(matrix, row);
        solution = fmax(solution, fabs(x[j]));
        right = fmax(right, fabs(system->b[j]));
    }
    return residual / (matrix * solution + right);
}

static int32_t solve_one(system_t *system, const cca_slot *slot, double *x, FILE *results, int is_first, cca_error *error) {
    size_t n = (size_t)system->n, nnz = (size_t)system->nnz;
    for (size_t i = 0; i < n; i++) x[i] = NAN;
    int32_t status = sparse_solver_solve(slot, system->n, system->nnz, system->bandwidth,
                                         (sparse_int_slice){ system->starts, n + 1 }, (sparse_int_slice){ system->rows, nnz },
                                         (sparse_double_slice){ system->entries, nnz }, (sparse_double_slice){ system->b, n },
                                         (sparse_double_slice_mut){ x, n }, error);
    if (status != CCA_OK) return status;
    double off = backward_error(system, x), allowed = pow(10.0, (double)-value_of("digits").integer);
    if (!(off <= allowed)) {
        char message[160];
        snprintf(message, sizeof message, "cannot trust a solution with %d unknowns (%s): backward error %.3g, expected %.0e",
                 (int)system->n, FAMILIES[system->family], off, allowed);
        return cca_fail(error, message);
    }
    if (results != NULL && is_first)
        fprintf(results, "%s %d %d %d %.3g %.17g\n", FAMILIES[system->family], (int)system->n, (int)system->nnz,
                (int)system->bandwidth, off, x[n / 2]);
    return CCA_OK;
}

/* Makes the systems, and solves them in a pseudorandom order. */
static int32_t solve_all(system_t *systems, const cca_slot *slot, FILE *results, cca_error *error) {
    static const char *const KEYS[] = { "largest", "largest_cube", "largest", "largest_disorder" };
    uint64_t random = (uint64_t)value_of("seed").integer * UINT64_C(0x9e3779b97f4a7c15) + 1;
    int64_t each = value_of("sizes").integer, least = value_of("calls").integer, all = 0, longest = 0;
    double smallest = (double)value_of("smallest").integer;
    size_t n_systems = 0;
    int32_t status = CCA_OK;
    for (int family = 0; status == CCA_OK && family < N_FAMILIES; family++)
        for (int64_t place = 0; status == CCA_OK && place < each; place++) {
            double share = ((double)place + uniform(&random)) / (double)each;
            double n = smallest * pow((double)value_of(KEYS[family]).integer / smallest, share);
            system_t *system = &systems[n_systems++];
            if (!make(system, family, n, &random)) status = cca_fail(error, "cannot make a system: no memory");
            system->calls = (int64_t)(20000.0 * (double)least / (n + 1.0));
            if (system->calls > value_of("most_calls").integer) system->calls = value_of("most_calls").integer;
            if (system->calls < least) system->calls = least;
            all += system->calls;
            if (system->n > longest) longest = system->n;
        }
    double *x = malloc((size_t)longest * sizeof *x);
    static int is_known[MAX_SYSTEMS];
    memset(is_known, 0, sizeof is_known);
    if (x == NULL && status == CCA_OK) status = cca_fail(error, "cannot solve: no memory");
    for (int64_t left = all; status == CCA_OK && left > 0; left--) {
        int64_t place = (int64_t)(uniform(&random) * (double)left);
        size_t found = 0;
        while (place >= systems[found].calls) place -= systems[found++].calls;
        systems[found].calls--;
        status = solve_one(&systems[found], slot, x, results, !is_known[found], error);
        is_known[found] = 1;
        if (status == CCA_OK) status = report_progress(all - left + 1, all, error);
    }
    free(x);
    for (size_t place = 0; place < n_systems; place++) free_system(&systems[place]);
    return status;
}

static int32_t go(const void *object, cca_error *error) {
    (void)object;
    static system_t systems[MAX_SYSTEMS];
    const cca_services *services = cca_services_table(driver_services);
    const cca_slot *slot;
    FILE *results;
    int32_t status = services->get_port(driver_services.object, cca_text_of("solver"), &slot, error);
    if (status != CCA_OK) return status;
    status = open_results(&results, error);
    if (status == CCA_OK) status = solve_all(systems, slot, results, error);
    if (results != NULL && fclose(results) != 0 && status == CCA_OK)
        status = cca_fail(error, "cannot write results: the disk is full or gone");
    cca_error ignored;
    services->release_port(driver_services.object, cca_text_of("solver"), &ignored);
    return status;
}

static int32_t add_ports_and_parameters(const cca_services *table, cca_error *error) {
    int32_t status =
        table->register_uses_port(driver_services.object, cca_text_of("solver"), &sparse_solver_interface, error);
    if (status == CCA_OK) status = add_integer("smallest", 30, 10, 1e6, "unknowns of the smallest systems, about", error);
    if (status == CCA_OK) status = add_integer("largest", 20000, 10, 1e7, "unknowns of the largest systems, about", error);
    if (status == CCA_OK) status = add_integer("largest_cube", 6000, 10, 1e7, "the same of those on cubes", error);
    if (status == CCA_OK) status = add_integer("largest_disorder", 1200, 10, 1e6, "the same of those in disorder", error);
    if (status == CCA_OK) status = add_integer("sizes", 8, 1, MAX_SYSTEMS / N_FAMILIES, "systems of each family", error);
    if (status == CCA_OK) status = add_integer("calls", 3, 1, 1e6, "calls for each system at least", error);
    if (status == CCA_OK) status = add_integer("most_calls", 120, 1, 1e6, "calls for small systems at most", error);
    if (status == CCA_OK) status = add_integer("digits", 11, 1, 15, "a backward error of more than this power of 1/10 is a failure", error);
    if (status == CCA_OK) status = add_integer("seed", 1, 0, 1e9, "other systems and another order for each", error);
    if (status == CCA_OK) status = add_text("results", "a file with the error and a number of each solution", error);
    return status;
}
