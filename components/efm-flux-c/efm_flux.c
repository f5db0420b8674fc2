/* hydro.EfmFluxC: the equilibrium flux method as a component in C.
 *
 * The door is cca.h, the interface hydro.h, the kernel efm_kernel.h.
 */
#include <stdio.h>

#include "cca.h"
#include "efm_kernel.h"
#include "hydro.h"

/* One gas, as everywhere in the case study (section 1, gas model A). */
static const double GAMMA = 1.4;

static int same_shape(hydro_shape a, hydro_shape b) {
    return a.nx == b.nx && a.ny == b.ny && a.ghost == b.ghost;
}

static size_t length_of(hydro_shape shape) {
    return HYDRO_NVAR * (shape.nx + 2 * shape.ghost) * (shape.ny + 2 * shape.ghost);
}

static int32_t bad_state(cca_error *error, uint32_t axis, hydro_states left, hydro_states right,
                         ptrdiff_t face) {
    const size_t row = left.shape.nx + 2 * left.shape.ghost;
    const size_t plane = row * (left.shape.ny + 2 * left.shape.ghost);
    char message[200];
    snprintf(message, sizeof message,
             "cannot compute flux of %c face \"(%zu, %zu)\": density %g and %g, pressure %g and %g, "
             "expected finite positive ones",
             axis == HYDRO_AXIS_X ? 'X' : 'Y', (size_t)face % row, (size_t)face / row,
             left.data[face], right.data[face], left.data[3 * plane + (size_t)face],
             right.data[3 * plane + (size_t)face]);
    return cca_fail(error, message);
}

static int32_t compute(const void *object, uint32_t axis, hydro_states left, hydro_states right,
                       hydro_states_mut flux, cca_error *error) {
    (void)object;
    const hydro_shape shape = left.shape;
    const size_t length = length_of(shape);
    if (!same_shape(shape, right.shape) || !same_shape(shape, flux.shape) || left.length != length
        || right.length != length || flux.length != length)
        return cca_fail(error, "cannot compute flux of patch: shapes differ, expected the same");
    ptrdiff_t bad = -1;
    switch (efm_flux_kernel((int)axis, shape.nx, shape.ny, shape.ghost, GAMMA, left.data,
                            right.data, flux.data, &bad)) {
    case EFM_OK: return CCA_OK;
    case EFM_BAD_STATE: return bad_state(error, axis, left, right, bad);
    default: return cca_fail(error, "cannot compute flux of patch: bad axis or no ghost cells");
    }
}

static const hydro_flux_vtable FLUX = {CCA_HEADER(HYDRO_FLUX, hydro_flux_vtable), compute};

static const cca_interface FLUX_INTERFACE = CCA_INTERFACE(HYDRO_FLUX, hydro_flux_vtable);

/* An instance, which keeps nothing between calls. */
typedef struct {
    cca_port services;
} instance;

static int32_t set_services(instance *own, cca_port services, cca_error *error) {
    own->services = services;
    const int32_t status = cca_add_provides_port(services, "flux", own, &FLUX.header, &FLUX_INTERFACE, error);
    return status == CCA_OK ? cca_declare_stateless(services, "flux", error) : status;
}

CCA_COMPONENT(instance, set_services)

CCA_LIBRARY(CCA_CLASS(instance, "hydro.EfmFluxC", "1.0", "The equilibrium flux method of Pullin, written in C."))
