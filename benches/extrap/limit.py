"""What can be reached on kernels in one parameter: a selector that knows how many terms there are, and the noise.

For each choice of terms, constant and coefficients by maximum likelihood with the spread of a measurement proportional to the
function; the likeliest terms are the guess. The prediction is the median over all choices by likelihood.
"""

import itertools
import math

import numpy

from kernels import TERMS, value_of

PASSES = 8
UNLIKELY = 4.0  # a negative constant or coefficient, in the logarithm of the likelihood


def fit(kernel, n_terms):
    """The likeliest terms, as [(exponent, power of the logarithm), …], and the value at the far point."""
    choices = list(itertools.combinations(range(len(TERMS)), n_terms))
    x = numpy.array([point[0] for point in kernel["points"]])
    values = numpy.array(kernel["values"])
    mean, repetitions = values.mean(axis=1), values.shape[1]
    scatter = ((values - mean[:, None]) ** 2).sum(axis=1)
    terms = numpy.array([[value_of(term, x_i) for x_i in x] for term in TERMS])
    largest = terms.max(axis=1)
    design = numpy.ones((len(choices), len(x), 1 + n_terms))
    for column in range(n_terms):
        chosen = [choice[column] for choice in choices]
        design[:, :, 1 + column] = terms[chosen] / largest[chosen][:, None]
    f = numpy.tile(mean, (len(choices), 1))
    with numpy.errstate(all="ignore"):
        for _ in range(PASSES):
            scale = numpy.where(f > 1e-3 * mean, f, mean)
            q, r = numpy.linalg.qr(design / scale[:, :, None])
            along = (q * (mean / scale)[:, :, None]).sum(axis=1)
            coefficients = numpy.linalg.solve(r, along[:, :, None])[:, :, 0]
            f = (design * coefficients[:, None, :]).sum(axis=2)
        n = values.size
        squares = (repetitions * (mean / f - 1) ** 2 + scatter / f**2).sum(axis=1)
        likelihood = -n / 2 * numpy.log(squares / n + 1e-20) - repetitions * numpy.log(f).sum(axis=1)
    likelihood -= UNLIKELY * (coefficients < 0).sum(axis=1)
    likelihood[~numpy.isfinite(likelihood)] = -math.inf
    far = numpy.array([value_of(term, kernel["far"][0]) for term in TERMS]) / largest
    products = numpy.ones((len(choices), 1 + n_terms))
    for column in range(n_terms):
        products[:, 1 + column] = far[[choice[column] for choice in choices]]
    there = (coefficients * products).sum(axis=1)
    order = numpy.argsort(there)
    weight = numpy.cumsum(numpy.exp(likelihood - likelihood.max())[order])
    middle = order[numpy.searchsorted(weight, weight[-1] / 2)]
    return [TERMS[term] for term in choices[int(likelihood.argmax())]], float(there[middle])
