/* The communication of a molecular dynamics program like CoMD: in each step every rank computes the forces in its box of cells, exchanges
 * the atoms near its six faces with its neighbours, a direction after the other, and all agree on the energy.
 *
 * Usage: dynamics STEPS CELLS   (cells of a rank along one side)
 * Prints the time from the end of MPI_Init to the start of MPI_Finalize, of the slowest rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Forces between neighbouring cells, each of a few atoms: only the time that they take matters, not their values. */
static double forces(const double *atoms, int n, double *force) {
    double energy = 0;
    for (int i = 1; i + 1 < n; i++) {
        double sum = 0;
        for (int other = -1; other <= 1; other++)
            for (int k = 0; k < 8; k++) {
                double distance = atoms[i] - atoms[i + other] + 1.5 + k;
                double inverse = 1.0 / (distance * distance);
                sum += inverse * inverse * (inverse - 0.5);
            }
        force[i] = sum;
        energy += sum;
    }
    return energy;
}

int main(int argc, char **argv) {
    int rank, size, sides[3] = {0, 0, 0}, periodic[3] = {1, 1, 1};
    if (argc != 3) return fprintf(stderr, "usage: dynamics STEPS CELLS\n"), 2;
    int steps = atoi(argv[1]), cells = atoi(argv[2]), n = cells * cells * cells, face = 8 * cells * cells;
    MPI_Init(&argc, &argv);
    double begin = MPI_Wtime(), all = 0, longest = 0;
    MPI_Comm box;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 3, sides);
    MPI_Cart_create(MPI_COMM_WORLD, 3, sides, periodic, 0, &box);
    MPI_Comm_rank(box, &rank);
    double *atoms = calloc(n, sizeof *atoms), *force = calloc(n, sizeof *force);
    double *out = calloc(face, sizeof *out), *in = calloc(face, sizeof *in);
    for (int i = 0; i < n; i++) atoms[i] = (i * 37 + rank) % 101 / 101.0;
    for (int step = 0; step < steps; step++) {
        double energy = forces(atoms, n, force);
        for (int axis = 0; axis < 3; axis++)
            for (int way = -1; way <= 1; way += 2) {
                int from, to;
                MPI_Cart_shift(box, axis, way, &from, &to);
                for (int i = 0; i < face; i++) out[i] = atoms[i % n] + force[i % n];
                MPI_Sendrecv(out, face, MPI_DOUBLE, to, axis, in, face, MPI_DOUBLE, from, axis, box, MPI_STATUS_IGNORE);
                for (int i = 0; i < face && i < n; i++) atoms[i] += 1e-9 * in[i];
            }
        MPI_Allreduce(&energy, &all, 1, MPI_DOUBLE, MPI_SUM, box);
    }
    double own = MPI_Wtime() - begin;
    MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.6f s, energy %g\n", longest, all);
    MPI_Finalize();
    return 0;
}
