/* Families of implementations of one thing each, for carry.py. */
double gemm_plain(int n);
double gemm_tiled(int n);
double gemm_blas(int n);
double sort_libc(int n);
double sort_heap(int n);
double sort_radix(int n);
double sum_plain(int n);
double sum_compensated(int n);
double sum_pairwise(int n);
double stencil_rows(int n);
double stencil_columns(int n);
double copy_libc(int n);
double copy_words(int n);
double copy_bytes(int n);
