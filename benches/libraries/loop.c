/* The shortest mean time of a call of an empty function, in nanoseconds: `loop CALLS ROUNDS`. Between the rounds it waits, so
 * that a recorder has its next chunk ready. */
#define _GNU_SOURCE
#include "nothing.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char **argv) {
    long calls = argc > 2 ? atol(argv[1]) : 1000, rounds = argc > 2 ? atol(argv[2]) : 10;
    double few = 1e9, many = 1e9, sum = 0;
    for (long round = 0; round <= rounds; round++) {
        double start = now();
        for (long call = 0; call < calls; call++) sum += nothing2((int)call, &sum);
        double middle = now();
        for (long call = 0; call < calls; call++) sum += nothing13((int)call, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
        double end = now();
        if (round > 0 && middle - start < few * (double)calls) few = (middle - start) / (double)calls;
        if (round > 0 && end - middle < many * (double)calls) many = (end - middle) / (double)calls;
        struct timespec pause = { 0, 2000000 };
        nanosleep(&pause, NULL);
    }
    printf("%.3f %.3f\n", few, many);
    return sum == 1;
}
