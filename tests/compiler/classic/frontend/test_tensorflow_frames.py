"""Loops and branches of TensorFlow's first generation: frames, and values of which one is dead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.frontend.tensorflow import ConversionError, ModelError
from compiler.classic.frontend.tensorflow.messages import GraphDef


def graph_of(*nodes: str) -> Any:
    """Return a graph of lines such as ``y = Add a b``; constants are written as ``c = Const 2.5`` or ``Const no``."""
    graph = GraphDef()
    for line in nodes:
        name, _, operator, *inputs = line.split()
        node = graph.node.add(name=name, op=operator)
        if operator == "Const":
            tensor = node.attr.add(key="value").value.tensor
            if inputs[0] == "no":
                tensor.dtype = 10
                tensor.bool_val.append(False)
            else:
                tensor.dtype = 1
                tensor.float_val.append(float(inputs[0]))
        else:
            node.input.extend(inputs)
        if operator == "Enter":
            node.attr.add(key="frame_name").value.s = b"loop"
    return graph


LOOP = (
    "x = Placeholder",
    "limit = Const 20",
    "two = Const 2",
    "start = Enter x",
    "bound = Enter limit",
    "factor = Enter two",
    "merge = Merge start next",
    "less = Less merge bound",
    "cond = LoopCond less",
    "switch = Switch merge cond",
    "body = Mul switch:1 factor",
    "next = NextIteration body",
    "exit = Exit switch",
)
BRANCH = (
    "x = Placeholder",
    "zero = Const 0",
    "two = Const 2",
    "positive = Greater x zero",
    "switch = Switch x positive",
    "no = Neg switch",
    "yes = Mul switch:1 two",
    "merge = Merge no yes",
)


def run(graph: Any, x: float, output: str) -> Any:
    mod, params = relay.frontend.from_tensorflow(graph, shape={"x": ()}, outputs=[output])
    return relay.create_executor("vm", mod=mod).evaluate()(np.float32(x), **params).numpy()


@pytest.mark.parametrize(("x", "after"), [(1.5, 24), (30, 30)])
def test_frames_are_loops(x: float, after: float) -> None:
    assert run(graph_of(*LOOP), x, "exit") == after


@pytest.mark.parametrize(("x", "value", "index"), [(1.5, 3, 1), (-4, 4, 0)])
def test_merges_of_two_branches_are_conditions(x: float, value: float, index: int) -> None:
    assert run(graph_of(*BRANCH), x, "merge") == value
    assert run(graph_of(*BRANCH), x, "merge:1") == index


@pytest.mark.parametrize(("x", "result", "index"), [(3, 6, 0), (-3, 3, 1)])
def test_the_branch_that_is_true_may_come_first(x: float, result: float, index: int) -> None:
    """So it does where functions of branches were inlined."""
    graph = without(BRANCH, "merge", "merge = Merge yes no")
    assert run(graph, x, "merge") == result
    assert run(graph, x, "merge:1") == index


SEVERAL = (
    "x = Placeholder",
    "two = Const 2",
    "number = Cast x",
    "branch = _SwitchN x number",
    "first = Neg branch",
    "second = Mul branch:1 two",
    "third = Square branch:2",
    "merge = Merge first second third",
)


@pytest.mark.parametrize(("x", "result"), [(0.5, -0.5), (1.5, 3), (2.5, 6.25), (7, 49), (-3, 9)])
def test_a_number_chooses_one_of_several_branches(x: float, result: float) -> None:
    """The last one where there is none of that number."""
    graph = graph_of(*SEVERAL)
    for node in graph.node:
        if node.name == "number":
            node.attr.add(key="DstT").value.type = 3
        elif node.name == "branch":
            node.attr.add(key="num_outs").value.i = 3
    assert run(graph, x, "merge") == result


LOOP_IN_A_BRANCH = (
    *(line for line in LOOP if not line.startswith("start = ")),
    "zero = Const 0",
    "positive = Greater x zero",
    "branch = Switch x positive",
    "start = Enter branch:1",
    "no = Neg branch",
    "twice = Add exit exit",
    "value = Merge no exit",
    "sum = Merge no twice",
    "both = Sub sum value",
)


@pytest.mark.parametrize(("x", "after"), [(1.5, 24), (-3, 0)])
def test_a_loop_that_two_results_of_a_branch_need_is_not_run_in_the_other_branch(x: float, after: float) -> None:
    """Doubled, a number below zero stays below the limit for ever."""
    assert run(graph_of(*LOOP_IN_A_BRANCH), x, "both") == after


def test_a_loop_is_run_where_its_branch_is_the_one_that_is_not_true() -> None:
    other = without(LOOP_IN_A_BRANCH, "positive", "positive = LessEqual x zero")
    for node in other.node:
        swapped = {"start": ["branch"], "no": ["branch:1"], "value": ["exit", "no"], "sum": ["twice", "no"]}
        if node.name in swapped:
            del node.input[:]
            node.input.extend(swapped[node.name])
    assert run(other, 1.5, "both") == 24
    assert run(other, -3, "both") == 0


def test_a_loop_in_a_branch_that_is_known_not_to_be_taken_is_left_out() -> None:
    graph = without(LOOP_IN_A_BRANCH, "positive", "positive = Const no")
    mod, _ = relay.frontend.from_tensorflow(graph, shape={"x": ()}, outputs=["both"])
    assert "loop" not in str(mod)
    assert run(graph, 5, "both") == 0


def without(nodes: tuple[str, ...], name: str, instead: str) -> Any:
    return graph_of(*(instead if line.startswith(f"{name} = ") else line for line in nodes))


@pytest.mark.parametrize(
    ("graph", "output", "message"),
    [
        (without(BRANCH, "no", "no = Neg merge"), "merge", "the graph has a cycle"),
        (without(LOOP, "next", "next = Identity body"), "exit", "'merge'.* takes 'next', no NextIteration"),
        (without(LOOP, "merge", "merge = Merge start start"), "exit", "'merge'.* takes 'start', no NextIteration"),
        (without(LOOP, "switch", "switch = Identity merge"), "exit", "the loop 'loop' has 0 conditions"),
        (without(LOOP, "exit", "exit = Exit x"), "exit", "'exit'.*: it is not a value that a loop carries"),
        (without(LOOP, "merge", "merge = Merge start"), "exit", "'merge'.* has fewer than 2 inputs"),
        (without(BRANCH, "yes", "yes = Mul x two"), "merge", "'merge'.*: its inputs are not the branches"),
    ],
)
def test_what_is_no_loop_or_branch_is_named(graph: Any, output: str, message: str) -> None:
    with pytest.raises((ConversionError, ModelError), match=message):
        relay.frontend.from_tensorflow(graph, shape={"x": ()}, outputs=[output])
