"""Activation functions that several formats define alike."""

from __future__ import annotations

import math

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.folding import ops

SELU = (1.6732632423543772, 1.0507009873554805)
"""The slope and the scale of an exponential linear unit that keeps mean 0 and variance 1 (Klambauer et al., 2017)."""


def elu(x: RelayExpr, alpha: float = 1.0, scale: float = 1.0) -> RelayExpr:
    """Return ``scale * x`` above zero and ``scale * alpha * (e^x - 1)`` below it; the exponential never overflows."""
    below = ops.subtract(ops.exp(ops.minimum(x, 0.0)), 1.0)
    y = ops.where(ops.greater(x, 0.0), x, below if alpha == 1 else ops.multiply(below, alpha))
    return y if scale == 1 else ops.multiply(y, scale)


def gelu(x: RelayExpr, by_tanh: bool = False) -> RelayExpr:
    """Return ``x`` times the normal distribution function, or an approximation by tanh (Hendrycks and Gimpel, 2016)."""
    if by_tanh:
        cube = ops.multiply(ops.multiply(ops.multiply(x, x), x), 0.044715)
        bend = ops.tanh(ops.multiply(ops.add(x, cube), math.sqrt(2 / math.pi)))
    else:
        bend = ops.erf(ops.multiply(x, math.sqrt(0.5)))
    return ops.multiply(ops.multiply(x, 0.5), ops.add(bend, 1.0))


def hard_sigmoid(x: RelayExpr) -> RelayExpr:
    """Return ``min(max(x / 6 + 1 / 2, 0), 1)``."""
    return ops.divide(ops.clip(ops.add(x, 3.0), 0.0, 6.0), 6.0)


def hard_swish(x: RelayExpr) -> RelayExpr:
    """Return ``x * hard_sigmoid(x)``."""
    return ops.multiply(x, hard_sigmoid(x))


def softplus(x: RelayExpr) -> RelayExpr:
    """Compute ``log(1 + e^x)`` as ``max(x, 0) + log(1 + e^-|x|)``, which does not overflow."""
    return ops.add(ops.nn.relu(x), ops.log(ops.add(ops.exp(ops.negative(ops.abs(x))), 1.0)))


def log_sigmoid(x: RelayExpr) -> RelayExpr:
    """Return ``-softplus(-x)``."""
    return ops.negative(softplus(ops.negative(x)))


def mish(x: RelayExpr) -> RelayExpr:
    """Return ``x * tanh(softplus(x))``."""
    return ops.multiply(x, ops.tanh(softplus(x)))


def silu(x: RelayExpr) -> RelayExpr:
    """Return ``x * sigmoid(x)``."""
    return ops.multiply(x, ops.sigmoid(x))
