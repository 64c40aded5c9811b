"""Random numbers by keys: executors agree, keys differ, and numbers are distributed as they should be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.relay.expr import Tuple, TupleWrapper
from compiler.relay.function import Function

random = relay.random


def _values(expr: Any, kind: str = "graph") -> list[np.ndarray]:
    made = relay.create_executor(kind).evaluate(Function((), expr))()
    return [part.numpy() for part in made]


@pytest.mark.parametrize("count", [1, 4, 9])
def test_kernels_and_references_agree(count: int) -> None:
    key = random.threefry_key(0x1234567890)
    for call in (random.threefry_generate(key, (count,)), random.threefry_split(key)):
        for compiled, interpreted in zip(_values(call), _values(call, "debug"), strict=True):
            np.testing.assert_array_equal(compiled, interpreted)


def test_numbers_of_a_key_and_of_those_made_of_it_differ() -> None:
    key = random.threefry_key(7)
    left, right = TupleWrapper(random.threefry_split(key), 2)
    next_key, first = TupleWrapper(random.threefry_generate(key, (8,)), 2)
    others = [TupleWrapper(random.threefry_generate(k, (8,)), 2)[1] for k in (left, right, next_key)]
    numbers = np.concatenate(_values(Tuple((first, *others[1:]))))
    assert len(np.unique(numbers)) == numbers.size
    np.testing.assert_array_equal(*_values(Tuple((first, others[0]))))  # the left part only has more bits to decide


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distributions(dtype: str) -> None:
    count = 20000
    _, flat = _values(random.uniform(random.threefry_key(3), (count,), dtype, -1.0, 3.0))
    assert flat.min() >= -1
    assert flat.max() < 3
    np.testing.assert_allclose(np.histogram(flat, 8, (-1, 3))[0] / count, 1 / 8, atol=0.01)
    _, bell = _values(random.normal(random.threefry_key(3), (count,), dtype, 1.0, 2.0))
    np.testing.assert_allclose([bell.mean(), bell.std()], [1, 2], atol=0.05)
    np.testing.assert_allclose(np.mean(np.abs(bell - 1) < 2), 0.6827, atol=0.01)


def test_multinomial_draws_by_row() -> None:
    probs = relay.const(np.array([[1, 1, 2, 0], [0, 3, -5, 1]], "float32"))
    _, drawn = _values(random.multinomial(random.threefry_key(5), probs, 8000))
    shares = [np.bincount(row, minlength=4) / row.size for row in drawn]
    np.testing.assert_allclose(shares, [[0.25, 0.25, 0.5, 0], [0, 0.75, 0, 0.25]], atol=0.02)
