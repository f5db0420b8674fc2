"""Products of matrices of many sizes, as a NumPy program has them; knows nothing of Mastermind.

    python3 program.py RESULTS.npy [ROUNDS]
"""

import sys

import numpy

SIZES = [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384]

rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
random = numpy.random.default_rng(7)
results = []
for number in range(rounds):
    for n in random.permutation(SIZES):
        left, right = random.random((n, n)), random.random((n, n))
        results.append((left @ right).sum())
    print("round", number, flush=True)
numpy.save(sys.argv[1], numpy.array(results))
