"""Hints tell what the statements of a script gave names to, and nothing that may be otherwise."""

from __future__ import annotations

from app.artifacts import MAX_HINT
from app.protocol import Request, Snapshot
from tests.app.recorder.serving import served


def hints(script: str) -> dict[str, str]:
    """Return the hints of a script by what stands in their lines."""
    answers = [
        message.answer for message in served(Request(mode="compile", script=script)) if isinstance(message, Snapshot)
    ]
    lines = script.splitlines()
    return {lines[hint.line - 1].strip(): hint.text for hint in answers[-1].hints}


TENSORS = """\
import numpy as np
import tvm
from tvm import te, topi

def product(A, B, n):
    k = te.reduce_axis((0, 64), name="k")
    W = te.placeholder((n, 5), name="W")
    C = te.compute((n, 96), lambda i, j: te.sum(A[i, k] * B[k, j] + W[i, 0], axis=k))
    return W, C

Ä = "ä"; A = te.placeholder((128, 64), name=Ä); B = te.placeholder((64, 96))
W, C = product(A, B, 128)
D = topi.nn.relu(C)
s = te.create_schedule(D.op)
i, j = s[D].op.axis
yo, yi = s[D].split(i, 32)

def inner(loop):
    xo, xi = s[D].split(
        loop, factor=7,
    )
    return xo

xo = inner(j)
s[C].compute_at(s[D], yi)
ko, ki = s[C].split(s[C].op.reduce_axis[0], 8)
a = tvm.nd.array(np.zeros((128, 64), "int8"))
tvm.lower(s, [A, B, W, D])
"""


def test_tensors_and_axes_are_told_where_they_get_their_names() -> None:
    assert hints(TENSORS) == {
        'k = te.reduce_axis((0, 64), name="k")': "64",
        'W = te.placeholder((n, 5), name="W")': "(128, 5) float32",
        "C = te.compute((n, 96), lambda i, j: te.sum(A[i, k] * B[k, j] + W[i, 0], axis=k))": "(128, 96) float32",
        'Ä = "ä"; A = te.placeholder((128, 64), name=Ä); B = te.placeholder((64, 96))': (
            "A: (128, 64) float32, B: (64, 96) float32"
        ),
        "W, C = product(A, B, 128)": "W: (128, 5) float32, C: (128, 96) float32",
        "D = topi.nn.relu(C)": "(128, 96) float32",
        "i, j = s[D].op.axis": "i: 128, j: 96",
        "yo, yi = s[D].split(i, 32)": "yo: 4, yi: 32",
        ")": "xo: 14, xi: 7",
        "xo = inner(j)": "14",
        "ko, ki = s[C].split(s[C].op.reduce_axis[0], 8)": "ko: 8, ki: 8",
        'a = tvm.nd.array(np.zeros((128, 64), "int8"))': "(128, 64) int8",
    }


GRAPH = """\
import tvm
from tvm import relay

x = relay.var("x", shape=(1, 3, 8, 8))
x = relay.nn.conv2d(x, relay.var("w", shape=(4, 3, 3, 3)), padding=(1, 1))
x = relay.nn.relu(x)
y, z = relay.split(x, 2, axis=1)
v = y + z
mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(v), v))
"""


def test_expressions_of_a_graph_have_their_inferred_types_each_time_a_name_is_used() -> None:
    assert hints(GRAPH) == {
        'x = relay.var("x", shape=(1, 3, 8, 8))': "(1, 3, 8, 8) float32",
        'x = relay.nn.conv2d(x, relay.var("w", shape=(4, 3, 3, 3)), padding=(1, 1))': "(1, 4, 8, 8) float32",
        "x = relay.nn.relu(x)": "(1, 4, 8, 8) float32",
        "y, z = relay.split(x, 2, axis=1)": "y: (1, 2, 8, 8) float32, z: (1, 2, 8, 8) float32",
        "v = y + z": "(1, 2, 8, 8) float32",
    }


BLOCKS = """\
import tvm
from tvm import te

A = te.placeholder((128, 64), name="A")
B = te.compute((128, 64), lambda i, j: A[i, j] * 2.0, name="B")
sch = tvm.tir.Schedule(te.create_prim_func([A, B]))
block = sch.get_block("B")
loops = sch.get_loops(block)
i, j = sch.get_loops(block)
i_0, i_1 = sch.split(i, factors=[None, 16])
fused = sch.fuse(i_1, j)
"""


def test_loops_of_a_program_have_the_extents_that_they_had_then() -> None:
    told = hints(BLOCKS)
    assert told["loops = sch.get_loops(block)"] == "128, 64"
    assert told["i, j = sch.get_loops(block)"] == "i: 128, j: 64"
    assert told["i_0, i_1 = sch.split(i, factors=[None, 16])"] == "i_0: 8, i_1: 16"
    assert told["fused = sch.fuse(i_1, j)"] == "1024"
    assert 'block = sch.get_block("B")' not in told


AMBIGUOUS = """\
import tvm
from tvm import te

def scaled(n):
    A = te.placeholder((n, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    return te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")

for n in (8, 16):
    B = scaled(n)
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], 4)
last = B
renamed = te.placeholder((3,), name="renamed")
def change():
    global renamed
    renamed = last
change()
"""


def test_what_differs_from_time_to_time_is_not_told() -> None:
    assert hints(AMBIGUOUS) == {'k = te.reduce_axis((0, 4), name="k")': "4", "last = B": "(16) float32"}


def test_a_script_that_fails_has_hints_up_to_there_and_one_that_cannot_be_read_none() -> None:
    assert hints("from tvm import te\nA = te.placeholder((4,))\n1 / 0\nB = te.placeholder((5,))") == {
        "A = te.placeholder((4,))": "(4) float32"
    }
    assert hints("from tvm import te\nA = te.placeholder((4,)\n") == {}


def test_classes_of_the_script_are_asked_nothing_and_long_hints_are_cut() -> None:
    script = """\
from tvm import te
class Odd:
    __class__ = property(lambda self: 1 / 0)
    shape = property(lambda self: 1 / 0)
odd = Odd()
A = te.placeholder(tuple(range(100, 150)), name="A")
"""
    [text] = hints(script).values()
    assert text.startswith("(100, 101")
    assert text.endswith("…")
    assert len(text) == MAX_HINT


def test_an_expression_deeper_than_visitors_go_leaves_the_script_without_hints_and_as_it_is() -> None:
    assert hints(f"from tvm import te\nA = te.placeholder((4,))\nx = {' + '.join(['1'] * 900)}") == {}
