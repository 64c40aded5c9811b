"""Modules that import others, and files that several modules are linked into."""

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic.contrib import cc
from compiler.ir.error import ArgumentError
from tests.machines import needs_c_compiler


def adder(amount, name):
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] + amount, name="b")
    return tvm.build(te.create_schedule(b.op), [a, b], "llvm", name=name)


def check(function, amount):
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    function(a, b)
    np.testing.assert_equal(b, a + amount)


def test_functions_of_imported_modules_are_found():
    first, second, third = adder(1.0, "one"), adder(2.0, "two"), adder(3.0, "three")
    first.import_module(second)
    second.import_module(third)
    assert first.imported_modules == [second]
    check(first["three"], 3)
    check(first.get_function("two", query_imports=True), 2)
    assert first.implements_function("two", query_imports=True)
    assert not first.implements_function("two")
    first.clear_imports()
    with pytest.raises(AttributeError, match="no function is named 'two'"):
        first["two"]


def test_modules_do_not_import_each_other():
    first, second = adder(1.0, "one"), adder(2.0, "two")
    first.import_module(second)
    with pytest.raises(ArgumentError, match="would import each other"):
        second.import_module(first)
    with pytest.raises(ArgumentError, match="a module of machine code"):
        first.import_module("two")


@pytest.mark.parametrize("ending", ["ll", "bc", "o", "so"])
def test_a_saved_module_is_loaded(tmp_path, ending):
    path = str(tmp_path / f"one.{ending}")
    adder(1.0, "one").save(path)
    check(tvm.runtime.load_module(path)["one"], 1)


@needs_c_compiler
def test_a_library_has_the_functions_of_all_modules_linked_into_it(tmp_path):
    objects = [str(tmp_path / f"{name}.o") for name in ("one", "two")]
    for path, amount, name in zip(objects, (1.0, 2.0), ("one", "two"), strict=True):
        adder(amount, name).save(path)
    library = str(tmp_path / "both.so")
    cc.create_shared(library, objects)
    loaded = tvm.runtime.load_module(library)
    check(loaded["one"], 1)
    check(loaded["two"], 2)


@pytest.mark.parametrize("content", [b"define i32 @f(", b"BC\xc0\xde", b"\xff\xfe"])
def test_a_damaged_file_of_llvm_ir_is_refused(tmp_path, content):
    path = tmp_path / "broken.ll"
    path.write_bytes(content)
    with pytest.raises(ArgumentError, match=r"broken\.ll"):
        tvm.runtime.load_module(str(path))


def test_properties():
    module = adder(1.0, "one")
    assert (module.is_runnable, module.is_dso_exportable, module.is_binary_serializable) == (True, True, False)
    assert module.get_property_mask() == 6
    assert module.format == "ll"


def test_arrays_are_shared_through_dlpack():
    array = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3))
    view = np.from_dlpack(array)
    array[0, 0] = 7
    assert view[0, 0] == 7
    for source in (array, array.to_dlpack(), np.ones((2, 2), "float32")):
        shared = tvm.nd.from_dlpack(source)
        assert shared.dtype == "float32"
    with pytest.raises(ArgumentError, match="expected a tensor"):
        tvm.nd.from_dlpack(3)


def test_functions_write_into_a_tensor_unless_it_says_that_it_is_read_only() -> None:
    """A capsule without a version says nothing, and NumPy takes it for read-only."""
    a = te.placeholder((4,), name="a")
    double = tvm.build(te.create_schedule((b := te.compute((4,), lambda i: a[i] * 2)).op), [a, b], "llvm")
    data, results = tvm.nd.array(np.arange(4, dtype="float32")), tvm.nd.empty((4,)).view()
    for given in (results, results.__dlpack__()):
        results[:] = 0
        double(data, tvm.nd.from_dlpack(given))
        np.testing.assert_array_equal(results, [0, 2, 4, 6])
    results.setflags(write=False)  # older NumPy does not give it away at all, in words of its own
    with pytest.raises(ArgumentError, match=r"read-?only"):
        double(data, tvm.nd.from_dlpack(results))
