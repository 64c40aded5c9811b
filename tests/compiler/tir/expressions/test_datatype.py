"""Number formats of one's own, registered and computed with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.error import ArgumentError, BuildError, DTypeError
from compiler.ir.expr.primexpr import PrimExpr
from compiler.target.target import Target
from compiler.tir.expressions import datatype
from tests.compiler.custom_types import MYFLOAT, custom_types, register_myfloat

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    with custom_types():
        yield


def mapped(f: Callable[[PrimExpr], Any], dtype: str, size: int, vectorized: bool = False) -> tuple[te.Schedule, Any]:
    A = te.placeholder((size,), dtype, name="A")
    B = te.compute((size,), lambda i: f(A[i]), name="B")
    s = te.create_schedule(B.op)
    if vectorized:
        s[B].vectorize(s[B].split(B.op.axis[0], 4)[1])
    return s, [A, B]


def computed(f: Callable[[PrimExpr], Any], x: Array, vectorized: bool = False) -> Array:
    """Return what a function of one number computes of single precision by way of ``custom[myfloat]32``."""
    schedule, args = mapped(lambda a: f(a.astype(MYFLOAT)).astype("float32"), "float32", len(x), vectorized)
    result = tvm.nd.empty(x.shape)
    tvm.build(schedule, args, "llvm")(tvm.nd.array(x), result)
    return result.numpy()


def test_names_and_codes() -> None:
    datatype.register("posit", 150)
    assert (datatype.get_type_name(150), datatype.get_type_code("posit")) == ("posit", 150)
    assert [datatype.get_type_registered(code) for code in (150, 151)] == [True, False]
    kind = tvm.DataType("custom[posit]16x4")
    assert (kind.type_code, kind.bits, kind.lanes) == (150, 16, 4)
    with pytest.raises(DTypeError, match="begin at 129, got 3"):
        datatype.register("low", 3)
    with pytest.raises(DTypeError, match="registered already"):
        datatype.register("other", 150)
    with pytest.raises(DTypeError, match="Type code 151 not registered"):
        datatype.get_type_name(151)
    with pytest.raises(DTypeError, match="Type name nix not registered"):
        te.var("x", "custom[nix]32")


OPERATIONS: dict[str, tuple[Callable[[PrimExpr], Any], Callable[[Array], Array]]] = {
    "arithmetic": (lambda a: (a + 2.0) * a - a / 3, lambda x: (x + 2) * x - x / np.float32(3)),
    "maximum": (lambda a: te.max(a, tir.const(0.5, MYFLOAT)), lambda x: np.maximum(x, np.float32(0.5))),
    "functions": (lambda a: te.exp(a) + te.log(a) + te.tanh(a), lambda x: np.exp(x) + np.log(x) + np.tanh(x)),
    "roots": (lambda a: te.sqrt(a) + te.rsqrt(a), lambda x: np.sqrt(x) + 1 / np.sqrt(x)),
    "sigmoid": (lambda a: te.sigmoid(a), lambda x: 1 / (1 + np.exp(-x))),
    "smallest": (lambda a: a + te.min_value(MYFLOAT), lambda x: x + np.finfo("float32").min),
}


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("name", OPERATIONS)
def test_single_precision_in_disguise(name: str, vectorized: bool) -> None:
    register_myfloat()
    f, reference = OPERATIONS[name]
    x = np.linspace(0.1, 4, 16, dtype="float32")
    np.testing.assert_allclose(computed(f, x, vectorized), reference(x), rtol=1e-5)


def test_reductions_and_conditions() -> None:
    register_myfloat()
    A = te.placeholder((4, 8), MYFLOAT, name="A")
    k = te.reduce_axis((0, 8), name="k")
    padded = te.compute((4, 8), lambda i, j: tir.if_then_else(j < 5, A[i, j], tir.const(0, MYFLOAT)), name="P")
    B = te.compute((4,), lambda i: te.sum(padded[i, k], axis=k), name="B")
    M = te.compute((4,), lambda i: te.max(A[i, k], axis=k), name="M")
    x = np.random.default_rng(0).normal(size=(4, 8)).astype("float32")
    a, sums, maxima = tvm.nd.empty((4, 8), MYFLOAT), tvm.nd.empty((4,), MYFLOAT), tvm.nd.empty((4,), MYFLOAT)
    a.copyfrom(x.view(a.numpy().dtype))
    tvm.build(te.create_schedule([B.op, M.op]), [A, B, M], "llvm")(a, sums, maxima)
    np.testing.assert_allclose(sums.numpy().view("float32"), x[:, :5].sum(1), rtol=1e-5)
    np.testing.assert_array_equal(maxima.numpy().view("float32"), x.max(1))


def fixed_point(op: PrimExpr) -> PrimExpr:
    """Lower operations on ``custom[fixed]16``, whose numbers are sixteenths."""
    if isinstance(op, tir.Cast):
        if op.dtype == "float32":
            return tir.Cast("float32", tir.reinterpret("int16", op.value)) / 16.0
        return tir.reinterpret("uint16", tir.Cast("int16", op.value * 16.0))
    if isinstance(op, tir.LT):
        return tir.reinterpret("int16", op.a) < tir.reinterpret("int16", op.b)
    assert isinstance(op, tir.Add)
    return op.a + op.b


def test_operations_become_whatever_the_program_says() -> None:
    datatype.register("fixed", 140)
    datatype.register_op(fixed_point, "Cast", "llvm", "float", "fixed")
    datatype.register_op(fixed_point, "Cast", "llvm", "fixed", "float")
    datatype.register_op(fixed_point, "Add", "llvm", "fixed")
    datatype.register_op(fixed_point, "LT", "llvm", "fixed")

    def smaller_sum(a: PrimExpr) -> PrimExpr:
        x, y = a.astype("custom[fixed]16"), tir.Cast("custom[fixed]16", a * 2.0)
        return tir.Select(tir.LT(x, y), x + x, y + y).astype("float32")

    schedule, args = mapped(smaller_sum, "float32", 8)
    x, out = np.linspace(-3, 3, 8, dtype="float32"), tvm.nd.empty((8,))
    tvm.build(schedule, args, "llvm")(tvm.nd.array(x), out)
    single, double = np.trunc(x * 16) / 16, np.trunc(x * 32) / 16
    np.testing.assert_array_equal(out.numpy(), 2 * np.minimum(single, double))


def test_operands_keep_their_type_and_arrays_theirs() -> None:
    register_myfloat()
    schedule, args = mapped(lambda a: a + a, MYFLOAT, 4)
    f = tvm.build(schedule, args, "llvm")
    a = tvm.nd.empty((4,), MYFLOAT)
    with pytest.raises(ArgumentError, match=r"must have dtype custom\[myfloat\]32, got float32"):
        f(tvm.nd.array(np.ones(4, "float32")), a)
    with pytest.raises(ArgumentError, match="must be cast to"):
        a.copyfrom(np.ones(4, "float32"))
    with pytest.raises(ArgumentError, match="must be cast to"):
        tvm.nd.empty((4,)).copyfrom(a)
    assert a.copyto(tvm.cpu()).dtype == MYFLOAT
    with pytest.raises(TypeError):
        a.numpy() + 1


def test_types_that_come_together() -> None:
    register_myfloat()
    datatype.register("other", 132)
    a = te.var("a", MYFLOAT)
    assert (a + te.var("n")).dtype == (a + 1).dtype == MYFLOAT
    assert (a + te.var("x", "float32")).dtype == "float32"
    with pytest.raises(DTypeError, match="no common type"):
        a + te.var("b", "custom[other]32")


def lower_passes(f: Callable[[PrimExpr], Any]) -> tvm.IRModule:
    schedule, args = mapped(f, MYFLOAT, 4)
    module = tvm.tir.transform.BindTarget(Target("llvm"))(tvm.lower(schedule, args))
    return tvm.tir.transform.LowerCustomDatatypes()(module)


def test_calls_take_and_return_the_bits() -> None:
    register_myfloat()
    text = str(lower_passes(lambda a: te.max(a, tir.const(2.5, MYFLOAT))))
    assert 'B: T.Buffer((4,), "custom[myfloat]32")' in text
    assert 'B_1 = T.Buffer((4,), "uint32", data=B.data)' in text
    constant = 'T.call_pure_extern("uint32", "FloatToCustom32", T.float32(2.5))'
    assert f'B_1[i] = T.call_pure_extern("uint32", "Custom32Max", A_1[i], {constant})' in text


@pytest.mark.parametrize(
    ("f", "named"),
    [
        (lambda a: te.min(a, a + 1), "Min of myfloat"),
        (lambda a: a < a + 1, "LT of myfloat"),
        (lambda a: te.cos(a), "tir.cos of myfloat"),
        (lambda a: a.astype("int32"), "Cast from myfloat to int"),
        (lambda a: tir.reinterpret("uint32", a), "tir.reinterpret of myfloat"),
    ],
)
def test_an_operation_without_lowering_is_named(f: Callable[[PrimExpr], Any], named: str) -> None:
    register_myfloat()
    with pytest.raises(DTypeError, match=f"no lowering of {named} for target llvm is registered"):
        lower_passes(f)


def test_lowerings_are_checked() -> None:
    register_myfloat()
    with pytest.raises(ArgumentError, match="dest_type_name, the type that the Cast converts to"):
        datatype.register_op(lambda op: op, "Cast", "llvm", "myfloat")
    with pytest.raises(ArgumentError, match="is already registered"):
        datatype.register_op(lambda op: op, "Add", "llvm", "myfloat")
    datatype.register_op(lambda op: tir.const(1, "int8"), "Min", "llvm", "myfloat")
    with pytest.raises(DTypeError, match="lowering of Min must return an expression of uint32, got one of type int8"):
        lower_passes(lambda a: te.min(a, a + 1))
    datatype.register_op(datatype.create_lower_func({16: "F"}), "LT", "llvm", "myfloat")
    with pytest.raises(DTypeError, match="no function is known for LT of 32 bits, only for 16"):
        lower_passes(lambda a: a < a + 1)
    with pytest.raises(DTypeError, match=r"no function is known for custom\[myfloat\]8"):
        te.min_value("custom[myfloat]8")


def test_a_missing_c_function_is_named() -> None:
    datatype.register("myfloat", 131)
    datatype.register_op(datatype.create_lower_func({32: "strata_no_such_function"}), "Add", "llvm", "myfloat")
    schedule, args = mapped(lambda a: a + a, MYFLOAT, 4)
    with pytest.raises(BuildError, match="strata_no_such_function"):
        tvm.build(schedule, args, "llvm")(tvm.nd.empty((4,), MYFLOAT), tvm.nd.empty((4,), MYFLOAT))
