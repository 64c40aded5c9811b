"""What is known of axis relations stands in their files: a new one works everywhere, an incomplete one is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from compiler import te
from compiler.driver.lower import lower
from compiler.ir.error import ScheduleError
from compiler.te import relations
from compiler.te.definition.numpy_reference import evaluate
from compiler.te.relations import Relation
from compiler.te.scheduling.stage import Stage
from compiler.te.scheduling.stage_state import stage_primitives
from compiler.tir.interpreter import interpret
from tests.compiler.te.programs import body_text
from tests.properties.te_schedules import loop_steps

ROTATE = '''
from dataclasses import dataclass

from compiler.ir.expr.primexpr import IterVar, PrimExpr, convert
from compiler.te.relations import Relation
from compiler.te.scheduling.stage_state import stage_primitive


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rotate(Relation):
    """parent = (rotated + by) % extent(parent)"""

    participle = "rotated"

    parent: IterVar
    rotated: IterVar
    by: PrimExpr

    @property
    def parents(self):
        return (self.parent,)

    @property
    def children(self):
        return (self.rotated,)

    def extents_down(self, domains, analyzer):
        return (domains[self.parent].extent,)

    def values_down(self, offsets, domains):
        return ((offsets[self.parent] - self.by) % domains[self.parent].extent,)

    def values_up(self, values, domains):
        return ((values[self.rotated] + self.by) % domains[self.parent].extent,)

    def covers_exactly(self, domains, analyzer):
        return True


@stage_primitive
def rotate(self, axis: IterVar) -> IterVar:
    """Begin a loop at its second iteration."""
    at = self.require_leaf("rotate", axis)
    rotated = self.derived_axis(axis, f"{axis.var.name}.rotated")
    self.relate(Rotate(axis, rotated, convert(1)), at)
    return rotated
'''


@pytest.fixture
def rotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A relation of its own, with its primitive: one file more in the package, and no other line."""
    (tmp_path / "rotation.py").write_text(ROTATE)
    monkeypatch.setattr(relations, "__path__", [*relations.__path__, str(tmp_path)])
    relations.import_relations()
    yield sys.modules.pop("compiler.te.relations.rotation")
    del stage_primitives.methods["rotate"]
    del Stage.rotate  # type: ignore[attr-defined]


def _computes_what_numpy_computes(schedule: te.Schedule, inputs: list[te.Tensor], output: te.Tensor) -> None:
    rng = np.random.default_rng(0)
    data = {t: rng.integers(-9, 9, [int(d) for d in t.shape]).astype(t.dtype) for t in inputs}
    result = np.full([int(d) for d in output.shape], 99, output.dtype)
    interpret(lower(schedule, [*inputs, output])["main"], [*data.values(), result])
    np.testing.assert_array_equal(result, evaluate([output], data)[0])


def _sums() -> tuple[list[te.Tensor], te.Tensor, te.Tensor]:
    """Return the input, an elementwise stage and a sum of its rows, from the second column on."""
    a = te.placeholder((6, 10), "int32", name="A")
    b = te.compute((6, 10), lambda i, j: a[i, j] * 2 + i, name="B")
    k = te.reduce_axis((1, 10), name="k")
    c = te.compute((6,), lambda i: te.sum(b[i, k] * (k + 1), axis=k), name="C")
    return [a], b, c


PRIMITIVES = ["reverse", "rotate"]


@pytest.mark.usefixtures("rotation")
@pytest.mark.parametrize("primitive", PRIMITIVES)
class TestANewRelation:
    """Everything that lowering does with axes, it does with those of a relation that it has never heard of."""

    def test_is_carried_out(self, primitive: str) -> None:
        inputs, b, c = _sums()
        s = te.create_schedule(c.op)
        getattr(s[b], primitive)(b.op.axis[1])
        getattr(s[c], primitive)(c.op.axis[0])
        _computes_what_numpy_computes(s, inputs, c)

    def test_reductions_are_initialised_once(self, primitive: str) -> None:
        inputs, _, c = _sums()
        s = te.create_schedule(c.op)
        k = getattr(s[c], primitive)(c.op.reduce_axis[0])
        outer, inner = s[c].split(k, factor=4)
        s[c].reorder(outer, *c.op.axis, getattr(s[c], primitive)(inner))
        text = body_text(s, [*inputs, c])
        assert text.index("C[i_init] = 0") < text.index("for k")
        assert text.count("= 0") == 1
        _computes_what_numpy_computes(s, inputs, c)

    def test_can_be_split_fused_and_guarded(self, primitive: str) -> None:
        inputs, b, c = _sums()
        s = te.create_schedule(c.op)
        i, j = (getattr(s[b], primitive)(axis) for axis in b.op.axis)
        outer, inner = s[b].split(getattr(s[b], primitive)(s[b].fuse(i, j)), factor=7)
        getattr(s[b], primitive)(inner)
        getattr(s[b], primitive)(outer)
        assert "T.likely" in body_text(s, [*inputs, c])
        _computes_what_numpy_computes(s, inputs, c)

    @pytest.mark.parametrize("annotation", ["vectorize", "parallel", "unroll"])
    def test_can_be_annotated(self, primitive: str, annotation: str) -> None:
        inputs, b, c = _sums()
        s = te.create_schedule(c.op)
        getattr(s[b], annotation)(getattr(s[b], primitive)(b.op.axis[1]))
        _computes_what_numpy_computes(s, inputs, c)

    def test_takes_over_annotations(self, primitive: str) -> None:
        inputs, b, c = _sums()
        s = te.create_schedule(c.op)
        s[b].parallel(b.op.axis[0])
        s[b].vectorize(b.op.axis[1])
        for axis in b.op.axis:
            getattr(s[b], primitive)(axis)
        text = body_text(s, [*inputs, c])
        assert "in T.parallel(6)" in text
        assert "in T.vectorized(9)" in text
        _computes_what_numpy_computes(s, inputs, c)

    def test_stages_are_computed_in_its_loops(self, primitive: str) -> None:
        inputs, b, c = _sums()
        for before in (True, False):  # a place follows its loop
            s = te.create_schedule(c.op)
            (i,) = c.op.axis
            if before:
                s[b].compute_at(s[c], i)
            axis = getattr(s[c], primitive)(i)
            if not before:
                s[b].compute_at(s[c], axis)
            getattr(s[c], primitive)(c.op.reduce_axis[0])
            assert f"T.realize(B[{'5 - i_reversed' if primitive == 'reverse' else '(i_rotated + 1) % 6'}:" in body_text(
                s, [*inputs, c]
            )
            _computes_what_numpy_computes(s, inputs, c)

    def test_reductions_can_be_factored(self, primitive: str) -> None:
        for place in (0, 1):
            inputs, _, c = _sums()
            s = te.create_schedule(c.op)
            k = getattr(s[c], primitive)(c.op.reduce_axis[0])
            parts = s[c].split(k, factor=4)
            s.rfactor(c, parts[place])
            _computes_what_numpy_computes(s, inputs, c)
        inputs, _, c = _sums()
        s = te.create_schedule(c.op)
        s.rfactor(c, getattr(s[c], primitive)(c.op.reduce_axis[0]))
        _computes_what_numpy_computes(s, inputs, c)

    def test_a_cache_takes_its_layout(self, primitive: str) -> None:
        inputs, b, c = _sums()
        s = te.create_schedule(c.op)
        outer, _ = s[b].split(b.op.axis[1], factor=3)
        getattr(s[b], primitive)(outer)
        cached = s.cache_write(b, "local")
        assert [int(d) for d in cached.shape] == [6, 4, 3]
        _computes_what_numpy_computes(s, inputs, c)

    def test_is_recorded_and_replayed(self, primitive: str) -> None:
        inputs, b, c = _sums()
        s = te.create_schedule(c.op)
        axis = getattr(s[b], primitive)(b.op.axis[0])
        s[b].unroll(axis)
        replayed, map_tensor = s.replay(1)
        past = {"reverse": "reversed", "rotate": "rotated"}[primitive]
        (only,) = replayed.primitives
        assert only.label == f"{primitive}(i) -> i.{past}"
        assert only.line == s.primitives[0].line
        assert only.span <= replayed[map_tensor(b)].leaf_iter_vars[0].span
        _computes_what_numpy_computes(replayed, inputs, map_tensor(c))

    def test_its_parent_is_named_in_errors(self, primitive: str) -> None:
        _, b, c = _sums()
        s = te.create_schedule(c.op)
        getattr(s[b], primitive)(b.op.axis[0])
        past = {"reverse": "reversed", "rotate": "rotated"}[primitive]
        with pytest.raises(ScheduleError, match=f"split: axis 'i' of stage 'B' has already been {past} "):
            s[b].split(b.op.axis[0], 2)

    def test_random_schedules_draw_it(self, primitive: str) -> None:
        assert len(loop_steps()) == len(stage_primitives.methods)
        assert primitive in stage_primitives.methods


def test_a_relation_is_written_with_its_operands(rotation: ModuleType) -> None:
    _, b, c = _sums()
    s = te.create_schedule(c.op)
    io, _ = s[b].split(b.op.axis[0], factor=4)
    s[b].fuse(s[b].fuse(), s[b].reverse(s[b].rotate(io)))  # type: ignore[attr-defined]
    assert list(map(str, s[b].relations)) == [
        "Split(i -> i.outer, i.inner, factor=4)",
        "Singleton( -> singleton)",
        "Rotate(i.outer -> i.outer.rotated, by=1)",
        "Reverse(i.outer.rotated -> i.outer.rotated.reversed)",
        "Fuse(singleton, i.outer.rotated.reversed -> singleton.i.outer.rotated.reversed.fused)",
    ]


@pytest.mark.parametrize("name", sorted(Relation.__abstractmethods__))
def test_a_relation_that_lacks_a_method_is_refused_when_its_module_is_imported(name: str) -> None:
    """Each method of the interface in turn gets another name."""
    source = ROTATE.replace(f"def {name}(", f"def not_{name}(")
    assert source != ROTATE
    with pytest.raises(TypeError, match=rf"^axis relation Rotate must define {name}$"):
        exec(compile(source, "rotation", "exec"), {"__name__": "rotation"})
    assert "rotate" not in stage_primitives.methods


def test_a_primitive_has_one_definition() -> None:
    def split(self: Any, axis: Any) -> Any:
        return axis

    with pytest.raises(TypeError, match="primitive 'split' is already registered"):
        stage_primitives.register(split)

    def reorder(self: Any, axis: Any) -> Any:
        return axis

    with pytest.raises(TypeError, match="primitive 'reorder' is already registered"):
        stage_primitives.register(reorder)
