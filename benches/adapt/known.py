"""What could be known of sizes that are never called, given the times of all classes at the called sizes.

A policy only learns the times of the classes that it sends calls to. Here each of several predictors gets every class's median at the
called sizes, and names a class for each held-out size. Which predictor to trust is decided by the called sizes alone, each left out
in turn (leave-one-out). So a policy that comes as near to the oracle as the trusted predictor knows all that can be known.
"""

import warnings

import numpy
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor


def features(kinds):
    """Sizes and the group as an indicator, shape (cells, sizes + groups), sizes with a standard deviation of 1."""
    sizes = numpy.array([kind["x"] for kind in kinds])
    sizes = (sizes - sizes.mean(axis=0)) / numpy.maximum(sizes.std(axis=0), 1e-9)
    groups = numpy.eye(1 + max(kind["group"] for kind in kinds))[[kind["group"] for kind in kinds]]
    # Sizes of another group are further away than any size of the same group, but not out of reach.
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
    """The oracle's seconds over those of the chosen classes, one call for each cell."""
    return middle.min(axis=1).sum() / middle[numpy.arange(len(middle)), chosen].sum()


def known(kinds, middle, n_called):
    """# Arguments
    * `middle` - median seconds, shape (cells, classes)
    * `n_called` - number of called cells, which come first; the others are held out

    # Returns
    Name of the predictor that leave-one-out trusts and its share of the oracle at the held-out cells; then name and share of the
    predictor that is best there, which nobody can know beforehand.
    """
    x, middle = features(kinds), numpy.array(middle)
    # By the ratio to the other classes: a factor that all classes share does not influence the choice.
    y = numpy.log(middle)
    y = y - y.mean(axis=1, keepdims=True)
    called = numpy.arange(n_called)
    trusted, apart = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in predictors().items():
            # BestSingle is fitted to times, the other predictors to ratios.
            targets = numpy.log(middle) if make is BestSingle else y
            left_out = []
            for kind in called:
                others = called[called != kind]
                left_out.append(make().fit(x[others], targets[others]).predict(x[[kind]])[0].argmin())
            trusted[name] = share(middle[:n_called], left_out)
            fitted = make().fit(x[called], targets[called])
            apart[name] = share(middle[n_called:], fitted.predict(x[n_called:]).argmin(axis=1))
    trust, best = max(trusted, key=trusted.get), max(apart, key=apart.get)
    return (trust, apart[trust]), (best, apart[best])
