"""Loops are functions that call themselves."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import relay
from compiler.classic.relay.loops import for_loop, while_loop
from compiler.ir.module import IRModule


def _scalar(value: int) -> relay.Constant:
    return relay.const(value, "int32")


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("last", [0, 1, 9])
def test_loops_count(kind: str, last: int) -> None:
    n, i, total = (relay.var(name, shape=(), dtype="int32") for name in ("n", "i", "total"))
    counted = while_loop(lambda i, _: relay.less(i, n), [i, total], lambda i, total: (i + _scalar(1), total + i))
    stepped = for_loop(_scalar(0), n, _scalar(2), [total], lambda i, total: [total * _scalar(3) + i])
    results = relay.Tuple([relay.TupleGetItem(counted(_scalar(0), _scalar(0)), 1), stepped(_scalar(1))])
    run = relay.create_executor(kind, mod=IRModule.from_expr(relay.Function([n], results))).evaluate()
    by_one, by_two = run(np.array(last, "int32"))
    expected = 1
    for step in range(0, last, 2):
        expected = expected * 3 + step
    assert by_one.numpy() == sum(range(last))
    assert by_two[1].numpy() == expected
