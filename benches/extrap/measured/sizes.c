/* Calls of MPI over sizes, for `measure.sh`: each size again and again, in another order each time. */
#include <mpi.h>
#include <stdlib.h>

enum { SIZES = 11, SMALLEST = 1024, REPETITIONS = 12 };

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long largest = (long)SMALLEST << (SIZES - 1);
    char *from = calloc(largest, 1), *to = calloc(largest, ranks);
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        for (int k = 0; k < SIZES; k++) {
            int bytes = SMALLEST << ((k * 5 + repetition) % SIZES), peer = (rank + 1) % ranks;
            int before = (rank + ranks - 1) % ranks;
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Sendrecv(from, bytes, MPI_CHAR, peer, 0, to, bytes, MPI_CHAR, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Allgather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, MPI_COMM_WORLD);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Bcast(from, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
