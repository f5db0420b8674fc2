"""Kernels to fit: functions drawn from Extra-P's own terms, measured with multiplicative noise."""

import math
import random

from extrap.modelers.single_parameter.basic import SingleParameterModeler

REPETITIONS = 5
FAR = 4  # times the largest parameter
SIZES = {1: [4, 8, 16, 32, 64, 128, 256], 2: [4, 12, 32, 92, 256], 3: [4, 12, 32, 92, 256]}


def default_terms():
    """Extra-P's default terms as (exponent, power of the logarithm)."""
    terms = []
    for compound in SingleParameterModeler.create_default_building_blocks(True):
        exponent, logarithm = 0.0, 0
        for simple in compound.simple_terms:
            if simple.term_type == "polynomial":
                exponent = float(simple.exponent)
            else:
                logarithm = int(simple.exponent)
        terms.append((exponent, logarithm))
    return terms


TERMS = default_terms()


def value_of(term, x):
    exponent, logarithm = term
    return x**exponent * math.log2(x) ** logarithm


def grid(sizes, n_params):
    points = [[]]
    for _ in range(n_params):
        points = [point + [x] for point in points for x in sizes]
    return points


# How large the constant and each term at the largest point are: evenly between 1 and 10, so that they are alike, or the
# term 0.1 to 100 times the constant, evenly in the logarithm. With the first Extra-P does as is reported of it elsewhere
# (exact terms 100/62/32/19 % at 0/2/5/10 % noise, error at 4x the range 0/1.1/9.4/17.6 %; two terms 24/26/27/30 %).
COEFFICIENTS = {
    "alike": lambda rng: (rng.uniform(1, 10), lambda: rng.uniform(1, 10)),
    "wide": lambda rng: (1, lambda: 10 ** rng.uniform(-1, 2)),
}


def draw(rng, n_params, n_terms, noise, coefficients):
    """One kernel: `c + Σ cₖ Π t(x)`."""
    constant, share = COEFFICIENTS[coefficients](rng)
    products = []
    while len(products) < n_terms:
        product = [rng.choice(TERMS) for _ in range(n_params)]
        if product not in [p for p, _ in products]:
            largest = math.prod(value_of(t, max(SIZES[n_params])) for t in product)
            products.append((product, share() / largest))

    def exact(point):
        return constant + sum(c * math.prod(value_of(t, x) for t, x in zip(p, point)) for p, c in products)

    def measure(point):
        return max(exact(point) * (1 + noise * rng.gauss(0, 1)), 1e-9)

    points = grid(SIZES[n_params], n_params)
    far = [FAR * max(SIZES[n_params])] * n_params
    low, high = math.log(min(SIZES[n_params])), math.log(max(SIZES[n_params]))
    near = [[math.exp(rng.uniform(low, high)) for _ in range(n_params)] for _ in range(10)]
    terms = sorted(
        sorted((i, round(e, 6), l) for i, (e, l) in enumerate(product)) for product, _ in products
    )
    return {
        "params": ["x", "y", "z"][:n_params],
        "points": points,
        "values": [[measure(point) for _ in range(REPETITIONS)] for point in points],
        "far": far,
        "far_exact": exact(far),
        "far_values": [measure(far) for _ in range(10)],
        "near": near,
        "near_values": [measure(point) for point in near],
        "terms": terms,
    }


def kernels(seed, n, n_params, n_terms, noise, coefficients):
    rng = random.Random(f"{seed}/{n_params}/{n_terms}/{noise}/{coefficients}")
    return [draw(rng, n_params, n_terms, noise, coefficients) for _ in range(n)]
