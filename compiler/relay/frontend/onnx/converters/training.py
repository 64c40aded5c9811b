"""Optimiser steps of the domain ``ai.onnx.preview.training``."""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.normalization import mixed
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.errors import ModelError
from compiler.relay.frontend.shared.folding import dtype_of, ops
from compiler.relay.frontend.shared.tensors import cast

_DOMAIN = "ai.onnx.preview.training"

_Step = Callable[..., tuple[RelayExpr, ...]]


def _optimizer(name: str, moments: int) -> Callable[[_Step], _Step]:
    """Register a function that takes one tensor and its moments a step further.

    The operator's inputs are a rate and the number of steps so far, then all tensors, all their gradients, and all
    moments of each order.
    """

    def enter(step: _Step) -> _Step:
        def convert(node: Node) -> list[RelayExpr]:
            rate, steps, *rest = node.inputs
            kinds = 2 + moments
            if len(rest) % kinds:
                raise ModelError(f"it must have 2 inputs and {kinds} for each tensor, got {len(node.inputs)}")
            count = len(rest) // kinds
            groups = zip(*(rest[i * count : (i + 1) * count] for i in range(kinds)), strict=True)
            done = [step(node, rate, cast(steps, dtype_of(rate)), *group) for group in groups]
            return [item for column in zip(*done, strict=True) for item in column]

        converter(name, domain=_DOMAIN)(convert)
        return step

    return enter


def _regularized(node: Node, x: RelayExpr, gradient: RelayExpr) -> RelayExpr:
    return ops.add(ops.multiply(x, float(node.attr("norm_coefficient", 0.0))), gradient)


@_optimizer("Adagrad", 1)
def _adagrad(
    node: Node, rate: RelayExpr, steps: RelayExpr, x: RelayExpr, gradient: RelayExpr, squares: RelayExpr
) -> tuple[RelayExpr, RelayExpr]:
    decayed = ops.divide(rate, ops.add(ops.multiply(steps, float(node.attr("decay_factor", 0.0))), 1.0))
    slope = _regularized(node, x, gradient)
    squares = ops.add(squares, ops.multiply(slope, slope))
    divisor = ops.add(ops.sqrt(squares), float(node.attr("epsilon", 0.0)))
    return ops.subtract(x, ops.divide(ops.multiply(decayed, slope), divisor)), squares


@_optimizer("Adam", 2)
def _adam(
    node: Node,
    rate: RelayExpr,
    steps: RelayExpr,
    x: RelayExpr,
    gradient: RelayExpr,
    first: RelayExpr,
    second: RelayExpr,
) -> tuple[RelayExpr, RelayExpr, RelayExpr]:
    alpha, beta = float(node.attr("alpha", 0.9)), float(node.attr("beta", 0.999))
    slope = _regularized(node, x, gradient)
    first = mixed(first, slope, alpha)
    second = mixed(second, ops.multiply(slope, slope), beta)
    # Moments begin at 0, which the first steps make up for.
    unbiased = ops.divide(ops.sqrt(_one_less_power(beta, steps)), _one_less_power(alpha, steps))
    adjusted = ops.multiply(rate, ops.where(ops.greater(steps, 0.0), unbiased, ops.ones_like(unbiased)))
    divisor = ops.add(ops.sqrt(second), float(node.attr("epsilon", 0.0)))
    moved = ops.subtract(x, ops.divide(ops.multiply(adjusted, first), divisor))
    return ops.multiply(moved, 1.0 - float(node.attr("norm_coefficient_post", 0.0))), first, second


def _one_less_power(base: float, exponent: RelayExpr) -> RelayExpr:
    return ops.subtract(1.0, ops.power(base, exponent))


@_optimizer("Momentum", 1)
def _momentum(
    node: Node, rate: RelayExpr, steps: RelayExpr, x: RelayExpr, gradient: RelayExpr, velocity: RelayExpr
) -> tuple[RelayExpr, RelayExpr]:
    mode = node.required("mode")
    if mode not in ("standard", "nesterov"):
        raise ModelError(f"attribute mode must be 'standard' or 'nesterov', got {mode!r}")
    alpha, beta = float(node.required("alpha")), float(node.required("beta"))
    slope = _regularized(node, x, gradient)
    share = ops.where(ops.greater(steps, 0.0), ops.full_like(steps, beta), ops.ones_like(steps))
    velocity = ops.add(ops.multiply(velocity, alpha), ops.multiply(slope, share))
    step = velocity if mode == "standard" else ops.add(slope, ops.multiply(velocity, alpha))
    return ops.subtract(x, ops.multiply(rate, step)), velocity
