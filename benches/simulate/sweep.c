/* The two-dimensional wavefront as an MPI program, for SimGrid's SMPI: the program of
 * `mastermind/simulation/benches/sweep.rs`. Arguments: columns, rows, blocks, bytes, seconds of a block. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, px = atoi(argv[1]), py = atoi(argv[2]), blocks = atoi(argv[3]), bytes = atoi(argv[4]);
    double block = atof(argv[5]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int x = rank % px, y = rank / px;
    char *buffer = SMPI_SHARED_MALLOC(bytes);
    for (int octant = 0; octant < 8; octant++) {
        int dx = octant < 4 ? 1 : -1, dy = octant % 4 < 2 ? 1 : -1;
        int west = x - dx >= 0 && x - dx < px ? rank - dx : MPI_PROC_NULL;
        int north = y - dy >= 0 && y - dy < py ? rank - dy * px : MPI_PROC_NULL;
        int east = x + dx >= 0 && x + dx < px ? rank + dx : MPI_PROC_NULL;
        int south = y + dy >= 0 && y + dy < py ? rank + dy * px : MPI_PROC_NULL;
        for (int k = 0; k < blocks; k++) {
            MPI_Recv(buffer, bytes, MPI_BYTE, west, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(buffer, bytes, MPI_BYTE, north, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            smpi_execute(block);
            MPI_Send(buffer, bytes, MPI_BYTE, east, 0, MPI_COMM_WORLD);
            MPI_Send(buffer, bytes, MPI_BYTE, south, 0, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("simulated %.9f s\n", MPI_Wtime());
    MPI_Finalize();
    return 0;
}
