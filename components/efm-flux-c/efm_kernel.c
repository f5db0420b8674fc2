/* The equilibrium flux method in C: see efm_kernel.h. */
#include "efm_kernel.h"

#include <math.h>

/* 2 sqrt(pi) */
static const double TWO_SQRT_PI = 3.5449077018110320546;

/* A primitive state in the frame of the face, and the flux in that frame. */
typedef struct {
    double rho, u_n, u_t, p, z;
} state;
typedef struct {
    double mass, normal, tangential, energy;
} half_flux;

/* Offsets of the variables in an array, normal velocity before tangential, and of the faces. */
typedef struct {
    size_t rho, u_n, u_t, p, z;
} planes;
typedef struct {
    size_t first, n_lines, line_stride, n_faces, stride;
} sweep;

static planes planes_of(int axis, size_t plane) {
    const int across_x = axis == EFM_AXIS_X;
    const planes found = {0, (across_x ? 1 : 2) * plane, (across_x ? 2 : 1) * plane, 3 * plane,
                          4 * plane};
    return found;
}

static sweep sweep_of(int axis, size_t nx, size_t ny, size_t ghost) {
    const size_t row = nx + 2 * ghost;
    const sweep x = {ghost * row + ghost - 1, ny, row, nx + 1, 1};
    const sweep y = {(ghost - 1) * row + ghost, nx, 1, ny + 1, row};
    return axis == EFM_AXIS_X ? x : y;
}

static state load(const double *states, const planes *at, size_t face) {
    const state found = {states[at->rho + face], states[at->u_n + face], states[at->u_t + face],
                         states[at->p + face], states[at->z + face]};
    return found;
}

static int is_physical(const state *w) {
    return w->rho > 0.0 && w->p > 0.0 && isfinite(w->rho) && isfinite(w->u_n)
        && isfinite(w->u_t) && isfinite(w->p) && isfinite(w->z);
}

/* Flux that one side sends across the face; sign is +1 for the left side, -1 for the right side. */
static half_flux stream(double gamma, const state *w, double sign) {
    const double theta = w->p / w->rho;
    const double c = sqrt(2.0 * theta);
    const double s = w->u_n / c;
    const double fraction = 0.5 * (1.0 + sign * erf(s));
    const double d = sign * exp(-s * s) * c / TWO_SQRT_PI;
    const double kinetic = 0.5 * (w->u_n * w->u_n + w->u_t * w->u_t);
    const double mass = w->rho * (fraction * w->u_n + d);
    const double enthalpy = kinetic + gamma / (gamma - 1.0) * theta;
    const double half_enthalpy = kinetic + (gamma + 1.0) / (2.0 * (gamma - 1.0)) * theta;
    const half_flux found = {
        mass, mass * w->u_n + fraction * w->p, mass * w->u_t,
        fraction * w->rho * w->u_n * enthalpy + w->rho * d * half_enthalpy};
    return found;
}

static void store(double *flux, const planes *at, size_t face, const state *left,
                  const state *right, double gamma) {
    const half_flux l = stream(gamma, left, 1.0);
    const half_flux r = stream(gamma, right, -1.0);
    const double mass = l.mass + r.mass;
    flux[at->rho + face] = mass;
    flux[at->u_n + face] = l.normal + r.normal;
    flux[at->u_t + face] = l.tangential + r.tangential;
    flux[at->p + face] = l.energy + r.energy;
    flux[at->z + face] = mass * (mass >= 0.0 ? left->z : right->z);
}

int efm_flux_kernel(int axis, size_t nx, size_t ny, size_t ghost, double gamma,
                    const double *left, const double *right, double *flux, ptrdiff_t *bad_index) {
    if (bad_index) *bad_index = -1;
    if ((axis != EFM_AXIS_X && axis != EFM_AXIS_Y) || ghost < 1 || !(gamma > 1.0))
        return EFM_BAD_ARGUMENT;
    const planes at = planes_of(axis, (nx + 2 * ghost) * (ny + 2 * ghost));
    const sweep faces = sweep_of(axis, nx, ny, ghost);
    for (size_t line = 0; line < faces.n_lines; ++line) {
        size_t face = faces.first + line * faces.line_stride;
        for (size_t k = 0; k < faces.n_faces; ++k, face += faces.stride) {
            const state l = load(left, &at, face), r = load(right, &at, face);
            if (!is_physical(&l) || !is_physical(&r)) {
                if (bad_index) *bad_index = (ptrdiff_t)face;
                return EFM_BAD_STATE;
            }
            store(flux, &at, face, &l, &r, gamma);
        }
    }
    return EFM_OK;
}
