/* One transform by FFTW, with an estimated rather than a measured plan. */
#include <fftw3.h>
#include <pthread.h>

#include "fft_ports.h"

/* Serialises making and destroying plans: only fftw_execute may be called by several threads at once. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static int32_t forward(const void *object, int64_t n, fft_factors factors, fft_dcomplex_slice x, fft_dcomplex_slice_mut y,
                       cca_error *error) {
    (void)object;
    (void)factors;
    if (n <= 0 || n > INT32_MAX || x.length != (size_t)n || y.length != (size_t)n)
        return cca_fail(error, "cannot transform: bad length, expected 1 to 2147483647 numbers in x and y");
    pthread_mutex_lock(&planner);
    /* FFTW_PRESERVE_INPUT: FFTW does not write to x. */
    fftw_plan plan = fftw_plan_dft_1d((int)n, (fftw_complex *)(uintptr_t)x.data, (fftw_complex *)y.data, FFTW_FORWARD,
                                      FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    pthread_mutex_unlock(&planner);
    if (plan == NULL) return cca_fail(error, "cannot transform: FFTW makes no plan of this length");
    fftw_execute(plan);
    pthread_mutex_lock(&planner);
    fftw_destroy_plan(plan);
    pthread_mutex_unlock(&planner);
    return CCA_OK;
}

static const fft_transform_vtable TABLE = { FFT_TRANSFORM_HEADER, forward };

#define CLASS_NAME "fft.Fftw"
#define CLASS_DOC "FFTW, planned by its estimate."
#define PORT_NAME "fft"
#define PORT_TABLE TABLE
#define PORT_INTERFACE fft_transform_interface
#include "one_port.h"
