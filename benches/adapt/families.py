"""Families of alternatives: a list of cells (group and sizes), and for each cell a call of each alternative."""

import bz2
import heapq
import lzma
import math
import time
import zlib

import numpy
import pyfftw
import scipy.fft
import scipy.fftpack
import scipy.linalg
import scipy.signal
import scipy.sparse

SAMPLES = 15
# Sizes of each family: called, and kept apart.
N_CALLED, N_APART = 40, 20
N_KINDS = N_CALLED + N_APART


def fft(random):
    """Lengths of any factors, 32 to 32768 points; the arms are libraries."""

    def fftw(n):
        a = pyfftw.empty_aligned(n, dtype="complex128")
        return pyfftw.builders.fft(a, planner_effort="FFTW_ESTIMATE"), a

    sizes = sorted({int(2 ** random.uniform(5, 15)) for _ in range(400)})
    sizes = list(random.permutation(sizes)[:N_KINDS])
    kinds, calls = [], []
    for n in sizes:
        n = int(n)
        x = random.normal(size=n) + 1j * random.normal(size=n)
        plan, a = fftw(n)
        a[:] = x
        calls.append(
            [
                lambda x=x: numpy.fft.fft(x),
                lambda x=x: scipy.fft.fft(x),
                lambda x=x: scipy.fftpack.fft(x),
                lambda plan=plan: plan(),
                lambda x=x: scipy.signal.czt(x),
            ]
        )
        kinds.append({"group": 0, "x": [math.log(n)]})
    return kinds, calls


def sparse(random):
    """Banded, random and block matrices; the arms are formats, the sizes rows and entries."""
    kinds, calls = [], []
    for place in range(N_KINDS):
        n = int(2 ** random.uniform(6, 13))
        structure = place % 3
        if structure == 0:
            width = int(random.integers(1, 8))
            offsets = list(range(-width, width + 1))
            m = scipy.sparse.diags([numpy.ones(n - abs(k)) for k in offsets], offsets)
        elif structure == 1:
            m = scipy.sparse.random(n, n, density=min(1.0, random.uniform(2, 20) / n), random_state=int(place))
        else:
            blocks = scipy.sparse.random(n // 8, n // 8, density=min(1.0, 24 / n), random_state=int(place))
            m = scipy.sparse.kron(blocks, numpy.ones((8, 8)))
        csr = m.tocsr()
        x = random.normal(size=csr.shape[1])
        forms = [csr, m.tocsc(), m.tocoo(), scipy.sparse.bsr_matrix(m)]
        forms.append(m.todia() if structure == 0 else m.tolil().tocsr())
        calls.append([lambda f=f, x=x: f @ x for f in forms])
        kinds.append({"group": structure, "x": [math.log(csr.shape[0]), math.log(max(csr.nnz, 1))]})
    return shuffled(kinds, calls, random)


def sort(random):
    """Random, sorted and hardly different numbers; the arms are algorithms."""
    kinds, calls = [], []
    for place in range(N_KINDS):
        n = int(2 ** random.uniform(4, 14))
        x = [random.normal(size=n), numpy.sort(random.normal(size=n)), random.integers(4, size=n) * 1.0][place % 3]
        listed = x.tolist()
        calls.append(
            [
                lambda x=x: numpy.sort(x, kind="heapsort"),
                lambda x=x: numpy.sort(x, kind="stable"),
                lambda listed=listed: sorted(listed),
                lambda x=x: numpy.sort(x),
                lambda listed=listed: heapq.nsmallest(len(listed), listed),
            ]
        )
        kinds.append({"group": place % 3, "x": [math.log(n)]})
    return shuffled(kinds, calls, random)


def convolve(random):
    """Two lengths; directly, by transforms, by transforms of parts."""
    kinds, calls = [], []
    for _ in range(N_KINDS):
        n, m = (int(2 ** random.uniform(low, high)) for low, high in ((6, 14), (2, 9)))
        a, b = random.normal(size=n), random.normal(size=m)
        calls.append(
            [
                lambda a=a, b=b: numpy.convolve(a, b),
                lambda a=a, b=b: scipy.signal.fftconvolve(a, b),
                lambda a=a, b=b: scipy.signal.oaconvolve(a, b),
                lambda a=a, b=b: scipy.signal.lfilter(b, [1.0], a),
            ]
        )
        kinds.append({"group": 0, "x": [math.log(n), math.log(m)]})
    return kinds, calls


def matmul(random):
    """Three lengths; BLAS, its other order, and loops."""
    kinds, calls = [], []
    for _ in range(N_KINDS):
        n, k, m = (int(2 ** random.uniform(0, 7)) for _ in range(3))
        a, b = random.normal(size=(n, k)), random.normal(size=(k, m))
        calls.append(
            [
                lambda a=a, b=b: numpy.einsum("ik,kj->ij", a, b),
                lambda a=a, b=b: a @ b,
                lambda a=a, b=b: scipy.linalg.blas.dgemm(1.0, a, b),
                lambda a=a, b=b: (a[:, :, None] * b[None, :, :]).sum(axis=1),
            ]
        )
        kinds.append({"group": 0, "x": [math.log(n), math.log(k), math.log(m)]})
    return kinds, calls


def compress(random):
    """Bytes of several entropies; the arms are compressors."""
    kinds, calls = [], []
    for place in range(N_KINDS):
        n = int(2 ** random.uniform(6, 14))
        x = bytes(random.integers([2, 32, 256][place % 3], size=n, dtype=numpy.uint8) if place % 3 < 2 else random.bytes(n))
        calls.append(
            [
                lambda x=x: bz2.compress(x, 1),
                lambda x=x: zlib.compress(x, 1),
                lambda x=x: zlib.compress(x, 6),
                lambda x=x: lzma.compress(x, preset=0),
            ]
        )
        kinds.append({"group": place % 3, "x": [math.log(n)]})
    return shuffled(kinds, calls, random)


def shuffled(kinds, calls, random):
    order = random.permutation(len(kinds))
    return [kinds[i] for i in order], [calls[i] for i in order]


def once(function):
    """Processor seconds of a call, which other work on the machine does not change."""
    start = time.thread_time()
    function()
    return time.thread_time() - start


def measured(calls, random):
    """Seconds, shape (cells, arms, SAMPLES). All cells and arms are measured in random turns, so that they share the machine's states."""
    table = numpy.zeros((len(calls), len(calls[0]), SAMPLES))
    places = [(kind, arm) for kind in range(len(calls)) for arm in range(len(calls[0]))]
    for sample in range(SAMPLES):
        random.shuffle(places)
        for kind, arm in places:
            calls[kind][arm]()
            table[kind, arm, sample] = once(calls[kind][arm])
    return table


def sequence(kinds, table, mix, n_calls, random):
    """Calls of the first N_CALLED cells; times are drawn from the measured ones."""
    middle = numpy.median(table, axis=2)
    least = middle[:N_CALLED].min(axis=1)
    weights = {"uniform": least**0, "1/sqrt(t)": least**-0.5, "equal seconds": least**-1.0}[mix]
    called = random.choice(N_CALLED, size=n_calls, p=weights / weights.sum())
    drawn = random.integers(SAMPLES, size=(n_calls, table.shape[1]))
    times = numpy.take_along_axis(table[called], drawn[:, :, None], axis=2)[:, :, 0]
    # Prediction of a model stored after an earlier run, with the typical error of a model, 15 %.
    stored = middle * numpy.exp(0.15 * random.normal(size=middle.shape))
    return {
        "kinds": kinds,
        "calls": called.tolist(),
        "times": times.tolist(),
        "stored": stored.tolist(),
        "middle": middle.tolist(),
    }
