/* Transforms arrays of mixed lengths: powers of two, 2^a 3^b 5^c, and primes. Each length is repeated so that all lengths take about
 * the same work. The first result of every length is compared with the explicit sum at some frequencies. */
#include <math.h>

#define CLASS_NAME "fft.Workload"
#define CLASS_DOC "Transforms of mixed lengths: powers of two, 2^a 3^b 5^c, and primes."
#include "driver.h"
#include "fft_ports.h"

/* Allowed difference between a result and the sum, relative to the largest possible result. */
#define TOLERANCE 1e-10
/* Number of compared frequencies. */
#define N_COMPARED 4
#define MAX_LENGTHS 3000

typedef struct {
    int64_t n;
    fft_factors factors;
    int64_t calls;
    int is_checked;
} length_t;

static int is_prime(int64_t n) {
    if (n < 2 || (n % 2 == 0 && n != 2)) return 0;
    for (int64_t d = 3; d * d <= n; d += 2)
        if (n % d == 0) return 0;
    return 1;
}

/* Whether n is 2^a 3^b 5^c, but not a power of two. */
static int is_small(int64_t n) {
    if ((n & (n - 1)) == 0) return 0;
    while (n % 2 == 0) n /= 2;
    while (n % 3 == 0) n /= 3;
    while (n % 5 == 0) n /= 5;
    return n == 1;
}

/* The smallest length of a class that is at least a given number. */
static int64_t nearest(double wanted, fft_factors factors) {
    if (factors == FFT_FACTORS_TWO) return INT64_C(1) << lround(log2(wanted));
    int64_t n = (int64_t)wanted;
    if (n < 7) n = 7;
    while (!(factors == FFT_FACTORS_SMALL ? is_small(n) : is_prime(n))) n++;
    return n;
}

/* Lengths with evenly spaced logarithms, several of each class, each length once. */
static size_t choose_lengths(length_t *lengths, uint64_t *random) {
    int64_t smallest = value_of("smallest").integer, each = value_of("lengths").integer, work = value_of("work").integer;
    size_t n_lengths = 0;
    for (fft_factors factors = 0; factors < 3; factors++) {
        const char *key = factors == FFT_FACTORS_LARGE ? "largest_prime" : "largest";
        double ratio = (double)value_of(key).integer / (double)smallest;
        for (int64_t place = 0; place < each; place++) {
            double share = ((double)place + uniform(random)) / (double)each;
            int64_t n = nearest((double)smallest * pow(ratio, share), factors);
            int is_new = 1;
            for (size_t known = 0; known < n_lengths; known++)
                if (lengths[known].n == n) is_new = 0;
            if (!is_new) continue;
            int64_t calls = work / n, least = value_of("calls").integer, most = value_of("most_calls").integer;
            calls = calls < least ? least : calls > most ? most : calls;
            lengths[n_lengths++] = (length_t){ n, factors, calls, 0 };
        }
    }
    return n_lengths;
}

/* Compares the result with the sum at some frequencies. */
static int32_t check(const length_t *length, const fft_dcomplex *x, const fft_dcomplex *y, uint64_t *random, FILE *results,
                     cca_error *error) {
    int64_t n = length->n;
    double size = 0.0;
    for (int64_t j = 0; j < n; j++) size += hypot(x[j].re, x[j].im);
    for (int place = 0; place < N_COMPARED; place++) {
        int64_t k = (int64_t)(uniform(random) * (double)n);
        long double re = 0.0L, im = 0.0L;
        for (int64_t j = 0; j < n; j++) {
            /* j k modulo n; j k is below 2^34 here, so it does not overflow. */
            long double angle = -2.0L * 3.14159265358979323846264338327950288L * (long double)(j * k % n) / (long double)n;
            long double c = cosl(angle), s = sinl(angle);
            re += x[j].re * c - x[j].im * s;
            im += x[j].re * s + x[j].im * c;
        }
        double off = hypot(y[k].re - (double)re, y[k].im - (double)im);
        /* NaN fails this comparison too. */
        if (!(off <= TOLERANCE * size)) {
            char message[160];
            snprintf(message, sizeof message,
                     "cannot trust a transform of length %lld: y[%lld] is off by %.3g of the largest possible, expected %.0e",
                     (long long)n, (long long)k, off / size, TOLERANCE);
            return cca_fail(error, message);
        }
        if (results != NULL)
            fprintf(results, "%lld %lld %.17g %.17g %.17g\n", (long long)n, (long long)k, y[k].re, y[k].im, size);
    }
    return CCA_OK;
}

/* All calls of all lengths, in a pseudorandom order. */
static int32_t transform_all(length_t *lengths, size_t n_lengths, const cca_slot *slot, uint64_t *random, FILE *results,
                             cca_error *error) {
    int64_t longest = 0, all = 0;
    for (size_t place = 0; place < n_lengths; place++) {
        if (lengths[place].n > longest) longest = lengths[place].n;
        all += lengths[place].calls;
    }
    int64_t left = all;
    fft_dcomplex *x = malloc((size_t)longest * sizeof *x), *y = calloc((size_t)longest, sizeof *y);
    int32_t status = x != NULL && y != NULL ? CCA_OK : cca_fail(error, "cannot transform: no memory");
    for (int64_t j = 0; status == CCA_OK && j < longest; j++)
        x[j] = (fft_dcomplex){ uniform(random) - 0.5, uniform(random) - 0.5 };
    for (; status == CCA_OK && left > 0; left--) {
        /* Select the length of this call among the remaining calls. */
        int64_t place = (int64_t)(uniform(random) * (double)left);
        length_t *length = lengths;
        while (place >= length->calls) place -= length++->calls;
        length->calls--;
        size_t n = (size_t)length->n;
        status = fft_transform_forward(slot, length->n, length->factors, (fft_dcomplex_slice){ x, n },
                                       (fft_dcomplex_slice_mut){ y, n }, error);
        if (status == CCA_OK && !length->is_checked) {
            length->is_checked = 1;
            /* A separate generator, so that the compared frequencies do not depend on the order. */
            uint64_t own = (uint64_t)length->n * UINT64_C(0x9e3779b97f4a7c15);
            status = check(length, x, y, &own, results, error);
        }
        if (status == CCA_OK) status = report_progress(all - left + 1, all, error);
    }
    free(x);
    free(y);
    return status;
}

static int32_t go(const void *object, cca_error *error) {
    (void)object;
    static length_t lengths[MAX_LENGTHS];
    const cca_services *services = cca_services_table(driver_services);
    const cca_slot *slot;
    FILE *results;
    uint64_t random = (uint64_t)value_of("seed").integer * UINT64_C(0x9e3779b97f4a7c15) + 1;
    int32_t status = services->get_port(driver_services.object, cca_text_of("fft"), &slot, error);
    if (status != CCA_OK) return status;
    status = open_results(&results, error);
    if (status == CCA_OK)
        status = transform_all(lengths, choose_lengths(lengths, &random), slot, &random, results, error);
    if (results != NULL && fclose(results) != 0 && status == CCA_OK)
        status = cca_fail(error, "cannot write results: the disk is full or gone");
    cca_error ignored;
    services->release_port(driver_services.object, cca_text_of("fft"), &ignored);
    return status;
}

static int32_t add_ports_and_parameters(const cca_services *table, cca_error *error) {
    int32_t status =
        table->register_uses_port(driver_services.object, cca_text_of("fft"), &fft_transform_interface, error);
    if (status == CCA_OK) status = add_integer("smallest", 8, 8, 1 << 20, "the smallest length, about", error);
    if (status == CCA_OK) status = add_integer("largest", 131072, 8, 1 << 24, "the largest length but of primes, about", error);
    if (status == CCA_OK) status = add_integer("largest_prime", 5000, 8, 1 << 20, "the largest prime, about", error);
    if (status == CCA_OK) status = add_integer("lengths", 12, 1, MAX_LENGTHS / 3, "lengths of each kind", error);
    if (status == CCA_OK) status = add_integer("work", 400000, 1, 1e12, "numbers transformed of each length, about", error);
    if (status == CCA_OK) status = add_integer("calls", 10, 1, 1e9, "calls of each length at least", error);
    if (status == CCA_OK) status = add_integer("most_calls", 1000, 1, 1e9, "calls of each length at most", error);
    if (status == CCA_OK) status = add_integer("seed", 1, 0, 1e9, "other lengths and another order for each", error);
    if (status == CCA_OK) status = add_text("results", "a file for some of the results", error);
    return status;
}
