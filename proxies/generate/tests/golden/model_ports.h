/* Structs of functions of model.h as ports: made by `mastermind proxy`.
 * Each method returns CCA_OK, or another status after cca_fail(); what the function returns is in *result_. */
#ifndef MODEL_PORTS_H
#define MODEL_PORTS_H

#include <model.h>

#include "cca.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MODEL_MODEL_NAME "model.Model"
#define MODEL_MODEL_VERSION "1.0"
#define MODEL_MODEL_HASH UINT64_C(0x0e8398a747367cec)

typedef struct {
    cca_vtable_header header;
    int32_t (*initialize)(const void *object_, const char *name, int *result_, cca_error *error_);
    int32_t (*update)(const void *object_, int *result_, cca_error *error_);
    int32_t (*get_value)(const void *object_, model_grid grid, double *values, int count, int *result_, cca_error *error_);
    int32_t (*get_time)(const void *object_, double *result_, cca_error *error_);
    int32_t (*finalize)(const void *object_, cca_error *error_);
    int32_t (*get_names)(const void *object_, char **names, int *result_, cca_error *error_);
} model_model_vtable;

/* Begins a table: static const model_model_vtable table = { MODEL_MODEL_HEADER, … }; */
#define MODEL_MODEL_HEADER { sizeof(model_model_vtable), CCA_TEXT(MODEL_MODEL_NAME), CCA_TEXT(MODEL_MODEL_VERSION), MODEL_MODEL_HASH }

/* For add_provides_port and register_uses_port; defined in model_ports.c. */
extern const cca_interface model_model_interface;

static inline int32_t model_model_initialize(const cca_slot *slot_, const char *name, int *result_, cca_error *error_) {
    cca_port target_ = cca_target(slot_);
    return ((const model_model_vtable *)(const void *)target_.vtable)->initialize(target_.object, name, result_, error_);
}

static inline int32_t model_model_update(const cca_slot *slot_, int *result_, cca_error *error_) {
    cca_port target_ = cca_target(slot_);
    return ((const model_model_vtable *)(const void *)target_.vtable)->update(target_.object, result_, error_);
}

static inline int32_t model_model_get_value(const cca_slot *slot_, model_grid grid, double *values, int count, int *result_, cca_error *error_) {
    cca_port target_ = cca_target(slot_);
    return ((const model_model_vtable *)(const void *)target_.vtable)->get_value(target_.object, grid, values, count, result_, error_);
}

static inline int32_t model_model_get_time(const cca_slot *slot_, double *result_, cca_error *error_) {
    cca_port target_ = cca_target(slot_);
    return ((const model_model_vtable *)(const void *)target_.vtable)->get_time(target_.object, result_, error_);
}

static inline int32_t model_model_finalize(const cca_slot *slot_, cca_error *error_) {
    cca_port target_ = cca_target(slot_);
    return ((const model_model_vtable *)(const void *)target_.vtable)->finalize(target_.object, error_);
}

static inline int32_t model_model_get_names(const cca_slot *slot_, char **names, int *result_, cca_error *error_) {
    cca_port target_ = cca_target(slot_);
    return ((const model_model_vtable *)(const void *)target_.vtable)->get_names(target_.object, names, result_, error_);
}

#ifdef __cplusplus
}
#endif

#endif
