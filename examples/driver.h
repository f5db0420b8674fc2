/* Common code of the workload drivers of these examples: parameters, a Go port, progress, random numbers. Include it first, with
 * CLASS_NAME and CLASS_DOC defined. */
#ifndef DRIVER_H
#define DRIVER_H

#include <stdio.h>
#include <stdlib.h>

#include "cca.h"

/* The services of the driver; there is only one instance. */
static cca_port driver_services;

/* The port of the parameters. */
#define PARAMETERS "parameters"

static inline int32_t add_parameter(const char *key, cca_value value, const double *bounds, const char *help,
                                    cca_error *error) {
    cca_parameter parameter;
    memset(&parameter, 0, sizeof parameter);
    parameter.key = cca_text_of(key);
    parameter.default_value = value;
    if (bounds != NULL) {
        parameter.has_bounds = 1;
        parameter.lower = bounds[0];
        parameter.upper = bounds[1];
    }
    parameter.help = cca_text_of(help);
    return cca_services_table(driver_services)
        ->add_parameter(driver_services.object, cca_text_of(PARAMETERS), parameter, error);
}

static inline int32_t add_integer(const char *key, int64_t value, double lower, double upper, const char *help,
                                  cca_error *error) {
    const double bounds[2] = { lower, upper };
    cca_value given;
    memset(&given, 0, sizeof given);
    given.kind = CCA_INTEGER;
    given.integer = value;
    return add_parameter(key, given, bounds, help, error);
}

/* A text parameter, empty by default. */
static inline int32_t add_text(const char *key, const char *help, cca_error *error) {
    cca_value given;
    memset(&given, 0, sizeof given);
    given.kind = CCA_STRING;
    given.text = cca_text_of("");
    return add_parameter(key, given, NULL, help, error);
}

/* The value of a parameter; all zero if it does not exist, which only a mistake in this source can cause. */
static inline cca_value value_of(const char *key) {
    cca_value value;
    cca_error error;
    memset(&value, 0, sizeof value);
    if (cca_services_table(driver_services)
            ->parameter(driver_services.object, cca_text_of(PARAMETERS), cca_text_of(key), &value, &error) != CCA_OK)
        memset(&value, 0, sizeof value);
    return value;
}

/* A file for the results, NULL if the parameter is empty; `*error` says why it cannot be opened. */
static inline int32_t open_results(FILE **file, cca_error *error) {
    cca_text path = value_of("results").text;
    *file = NULL;
    if (path.length == 0) return CCA_OK;
    char *name = (char *)calloc(path.length + 1, 1);
    if (name == NULL) return cca_fail(error, "cannot open results: no memory");
    memcpy(name, path.data, path.length);
    *file = fopen(name, "w");
    free(name);
    return *file != NULL ? CCA_OK : cca_fail(error, "cannot open results: no such file can be written");
}

/* Reports progress often enough for `run --adapt`: after every 1/500 of the calls.
 * done, all: calls */
static inline int32_t report_progress(int64_t done, int64_t all, cca_error *error) {
    const cca_services *services = cca_services_table(driver_services);
    const cca_slot *slot;
    if (all > 500 && done % (all / 500) != 0) return CCA_OK;
    int32_t status = services->get_port(driver_services.object, cca_text_of("progress"), &slot, error);
    if (status != CCA_OK) return status;
    const cca_port port = cca_target(slot);
    const cca_progress *progress = (const cca_progress *)(const void *)port.vtable;
    status = progress->report(port.object, (double)done / (double)all, cca_text_of("calls"), error);
    cca_error ignored;
    services->release_port(driver_services.object, cca_text_of("progress"), &ignored);
    return status;
}

/* Pseudorandom numbers, the same on every machine (xorshift64*, Vigna 2016). */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* A random number in [0, 1). */
static inline double uniform(uint64_t *state) { return (double)(next_random(state) >> 11) / 9007199254740992.0; }

/* Defined by the file that includes this one. */
static int32_t go(const void *object, cca_error *error);
static int32_t add_ports_and_parameters(const cca_services *table, cca_error *error);

typedef struct {
    cca_vtable_header header;
    int32_t (*go)(const void *object, cca_error *error);
} go_table;

static const go_table GO = { { sizeof GO, CCA_TEXT(CCA_GO_NAME), CCA_TEXT(CCA_GO_VERSION), CCA_GO_HASH }, go };
static const cca_interface GO_INTERFACE = { CCA_TEXT(CCA_GO_NAME), CCA_TEXT(CCA_GO_VERSION), CCA_GO_HASH, sizeof GO,
                                            NULL, 0, NULL, 0, NULL, NULL };

static const cca_interface PROGRESS_INTERFACE = { CCA_TEXT(CCA_PROGRESS_NAME), CCA_TEXT(CCA_PROGRESS_VERSION),
                                                  CCA_PROGRESS_HASH, sizeof(cca_progress), NULL, 0, NULL, 0, NULL, NULL };

static int32_t set_services(const void *object, cca_port services, cca_error *error) {
    driver_services = services;
    const cca_owned_port port = { { object, &GO.header }, NULL, &GO_INTERFACE };
    const cca_services *table = cca_services_table(services);
    int32_t status = table->add_provides_port(services.object, cca_text_of("go"), port, error);
    if (status == CCA_OK) status = table->add_parameter_port(services.object, cca_text_of(PARAMETERS), error);
    if (status == CCA_OK)
        status = table->register_uses_port(services.object, cca_text_of("progress"), &PROGRESS_INTERFACE, error);
    return status == CCA_OK ? add_ports_and_parameters(table, error) : status;
}

static int32_t release_services(const void *object, cca_error *error) {
    (void)object;
    (void)error;
    return CCA_OK;
}

static void destroy(const void *object) { (void)object; }

static const cca_component_vtable COMPONENT = { sizeof COMPONENT, set_services, release_services, destroy };

static int32_t create(cca_component *component, cca_error *error) {
    (void)error;
    component->object = &COMPONENT;
    component->vtable = &COMPONENT;
    return CCA_OK;
}

static const cca_class CLASSES[] = { { CCA_TEXT(CLASS_NAME), CCA_TEXT("1.0"), CCA_TEXT(CLASS_DOC), create } };
static const cca_library LIBRARY = { CCA_ABI_VERSION, 1, CLASSES, { NULL, 0 } };
const cca_library *cca_component_v2(void);
const cca_library *cca_component_v2(void) { return &LIBRARY; }

#endif
