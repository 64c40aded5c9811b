"""Functions are registered under names, and Python values become objects of the runtime."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import compiler as tvm
from compiler.ir.error import ArgumentError, BoundError
from compiler.ir.expr.primexpr import FloatImm, IntImm
from compiler.runtime.container import ADT, Array, Map, String, tuple_object
from compiler.runtime.modules import packed_func as functions


@pytest.fixture
def name() -> Iterator[str]:
    yield "tests.function"
    if "tests.function" in functions.list_global_func_names():
        functions.remove_global_func("tests.function")


def test_functions_are_found_by_name(name: str) -> None:
    @tvm.register_func(name)
    def add(x: int, y: int) -> int:
        return x + y

    function = tvm.get_global_func(name)
    assert function is not None
    assert function(2, 3) == add(2, 3) == 5
    assert function.is_global
    assert name in functions.list_global_func_names()
    with pytest.raises(ArgumentError, match="is taken"):
        tvm.register_func(name, add)
    tvm.register_func(name, max, override=True)
    assert tvm.get_global_func(name)(2, 3) == 3  # type: ignore[misc]
    functions.remove_global_func(name)
    assert tvm.get_global_func(name, allow_missing=True) is None
    for missing in (tvm.get_global_func, functions.remove_global_func):
        with pytest.raises(ArgumentError, match="no function is registered under"):
            missing(name)


def test_arguments_are_objects_of_the_runtime(name: str) -> None:
    seen: list[object] = []
    tvm.register_func(name, lambda *args: seen.extend(args))
    array = tvm.nd.array(np.zeros(2))
    tvm.get_global_func(name)(1, 2.5, "a", [1, 2], array, lambda x: x + 1, None)  # type: ignore[misc]
    number, real, text, items, same, function, nothing = seen
    assert (number, real, text, nothing) == (1, 2.5, "a", None)
    assert same is array
    assert isinstance(items, Array)
    assert isinstance(function, functions.PackedFunc)
    assert function(1) == 2


def test_python_values_are_converted() -> None:
    values = functions.convert([1, 2.5, "a", {"b": (True, None)}])
    assert [type(v) for v in values] == [IntImm, FloatImm, String, Map]
    assert values[3]["b"][0].dtype == "bool"
    assert functions.convert(values[0]) is values[0]
    x = tvm.tir.Var("x", "int32")
    assert functions.convert({x: 1})[x].value == 1
    assert functions.convert(print).__wrapped__ is print
    with pytest.raises(ArgumentError, match="a value of type ndarray is not an object"):
        functions.convert(np.zeros(2))


def test_pythons_own_containers_count() -> None:
    assert isinstance((1, 2), Array)
    assert isinstance({"a": 1}, Map)
    assert isinstance("a", String)
    assert not isinstance([1], Array)


def test_tagged_values_are_indexed() -> None:
    pair = tuple_object([4, 5])
    assert (len(pair), pair[-1], pair[0:2], pair.tag) == (2, 5, [4, 5], 0)
    with pytest.raises(BoundError, match="index 2 is out of range, the length is 2"):
        ADT(3, [1, 2])[2]


def test_functions_of_modules_that_are_not_imported_yet_are_there() -> None:
    program = (
        "from compiler.classic import alias; alias.install(); import tvm; "
        "print(tvm.get_global_func('tvm.contrib.cblas.matmul', True) is not None)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"


def test_functions_of_modules_that_are_not_imported_yet_are_listed():
    """In a process of its own, as any other test may have imported them."""
    program = (
        "from compiler.classic import alias; alias.install(); "
        "from compiler.runtime.modules.packed_func import list_global_func_names as names; "
        "assert {'relay.tec.LowerTE', 'relay.ext.ccompiler'} <= set(names())"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
