/* Communication for measurements by the MPI proxy.
 *
 * exchange transpose NX CYCLES   transposes an NX x NX matrix of doubles, rows over the ranks: MPI_Alltoall, as EVH1 does
 * exchange halo NX CYCLES        exchanges the edges of NX / ranks rows of NX doubles with both neighbours: MPI_Sendrecv
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void transpose(double *matrix, double *packed, int nx, int ranks) {
    int rows = nx / ranks;
    for (int to = 0; to < ranks; to++)
        for (int row = 0; row < rows; row++)
            for (int column = 0; column < rows; column++)
                packed[(to * rows + column) * rows + row] = matrix[row * nx + to * rows + column];
    MPI_Alltoall(packed, rows * rows, MPI_DOUBLE, matrix, rows * rows, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        for (int row = 0; row < rows; row++)
            memcpy(packed + row * nx + from * rows, matrix + (from * rows + row) * rows, rows * sizeof(double));
    memcpy(matrix, packed, (size_t)rows * nx * sizeof(double));
}

static void halo(double *matrix, double *edges, int nx, int rank, int ranks) {
    int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks, rows = nx / ranks;
    double *last = matrix + (size_t)(rows - 1) * nx;
    MPI_Sendrecv(last, nx, MPI_DOUBLE, up, 0, edges, nx, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(matrix, nx, MPI_DOUBLE, down, 1, edges + nx, nx, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int column = 0; column < nx; column++)
        matrix[column] = 0.5 * (edges[column] + edges[nx + column]);
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int nx = argc > 3 ? atoi(argv[2]) : 0, cycles = argc > 3 ? atoi(argv[3]) : 0;
    if (nx < 1 || cycles < 1 || nx % ranks != 0) {
        if (rank == 0)
            fprintf(stderr, "usage: exchange transpose|halo NX CYCLES, the ranks a divisor of NX\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    size_t cells = (size_t)nx * nx / ranks;
    double *matrix = calloc(cells, sizeof(double)), *other = calloc(cells + 2 * (size_t)nx, sizeof(double));
    if (!matrix || !other)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int cycle = 0; cycle < cycles; cycle++)
        if (strcmp(argv[1], "halo") == 0)
            halo(matrix, other, nx, rank, ranks);
        else
            transpose(matrix, other, nx, ranks);
    free(matrix);
    free(other);
    MPI_Finalize();
    return 0;
}
