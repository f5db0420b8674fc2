"""The best that is possible on kernels, for selectors that know more than a user's data show.

`fit`, of one parameter: a selector that knows how many terms there are, and the noise. For each choice of terms it finds the constant
and the coefficients by maximum likelihood, with the spread of a measurement proportional to the function. Its guess is the likeliest
terms, and its prediction is the median over all choices by likelihood.
`unknown_terms`: the same selector without the number of terms, one or two.
`unknown_family`: a selector that does not know the family, for functions of other families.
`half_width`: of the interval of a selector that does not know the family, but knows that a normal form has one term.
`known`: a selector that knows the form, and fits its coefficients and its other parameters.
`cover`: the intervals of a selector that knows the function and the standard deviation of the noise, and treats the noise as normal.

usage: limit.py [--kernels N] [--seed S,S]

As a program it reports what a selector reaches that does not know whether a function has one term or two. Both numbers are equally
likely, each shared by its choices, and a second term costs a penalty in the logarithm of the likelihood. A penalty that gains on
functions of two terms loses on functions of one; run.py's table can be no better than the best of these lines in both columns.
"""

import argparse
import itertools
import math
import warnings

import numpy

from kernels import FORMS, TERMS, Plan, kernels, value_of

PASSES = 8
UNLIKELY = 4.0  # a negative constant or coefficient, in the logarithm of the likelihood
LEVEL = 0.95
MIN_SEARCHED = 6  # sizes that suffice to search for a step or a bend
PENALTIES = [0, 1, 2, 3, 4, 5, 6, 8]


def fits(kernel, n_terms):
    """All choices of terms, the logarithm of the likelihood of each, and its value at the far point."""
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
    return choices, likelihood, there


def middle(likelihood, there):
    """The median of the values by likelihood."""
    order = numpy.argsort(there)
    weight = numpy.cumsum(numpy.exp(likelihood - likelihood.max())[order])
    return float(there[order[numpy.searchsorted(weight, weight[-1] / 2)]])


def fit(kernel, n_terms):
    """The likeliest terms, as [(exponent, power of the logarithm), …], and the value at the far point."""
    choices, likelihood, there = fits(kernel, n_terms)
    return [TERMS[term] for term in choices[int(likelihood.argmax())]], middle(likelihood, there)


def unknown_terms(kernel):
    """The value at the far point by a selector that does not know the number of terms. One and two are equally likely, each shared by its
    choices, and the additional coefficient costs Schwarz's penalty.
    """
    (_, one, there_one), (_, two, there_two) = (fits(kernel, n_terms) for n_terms in (1, 2))
    n = numpy.array(kernel["values"]).size
    two = two - math.log(len(two)) - 0.5 * math.log(n)
    return middle(numpy.concatenate([one - math.log(len(one)), two]), numpy.concatenate([there_one, there_two]))


def likely(kernel, fitted, n_free):
    """The logarithm of the likelihood of fitted means, with Schwarz's penalty for `n_free` numbers."""
    values = numpy.array(kernel["values"])
    if (fitted <= 0).any():
        return -math.inf
    squares = ((values / fitted[:, None] - 1) ** 2).sum()
    n, repetitions = values.size, values.shape[1]
    return -n / 2 * math.log(squares / n + 1e-20) - repetitions * numpy.log(fitted).sum() - n_free / 2 * math.log(n)


def unknown_family(kernel):
    """The value at the far point by a selector among the forms of the other families, increasing and decreasing terms, each equally likely
    before any measurement.
    """
    likelihoods, there = [], []
    forms = [(kernel | {"form": name}, FORMS[name][1] is not None) for name in FORMS]
    terms = [[[(0, e, l)]] for e, l in TERMS] + [[[(0, -e, l)]] for e, l in TERMS if e > 0 and l == 0]
    for form, is_searched in forms + [(kernel | {"form": None, "terms": term}, False) for term in terms]:
        value, fitted, n_coefficients, _ = known_fit(form)
        likelihoods.append(likely(kernel, fitted, n_coefficients + is_searched))
        there.append(value)
    return middle(numpy.array(likelihoods), numpy.array(there))


def known(kernel):
    """The value at the far point by a selector that knows the form."""
    return known_fit(kernel)[0]


def known_fit(kernel):
    """The value at the far point, the fitted means, the number of coefficients and the variance of the value in relative variances of one
    measurement: least squares of relative residuals, negative coefficients left as they are.
    """
    points, far = (numpy.array(at, dtype=float) for at in (kernel["points"], [kernel["far"]]))
    mean = numpy.array(kernel["values"]).mean(axis=1)

    def columns(at, v):
        if kernel["form"] is not None:
            return numpy.stack(FORMS[kernel["form"]][0](at[:, 0], v), axis=1)
        products = [numpy.prod([at[:, i] ** e * numpy.log2(at[:, i]) ** l for i, e, l in p], axis=0) for p in kernel["terms"]]
        return numpy.stack([numpy.ones(len(at)), *products], axis=1)

    values = [None]
    if kernel["form"] is not None and FORMS[kernel["form"]][1] is not None:
        values = FORMS[kernel["form"]][1](points[:, 0].min(), points[:, 0].max())
    scale = mean
    for _ in range(PASSES):
        best = (math.inf, None, None, None)
        for v in values:
            design = columns(points, v)
            coefficients = numpy.linalg.lstsq(design / scale[:, None], mean / scale, rcond=None)[0]
            fitted = design @ coefficients
            squares = float((((mean - fitted) / scale) ** 2).sum())
            if squares < best[0]:
                best = (squares, v, coefficients, fitted)
        values, scale = [best[1]], numpy.where(best[3] > 1e-3 * mean, best[3], mean)
    there = columns(far, best[1])
    weighted = columns(points, best[1]) / scale[:, None] * math.sqrt(numpy.array(kernel["values"]).shape[1])
    gain = numpy.linalg.pinv(weighted.T @ weighted)
    return float((there @ best[2])[0]), best[3], len(best[2]), float((there @ gain @ there.T)[0, 0])


def half_width(kernel):
    """Half the width of the interval of a measurement at the far point as a share of the value there, by a selector that does not know the
    family: normal forms of one term and the forms of the other families, each equally likely before any measurement.
    """
    n_sizes = len(kernel["points"])
    rising = [name for name in FORMS if not name.startswith("a + b/p") and (n_sizes >= MIN_SEARCHED or name not in ("steps", "regimes"))]
    forms = [kernel | {"form": None, "terms": [[(0, e, l)]]} for e, l in TERMS] + [kernel | {"form": name} for name in rising]
    parts = []
    for form in forms:
        value, fitted, n_coefficients, gain = known_fit(form)
        is_searched = form["form"] is not None and FORMS[form["form"]][1] is not None
        likelihood = likely(kernel, fitted, n_coefficients + is_searched)
        if value > 0 and math.isfinite(likelihood):
            values = numpy.array(kernel["values"])
            variance = ((values / fitted[:, None] - 1) ** 2).sum() / max(values.size - n_coefficients, 1)
            parts.append((likelihood, value, math.sqrt(variance * (value**2 + gain))))
    if not parts:
        return math.inf
    likelihood, values, deviations = numpy.array(parts).T
    weights = numpy.exp(likelihood - likelihood.max())
    weights /= weights.sum()

    def quantile(probability):
        low, high = (values - 9 * deviations).min(), (values + 9 * deviations).max()
        for _ in range(50):
            at = (low + high) / 2
            scores = (at - values) / numpy.maximum(deviations, 1e-300) / math.sqrt(2)
            below = sum(w * 0.5 * (1 + math.erf(score)) for w, score in zip(weights, scores))
            low, high = (at, high) if below < probability else (low, at)
        return (low + high) / 2

    return (quantile(0.5 + LEVEL / 2) - max(quantile(0.5 - LEVEL / 2), 0)) / 2 / middle(likelihood, values)


def cover(case, noise):
    """Share of the values inside the range, in per cent, within 1.96 standard deviations of the function."""
    pairs = [pair for kernel in case for pair in zip(kernel["near_values"], kernel["near_exact"])]
    return 100 * numpy.mean([abs(value / exact - 1) <= 1.96 * noise for value, exact in pairs])


def errors_with_unknown_terms(kernel):
    """The error at the far point, in per cent, for each penalty of a second term."""
    (_, one, there_one), (_, two, there_two) = (fits(kernel, n_terms) for n_terms in (1, 2))
    there = numpy.concatenate([there_one, there_two])
    one, two = (likelihood - math.log(len(likelihood)) for likelihood in (one, two))
    guesses = [middle(numpy.concatenate([one, two - penalty]), there) for penalty in PENALTIES]
    return [100 * abs(guess / kernel["far_exact"] - 1) for guess in guesses]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--seed", default="1", help="or several, apart by commas")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    seeds = options.seed.split(",")
    print(f"not told the number of terms: median error % over {options.kernels * len(seeds)} kernels, by the penalty of a second term")
    print("noise  functions of " + "".join(f"{penalty:8}" for penalty in PENALTIES))
    for noise in (0.02, 0.05, 0.10):
        for n_terms, what in ((1, "one term"), (2, "two terms")):
            drawn = [kernels(seed, options.kernels, Plan(n_terms=n_terms), noise) for seed in seeds]
            found = numpy.median([errors_with_unknown_terms(kernel) for some in drawn for kernel in some], axis=0)
            print(f"{noise:5.0%}  {what:13}" + "".join(f"{error:8.2f}" for error in found), flush=True)


if __name__ == "__main__":
    main()
