/* Transforms of some lengths, forwards and backwards, by FFTW. */
#include <fftw3.h>
#include <stdio.h>

int main(void) {
    for (int n = 1; n <= 360; n += 1 + n / 7) {
        fftw_complex *x = fftw_malloc(sizeof *x * (size_t)n), *y = fftw_malloc(sizeof *y * (size_t)n);
        fftw_plan forward = fftw_plan_dft_1d(n, x, y, FFTW_FORWARD, FFTW_ESTIMATE);
        fftw_plan backward = fftw_plan_dft_1d(n, y, x, FFTW_BACKWARD, FFTW_ESTIMATE);
        for (int i = 0; i < n; i++) x[i][0] = 1.0 / (i + 1), x[i][1] = i % 5;
        fftw_execute(forward);
        printf("%d %a %a\n", n, y[n / 2][0], y[n / 3][1]);
        fftw_execute(backward);
        printf("%a %a\n", x[n / 2][0], x[n / 3][1]);
        fftw_destroy_plan(forward);
        fftw_destroy_plan(backward);
        fftw_free(x);
        fftw_free(y);
    }
    return 0;
}
