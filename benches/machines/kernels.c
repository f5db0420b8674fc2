/* Families of implementations of one thing each: the same result by other code. gemm_blas calls the OpenBLAS that KERNELS_BLAS names. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#define MAX_ELEMENTS 4000000

static double *a, *b, *c;
static uint32_t *keys, *other;
static void (*blas)(int, int, int, long, long, long, double, const double *, long, const double *, long, double, double *, long);

__attribute__((constructor)) static void begin(void) {
    double **doubles[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        *doubles[i] = malloc(MAX_ELEMENTS * sizeof(double));
        for (int j = 0; j < MAX_ELEMENTS; j++) (*doubles[i])[j] = (j * 7 + i) % 1000 * 1e-3;
    }
    keys = malloc(MAX_ELEMENTS * sizeof *keys);
    other = malloc(MAX_ELEMENTS * sizeof *other);
    memset(other, 1, MAX_ELEMENTS * sizeof *other);
    memset(keys, 1, MAX_ELEMENTS * sizeof *keys);
    const char *path = getenv("KERNELS_BLAS");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (path && !library) fprintf(stderr, "%s\n", dlerror());
    if (library) *(void **)&blas = dlsym(library, "scipy_cblas_dgemm64_");
}

double gemm_plain(int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
    return c[n];
}

double gemm_tiled(int n) {
    enum { T = 32 };
    memset(c, 0, (size_t)n * n * sizeof *c);
    for (int i0 = 0; i0 < n; i0 += T)
        for (int k0 = 0; k0 < n; k0 += T)
            for (int i = i0; i < n && i < i0 + T; i++)
                for (int k = k0; k < n && k < k0 + T; k++) {
                    double x = a[i * n + k];
                    for (int j = 0; j < n; j++) c[i * n + j] += x * b[k * n + j];
                }
    return c[n];
}

double gemm_blas(int n) {
    if (blas) blas(101, 111, 111, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
    return c[n];
}

static void shuffle(int n) {
    uint32_t x = 1;
    for (int i = 0; i < n; i++) keys[i] = x = x * 1664525u + 1013904223u;
}

static int compare(const void *one, const void *two) {
    uint32_t x = *(const uint32_t *)one, y = *(const uint32_t *)two;
    return (x > y) - (x < y);
}

double sort_libc(int n) {
    shuffle(n);
    qsort(keys, n, sizeof *keys, compare);
    return keys[0];
}

static void sink(int from, int n) {
    for (int child; (child = 2 * from + 1) < n; from = child) {
        if (child + 1 < n && keys[child] < keys[child + 1]) child++;
        if (keys[from] >= keys[child]) return;
        uint32_t key = keys[from];
        keys[from] = keys[child];
        keys[child] = key;
    }
}

double sort_heap(int n) {
    shuffle(n);
    for (int i = n / 2; i-- > 0;) sink(i, n);
    for (int last = n - 1; last > 0; last--) {
        uint32_t key = keys[0];
        keys[0] = keys[last];
        keys[last] = key;
        sink(0, last);
    }
    return keys[0];
}

double sort_radix(int n) {
    shuffle(n);
    for (int shift = 0; shift < 32; shift += 8) {
        size_t starts[257] = {0};
        for (int i = 0; i < n; i++) starts[(keys[i] >> shift & 255) + 1]++;
        for (int i = 0; i < 256; i++) starts[i + 1] += starts[i];
        for (int i = 0; i < n; i++) other[starts[keys[i] >> shift & 255]++] = keys[i];
        uint32_t *swap = keys;
        keys = other;
        other = swap;
    }
    return keys[0];
}

double sum_plain(int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i];
    return sum;
}

double sum_compensated(int n) {
    double sum = 0, rest = 0;
    for (int i = 0; i < n; i++) {
        double x = a[i] - rest, next = sum + x;
        rest = (next - sum) - x;
        sum = next;
    }
    return sum;
}

static double pairwise(const double *x, int n) {
    if (n > 64) return pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum;
}

double sum_pairwise(int n) { return pairwise(a, n); }

double stencil_rows(int n) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            c[i * n + j] = 0.2 * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j] + a[(i + 1) * n + j]);
    return c[n + 1];
}

double stencil_columns(int n) {
    for (int j = 1; j < n - 1; j++)
        for (int i = 1; i < n - 1; i++)
            c[i * n + j] = 0.2 * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j] + a[(i + 1) * n + j]);
    return c[n + 1];
}

double copy_libc(int n) {
    memcpy(b, a, (size_t)n * sizeof *a);
    return b[n - 1];
}

double copy_words(int n) {
    volatile double *to = b;
    for (int i = 0; i < n; i++) to[i] = a[i];
    return b[n - 1];
}

double copy_bytes(int n) {
    volatile char *to = (char *)b;
    for (size_t i = 0; i < (size_t)n * sizeof *a; i++) to[i] = ((char *)a)[i];
    return b[n - 1];
}
