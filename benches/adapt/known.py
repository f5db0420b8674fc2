"""What could be known of sizes that are never called, by who was told the times of all classes at the sizes that are.

A policy only learns the times of the classes that it sends calls to. Here each of several predictors is told every class's
median at the called sizes, and names a class for each size kept apart. Which of them to trust is told by the called sizes alone:
each is left out in turn (leave-one-out). So a policy that comes as near to the oracle as the one thus trusted knows what there is to
know.
"""

import warnings

import numpy
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor


def features(kinds):
    """Sizes and which group, shape (kinds, sizes + groups), sizes with a deviation of 1."""
    sizes = numpy.array([kind["x"] for kind in kinds])
    sizes = (sizes - sizes.mean(axis=0)) / numpy.maximum(sizes.std(axis=0), 1e-9)
    groups = numpy.eye(1 + max(kind["group"] for kind in kinds))[[kind["group"] for kind in kinds]]
    # Kinds of other groups are further than any size, but not beyond reach.
    return numpy.hstack([sizes, 3.0 * groups])


class GaussianProcess:
    """One a class, with scales by maximum likelihood."""

    def fit(self, x, y):
        kernel = ConstantKernel(1.0) * RBF(1.0, (0.05, 20.0)) + WhiteKernel(0.05, (1e-4, 1.0))
        self.processes = [GaussianProcessRegressor(kernel, normalize_y=True).fit(x, column) for column in y.T]
        return self

    def predict(self, x):
        return numpy.stack([process.predict(x) for process in self.processes], axis=1)


class BestSingle:
    """The class of the least total."""

    def fit(self, x, y):
        self.ratios = numpy.log(numpy.exp(y).sum(axis=0))
        return self

    def predict(self, x):
        return numpy.tile(self.ratios, (len(x), 1))


def predictors():
    found = {"best single class": BestSingle, "Gaussian process": GaussianProcess}
    for n in (1, 3, 5, 9):
        found[f"{n} nearest"] = lambda n=n: KNeighborsRegressor(n)
    for depth in (1, 2, 3, 5):
        found[f"tree of depth {depth}"] = lambda depth=depth: DecisionTreeRegressor(max_depth=depth, min_samples_leaf=2, random_state=0)
    return found


def share(middle, chosen):
    """The oracle's seconds over those of the chosen classes, one call a kind."""
    return middle.min(axis=1).sum() / middle[numpy.arange(len(middle)), chosen].sum()


def known(kinds, middle, n_called):
    """
    # Arguments
    * `middle` - median seconds, shape (kinds, classes)
    * `n_called` - so many of the first kinds are called, the others kept apart

    # Returns
    Name of the predictor that leave-one-out trusts and its share of the oracle at the kinds kept apart; then those of the one that
    would have been best there, which nobody can know beforehand.
    """
    x, middle = features(kinds), numpy.array(middle)
    # By the ratio to the others: what all classes share does not choose.
    y = numpy.log(middle)
    y = y - y.mean(axis=1, keepdims=True)
    called = numpy.arange(n_called)
    trusted, apart = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in predictors().items():
            # A single class is told by times, the others by ratios.
            told = numpy.log(middle) if make is BestSingle else y
            left_out = []
            for kind in called:
                others = called[called != kind]
                left_out.append(make().fit(x[others], told[others]).predict(x[[kind]])[0].argmin())
            trusted[name] = share(middle[:n_called], left_out)
            fitted = make().fit(x[called], told[called])
            apart[name] = share(middle[n_called:], fitted.predict(x[n_called:]).argmin(axis=1))
    trust, best = max(trusted, key=trusted.get), max(apart, key=apart.get)
    return (trust, apart[trust]), (best, apart[best])
