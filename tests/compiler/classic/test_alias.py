"""``import tvm`` means this package, module by module the very same objects."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import compiler
from compiler.classic import alias
from compiler.ir.deprecation import deprecated
from compiler.ir.error import UnavailableError


@pytest.fixture(autouse=True)
def _installed() -> None:
    alias.install()


@pytest.mark.parametrize(
    ("public", "real"),
    [
        ("tvm", "compiler"),
        ("tvm.te", "compiler.te"),
        ("tvm.tir.stmt_functor", "compiler.tir.statements.stmt_functor"),
        ("tvm.tir.transform", "compiler.tir.transform"),
        ("tvm.transform", "compiler.ir.transform"),
        ("tvm.ir.transform", "compiler.ir.transform"),
        ("tvm.ir.instrument", "compiler.ir.instrument"),
        ("tvm.testing", "compiler.classic.testing"),
        ("tvm.runtime", "compiler.runtime"),
        ("tvm.nd", "compiler.runtime.arrays.ndarray"),
        ("tvm._ffi.base", "compiler.classic.runtime.ffi_base"),
        ("tvm.relay.testing", "compiler.classic.testing.relay"),
        ("tvm.parser", "compiler.relay.parser"),
    ],
)
def test_modules_are_the_same(public: str, real: str) -> None:
    assert importlib.import_module(public) is importlib.import_module(real)
    assert importlib.import_module(real).__spec__.name == real  # type: ignore[union-attr]


@pytest.mark.parametrize("name", dir(compiler))
def test_every_public_name_exists(name: str) -> None:
    assert getattr(compiler, name) is not None


def test_installing_twice_changes_nothing() -> None:
    before = list(sys.meta_path)
    alias.install()
    assert sys.meta_path == before


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        (
            "from tvm.contrib import cudnn; cudnn.softmax(1)",
            UnavailableError,
            "cudnn.softmax is not available: vendor GPU",
        ),
        (
            "from tvm.meta_schedule.feature_extractor import PerStoreFeature as T; T()",
            UnavailableError,
            "PerStoreFeature is not available: this part of the search is not",
        ),
        (
            "from tvm.script import relax as R; R.function(1)",
            UnavailableError,
            "script.relax.function is not available: Relax is not part",
        ),
        (
            "from tvm.runtime.profiling import PAPIMetricCollector as P; P()",
            UnavailableError,
            "PAPIMetricCollector is not available: hardware counters",
        ),
        ("from tvm.autotvm.tuner import RandomTunr", ModuleNotFoundError, "has no attribute 'RandomTunr'; did you"),
        ("from tvm import tensors", ModuleNotFoundError, "tvm has no attribute 'tensors'"),
        (
            "from tvm.auto_scheduler.utils import get_cons_int",
            ModuleNotFoundError,
            "tvm.auto_scheduler.utils has no attribute 'get_cons_int'; did you mean 'get_const_int'",
        ),
        ("from tvm.tir.tensor_intrin import DP4A", ModuleNotFoundError, "tvm.tir.tensor_intrin has no attribute"),
        ("from tvm.meta_schedule.tune import tun", ModuleNotFoundError, "tvm.meta_schedule.tune has no attribute"),
        (
            "from tvm.meta_schedule.tune import extract_task_from_relay as e; e()",
            UnavailableError,
            "this is of releases before 0.11; use extract_tasks and tune_relay",
        ),
        (
            "import tvm.auto_scheduler.utils; tvm.auto_scheduler.utils.get_cons_int",
            AttributeError,
            "tvm.auto_scheduler.utils has no attribute 'get_cons_int'; did you mean 'get_const_int'",
        ),
        ("import tvm.te.compute", ModuleNotFoundError, "tvm.te.compute is not a module"),
        ("import tvm; tvm.meta_schedule.ReplayTraceConfig()", UnavailableError, "max_trials_global and strategy"),
        (
            "import tvm; tvm.meta_schedule.FeatureExtractor()",
            UnavailableError,
            "FeatureExtractor is not available: this",
        ),
        ("import tvm; tvm.lowr", AttributeError, "did you mean 'lower'"),
        ("import tvm; tvm.tir.Fro", AttributeError, "did you mean 'For'"),
        ("import tvm; tvm.tir.fro", AttributeError, "did you mean 'For'"),
        ("from tvm import te; te.plaecholder((1,))", AttributeError, "tvm.te has no attribute 'plaecholder'; did you"),
        ("import tvm; tvm.target.Targte", AttributeError, "did you mean 'Target'"),
        ("from tvm.tir import Fro", ModuleNotFoundError, "did you mean 'For'"),
        ("import tvm.nowhere.at_all", ModuleNotFoundError, "tvm has no attribute 'nowhere'"),
    ],
)
def test_unknown_names_are_explained(statement: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        exec(statement, {})


def test_a_package_that_stood_beside_tvm_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    deprecated.cache_clear()
    monkeypatch.delitem(sys.modules, "topi", raising=False)  # another test may have imported it
    with pytest.warns(DeprecationWarning, match=r"topi is deprecated: use tvm\.topi"):
        topi = importlib.import_module("topi")
    assert topi is importlib.import_module("tvm.topi")
    assert importlib.import_module("topi.nn") is importlib.import_module("tvm.topi.nn")


def test_a_program_may_have_a_package_of_that_name_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "topi").mkdir()
    (tmp_path / "topi" / "__init__.py").write_text("")
    (tmp_path / "topi" / "nn.py").write_text("own = True")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [n for n in sys.modules if n.partition(".")[0] == "topi"]:
        monkeypatch.delitem(sys.modules, name)
    assert importlib.import_module("topi.nn").own
    monkeypatch.delitem(sys.modules, "topi.nn")
    monkeypatch.delitem(sys.modules, "topi")
