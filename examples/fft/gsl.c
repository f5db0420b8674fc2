/* One transform by the GNU Scientific Library: mixed radices of 2 to 7, and the sum itself for larger primes. */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_fft_complex.h>

#include "fft_ports.h"

static int32_t forward(const void *object, int64_t n, fft_factors factors, fft_dcomplex_slice x, fft_dcomplex_slice_mut y,
                       cca_error *error) {
    (void)object;
    if (n <= 0 || x.length != (size_t)n || y.length != (size_t)n)
        return cca_fail(error, "cannot transform: bad length, expected 1 or more numbers in x and y");
    /* GSL's default error handler would end the process. */
    gsl_set_error_handler_off();
    memcpy(y.data, x.data, x.length * sizeof *x.data);
    double *data = &y.data[0].re;
    if (factors == FFT_FACTORS_TWO) {
        if (gsl_fft_complex_radix2_forward(data, 1, (size_t)n) != GSL_SUCCESS)
            return cca_fail(error, "cannot transform: another length, expected a power of two as the caller says");
        return CCA_OK;
    }
    gsl_fft_complex_wavetable *table = gsl_fft_complex_wavetable_alloc((size_t)n);
    gsl_fft_complex_workspace *work = gsl_fft_complex_workspace_alloc((size_t)n);
    int status = GSL_ENOMEM;
    if (table != NULL && work != NULL) status = gsl_fft_complex_forward(data, 1, (size_t)n, table, work);
    if (work != NULL) gsl_fft_complex_workspace_free(work);
    if (table != NULL) gsl_fft_complex_wavetable_free(table);
    return status == GSL_SUCCESS ? CCA_OK : cca_fail(error, gsl_strerror(status));
}

static const fft_transform_vtable TABLE = { FFT_TRANSFORM_HEADER, forward };

#define CLASS_NAME "fft.Gsl"
#define CLASS_DOC "The transforms of the GNU Scientific Library."
#define PORT_NAME "fft"
#define PORT_TABLE TABLE
#define PORT_INTERFACE fft_transform_interface
#include "one_port.h"
