"""Functions of external compilers: Python functions that make modules of them."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te, tir
from compiler.ir.error import BuildError
from compiler.runtime.modules.packed_func import register_func, remove_global_func

DATA = np.array([1, -2, 3], "float32")


@pytest.fixture
def compiler_named():
    """Register external compilers for the time of a test."""
    names = []

    def register(name, function):
        names.append(f"relay.ext.{name}")
        register_func(names[-1], function)

    yield register
    for name in names:
        remove_global_func(name)


def doubling(func):
    """Return code that computes twice the input, whatever the function says, to be told apart from what it says."""
    a = te.placeholder((3,), name="a")
    b = te.compute((3,), lambda i: a[i] * 2.0, name="b")
    return tvm.build(te.create_schedule(b.op), [a, b], "llvm", name=str(func.attrs["global_symbol"]))


def external_relu(compiler, symbol="part_0"):
    x = relay.var("x", shape=(3,))
    func = relay.Function([x], relay.nn.relu(x), relay.TensorType((3,), "float32"))
    attrs = {"Compiler": compiler, "Primitive": tir.IntImm("int32", 1), "global_symbol": symbol}
    for name, value in attrs.items():
        func = func.with_attr(name, value)
    return func


def local(compiler, **options):
    y = relay.var("y", shape=(3,))
    return tvm.IRModule.from_expr(relay.Function([y], external_relu(compiler, **options)(y) + relay.const(1.0)))


def in_module(compiler):
    y, part = relay.var("y", shape=(3,)), relay.GlobalVar("part_0")
    body = part(part(y)) + relay.const(1.0)
    return tvm.IRModule({part: external_relu(compiler), relay.GlobalVar("main"): relay.Function([y], body)})


@pytest.mark.parametrize("executor", ["graph", "vm"])
@pytest.mark.parametrize(("module", "expected"), [(local, DATA * 2 + 1), (in_module, DATA * 4 + 1)])
def test_a_model_runs_the_code_of_an_external_compiler(compiler_named, executor, module, expected):
    compiler_named("twice", doubling)
    run = relay.create_executor(executor, mod=module("twice"), target="llvm").evaluate()
    np.testing.assert_array_equal(run(DATA).numpy(), expected)


def test_the_code_is_imported_and_not_exported(compiler_named, tmp_path):
    compiler_named("twice", doubling)
    library = relay.build(local("twice"), "llvm")
    assert [m.implements_function("part_0") for m in library.get_lib().imported_modules] == [True]
    with pytest.raises(BuildError, match="external compilers"):
        library.export_library(str(tmp_path / "model.so"))


@pytest.mark.parametrize("build", [relay.build, relay.vm.compile])
def test_a_compiler_that_there_is_not_is_an_error(build):
    with pytest.raises(BuildError, match=r"part_0.*relay\.ext\.nobody"):
        build(local("nobody"), "llvm")


@pytest.mark.parametrize(
    ("made", "symbol", "message"),
    [(lambda func: 3, "part_0", "must return a module"), (doubling, "", "no global_symbol")],
)
def test_what_an_external_compiler_must_return_and_get(compiler_named, made, symbol, message):
    compiler_named("wrong", made)
    with pytest.raises(BuildError, match=message):
        relay.build(local("wrong", symbol=symbol), "llvm")


def test_a_module_without_the_symbol_is_an_error(compiler_named):
    compiler_named("renaming", lambda func: doubling(func.with_attr("global_symbol", "another")))
    with pytest.raises(BuildError, match="no function of the symbol 'part_0'"):
        relay.build(local("renaming"), "llvm")


def test_the_ahead_of_time_executor_refuses_them(compiler_named):
    compiler_named("twice", doubling)
    with pytest.raises(BuildError, match='Executor\\("graph"\\)'):
        relay.build(local("twice"), "llvm", executor=relay.backend.Executor("aot"))
