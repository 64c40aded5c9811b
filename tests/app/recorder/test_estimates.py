"""Steps that are too slow to be measured are estimated from a part of their work, and say so."""

from __future__ import annotations

import numpy as np
import pytest

from app.artifacts import Measurement, Options
from app.panes.charts import chart
from app.panes.numbers import how_measured
from app.protocol import Event, Measured
from app.recorder.measuring import ladder
from app.recorder.measuring.ladder import Ladder
from app.recorder.measuring.measured_program import TensorProgram
from app.recorder.measuring.shortening import shortened
from compiler import te
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.device import cpu
from compiler.runtime.parallel.threads import num_threads, set_num_threads
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule


def matmul(n: int) -> tuple[Schedule, list[Tensor]]:
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    s[c].parallel(c.op.axis[0])
    return s, [a, b, c]


def test_the_first_iterations_are_left() -> None:
    schedule, args = matmul(16)
    part = shortened(lower(schedule, args), 4.0)
    assert part is not None
    assert (part.times, part.words) == (4.0, "4 of 16 iterations of i")
    random = np.random.default_rng(0)
    values = [random.random((16, 16)).astype("float32") for _ in range(2)] + [np.zeros((16, 16), "float32")]
    arrays = [array(value, cpu(0)) for value in values]
    build(part.module, target="llvm")(*arrays)
    result = arrays[2].numpy()
    np.testing.assert_allclose(result[:4], (values[0] @ values[1])[:4], rtol=1e-5)
    assert not result[4:].any()


def test_inner_loops_are_shortened_where_the_outer_one_is_too_short() -> None:
    schedule, args = matmul(16)
    part = shortened(lower(schedule, args), 64.0, at_least=2)
    assert part is not None
    assert part.words == "2 of 16 iterations of i and 2 of 16 iterations of j"
    assert part.times == 64.0
    assert shortened(lower(schedule, args), 1.5) is None


def climbed(monkeypatch: pytest.MonkeyPatch, slow: float) -> list[Measurement]:
    monkeypatch.setattr(ladder, "MANY_FLOPS", 1e4)
    monkeypatch.setattr(ladder, "SLOW_SECONDS", slow)
    events: list[Event] = []
    threads = num_threads()
    Ladder(TensorProgram(*matmul(32)), Target("llvm"), Options(), events.append).run()
    set_num_threads(threads)
    return [e.measurement for e in events if isinstance(e, Measured) and e.measurement.kind == "prefix"]


def test_an_estimate_is_never_shown_as_a_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    rungs = climbed(monkeypatch, 0.0)
    assert [(rung.estimated, rung.checked) for rung in rungs] == [(True, "unchecked")] * 2
    assert all(rung.seconds > 0 for rung in rungs)
    assert "estimated, not measured: the time of 5 of 32 iterations of i" in rungs[-1].note
    assert how_measured(rungs[0]) == ""
    drawn = chart(rungs)
    assert drawn is not None
    assert [(bar.estimated, bar.value[:2]) for bar in drawn.bars] == [(True, "≈ ")] * 2
    assert "estimated" in drawn.summary


def test_what_is_fast_enough_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [(rung.estimated, rung.checked) for rung in climbed(monkeypatch, 60.0)] == [(False, "ok")] * 2
