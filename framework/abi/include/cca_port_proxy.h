/* What the proxies of ports that were generated in C have in common: the descriptions of cca-abi, and small functions. */
#ifndef CCA_PORT_PROXY_H
#define CCA_PORT_PROXY_H

#include <stdlib.h>
#include <string.h>

#include "cca.h"
#include "cca_recording.h"

/* What the word of a parameter holds: ParameterKind of cca-abi. */
enum { CCA_PARAMETER_INTEGER = 0, CCA_PARAMETER_REAL = 1, CCA_PARAMETER_ENUMERATION = 2 };

/* PerfDescriptor of cca-abi. */
typedef struct {
    cca_text name;
    uint32_t kind;
    cca_text unit;
    cca_texts labels; /* of an enumeration's values */
} cca_parameter_description;

typedef struct {
    const cca_parameter_description *data;
    size_t length;
} cca_parameter_descriptions;

/* MethodDescriptor of cca-abi. */
typedef struct {
    cca_text name;
    cca_text signature;
    cca_text doc;
    cca_parameter_descriptions parameters;
} cca_method_description;

/* The recorder's methods of a proxy, in the table's order. */
typedef struct {
    const cca_proxy_method *const *data;
    size_t length;
} cca_proxy_methods;

static const cca_text cca_bool_labels[] __attribute__((unused)) = { CCA_TEXT("false"), CCA_TEXT("true") };

static void cca_release_proxy(const void *object) { free((void *)(uintptr_t)object); }

/* What answers a call that fails while a replacement is on trial; null without. */
static inline const cca_port *cca_before(const cca_proxy_method *method) {
    uint32_t state = __atomic_load_n(&method->state, __ATOMIC_RELAXED);
    return (state & 4) == 0 ? NULL : (const cca_port *)__atomic_load_n(&method->before, __ATOMIC_ACQUIRE);
}

static inline uint64_t cca_real_word(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

/* 0 where there is none. */
static inline int64_t cca_quotient(int64_t a, int64_t b) {
    return b == 0 || (b == -1 && a == INT64_MIN) ? 0 : a / b;
}

static inline int64_t cca_remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

#endif
