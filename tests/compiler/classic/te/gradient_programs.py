"""Random definitions of tensors, for gradients: reads of all kinds, reductions, several operations in a row."""

from __future__ import annotations

import random
from typing import Any

from compiler import te, tir
from compiler.te.definition.tensor import Tensor

__all__ = ["random_definition"]

DTYPE = "float64"


def random_definition(rng: random.Random) -> tuple[Tensor, list[Tensor]]:
    """Return a tensor and the placeholders that it is computed from, with values between 0.5 and 1.5 in mind."""
    inputs = [te.placeholder(_shape(rng), DTYPE, name=f"X{i}") for i in range(rng.randint(1, 2))]
    tensors = list(inputs)
    for i in range(rng.randint(1, 3)):
        tensors.append(_computation(rng, tensors, f"T{i}"))
    return tensors[-1], inputs


def _shape(rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 2)))


def _computation(rng: random.Random, tensors: list[Tensor], name: str) -> Tensor:
    shape = _shape(rng)
    reduction = rng.choice([None, None, te.sum, te.sum, te.max, _PRODUCT, "where", "pair", "start"])
    sums = [te.reduce_axis((low, low + rng.randint(1, 3)), name=f"k{i}") for i, low in enumerate(_lows(rng))]

    def element(*axes: Any) -> Any:
        variables = [*axes, *(k.var for k in sums)] if reduction else list(axes)
        value = _value(rng, tensors, variables, 2)
        match reduction:
            case None:
                return value
            case "where":
                return te.sum(value, sums, where=variables[-1] + variables[0] < 4)
            case "start":
                return te.sum(value, sums, init=_value(rng, tensors, list(axes), 1))
            case "pair":
                return _PAIR((value, _value(rng, tensors, variables, 1)), axis=sums)
        return reduction(value, axis=sums)

    result = te.compute(shape, element, name)
    return result[0] if isinstance(result, tuple) else result


def _lows(rng: random.Random) -> list[int]:
    return [rng.choice([0, 0, 1]) for _ in range(rng.randint(1, 2))]


def _pair(x: Any, y: Any) -> tuple[Any, Any]:
    """The sum of the first values, and that of the products with the second: associative, as derivatives need it."""
    return x[0] * y[1] + y[0] * x[1], x[1] * y[1]


_PRODUCT = te.comm_reducer(lambda x, y: x * y, lambda dtype: tir.const(1, dtype), name="product")
_PAIR = te.comm_reducer(_pair, lambda *dtypes: (tir.const(0, DTYPE), tir.const(1, DTYPE)), name="pair")


def _value(rng: random.Random, tensors: list[Tensor], variables: list[Any], depth: int) -> Any:
    if depth == 0 or rng.random() < 0.2:
        return _read(rng, rng.choice(tensors), variables)
    a, b = (_value(rng, tensors, variables, depth - 1) for _ in range(2))
    return rng.choice(
        [
            lambda: a + b,
            lambda: a * b,
            lambda: a * 0.5 - b,
            lambda: a / (b * b + 1.0),
            lambda: te.sigmoid(a) * b,
            lambda: te.exp(a * 0.25),
            lambda: te.max(a, b),
            lambda: te.tanh(a),
            lambda: te.power(te.abs(a) + 1.0, b),
            lambda: tir.Select(variables[0] % 2 == 0, a, b),
            lambda: te.if_then_else(variables[-1] > 1, te.log(te.abs(a) + 0.5), b),
            lambda: tir.Let(v := tir.Var("v", DTYPE), a, v * v + b),
        ]
    )()


def _read(rng: random.Random, tensor: Tensor, variables: list[Any]) -> Any:
    """Read an element, zero where the index is outside."""
    indices = [_index(rng, variables, int(extent)) for extent in tensor.shape]
    inside = [c for i, extent in zip(indices, tensor.shape, strict=True) for c in (i >= 0, i < extent)]
    return te.if_then_else(tir.all(*inside), tensor(*indices), 0.0)


def _index(rng: random.Random, variables: list[Any], extent: int) -> Any:
    i, j = rng.choice(variables), rng.choice(variables)
    return rng.choice(
        [
            lambda: i,
            lambda: i + j - 1,
            lambda: i * 2 + j * 3 - 2,
            lambda: extent - 1 - i,
            lambda: (i * 3 + j) // 2,
            lambda: (i * 5 + j) % extent,
            lambda: te.min(i + j, extent - 1),
            lambda: i * 2 - j * 2,
            lambda: te.const(rng.randrange(extent), "int32"),
        ]
    )()
