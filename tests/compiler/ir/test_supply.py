"""Supplies give each name out once, as TVM's do."""

from __future__ import annotations

import pytest

from compiler import relay
from compiler.ir.error import InternalError
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.supply import GlobalVarSupply, NameSupply


def test_names_get_numbers_where_they_are_taken() -> None:
    names = NameSupply("prefix")
    assert names.reserve_name("test") == "prefix_test"
    assert [names.fresh_name(n) for n in ("test", "test", "test_1", "a/c.d")] == [
        "prefix_test_1",
        "prefix_test_2",
        "prefix_test_1_1",
        "prefix_a/c_d",
    ]
    assert (names.contains_name("test_1"), names.contains_name("test_1", False)) == (True, False)
    plain = NameSupply()
    assert [plain.fresh_name("x") for _ in range(2)] + [plain.fresh_name("x", add_underscore=False)] == [
        "x",
        "x_1",
        "x2",
    ]


def test_variables_are_unique() -> None:
    supply, variable = GlobalVarSupply(NameSupply("p")), GlobalVar("test")
    supply.reserve_global(variable)
    assert supply.unique_global_for("test", False) is variable
    assert supply.fresh_global("test", False).name_hint == "test_1"
    assert supply.unique_global_for("new") is supply.unique_global_for("new")
    with pytest.raises(InternalError, match="'test'"):
        supply.reserve_global(GlobalVar("test"))
    supply.reserve_global(GlobalVar("test"), allow_conflict=True)
    assert supply.unique_global_for("test", False) is variable


def test_the_names_of_modules_are_taken() -> None:
    mod = IRModule({"main": relay.Function([], relay.const(1))})
    assert GlobalVarSupply([mod]).fresh_global("main", False).name_hint == "main_1"
    assert GlobalVarSupply(mod).fresh_global("main").name_hint == "tvmgen_default_main"
    assert GlobalVarSupply(mod).unique_global_for("main", False) is mod.get_global_var("main")
