/* A program of MPI on two ranks whose time in MPI is fixed by how it is made: rank 0 comes to each barrier, send and reduction at a
 * time of its own, and rank 1 a fixed time later, by the clock that both have. `late TURNS LATE_US`. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void until(double time) {
    while (now() < time) {}
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, turns = argc > 1 ? atoi(argv[1]) : 100;
    double late = (argc > 2 ? atof(argv[2]) : 1000.0) * 1e-6, start = 0.0, sum = 0.0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) start = now() + 0.01;
    MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int turn = 0; turn < turns; turn++) {
        double begin = start + 3.0 * turn * 1.5 * late;
        until(begin + (rank == 0 ? 0.0 : late));
        MPI_Barrier(MPI_COMM_WORLD);
        until(begin + 1.5 * late + (rank == 0 ? 0.0 : late));
        if (rank == 0) MPI_Recv(&sum, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(&late, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        until(begin + 3.0 * late + (rank == 0 ? 0.0 : late));
        MPI_Allreduce(&late, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
