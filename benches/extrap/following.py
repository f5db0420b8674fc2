"""Predictions of every form that follows the points as well as Extra-P's: a limit that needs no answer.

`following`: the median prediction of the normal forms whose residuals are at most those of Extra-P's model. They have the constant and
one term for each parameter, as a sum, as a product, or of some parameters only. Where even that median is far off, the far point departs
from the measurements, and a model that is near it is so by luck. `scatter`: the distance of the points from Extra-P's own model, as a
share of the time; any other configuration may lie as far from it.
"""

import itertools
import math

import numpy

from kernels import TERMS

FEW_TERMS = [(0, 1), (0, 2), (1 / 4, 0), (1 / 3, 0), (1 / 2, 0), (1 / 2, 1), (2 / 3, 0), (3 / 4, 0), (1, 0), (1, 1), (1, 2), (5 / 4, 0), (3 / 2, 0), (2, 0), (2, 1), (5 / 2, 0), (3, 0)]
PARAMS = 4  # more are not combined: none of the sets has them
SLACK = 1.0001  # rounding
MAD = 1.4826  # standard deviations of a normal distribution for each median distance


def scatter(kernel, fitted, n_coefficients):
    """Standard deviation of the points about Extra-P's model, relative, by their median distance, which few outliers do not move."""
    mean = numpy.array([numpy.mean(values) for values in kernel["values"]])
    spare = max(len(mean) - n_coefficients, 1)
    distance = numpy.abs(fitted - mean) / numpy.where(mean > 0, mean, mean.max())
    return MAD * float(numpy.median(distance)) * math.sqrt(len(mean) / spare)


def columns_of(points, terms):
    """Values of each term of each parameter, shape [n_params][n_terms][n_points]."""
    x = numpy.array(points, dtype=float).T
    return [[column**e * (numpy.log2(column) ** l if l else 1.0) for e, l in terms] for column in x]


def designs(at, picked):
    """The sums and products tried for one term of each parameter, at some points: lists of columns in addition to the constant."""
    columns = [at[param][term] for param, term in picked]
    yield columns
    if len(columns) > 1:
        product = numpy.prod(columns, axis=0)
        yield [product]
        for column in columns:
            yield [column, product]


def forms_of(n_params, n_terms):
    """Choices of some parameters and a term of each, as [(parameter, term), ...]."""
    for n in range(1, min(n_params, PARAMS) + 1):
        for params in itertools.combinations(range(n_params), n):
            for terms in itertools.product(range(n_terms), repeat=n):
                yield list(zip(params, terms))


def following(kernel, fitted):
    """The value at the far point; None where no form follows the points as well."""
    n_params = len(kernel["params"])
    terms = TERMS if n_params < 2 else FEW_TERMS[:: 1 if n_params < 3 else 2 if n_params < 4 else 4]
    mean = numpy.array([numpy.mean(values) for values in kernel["values"]])
    weights = 1 / numpy.where(mean > 0, mean, mean.max())
    most = (((fitted - mean) * weights) ** 2).sum() * SLACK + 1e-18
    at, far = columns_of(kernel["points"], terms), columns_of([kernel["far"]], terms)
    there = []
    with numpy.errstate(all="ignore"):
        for picked in forms_of(n_params, len(terms)):
            for here, beyond in zip(designs(at, picked), designs(far, picked)):
                design = numpy.stack([numpy.ones(len(mean)), *here], axis=1) * weights[:, None]
                scale = numpy.abs(design).max(axis=0)
                if len(mean) <= design.shape[1] or not (numpy.isfinite(design).all() and (scale > 0).all()):
                    continue
                coefficients = numpy.linalg.lstsq(design / scale, mean * weights, rcond=None)[0]
                if ((design / scale @ coefficients - mean * weights) ** 2).sum() <= most:
                    there.append(float((numpy.concatenate([[1.0], *beyond]) / scale) @ coefficients))
    return float(numpy.median(there)) if there else None
