/* A grid's Laplacian in columns, for the solvers. */
#ifndef SYSTEM_H
#define SYSTEM_H

#define SIDE 30
#define N (SIDE * SIDE)

static int starts[N + 1], rows[5 * N];
static double entries[5 * N], right[N], solution[N];

static void add(int row, double entry) {
    int place = starts[N];
    rows[place] = row;
    entries[place] = entry;
    starts[N] = place + 1;
}

static void make_system(void) {
    for (int j = 0; j < N; j++) {
        int first = starts[N];
        if (j >= SIDE) add(j - SIDE, -1.0);
        if (j % SIDE > 0) add(j - 1, -1.0);
        add(j, 4.0 + 1.0 / (j + 1));
        if (j % SIDE < SIDE - 1) add(j + 1, -1.0);
        if (j + SIDE < N) add(j + SIDE, -1.0);
        starts[j] = first;
        right[j] = j % 7;
    }
}

#endif
