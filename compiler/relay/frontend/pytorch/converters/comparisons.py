"""Comparisons and logical operators."""

from __future__ import annotations

import operator
from collections.abc import Callable

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.elementwise import is_number
from compiler.relay.frontend.pytorch.dtypes import cast, promoted, tensor, truth
from compiler.relay.frontend.pytorch.registry import Convert, converter, converters
from compiler.relay.frontend.pytorch.tensors import dtype_of, ops, scalar
from compiler.relay.frontend.pytorch.values import Scalar, TorchValue
from compiler.relay.frontend.shared.folding import Operators


def _comparison(compute: Operators, on_numbers: Callable[..., bool]) -> Convert:
    def convert(a: TorchValue, other: TorchValue) -> RelayExpr | bool:
        if not (isinstance(a, (RelayExpr, int, float)) and isinstance(other, (RelayExpr, int, float))):
            return on_numbers(a, other)
        return on_numbers(a, other) if is_number(a) and is_number(other) else compute(*promoted(a, other))

    return convert


converters(
    {
        "eq": _comparison(ops.equal, operator.eq),
        "ne not_equal": _comparison(ops.not_equal, operator.ne),
        "lt less": _comparison(ops.less, operator.lt),
        "le less_equal": _comparison(ops.less_equal, operator.le),
        "gt greater": _comparison(ops.greater, operator.gt),
        "ge greater_equal": _comparison(ops.greater_equal, operator.ge),
    }
)


def _logical(compute: Operators) -> Convert:
    def convert(a: Scalar, other: Scalar) -> RelayExpr:
        return compute(truth(tensor(a)), truth(tensor(other)))

    return convert


converters(
    {
        "logical_and": _logical(ops.logical_and),
        "logical_or": _logical(ops.logical_or),
        "logical_xor": _logical(ops.logical_xor),
        "logical_not": lambda x: ops.logical_not(truth(tensor(x))),
        "bitwise_not": lambda x: ops.logical_not(x) if dtype_of(x) == "bool" else ops.bitwise_not(x),
        "equal": lambda a, other: ops.all(ops.equal(*promoted(a, other))),
        "isfinite": lambda x: _test(x, ops.isfinite, True),
        "isinf": lambda x: _test(x, ops.isinf, False),
        "isnan": lambda x: _test(x, ops.isnan, False),
        "isposinf": lambda x: _test(x, lambda v: ops.equal(v, float("inf")), False),
        "isneginf": lambda x: _test(x, lambda v: ops.equal(v, -float("inf")), False),
        "signbit": lambda x: ops.less(x, scalar(0, x)),
    }
)


def _test(x: RelayExpr, test: Callable[[RelayExpr], RelayExpr], of_integers: bool) -> RelayExpr:
    if "float" in dtype_of(x):
        return test(x)
    return ops.full_like(cast(x, "bool"), tensor(of_integers))


@converter("isclose")
def _isclose(a: RelayExpr, other: RelayExpr, rtol: float = 1e-5, atol: float = 1e-8) -> RelayExpr:
    distance = ops.abs(ops.subtract(a, other))
    return ops.less_equal(distance, ops.add(ops.multiply(ops.abs(other), rtol), scalar(atol, a)))
