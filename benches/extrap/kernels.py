"""Kernels to fit: functions of known form, measured with noise on a grid of sizes.

A `Plan` defines a set: how the coefficients are drawn, the sizes, the repetitions and the noise. `tuning.py` has plans of its own, and
no constant was chosen on those that `run.py` reports on.
"""

import dataclasses
import itertools
import math
import random

import numpy

from extrap.modelers.single_parameter.basic import SingleParameterModeler

FAR_FACTOR = 4  # times the largest parameter
N_NEAR = 10


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


# The constant, and a function that draws what each term is at the largest point.
COEFFICIENTS = {
    # Evenly between 1 and 10, so that they are alike.
    "uniform": lambda rng: (rng.uniform(1, 10), lambda: rng.uniform(1, 10)),
    # The term 0.1 to 100 times the constant, evenly in the logarithm.
    "log-uniform": lambda rng: (1, lambda: 10 ** rng.uniform(-1, 2)),
    # The term a tenth of the constant up to as large.
    "constant": lambda rng: (10, lambda: rng.uniform(1, 10)),
    # For choosing constants only: half of the constants are small, the terms normal in the logarithm.
    "tuning": lambda rng: (rng.choice([0.05, 2.0]), lambda: math.exp(rng.gauss(1, 1))),
    # The same where the constant is most of the time, as often as not.
    "tuning constant": lambda rng: (8.0, lambda: math.exp(rng.gauss(1, 1))),
}

SIZES = {
    4: [4, 16, 64, 256],
    5: [4, 12, 32, 92, 256],
    8: [2, 4, 8, 16, 32, 64, 128, 256],
    9: [2, 4, 8, 16, 32, 64, 128, 256, 512],
    25: [10 * k for k in range(1, 26)],
    # For choosing constants only.
    "5 others": [8, 20, 64, 150, 400],
    6: [10, 20, 50, 100, 200, 500],
    7: [100, 150, 250, 400, 600, 900, 1400],
}


def _spiked(rng):
    return rng.gauss(0, 1) if rng.random() > 0.05 else 20.0


# Noise applied to a time of 1 at the noise level `s`, by a deviate of mean about 0 and standard deviation about 1.
NOISE = {
    "normal": lambda rng, s: 1 + s * rng.gauss(0, 1),
    "uniform": lambda rng, s: 1 + s * math.sqrt(3) * rng.uniform(-1, 1),
    "log-normal": lambda rng, s: math.exp(s * rng.gauss(0, 1)),
    "spikes": lambda rng, s: 1 + s * _spiked(rng),
    # For choosing constants only: one call in twelve is interrupted, for its own time on average.
    "bursts": lambda rng, s: (1 + s * rng.gauss(0, 1)) * (1 if rng.random() > 1 / 12 else 1 + rng.expovariate(1)),
}


@dataclasses.dataclass(frozen=True)
class Plan:
    """How the kernels of a set are made."""

    functions: str = "terms"  # or "suite", "strong", "strong with log", "divided", "divided tuning"
    n_params: int = 1
    n_terms: int = 1
    coefficients: str = "uniform"
    n_sizes: int | str = 5  # a key of `SIZES`
    repetitions: int = 5
    noise: str = "normal"
    cross: bool = False  # each parameter varied alone

    def name(self):
        parts = [self.functions, f"{self.n_params}p", f"{self.n_terms}t", self.coefficients]
        parts += [f"{self.n_sizes}x{self.repetitions}", self.noise] + (["cross"] if self.cross else [])
        return "-".join(parts).replace(" ", "-")


def grid(sizes, n_params, cross):
    if not cross or n_params == 1:
        return [list(point) for point in itertools.product(sizes, repeat=n_params)]
    points = [[sizes[0]] * n_params]
    for param in range(n_params):
        points += [[x if p == param else sizes[0] for p in range(n_params)] for x in sizes[1:]]
    return points


def terms_function(rng, plan, sizes):
    """`c + Σ cₖ Π t(x)`, products of all parameters as often as sums of one parameter each."""
    constant, share = COEFFICIENTS[plan.coefficients](rng)
    largest_x, products = max(sizes), []
    is_sum = plan.n_params > 1 and rng.random() < 0.5
    while len(products) < (plan.n_params if is_sum else plan.n_terms):
        involved = [len(products)] if is_sum else range(plan.n_params)
        product = [(param, rng.choice(TERMS)) for param in involved]
        if product not in [p for p, _ in products]:
            largest = math.prod(value_of(t, largest_x) for _, t in product)
            products.append((product, share() / largest))

    def exact(point):
        return constant + sum(c * math.prod(value_of(t, point[i]) for i, t in p) for p, c in products)

    return exact, sorted(sorted((i, round(e, 6), l) for i, (e, l) in p) for p, _ in products)


# The forms of the functions that are no sums of terms: the columns of each, `x` being the parameter and `v` what is no coefficient, and
# the values of `v` to look among, from the least and the largest size.
FORMS = {
    "exponential": (lambda x, v: [numpy.exp(v * x)], lambda low, high: numpy.linspace(0.1, 1.5, 141) / high),
    "logarithm": (lambda x, v: [x**0, numpy.log(x)], None),
    "power law": (lambda x, v: [x**v], lambda low, high: numpy.linspace(0.1, 3.0, 291)),
    "polynomial 2": (lambda x, v: [x**0, x, x**2], None),
    "polynomial 3": (lambda x, v: [x**0, x, x**2, x**3], None),
    "steps": (lambda x, v: [x**0, numpy.ceil(x / v)], lambda low, high: (high - low) / numpy.linspace(2.5, 6, 176)),
    "regimes": (lambda x, v: [x**0, x, numpy.maximum(x - v, 0)], lambda low, high: numpy.geomspace(low, high, 42)[1:-1]),
    "a + b/p": (lambda x, v: [x**0, 1 / x], None),
    "a + b/p + c log p": (lambda x, v: [x**0, 1 / x, numpy.log2(x)], None),
    "b/p + c sqrt p": (lambda x, v: [1 / x, x**0.5], None),
    "b/p + c/sqrt p": (lambda x, v: [1 / x, x**-0.5], None),
    "(b + c sqrt log p)/p": (lambda x, v: [1 / x, numpy.log2(x) ** 0.5 / x], None),
    "b/p + c p": (lambda x, v: [1 / x, x], None),
    "b/p + c p^(-2/3)": (lambda x, v: [1 / x, x ** (-2 / 3)], None),
    "(b + c log p)/p": (lambda x, v: [1 / x, numpy.log2(x) / x], None),
}


def suite_function(rng, plan, sizes):
    """A function of one of the families other than the normal form, each equally likely, and its form."""
    low, high = min(sizes), max(sizes)
    kind = rng.choice(["exponential", "logarithm", "power law", "polynomial", "steps", "regimes", "a + b/p"])
    a, b = rng.uniform(0.5, 5), rng.uniform(1, 10)
    if kind == "exponential":
        rate = rng.uniform(0.3, 1.0) / high
        return lambda x: a * math.exp(rate * x[0]), kind
    if kind == "logarithm":
        return lambda x: a + b * math.log(x[0]) / math.log(high), kind
    if kind == "power law":
        power = rng.uniform(0.2, 2.8)
        return lambda x: a * (x[0] / low) ** power, kind
    if kind == "polynomial":
        degree = rng.choice([2, 3])
        parts = [rng.uniform(0.5, 5) for _ in range(degree)]
        return lambda x: a + sum(c * (x[0] / high) ** (k + 1) for k, c in enumerate(parts)), f"{kind} {degree}"
    if kind == "steps":
        width = (high - low) / rng.uniform(2.5, 6)
        return lambda x: a + b / 3 * math.ceil(x[0] / width), kind
    if kind == "regimes":
        cut, steep = math.sqrt(low * high), rng.uniform(2, 6)
        return lambda x: a + b * x[0] / high + (steep * b * (x[0] - cut) / high if x[0] > cut else 0), kind
    return lambda x: a / 10 + b * low / x[0], kind


def strong_function(rng, plan, sizes):
    """Work that is divided: `a + b/p`, and with `c·log p`, or `c·p`, for communication."""
    low, high = min(sizes), max(sizes)
    b = rng.uniform(2, 20)
    a = b * low / high * 10 ** rng.uniform(-1, 1)
    if plan.functions == "strong with log":
        c = b * low / high * 10 ** rng.uniform(-1, 0.5)
        return lambda x: a + b * low / x[0] + c * math.log2(x[0]), "a + b/p + c log p"
    return lambda x: a + b * low / x[0], "a + b/p"


# Work that is divided, with a second column for what is not, whose share at the largest size is between 0.3 and 50 %. The first row is
# reported on; on the second the prior of an overhead was chosen.
DIVIDED = {
    "divided": ["a + b/p + c log p", "b/p + c sqrt p", "b/p + c/sqrt p", "(b + c sqrt log p)/p", "a + b/p"],
    "divided tuning": ["a + b/p + c log p", "b/p + c p", "b/p + c p^(-2/3)", "(b + c log p)/p", "a + b/p"],
}


def divided_function(rng, plan, sizes):
    """Strong scaling, of any overhead that programs have."""
    high, form = max(sizes), rng.choice(DIVIDED[plan.functions])
    share, part = 10 ** rng.uniform(math.log10(0.003), math.log10(0.5)), rng.random()

    def columns(x):
        return dict(zip(["work", "overhead"], FORMS[form][0](float(x), None)))

    if form.startswith("a"):
        parts = part if "log" in form else 1.0
        return lambda x: 1 / x[0] + share / high * (parts + (1 - parts) * math.log2(x[0]) / math.log2(high)), form
    end = columns(high)
    scale = share * end["work"] / end["overhead"]
    return lambda x: columns(x[0])["work"] + scale * columns(x[0])["overhead"], form


def draw(rng, plan, noise):
    sizes = SIZES[plan.n_sizes]
    terms = form = None
    if plan.functions == "terms":
        exact, terms = terms_function(rng, plan, sizes)
    elif plan.functions == "suite":
        exact, form = suite_function(rng, plan, sizes)
    elif plan.functions in DIVIDED:
        exact, form = divided_function(rng, plan, sizes)
    else:
        exact, form = strong_function(rng, plan, sizes)

    def measure(point):
        return max(exact(point) * NOISE[plan.noise](rng, noise), 1e-9)

    points = grid(sizes, plan.n_params, plan.cross)
    far = [FAR_FACTOR * max(sizes)] * plan.n_params
    low, high = math.log(min(sizes)), math.log(max(sizes))
    near = [[math.exp(rng.uniform(low, high)) for _ in range(plan.n_params)] for _ in range(N_NEAR)]
    return {
        "params": ["x", "y", "z"][: plan.n_params],
        "points": points,
        "values": [[measure(point) for _ in range(plan.repetitions)] for point in points],
        "far": far,
        "far_exact": exact(far),
        "far_values": [measure(far) for _ in range(N_NEAR)],
        "near": near,
        "near_values": [measure(point) for point in near],
        "near_exact": [exact(point) for point in near],
        "terms": terms,
        "form": form,
    }


def kernels(seed, n, plan, noise):
    rng = random.Random(f"{seed}/{plan.name()}/{noise}")
    return [draw(rng, plan, noise) for _ in range(n)]
