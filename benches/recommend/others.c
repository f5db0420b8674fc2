/* Programs that lose time in ways that the rules of `recommend` were not developed on: others PROBLEM [fixed] [NUMBER]
 *
 *   halo      rows of a stencil divided unevenly, or evenly; halos by calls that do not block
 *   output    the first rank writes all results as text each step, or each rank its own part
 *   pipeline  a wavefront in which each rank passes its block on when all of it is done, or in twenty pieces
 *   columns   a column of a matrix sent element by element, or packed
 *   late      the first rank makes statistics before it sends what all wait for, or afterwards
 *   matmul    products of matrices in blocks of NUMBER
 *   ranks     work that is the same in all, divided among the ranks, with a sum of large arrays in each step */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, fixed;
static double number = 16;

static void stencil(double *a, double *b, int rows, int columns) {
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j < columns - 1; j++)
            b[i * columns + j] = 0.25 * (a[(i - 1) * columns + j] + a[(i + 1) * columns + j] + a[i * columns + j - 1] + a[i * columns + j + 1]);
}

static void halo(void) {
    enum { COLUMNS = 1024, ALL = 2048 };
    int rows = fixed ? ALL / ranks : rank == 0 ? ALL * 7 / 10 : ALL * 3 / 10 / (ranks - 1);
    double *a = calloc((rows + 2) * COLUMNS, sizeof *a), *b = calloc((rows + 2) * COLUMNS, sizeof *b);
    for (int step = 0; step < 150; step++) {
        MPI_Request requests[4];
        int n = 0, up = rank - 1, down = rank + 1;
        if (up >= 0) {
            MPI_Irecv(a, COLUMNS, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[n++]);
            MPI_Isend(a + COLUMNS, COLUMNS, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[n++]);
        }
        if (down < ranks) {
            MPI_Irecv(a + (rows + 1) * COLUMNS, COLUMNS, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[n++]);
            MPI_Isend(a + rows * COLUMNS, COLUMNS, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[n++]);
        }
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        stencil(a, b, rows, COLUMNS);
        double *other = a;
        a = b;
        b = other;
    }
    free(a);
    free(b);
}

static void output(void) {
    enum { N = 200000 };
    static double own[N];
    double *all = rank == 0 ? malloc(sizeof *all * N * ranks) : NULL;
    FILE *file = fopen("/dev/null", "w");
    for (int step = 0; step < 6; step++) {
        for (int pass = 0; pass < 60; pass++)
            for (int i = 0; i < N; i++) own[i] = own[i] * 0.99 + i;
        if (fixed)
            for (int i = 0; i < N; i++) fprintf(file, "%g\n", own[i]);
        else {
            MPI_Gather(own, N, MPI_DOUBLE, all, N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            for (int i = 0; rank == 0 && i < N * ranks; i++) fprintf(file, "%g\n", all[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    fclose(file);
    free(all);
}

static void pipeline(void) {
    enum { PIECES = 20, N = 2000000 };
    int pieces = fixed ? PIECES : 1;
    for (int step = 0; step < 6; step++) {
        for (int piece = 0; piece < pieces; piece++) {
            double edge = 0;
            if (rank > 0) MPI_Recv(&edge, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (volatile int i = 0; i < 10 * N / pieces; i++) edge = 0.5 * edge + i;
            if (rank + 1 < ranks) MPI_Send(&edge, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void columns(void) {
    enum { N = 2000 };
    static double matrix[N][64], packed[N];
    int other = rank ^ 1;
    for (int step = 0; step < 1000 && other < ranks; step++) {
        if (fixed) {
            for (int i = 0; i < N; i++) packed[i] = matrix[i][7];
            MPI_Sendrecv_replace(packed, N, MPI_DOUBLE, other, 0, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < N; i++) matrix[i][7] = packed[i];
        } else if (rank & 1) {
            for (int i = 0; i < N; i++) MPI_Recv(&packed[i], 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < N; i++) MPI_Send(&matrix[i][7], 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
        } else {
            for (int i = 0; i < N; i++) MPI_Send(&matrix[i][7], 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
            for (int i = 0; i < N; i++) MPI_Recv(&packed[i], 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < N; i++) matrix[i][3] += packed[i];
    }
}

static double compute(long n) {
    volatile double x = 0;
    for (long i = 0; i < n; i++) x += 1e-9;
    return x;
}

static void late(void) {
    for (int step = 0; step < 10; step++) {
        double state = 1;
        if (rank == 0 && !fixed) state += compute(10000000);
        MPI_Bcast(&state, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank == 0 && fixed) compute(10000000);
        compute(rank == 0 ? 5000000 : 15000000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void matmul(void) {
    enum { N = 480 };
    static double a[N][N], b[N][N], c[N][N];
    int block = (int)number;
    for (int repeat = 0; repeat < 2; repeat++)
        for (int ii = 0; ii < N; ii += block)
            for (int jj = 0; jj < N; jj += block)
                for (int kk = 0; kk < N; kk += block)
                    for (int i = ii; i < ii + block && i < N; i++)
                        for (int j = jj; j < jj + block && j < N; j++) {
                            double sum = c[i][j];
                            for (int k = kk; k < kk + block && k < N; k++) sum += a[i][k] * b[k][j];
                            c[i][j] = sum;
                        }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void divided(void) {
    enum { N = 20000 };
    static double array[N];
    for (int step = 0; step < 20; step++) {
        compute(40000000 / ranks);
        MPI_Allreduce(MPI_IN_PLACE, array, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *problem = argc > 1 ? argv[1] : "";
    fixed = argc > 2 && !strcmp(argv[2], "fixed");
    if (argc > 2 && !fixed) number = atof(argv[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(problem, "halo")) halo();
    else if (!strcmp(problem, "output")) output();
    else if (!strcmp(problem, "pipeline")) pipeline();
    else if (!strcmp(problem, "columns")) columns();
    else if (!strcmp(problem, "late")) late();
    else if (!strcmp(problem, "matmul")) matmul();
    else if (!strcmp(problem, "ranks")) divided();
    else MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return 0;
}
