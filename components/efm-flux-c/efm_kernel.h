/* The equilibrium flux method in C: the kernel of the EFMFlux component, without the framework. */
#ifndef HYDRO_EFM_KERNEL_H
#define HYDRO_EFM_KERNEL_H

#include <stddef.h>

/* Variables of a state: density, x velocity, y velocity, pressure, tracer. */
enum { EFM_NVAR = 5 };

/* Sweep directions: across x walks i innermost, across y walks j innermost with stride nx + 2g. */
enum { EFM_AXIS_X = 0, EFM_AXIS_Y = 1 };

/* Results of efm_flux_kernel. */
enum {
    EFM_OK = 0,
    EFM_BAD_ARGUMENT = 1, /* axis unknown, no ghost cell, or gamma not above 1 */
    EFM_BAD_STATE = 2     /* density or pressure not positive, or a value not finite */
};

/*
 * Computes the equilibrium flux at every face across `axis`.
 *
 * axis          EFM_AXIS_X or EFM_AXIS_Y
 * nx, ny        interior cells of the patch
 * ghost         ghost cells g on each side, at least 1
 * gamma         ratio of specific heats, above 1
 * left, right   primitive states (rho, u, v, p, z) on the two sides of each face, shape
 *               [EFM_NVAR][ny + 2g][nx + 2g]; a face lies at the index of its lower cell
 * flux          output of the same shape: mass, x momentum, y momentum, energy, tracer; only the
 *               faces of the interior are written
 * bad_index     set to the index of the first bad face in a plane, or to -1; may be NULL
 *
 * Returns EFM_OK or one of the codes above.
 *
 * Source: case study, section 4.3, after D. I. Pullin, J. Comput. Phys. 34 (1980). The erf is the C
 * library's.
 */
int efm_flux_kernel(int axis, size_t nx, size_t ny, size_t ghost, double gamma,
                    const double *left, const double *right, double *flux, ptrdiff_t *bad_index);

#endif
