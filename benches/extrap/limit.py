"""What can be reached on kernels of one term in one parameter: a selector that knows that much, and the noise.

For each of the terms, constant and coefficient by maximum likelihood with the spread of a measurement proportional to the
function; the likeliest term is the guess. The prediction is the median over all terms by likelihood.
"""

import math

import numpy

from kernels import TERMS, value_of

PASSES = 8
UNLIKELY = 4.0  # a negative constant or coefficient, in the logarithm of the likelihood


def fit(kernel):
    """The term with the largest likelihood, as (exponent, power of the logarithm), and the value at the far point."""
    x = numpy.array([point[0] for point in kernel["points"]])
    values = numpy.array(kernel["values"])
    mean, repetitions = values.mean(axis=1), values.shape[1]
    scatter = ((values - mean[:, None]) ** 2).sum(axis=1)
    t = numpy.array([[value_of(term, x_i) for x_i in x] for term in TERMS])
    f = numpy.tile(mean, (len(TERMS), 1))
    with numpy.errstate(all="ignore"):
        for _ in range(PASSES):
            w = 1 / f**2
            sw, sx, sy = w.sum(1), (w * t).sum(1), (w * mean).sum(1)
            mx, my = sx / sw, sy / sw
            off = t - mx[:, None]
            slope = (w * off * (mean - my[:, None])).sum(1) / (w * off**2).sum(1)
            constant = my - slope * mx
            f = constant[:, None] + slope[:, None] * t
        n = values.size
        squares = (repetitions * (mean / f - 1) ** 2 + scatter / f**2).sum(1)
        likelihood = -n / 2 * numpy.log(squares / n + 1e-20) - repetitions * numpy.log(f).sum(1)
    likelihood -= UNLIKELY * ((constant < 0) + 1.0 * (slope < 0))
    likelihood[~numpy.isfinite(likelihood)] = -math.inf
    far = numpy.array([value_of(term, kernel["far"][0]) for term in TERMS])
    order = numpy.argsort(constant + slope * far)
    weight = numpy.cumsum(numpy.exp(likelihood - likelihood.max())[order])
    middle = order[numpy.searchsorted(weight, weight[-1] / 2)]
    return TERMS[int(likelihood.argmax())], float((constant + slope * far)[middle])
