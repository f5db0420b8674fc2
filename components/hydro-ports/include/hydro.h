/* hydro.Flux version 1.0 for components in C; the same as FluxPort in hydro-ports. */
#ifndef HYDRO_H
#define HYDRO_H

#include "cca.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HYDRO_NVAR 5

/* Across which axis the faces are; any other value is an error. */
enum { HYDRO_AXIS_X = 0, HYDRO_AXIS_Y = 1 };

/* Extent of a patch array: [HYDRO_NVAR][ny + 2 ghost][nx + 2 ghost] doubles, x fastest. */
typedef struct {
    size_t nx;
    size_t ny;
    size_t ghost;
} hydro_shape;

/* An array of states, lent for reading. */
typedef struct {
    hydro_shape shape;
    const double *data;
    size_t length;
} hydro_states;

/* An array of states, lent for writing. */
typedef struct {
    hydro_shape shape;
    double *data;
    size_t length;
} hydro_states_mut;

#define HYDRO_FLUX_NAME "hydro.Flux"
#define HYDRO_FLUX_VERSION "1.0"
#define HYDRO_FLUX_HASH UINT64_C(0x689ec55f6b8bbe42)

typedef struct {
    cca_vtable_header header;
    int32_t (*compute)(const void *object, uint32_t axis, hydro_states left, hydro_states right,
                       hydro_states_mut flux, cca_error *error);
} hydro_flux_vtable;

#ifdef __cplusplus
}
#endif

#endif
