"""Kernels that a workspace defines itself: taken into the model, raced, checked, refused with a reason."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from app.artifacts import Answer, Kernel, Mode, ModelRace, OwnKernel, Unit
from app.panes.kernels import race_words
from app.protocol import Request, Snapshot
from app.recorder.gpus.kernel_scripts import ENDING
from app.recorder.session import Session
from tests.e2e.test_graphs import NETWORK

SOFTMAX = "tvmgen_default_fused_nn_softmax"


def run(script: str, mode: Mode = "compile") -> Answer:
    """Return the answer to a script, which runs in the working directory."""
    answers: list[Answer] = []

    def take(message: object) -> None:
        if isinstance(message, Snapshot):
            answers.append(message.answer)

    Session(Request(mode=mode, script=script, budget_seconds=60.0), take, guarded=False).run()
    assert answers[-1].problems == []
    return answers[-1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def graph(answer: Answer) -> Unit:
    return next(unit for unit in answer.units if unit.kind == "graph")


def convolution(unit: Unit) -> Kernel:
    return next(kernel for kernel in unit.kernels if "conv2d" in kernel.name)


def test_a_script_takes_the_place_of_its_kernel(folder: Path) -> None:
    kernel = convolution(graph(run(NETWORK)))
    unrolled = kernel.script.replace("\nargs = ", "\ns[conv].unroll(rw)\nargs = ")
    (folder / (kernel.name + ENDING)).write_text(unrolled)
    answer = run(NETWORK, "run")
    unit = graph(answer)
    assert unit.own_kernels == [OwnKernel(name=kernel.name)]
    assert convolution(unit).script == kernel.script
    assert unit.race is not None
    assert unit.race.checked == "ok"
    assert unit.race.low <= unit.race.ratio <= unit.race.high
    assert unit.race.seconds > 0 < unit.race.original_seconds
    shown = next(unit for unit in answer.units if unit.name == kernel.name)
    assert "unroll(rw)" in [step.detail for step in shown.steps]
    assert all(step.line is None for step in shown.steps if step.group == "schedule")


def test_a_model_without_scripts_races_nothing(folder: Path) -> None:
    unit = graph(run(NETWORK, "run"))
    assert (unit.own_kernels, unit.race) == ([], None)


def test_another_result_is_seen_by_comparing_outputs(folder: Path) -> None:
    kernel = convolution(graph(run(NETWORK)))
    relu = 'tir.fmaximum(conv[i0, i1, i2, i3], tir.const(0.0, "float32"))'
    doubled = kernel.script.replace(relu, "conv[i0, i1, i2, i3] * 2.0")
    assert doubled != kernel.script
    (folder / (kernel.name + ENDING)).write_text(doubled)
    race = graph(run(NETWORK, "run")).race
    assert race is not None
    assert (race.checked, race.seconds) == ("wrong", 0.0)
    assert "outputs differ" in race_words(race)


def test_what_the_noise_hides_is_not_told_as_a_figure() -> None:
    race = ModelRace(checked="ok", seconds=2e-3, original_seconds=1e-3, low=0.7, ratio=1.1, high=1.5, rounds=2)
    assert "no difference beyond the noise (0.70 to 1.50× as fast in 2 alternating rounds)" in race_words(race)
    assert "1.10×" not in race_words(race)
    clear = msgspec.structs.replace(race, low=1.05)
    assert "1.10× as fast (1.05 to 1.50 in 2 alternating rounds)" in race_words(clear)
    busy = msgspec.structs.replace(clear, disturbed=True)
    assert "1.10× as fast (1.05 to 1.50 in 2 alternating rounds, disturbed: processor time)" in race_words(busy)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import tvm\n\n1 / 0", "line 3: ZeroDivisionError"),
        ("import tvm\nf = (", "line 2: SyntaxError"),
        ("import tvm", "builds no function with the name"),
        (
            "import tvm\nfrom tvm import te\na = te.placeholder((2,), name='a')\n"
            "b = te.compute((2,), lambda i: a[i] + 1.0, name='b')\ns = te.create_schedule(b.op)\n"
            f"f = tvm.build(s, [a, b], name='{SOFTMAX}')",
            "it takes (float32[2], float32[2]), but the model passes (float32[1, 2048], float32[1, 2048])",
        ),
        (
            "import tvm\nfrom tvm import te\na = te.placeholder((1, 2048), name='a')\n"
            "b = te.compute((1, 2048), lambda i, j: a[i, j] + 1.0, name='b')\ns = te.create_schedule(b.op)\n"
            f"f = tvm.build(s, [b, a], name='{SOFTMAX}')",
            "must be what its schedule computes",
        ),
        (
            "import tvm\nfrom tvm import te\na = te.placeholder((1, 2048), name='a')\nn = te.var('n')\n"
            "b = te.compute((1, 2048), lambda i, j: a[i, j] + 1.0, name='b')\ns = te.create_schedule(b.op)\n"
            f"f = tvm.build(s, [a, b, n], name='{SOFTMAX}')",
            "it takes (float32[1, 2048], float32[1, 2048], n), but the model passes",
        ),
        (
            "import tvm\nfrom tvm.script import tir as T\n\n\n@T.prim_func\n"
            "def main(a: T.Buffer((1, 2048), 'float32'), b: T.Buffer((2048,), 'float32')):\n"
            f"    b[0] = a[0, 0]\n\n\nf = tvm.build(main, name='{SOFTMAX}')",
            "it takes (float32[1, 2048], float32[2048]), but the model passes",
        ),
        (
            "import tvm\nfrom tvm.script import tir as T\n\n\n@T.prim_func\n"
            "def copy(a: T.Buffer((1, 2048), 'float32'), b: T.Buffer((1, 2048), 'float32')):\n"
            "    b[0, 0] = a[0, 0]\n\n\n"
            f"f = tvm.build(tvm.IRModule({{'a': copy, 'b': copy}}), name='{SOFTMAX}')",
            "must be a schedule of tensor expressions, or one function of TensorIR",
        ),
    ],
    ids=[
        "raises",
        "syntax",
        "builds nothing",
        "other arguments",
        "no outputs",
        "a number",
        "a program",
        "two programs",
    ],
)
def test_a_script_that_does_not_fit_leaves_its_kernel(folder: Path, script: str, reason: str) -> None:
    (folder / (SOFTMAX + ENDING)).write_text(script)
    (folder / ("gone" + ENDING)).write_text(script)
    unit = graph(run(NETWORK))
    gone, softmax = unit.own_kernels
    assert reason in softmax.problem
    assert "no kernel of this name" in gone.problem
    assert len(unit.kernels) == 2


def test_what_a_script_does_after_its_kernel_is_not_done(folder: Path) -> None:
    kernel = convolution(graph(run(NETWORK)))
    (folder / (kernel.name + ENDING)).write_text(f"{kernel.script}\nraise ValueError('too late')\n")
    assert graph(run(NETWORK)).own_kernels == [OwnKernel(name=kernel.name)]
