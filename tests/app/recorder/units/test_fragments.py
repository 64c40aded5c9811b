"""What a script only defines is shown: default loops of tensors, graphs of expressions, programs."""

from __future__ import annotations

import pytest

from app.artifacts import Answer
from app.proposals import Place, Proposed, Subject
from app.protocol import Request, Snapshot
from tests.app.recorder.serving import served

TENSORS = """
import tvm
from tvm import te
A = te.placeholder((64, 32), name="A")
B = te.compute((64, 32), lambda i, j: A[i, j] * 2.0, name="B")
k = te.reduce_axis((0, 32), name="k")
C = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="C")
D = te.compute((64,), lambda i: C[i] + 1.0, name="D")
"""
GRAPH = """
from tvm import relay
x = relay.var("x", shape=(1, 48))
w = relay.var("w", shape=(32, 48))
v = relay.var("v")
y = relay.nn.relu(x)
"""
UNDECORATED = """
from tvm.script import tir as T
class Module:
    def main(a: T.Buffer((128,), "float32"), b: T.Buffer((128,), "float32")):
        for i in range(128):
            b[i] = a[i] + 1.0
"""


def shown(script: str) -> Answer:
    snapshots = [message for message in served(Request(mode="compile", script=script)) if isinstance(message, Snapshot)]
    return snapshots[-1].answer


def groups(answer: Answer) -> set[str]:
    return {step.group for unit in answer.units for step in unit.steps}


def test_each_tensor_that_no_other_one_reads_has_its_default_loops() -> None:
    answer = shown(TENSORS)
    assert [(unit.name, unit.line, unit.built) for unit in answer.units] == [("B", 5, False), ("D", 8, True)]
    assert {"schedule", "lowering", "llvm", "assembly"} <= groups(answer)
    assert [note.text for note in answer.console] == ["B, D: nothing is scheduled yet, these are the default loops"]


@pytest.mark.parametrize(
    ("last", "name"),
    [
        ("body = relay.Let(v, relay.nn.dense(y, w), relay.exp(v))", "body"),
        ("f = relay.Function([x], y)", "f"),
        ("z = relay.exp(y)", "z"),
    ],
)
def test_an_expression_that_is_no_part_of_another_one_has_its_graph_and_its_kernels(last: str, name: str) -> None:
    answer = shown(GRAPH + last + "\n")
    [graph, _] = answer.units
    assert (graph.kind, graph.built) == ("graph", True)
    assert [note.text for note in answer.console] == [f"{name}: the graph of what nothing is built of yet"]


@pytest.mark.parametrize(
    "script",
    [
        UNDECORATED,
        UNDECORATED.replace("class Module:\n", "").replace("\n    ", "\n"),
        TENSORS + "f = te.create_prim_func([A, D])\ndel B, C, D\n",
    ],
)
def test_a_program_has_its_code_with_and_without_its_decorator(script: str) -> None:
    [function] = shown(script).units
    assert function.built
    assert {"lowering", "llvm", "assembly"} <= {step.group for step in function.steps}


def test_a_script_that_schedules_something_shows_nothing_else() -> None:
    [function] = shown(TENSORS + "s = te.create_schedule(B.op)\n").units
    assert function.name == "main"
    assert shown("x = 1\n").units == []
    program = UNDECORATED.replace("class Module:\n", "@T.prim_func\n").replace("\n    ", "\n")
    lowered = f"{program}tvm.build(main, 'llvm')\n{TENSORS}"
    assert [unit.name for unit in shown("import tvm\n" + lowered).units] == ["main"]


def test_of_what_has_no_pane_the_last_value_is_told() -> None:
    types = "from tvm import relay\nt = relay.TensorType((2,), 'int8')\ntt = relay.TupleType([t] * {})\nx = 1\n"
    assert [note.text for note in shown(types.format(1)).console] == ["tt = (Tensor[(2), int8],)"]
    for last in (
        "class Own:\n    def __str__(self): return 'own'\nx = Own()\n",
        "import tvm\nt = tvm.ir.Op\nx = 1.5\n",
    ):
        assert shown(last).console == []
    assert len(shown(types.format(100)).console[0].text) < 420
    assert shown("import tvm\nx = 1\n").console == []


def test_objects_of_the_script_that_answer_nothing_are_asked_nothing() -> None:
    odd = """
class Odd:
    __class__ = property(lambda self: 1 / 0)
class Unknown:
    __module__ = None
class Holding:
    odd = Odd()
def of(x: Odd()): ...
values = [Odd(), Unknown()]
globals()[3] = Odd()
"""
    for script in (odd, TENSORS + odd):
        answer = shown(script)
        assert (answer.status, answer.problems) == ("ok", [])
    assert groups(answer) == groups(shown(TENSORS))


def test_what_cannot_be_read_is_said() -> None:
    answer = shown(UNDECORATED.replace("b[i] = a[i] + 1.0", "b[i] = unknown(a[i])"))
    assert (answer.status, answer.units) == ("ok", [])
    [note] = answer.console
    assert note.text.startswith("what the script defines is not shown: ")
    assert "unknown" in note.text


def test_a_primitive_is_proposed_with_the_schedule_that_a_definition_lacks() -> None:
    for edited, line in ((TENSORS, 9), (TENSORS.replace("from tvm import te", "te = tvm.te"), 9)):
        subject = Subject(place=Place(stage=1, loop=0))
        *_, proposed = served(Request(mode="propose", script=edited, subject=subject))
        assert isinstance(proposed, Proposed)
        edit = next(p.edit for p in proposed.proposals if p.primitive == "parallel")
        assert edit is not None
        assert edit.line == line
        assert edit.text == "s = te.create_schedule(D.op)\ni = s[D].op.axis[0]\ns[D].parallel(i)"
