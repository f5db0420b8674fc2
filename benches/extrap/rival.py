"""Extra-P as the benchmark sees it: one kernel in, one model out."""

import time

from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measurement
from extrap.modelers.multi_parameter.multi_parameter_modeler import MultiParameterModeler
from extrap.modelers.single_parameter.basic import SingleParameterModeler


def terms_of(function):
    """The products of a function as a sorted list of sorted factors (parameter, exponent, log exponent)."""
    products = []
    for term in function.compound_terms:
        pairs = getattr(term, "parameter_term_pairs", None) or [(0, term)]
        factors = []
        for parameter, compound in pairs:
            exponent, logarithm = 0.0, 0
            for simple in compound.simple_terms:
                if simple.term_type == "polynomial":
                    exponent = float(simple.exponent)
                else:
                    logarithm = int(simple.exponent)
            factors.append((parameter, round(exponent, 6), logarithm))
        products.append(sorted(factors))
    return sorted(products)


def modeler_of(n_params, negative):
    """Extra-P's default, or with its negative exponents, which it has for strong scaling."""
    if n_params > 1:
        modeler = MultiParameterModeler()
        if negative:
            modeler.single_parameter_modeler.allow_negative_exponents = True
        return modeler
    modeler = SingleParameterModeler()
    if negative:
        modeler.allow_negative_exponents = True
    return modeler


def fit(kernel, negative=False):
    """Fits a kernel.

    Returns the terms, the value at the kernel's far point, and the seconds of processor time that the
    modeler took, reading and statistics of the measurements left out.
    """
    measurements = [
        Measurement(Coordinate(*point), None, None, values)
        for point, values in zip(kernel["points"], kernel["values"])
    ]
    modeler = modeler_of(len(kernel["params"]), negative)
    start = time.process_time()
    model = modeler.create_model(measurements)
    seconds = time.process_time() - start
    function = model.hypothesis.function
    far = kernel["far"]
    value = function.evaluate(far if len(far) > 1 else far[0])
    return terms_of(function), float(value), seconds
