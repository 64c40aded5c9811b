"""Lists of tensors, in graphs that are written by hand: what TensorFlow's recurrent layers fill and read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.frontend.tensorflow import ConversionError
from compiler.classic.frontend.tensorflow.messages import GraphDef

INT32, FLOAT = 3, 1


def graph_of(*lines: str) -> Any:
    """Return a graph of lines such as ``y = Add a b``; constants are integers: ``n = Const 3``."""
    graph = GraphDef()
    for line in lines:
        name, _, operator, *inputs = line.split()
        node = graph.node.add(name=name, op=operator)
        if operator == "Const":
            tensor = node.attr.add(key="value").value.tensor
            tensor.dtype = INT32
            tensor.int_val.append(int(inputs[0]))
        else:
            node.input.extend(inputs)
        if operator == "TensorListReserve":
            node.attr.add(key="element_dtype").value.type = FLOAT
        if operator == "Enter":
            node.attr.add(key="frame_name").value.s = b"loop"
    return graph


LIST = (
    "x = Placeholder",
    "unknown = Const -1",
    "three = Const 3",
    "one = Const 1",
    "empty = TensorListReserve unknown three",
    "list = TensorListSetItem empty one x",
    "all = TensorListStack list unknown",
    "second = TensorListGetItem list one unknown",
    "length = TensorListLength list",
)
LOOP = (
    *(
        "x = Placeholder",
        "limit = Placeholder",
        "unknown = Const -1",
        "zero = Const 0",
        "one = Const 1",
        "five = Const 5",
    ),
    "list = TensorListReserve unknown five",
    *("i0 = Enter zero", "v0 = Enter x", "l0 = Enter list", "step = Enter one", "most = Enter limit"),
    *("i = Merge i0 i_next", "v = Merge v0 v_next", "l = Merge l0 l_next"),
    *("less = Less i most", "cond = LoopCond less"),
    *("i_in = Switch i cond", "v_in = Switch v cond", "l_in = Switch l cond"),
    *("i1 = AddV2 i_in:1 step", "v1 = AddV2 v_in:1 v_in:1", "l1 = TensorListSetItem l_in:1 i_in:1 v_in:1"),
    *("i_next = NextIteration i1", "v_next = NextIteration v1", "l_next = NextIteration l1"),
    *("end = Exit l_in", "all = TensorListStack end unknown"),
)


def run(lines: tuple[str, ...], outputs: list[str], **given: Any) -> Any:
    graph = graph_of(*lines)
    for node in graph.node:
        if node.name == "limit":
            node.attr.add(key="dtype").value.type = INT32
    mod, params = relay.frontend.from_tensorflow(graph, shape={n: v.shape for n, v in given.items()}, outputs=outputs)
    result = relay.create_executor("vm", mod=mod).evaluate()(**given, **params)
    return [r.numpy() for r in result] if len(outputs) > 1 else result.numpy()


def test_an_element_is_stored_read_and_counted() -> None:
    x = np.array([1.5, -2], "float32")
    stacked, second, length = run(LIST, ["all", "second", "length"], x=x)
    np.testing.assert_array_equal(stacked, [[0, 0], x, [0, 0]])
    np.testing.assert_array_equal(second, x)
    assert length == 3


@pytest.mark.parametrize("turns", [0, 3, 5])
def test_the_first_turn_of_a_loop_says_what_the_elements_are(turns: int) -> None:
    x = np.array([1, -2], "float32")
    filled = run(LOOP, ["all"], x=x, limit=np.array(turns, "int32"))
    expected = np.stack([x * 2**i if i < turns else x * 0 for i in range(5)])
    np.testing.assert_array_equal(filled, expected)


def test_a_list_that_nothing_was_stored_in_is_refused() -> None:
    unread = ("x = Placeholder", *LIST[1:5], "all = TensorListStack empty unknown")
    with pytest.raises(ConversionError, match="it stacks an empty list"):
        run(unread, ["all"])
