"""Names of older releases do what took their places does, and say so once."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType

import pytest

import compiler as tvm
from compiler.alias import install
from compiler.driver.older_names import build_config, relay_build_config
from compiler.ir.deprecation import deprecated
from compiler.ir.error import AttrsError
from compiler.ir.pass_context import PassContext
from compiler.names import OLDER

install()


@pytest.fixture(autouse=True)
def nothing_said_yet() -> Iterator[None]:
    deprecated.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield


def test_contexts_of_passes() -> None:
    with relay_build_config(opt_level=3, required_pass=["FastMath"], disabled_pass=["FuseOps"]) as chosen:
        assert PassContext.current() is chosen
        assert (chosen.opt_level, chosen.required_pass, chosen.disabled_pass) == (3, {"FastMath"}, {"FuseOps"})
    loops = build_config(disable_vectorize=True, auto_unroll_max_step=8)
    assert loops.config == {"tir.disable_vectorize": True, "tir.UnrollLoop": {"auto_max_step": 8}}
    with pytest.raises(AttrsError, match="no configuration option 'frobnicate'"):
        build_config(frobnicate=1)


def looked_up(name: str) -> object:
    value: object = tvm
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("older", OLDER)
def test_an_older_name_is_what_took_its_place_and_says_so_once(older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parent, _, name = older.rpartition(".")
    if isinstance(vars(looked_up(parent)).get(name), ModuleType):
        monkeypatch.delattr(looked_up(parent), name)  # type: ignore[arg-type]  # another test has imported it
    with pytest.warns(DeprecationWarning, match="is deprecated: use") as notes:
        value = looked_up(older)
    assert [str(note.message) for note in notes] == [f"{older} is deprecated: use {OLDER[older]}"]
    with warnings.catch_warnings(record=True) as more:
        assert looked_up(older) is value is looked_up(OLDER[older])
    assert more == []


@pytest.mark.parametrize("older", ["tvm.contrib.graph_runtime", "tvm.autotvm.util"])
def test_an_older_module_that_is_imported_is_noted_too(older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, older, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{older} is deprecated"):
        importlib.import_module(older)


def test_a_note_stands_at_the_line_of_the_program() -> None:
    with pytest.warns(DeprecationWarning, match=r"NDArray\.asnumpy is deprecated: use NDArray\.numpy") as notes:
        assert tvm.nd.array([1.0]).asnumpy() == [1.0]
    assert notes[0].filename == __file__
