"""Constants of types that wrap around are folded as NumPy computes them."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.primexpr import IntImm, const
from compiler.relay import ExprFunctor
from compiler.relay import const as graph_const


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "uint64"])
def test_constants_wrap_around(dtype: str) -> None:
    limits = np.iinfo(dtype)
    for a in (limits.min, limits.max, 3):
        for b in (limits.max, 1, 2):
            x, y = np.array([a], dtype), np.array([b], dtype)
            for made, expected in (
                (const(a, dtype) + const(b, dtype), x + y),
                (const(a, dtype) - const(b, dtype), x - y),
                (const(a, dtype) * const(b, dtype), x * y),
            ):
                assert isinstance(made, IntImm)
                assert (made.dtype, made.value) == (dtype, int(expected[0]))


def test_indices_do_not_wrap_around() -> None:
    assert not isinstance(const(2**31 - 1, "int32") + 1, IntImm)


def test_a_functor_without_a_rule_says_so() -> None:
    with pytest.raises(NotImplementedError, match="ExprFunctor has no rule for Constant"):
        ExprFunctor().visit(graph_const(1))
