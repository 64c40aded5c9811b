"""Schedules that ``tune_tir`` finds are in its database, also when it is opened again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic import meta_schedule
from compiler.ir.error import ArgumentError


def _tensors() -> list[te.Tensor]:
    a, b, k = te.placeholder((16, 8), name="A"), te.placeholder((8, 32), name="B"), te.reduce_axis((0, 8), "k")
    return [a, b, te.compute((16, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def test_a_function_is_tuned_and_its_schedule_computes_what_the_function_does(tmp_path: Path) -> None:
    func = te.create_prim_func(_tensors())
    database = meta_schedule.tune_tir(
        func, "llvm", tmp_path, 2, num_trials_per_iter=2, seed=1, num_tuning_cores=1
    )  # fmt: skip
    schedule = meta_schedule.tir_integration.compile_tir(database, func, "llvm")
    assert schedule is not None
    arrays = [np.random.default_rng(0).random(shape, "float32") for shape in ((16, 8), (8, 32), (16, 32))]
    tvm.build(schedule.mod, target="llvm")(*arrays)
    np.testing.assert_allclose(arrays[2], arrays[0] @ arrays[1], rtol=1e-5)
    (tmp_path / "database_tuning_record.json").write_bytes(
        (tmp_path / "database_tuning_record.json").read_bytes() + b'{"workload": 0, "rec'
    )  # as a process that was killed leaves it
    with pytest.warns(UserWarning, match="line 2 of a log was cut off"):
        opened = meta_schedule.database.JSONDatabase(work_dir=tmp_path)
    found = opened.query_ir_module(func, "llvm")
    assert tvm.ir.structural_equal(found, schedule.mod)
    assert opened.has_workload(func)
    assert len(opened) == len(opened.get_all_tuning_records()) == 1
    assert opened.query_schedule(func, "llvm -mcpu=haswell") is None
    with opened:
        assert meta_schedule.Database.current() is opened
    assert meta_schedule.Database.current() is None


def test_tensors_are_tuned_and_unknown_options_refused(tmp_path: Path) -> None:
    schedule = meta_schedule.tune_te(
        _tensors(), "llvm", tmp_path, 1, num_trials_per_iter=1, database="memory", num_tuning_cores=1
    )  # fmt: skip
    assert schedule is not None
    assert not (tmp_path / "database_workload.json").exists()
    with pytest.raises(ArgumentError, match="strategy must be 'evolutionary'"):
        meta_schedule.tune_tir(schedule.mod, "llvm", tmp_path, 1, strategy="replay-func")
