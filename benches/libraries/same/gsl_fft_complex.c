/* Transforms of some lengths by the GNU Scientific Library. */
#include <gsl/gsl_fft_complex.h>
#include <stdio.h>

int main(void) {
    static double data[800];
    for (size_t n = 1; n <= 360; n += 1 + n / 7) {
        gsl_fft_complex_wavetable *table = gsl_fft_complex_wavetable_alloc(n);
        gsl_fft_complex_workspace *work = gsl_fft_complex_workspace_alloc(n);
        for (size_t i = 0; i < n; i++) data[2 * i] = 1.0 / (double)(i + 1), data[2 * i + 1] = (double)(i % 5);
        int forward = gsl_fft_complex_forward(data, 1, n, table, work);
        printf("%zu %d %a %a\n", n, forward, data[n], data[n / 2]);
        int inverse = gsl_fft_complex_inverse(data, 1, n, table, work);
        printf("%d %a %a\n", inverse, data[n], data[n / 2]);
        gsl_fft_complex_workspace_free(work);
        gsl_fft_complex_wavetable_free(table);
    }
    return 0;
}
