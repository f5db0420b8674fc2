/* Functions that mark-up expressions compile to in C: they neither divide by zero nor read a null
 * pointer. */
#ifndef CCA_EXPRESSION_H
#define CCA_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Operations on arguments; where one is undefined, it sets `is_valid` to 0. */
static inline int64_t cca_quotient(int64_t a, int64_t b, int *is_valid) {
    if (b == 0) return *is_valid = 0;
    return b == -1 ? (int64_t)-(uint64_t)a : a / b;
}

static inline int64_t cca_remainder(int64_t a, int64_t b, int *is_valid) {
    if (b == 0) return *is_valid = 0;
    return b == -1 ? 0 : a % b;
}

static inline double cca_real_quotient(double a, double b, int *is_valid) {
    if (b == 0) return *is_valid = 0;
    return a / b;
}

static inline int64_t cca_length(const char *text, int *is_valid) {
    if (text == NULL) return *is_valid = 0;
    return (int64_t)strlen(text);
}

#endif
