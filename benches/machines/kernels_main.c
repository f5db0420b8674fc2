/* Calls each implementation: kernels_main REPEATS SIZE... with sizes of each family as per cent of its largest. */
#include <stdlib.h>

#include "kernels.h"

static const struct {
    double (*call)(int);
    int most;
} all[] = {
    {gemm_plain, 400},     {gemm_tiled, 400},      {gemm_blas, 400},       {sort_libc, 200000},        {sort_heap, 200000},
    {sort_radix, 200000},  {sum_plain, 400000},    {sum_compensated, 400000}, {sum_pairwise, 400000}, {stencil_rows, 700},
    {stencil_columns, 700}, {copy_libc, 400000},   {copy_words, 400000},   {copy_bytes, 400000},
};

int main(int argc, char **argv) {
    double sum = 0;
    int repeats = atoi(argv[1]);
    for (int repeat = 0; repeat < repeats; repeat++)
        for (int place = 2; place < argc; place++)
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) sum += all[i].call(all[i].most * atof(argv[place]) / 100);
    return sum == 1.5;
}
