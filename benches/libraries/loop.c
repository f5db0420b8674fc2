/* Times calls of empty functions, in nanoseconds.
 *
 * `loop CALLS ROUNDS`: the shortest mean of a round, with 2 arguments, with 13, and with 2 between two time-stamp reads and an
 * append of 40 bytes, the floor of a record. It pauses between the rounds, so that a recorder has its next chunk ready.
 * `loop CALLS ROUNDS STEPS`: the mean over all calls with 2 arguments, without a pause, each after work of STEPS steps. */
#define _GNU_SOURCE
#include "nothing.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum { N_WORDS = 1 << 20 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double sum;

/* Each step waits for the one before. */
static unsigned long work(unsigned long state, long steps) {
    for (long step = 0; step < steps; step++) state = state * 6364136223846793005u + 1442695040888963407u;
    return state;
}

static double sustained(long calls, long steps) {
    unsigned long state = 1;
    double start = now();
    for (long call = 0; call < calls; call++) {
        state = work(state, steps);
        sum += nothing2((int)(state >> 60), &sum);
    }
    return (now() - start) / (double)calls;
}

static double floor_of_a_record(long calls, unsigned long *words) {
    size_t at = 0;
    double start = now();
    for (long call = 0; call < calls; call++) {
        unsigned long begin = __rdtsc();
        sum += nothing2((int)call, &sum);
        unsigned long record[5] = { 1, begin, __rdtsc() - begin, 0, (unsigned long)call };
        at = at + 5 > N_WORDS ? 0 : at;
        memcpy(words + at, record, sizeof record);
        at += 5;
        __asm__ volatile("" ::: "memory");
    }
    return (now() - start) / (double)calls;
}

int main(int argc, char **argv) {
    long calls = argc > 2 ? atol(argv[1]) : 1000, rounds = argc > 2 ? atol(argv[2]) : 10;
    if (argc > 3) {
        printf("%.3f 0 0\n", sustained(calls * rounds, atol(argv[3])));
        return sum == 1;
    }
    unsigned long *words = malloc(N_WORDS * sizeof *words);
    memset(words, 1, N_WORDS * sizeof *words);
    double few = 1e9, many = 1e9, least = 1e9;
    for (long round = 0; round <= rounds; round++) {
        double start = now();
        for (long call = 0; call < calls; call++) sum += nothing2((int)call, &sum);
        double middle = now();
        for (long call = 0; call < calls; call++) sum += nothing13((int)call, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
        double end = now(), bare = floor_of_a_record(calls, words);
        if (round > 0 && middle - start < few * (double)calls) few = (middle - start) / (double)calls;
        if (round > 0 && end - middle < many * (double)calls) many = (end - middle) / (double)calls;
        if (round > 0 && bare < least) least = bare;
        struct timespec pause = { 0, 2000000 };
        nanosleep(&pause, NULL);
    }
    printf("%.3f %.3f %.3f\n", few, many, least);
    return sum == 1;
}
