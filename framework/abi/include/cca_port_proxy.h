/* Common parts of the proxies and dispatchers of ports that are generated in C: the descriptions of cca-abi, and small
 * functions. */
#ifndef CCA_PORT_PROXY_H
#define CCA_PORT_PROXY_H

#include <stdlib.h>
#include <string.h>

#include "cca.h"
#include "cca_recording.h"

/* Type of the word of a parameter: ParameterKind of cca-abi. */
enum { CCA_PARAMETER_INTEGER = 0, CCA_PARAMETER_REAL = 1, CCA_PARAMETER_ENUMERATION = 2 };

static void cca_release_made(const void *object) { free((void *)(uintptr_t)object); }

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

/* DecisionNode of cca-abi: finds the two bounds around a parameter's value, and the next node or provider. */
typedef struct {
    uint32_t parameter;
    uint32_t is_real;
    size_t n_bounds; /* 0 if every call goes on to next[0] */
    const int64_t *bounds;
    const uint32_t *next; /* n_bounds + 1 places of providers, or CCA_INNER_NODE and the place of a node */
} cca_decision_node;

#define CCA_INNER_NODE (UINT32_C(1) << 31)

/* Decision of cca-abi: the tree of a method, null where all calls go to the first provider. */
typedef struct {
    const cca_decision_node *nodes;
} cca_decision;

typedef struct {
    const cca_decision *data;
    size_t length;
} cca_decisions;

/* State of a dispatcher. */
typedef struct {
    const cca_slot *const *providers;
    cca_decision decisions[];
} cca_dispatcher;

/* The provider of a call of a method, chosen by its parameters. */
static inline cca_port cca_decided(const cca_dispatcher *dispatcher, size_t method, const uint64_t *words) {
    const cca_decision_node *nodes = dispatcher->decisions[method].nodes, *node = nodes;
    uint32_t place = 0;
    while (node != NULL) {
        size_t below = 0;
        if (node->n_bounds > 0) {
            int64_t key = (int64_t)words[node->parameter];
            if (node->is_real) key ^= (int64_t)((uint64_t)(key >> 63) >> 1);
            const int64_t *first = node->bounds;
            for (size_t left = node->n_bounds; left > 1;) {
                size_t half = left / 2;
                first += first[half - 1] <= key ? half : 0;
                left -= half;
            }
            below = (size_t)(first - node->bounds) + (*first <= key);
        }
        place = node->next[below];
        node = (place & CCA_INNER_NODE) != 0 ? nodes + (place & ~CCA_INNER_NODE) : NULL;
    }
    return cca_target(dispatcher->providers[place]);
}

/* StandIn of cca-abi: a dry run calls it in place of a provider. A port without a table points to one. */
typedef struct {
    uint64_t poisons; /* whether real numbers among the outputs become NaN */
    uint64_t n_poisoned;
} cca_stand_in;

static inline int cca_poisons(cca_port target, uint64_t n) {
    cca_stand_in *stand_in = (cca_stand_in *)(uintptr_t)target.object;
    if (stand_in->poisons == 0) return 0;
    __atomic_fetch_add(&stand_in->n_poisoned, n, __ATOMIC_RELAXED);
    return 1;
}

static inline void cca_poison_double(cca_port target, double *values, size_t n) {
    if (!cca_poisons(target, n)) return;
    for (size_t place = 0; place < n; place++) values[place] = __builtin_nan("");
}

static inline void cca_poison_float(cca_port target, float *values, size_t n) {
    if (!cca_poisons(target, n)) return;
    for (size_t place = 0; place < n; place++) values[place] = __builtin_nanf("");
}

/* Makes a dispatcher for `n` methods. An extra decision, which is never read, marks that a provider may be a
 * cca_stand_in. */
static inline int32_t cca_new_dispatcher(const cca_slot *const *providers, cca_decisions decisions, size_t n,
                                         const cca_vtable_header *table, const cca_interface *interface,
                                         cca_owned_port *dispatcher, cca_error *error) {
    if (decisions.length != n && decisions.length != n + 1)
        return cca_fail(error, "cannot make a dispatcher: its source is of another version, expected this one's; make it again");
    cca_dispatcher *made = (cca_dispatcher *)malloc(sizeof *made + n * sizeof *made->decisions);
    if (made == NULL) return cca_fail(error, "cannot make a dispatcher: no memory");
    made->providers = providers;
    for (size_t place = 0; place < n; place++) made->decisions[place] = decisions.data[place];
    dispatcher->port.object = made;
    dispatcher->port.vtable = table;
    dispatcher->release = cca_release_made;
    dispatcher->interface = interface;
    return CCA_OK;
}

/* The recorder's methods of a proxy, in the table's order. */
typedef struct {
    const cca_proxy_method *const *data;
    size_t length;
} cca_proxy_methods;

static const cca_text cca_bool_labels[] __attribute__((unused)) = { CCA_TEXT("false"), CCA_TEXT("true") };

/* The port that answers a call that fails while a replacement is being tried; null outside a trial. */
static inline const cca_port *cca_before(const cca_proxy_method *method) {
    uint32_t state = __atomic_load_n(&method->state, __ATOMIC_RELAXED);
    return (state & 4) == 0 ? NULL : (const cca_port *)__atomic_load_n(&method->before, __ATOMIC_ACQUIRE);
}

/* The port that answers a call that is not admitted to the current component; null if the call is admitted. */
static inline const cca_port *cca_instead(const cca_proxy_method *method, const uint64_t *words, size_t n_words) {
    if ((__atomic_load_n(&method->state, __ATOMIC_RELAXED) & 8) == 0) return NULL;
    const cca_admission *admission = __atomic_load_n(&method->admission, __ATOMIC_ACQUIRE);
    if (admission == NULL || admission->admits(admission, words, n_words) != 0) return NULL;
    return (const cca_port *)admission->instead;
}

static inline uint64_t cca_real_word(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

/* 0 if the quotient is undefined. */
static inline int64_t cca_port_quotient(int64_t a, int64_t b) {
    return b == 0 || (b == -1 && a == INT64_MIN) ? 0 : a / b;
}

static inline int64_t cca_port_remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

#endif
