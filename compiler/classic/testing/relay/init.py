"""First values of a model's parameters: ``tvm.relay.testing.init``."""

from __future__ import annotations

import math

import numpy as np

from compiler.ir.error import ArgumentError, expected
from compiler.ir.module import IRModule
from compiler.relay.function import Function
from compiler.relay.transform.infer_type import InferType
from compiler.runtime.arrays.ndarray import NDArray, array

__all__ = ["Constant", "Initializer", "Xavier", "create_workload"]

Array = np.ndarray


class Initializer:
    """Fills the array of a parameter by what its name ends with.

    Biases, ``beta`` and means become 0, ``gamma`` and variances 1; what a weight becomes the derived classes say, whose
    options are kept as an attribute.
    """

    def __init__(self, **kwargs: object) -> None:
        self.options = kwargs

    def __call__(self, desc: str, arr: Array) -> None:
        """Fill the array of a parameter called ``desc``."""
        for suffix, value in (("bias", 0), ("gamma", 1), ("beta", 0), ("mean", 0), ("var", 1)):
            if desc.endswith(suffix):
                arr[:] = value
                return
        if not desc.endswith("weight"):
            raise ArgumentError(
                f"the parameter {desc!r} has no initial value: its name must end with weight, bias, gamma, beta,"
                f" mean or var"
            )
        self.fill_weight(desc, arr)

    def fill_weight(self, name: str, arr: Array) -> None:
        """Fill a weight.

        Raises NotImplementedError if a class does not say with what.
        """
        raise NotImplementedError(f"{type(self).__name__} does not fill weights")


class Xavier(Initializer):
    """Random weights that keep the variance of what flows through a layer.

    Parameters
    ----------
    rnd_type : str
        ``uniform`` or ``gaussian``.
    factor_type : str
        By which extent the variance is divided: ``in``, ``out`` or their average, ``avg``.

    References
    ----------
    X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian"):
            expected("Xavier", "rnd_type", "'uniform' or 'gaussian'", rnd_type)
        if factor_type not in ("in", "out", "avg"):
            expected("Xavier", "factor_type", "'in', 'out' or 'avg'", factor_type)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def fill_weight(self, name: str, arr: Array) -> None:
        """Fill a weight ``OI…``; those of depthwise convolutions, by their name, have their window alone as extent.

        Raises ArgumentError if the rank is less than 2.
        """
        if arr.ndim < 2:
            raise ArgumentError(f"Xavier: the weight {name!r} must have two dimensions at least, got shape {arr.shape}")
        window = math.prod(arr.shape[2:])
        fan_in, fan_out = arr.shape[1] * window, arr.shape[0] * window
        factor = {"in": fan_in, "out": fan_out, "avg": (fan_in + fan_out) / 2}[self.factor_type]
        if "depthwise" in name:
            factor = window
        scale = math.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            arr[:] = np.random.uniform(-scale, scale, size=arr.shape)
        else:
            arr[:] = np.random.normal(0, scale, size=arr.shape)


class Constant(Initializer):
    """One value for every weight."""

    def __init__(self, value: float = 0.0) -> None:
        super().__init__(value=value)
        self.value = value

    def fill_weight(self, name: str, arr: Array) -> None:
        arr[:] = self.value


def create_workload(
    net: Function, initializer: Initializer | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, NDArray]]:
    """Return a graph, whose parameter ``data`` is the input, as a module, and first values of the other parameters.

    They are those of ``Xavier()`` by default.
    """
    mod = InferType()(IRModule.from_expr(net))
    np.random.seed(seed)
    fill = initializer or Xavier()
    params = {}
    for param in mod["main"].params:
        if param.name_hint == "data":
            continue
        value = np.zeros(param.checked_type.concrete_shape, param.checked_type.dtype)
        fill(param.name_hint, value)
        params[param.name_hint] = array(value)
    return mod, params
