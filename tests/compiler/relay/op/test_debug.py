"""A function looks at a value while it is computed."""

from __future__ import annotations

import numpy as np

from compiler import relay
from compiler.driver.relay.executor import create_executor
from compiler.ir import IRModule
from compiler.runtime.arrays.ndarray import NDArray


def test_the_interpreter_shows_the_value_and_goes_on() -> None:
    seen: list[np.ndarray] = []

    def look(value: NDArray) -> None:
        seen.append(value.numpy())

    x = relay.var("x", shape=(3,))
    mod = IRModule.from_expr(relay.Function([x], relay.op.debug(relay.exp(x), look) + x))
    data = np.array([0, 1, 2], "float32")
    result = create_executor("debug", mod=mod).evaluate()(data)
    np.testing.assert_allclose(seen, [np.exp(data)], rtol=1e-6)
    np.testing.assert_allclose(result.numpy(), np.exp(data) + data, rtol=1e-6)


def test_machine_code_hands_the_value_on() -> None:
    x = relay.var("x", shape=(3,))
    mod = IRModule.from_expr(relay.Function([x], relay.op.debug(x) + x))
    data = np.array([0, 1, 2], "float32")
    result = create_executor("graph", mod=mod).evaluate()(data)
    np.testing.assert_allclose(result.numpy(), 2 * data)
