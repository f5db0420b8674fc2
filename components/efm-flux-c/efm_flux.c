/* hydro.EfmFluxC: the equilibrium flux method as a component in C.
 *
 * The door is cca.h, the interface hydro.h, the kernel efm_kernel.h. The component has no state, so
 * that one object serves all instances.
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

static const hydro_flux_vtable FLUX = {
    {sizeof(hydro_flux_vtable), CCA_TEXT(HYDRO_FLUX_NAME), CCA_TEXT(HYDRO_FLUX_VERSION),
     HYDRO_FLUX_HASH},
    compute};

static const cca_interface FLUX_INTERFACE = {
    .name = CCA_TEXT(HYDRO_FLUX_NAME),
    .version = CCA_TEXT(HYDRO_FLUX_VERSION),
    .hash = HYDRO_FLUX_HASH,
    .vtable_size = sizeof(hydro_flux_vtable)};

static int32_t set_services(const void *object, cca_port services, cca_error *error) {
    const cca_services *functions = (const cca_services *)(const void *)services.vtable;
    const cca_text name = CCA_TEXT("flux");
    const cca_owned_port port = {{object, &FLUX.header}, NULL, &FLUX_INTERFACE};
    /* What it answers depends on its arguments alone, so that another may take its place between two calls. */
    const cca_text stateless = CCA_TEXT("stateless");
    cca_value yes = {CCA_BOOL, 1, 0.0, {NULL, 0}};
    if (functions->add_provides_port(services.object, name, port, error) != CCA_OK) {
        return CCA_FAILED;
    }
    return functions->set_port_property(services.object, name, stateless, yes, error);
}

static int32_t release_services(const void *object, cca_error *error) {
    (void)object;
    (void)error;
    return CCA_OK;
}

static void destroy(const void *object) { (void)object; }

static const cca_component_vtable COMPONENT = {sizeof COMPONENT, set_services, release_services,
                                               destroy};

static int32_t create(cca_component *component, cca_error *error) {
    (void)error;
    component->object = &COMPONENT; /* no state: any address that is not null */
    component->vtable = &COMPONENT;
    return CCA_OK;
}

static const cca_class CLASSES[] = {
    {CCA_TEXT("hydro.EfmFluxC"), CCA_TEXT("1.0"),
     CCA_TEXT("The equilibrium flux method of Pullin, written in C."), create}};

static const cca_library LIBRARY = {CCA_ABI_VERSION, 1, CLASSES, {NULL, 0}};

const cca_library *cca_component_v2(void);
const cca_library *cca_component_v2(void) { return &LIBRARY; }
