/* Kernels for signatures.py: traced NAME N calls one of them twice with a size; traced NAME N REPEATS prints the times of calls, seconds.
 *
 * The first eight and four more are those that hit rates and times are judged by; no constant of the program was chosen on them. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KERNEL __attribute__((noinline))
#define AT(of, i, j) (of)[(size_t)(i) * n + (j)]

static double *a, *b, *c;
static uint32_t *indices, *other;

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u; }

/* Without pivots, of a matrix with a large diagonal; the first line puts it there. */
KERNEL void lu(int n) {
    for (int i = 0; i < n; i++) AT(a, i, i) = n + 1.0;
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            double by = AT(a, i, k) /= AT(a, k, k);
            for (int j = k + 1; j < n; j++) AT(a, i, j) -= by * AT(a, k, j);
        }
}

KERNEL void floyd(int n) {
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) {
            double first = AT(a, i, k);
            for (int j = 0; j < n; j++) {
                double through = first + AT(a, k, j);
                if (through < AT(a, i, j)) AT(a, i, j) = through;
            }
        }
}

/* Seven points in three dimensions. */
KERNEL void heat(int n) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++) {
                size_t at = ((size_t)i * n + j) * n + k, plane = (size_t)n * n;
                b[at] = 0.4 * a[at] + 0.1 * (a[at - 1] + a[at + 1] + a[at - n] + a[at + n] + a[at - plane] + a[at + plane]);
            }
}

KERNEL void transpose(int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) AT(b, j, i) = AT(a, i, j);
}

/* A sparse matrix with eight random columns in each row, times a vector. */
KERNEL void sparse(int n) {
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 8 * i; k < 8 * i + 8; k++) sum += a[k] * b[indices[k] % (uint32_t)n];
        c[i] = sum;
    }
}

/* From below: runs of 1, 2, 4 ... */
KERNEL void merges(int n) {
    uint32_t seed = 1, *from = indices, *to = other;
    for (int i = 0; i < n; i++) from[i] = next(&seed);
    for (int width = 1; width < n; width *= 2) {
        for (int at = 0; at < n; at += 2 * width) {
            int i = at, middle = at + width < n ? at + width : n, end = at + 2 * width < n ? at + 2 * width : n, j = middle;
            for (int k = at; k < end; k++) to[k] = j == end || (i < middle && from[i] <= from[j]) ? from[i++] : from[j++];
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
}

/* Five by five. */
KERNEL void convolve(int n) {
    for (int i = 2; i < n - 2; i++)
        for (int j = 2; j < n - 2; j++) {
            double sum = 0;
            for (int k = -2; k <= 2; k++)
                for (int l = -2; l <= 2; l++) sum += c[5 * (k + 2) + l + 2] * AT(a, i + k, j + l);
            AT(b, i, j) = sum;
        }
}

/* Fills a table of twice as many places and finds everything in it again. */
KERNEL void hash(int n) {
    uint32_t seed = 1, places = 2 * (uint32_t)n;
    memset(other, 0, places * sizeof *other);
    for (int round = 0; round < 2; round++) {
        seed = 1;
        for (int i = 0; i < n; i++) {
            uint32_t key = next(&seed) | 1, at = (uint64_t)(key * 2654435761u) * places >> 32;
            while (other[at] && other[at] != key) at = at + 1 == places ? 0 : at + 1;
            other[at] = key;
        }
    }
}

KERNEL void triad(int n) {
    for (int i = 0; i < n; i++) a[i] = b[i] + 0.5 * c[i];
}

/* A matrix times a vector, by its columns. */
KERNEL void columns(int n) {
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += AT(a, i, j) * b[i];
        c[j] = sum;
    }
}

/* All pairs of n bodies. */
KERNEL void bodies(int n) {
    for (int i = 0; i < n; i++) {
        double force = 0;
        for (int j = 0; j < n; j++) {
            double distance = a[j] - a[i] + 1e-3;
            force += b[j] / sqrt(distance * distance + 0.01);
        }
        c[i] = force;
    }
}

/* Looks n random keys up in n sorted numbers. */
KERNEL void search(int n) {
    uint32_t seed = 1;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double key = next(&seed) * (double)n / 4294967296.0;
        int low = 0, high = n;
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (c[middle] <= key) low = middle;
            else high = middle;
        }
        sum += c[low];
    }
    a[0] = sum;
}

static const struct {
    const char *name;
    void (*call)(int);
} all[] = {{"lu", lu},         {"floyd", floyd}, {"heat", heat},   {"transpose", transpose}, {"sparse", sparse}, {"merges", merges},
           {"convolve", convolve}, {"hash", hash},   {"triad", triad}, {"columns", columns},     {"bodies", bodies}, {"search", search}};

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + 1e-9 * at.tv_nsec;
}

int main(int argc, char **argv) {
    int n = atoi(argv[2]), repeats = argc > 3 ? atoi(argv[3]) : 2, flat = strchr("lfctb", argv[1][0]) != NULL;
    size_t words = !strcmp(argv[1], "heat") ? (size_t)n * n * n : flat && strcmp(argv[1], "triad") ? (size_t)n * n : 8 * (size_t)n;
    words += 4096;
    double **doubles[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        *doubles[i] = malloc(words * sizeof(double));
        for (size_t j = 0; j < words; j++) (*doubles[i])[j] = i == 2 ? j : (j * 7 + i) % 1000 * 1e-3;
    }
    indices = malloc(words * sizeof *indices);
    other = malloc(words * sizeof *other);
    uint32_t seed = 7;
    for (size_t j = 0; j < words; j++) indices[j] = other[j] = next(&seed) >> 3;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, argv[1])) {
            for (int k = 0; k < repeats; k++) {
                double began = now();
                all[i].call(n);
                if (argc > 3) printf("%.9f\n", now() - began);
            }
            return 0;
        }
    return 1;
}
