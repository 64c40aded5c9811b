"""Tensors, and what computes them."""

from __future__ import annotations

import json

import pytest

import compiler as tvm
from compiler import te, tir
from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, BoundError, DTypeError, TVMError
from compiler.ir.expr.primexpr import IntImm, IterVar, ProducerLoad, Range, const
from compiler.ir.expr.substitute import post_order_visit, substitute
from compiler.ir.structural import structural_equal

A = te.placeholder((20, 16), name="A")
k = te.reduce_axis((0, 16), name="k")


def test_a_placeholder_has_shape_dtype_and_name() -> None:
    t = te.placeholder((3, te.var("n")), dtype="int8", name="T")
    assert (t.ndim, t.dtype, t.name, t.op.name, t.value_index) == (2, "int8", "T", "T", 0)
    assert isinstance(t.shape[0], IntImm)
    assert t.shape[0].value == 3
    assert t.op.input_tensors == ()
    assert te.placeholder(5).ndim == 1


def test_indices_may_come_in_steps() -> None:
    i, j = te.var("i"), te.var("j")
    for read in (A[i, j], A[i][j]):
        load = read.asobject()
        assert isinstance(load, ProducerLoad)
        assert load.producer is A
        assert load.indices == (i, j)
    assert A(i, j).dtype == "float32"


def test_axes_are_named_after_the_parameters() -> None:
    t = te.compute((2, 3), lambda row, column: row + column, name="T")
    assert [a.var.name for a in t.op.axis] == ["row", "column"]
    assert all(a.iter_type == IterVar.DataPar for a in t.op.axis)
    assert t.dtype == "int32"
    several = te.compute((2, 3, 4), lambda first, *rest: first + rest[1], name="T")
    assert [a.var.name for a in several.op.axis] == ["first", "i0", "i1"]
    named = te.compute((2, 3), lambda *i: i[0], name="T", varargs_names=["y", "x"])
    assert [a.var.name for a in named.op.axis] == ["y", "x"]


class Scaled:
    def __call__(self, row: tvm.tir.PrimExpr, column: tvm.tir.PrimExpr) -> tvm.tir.PrimExpr:
        return A[row, column] * 2


def test_whatever_can_be_called_with_the_indices_computes() -> None:
    """Methods, objects and tensors: the object itself is no index."""
    for computes, names in ((Scaled(), ["row", "column"]), (Scaled().__call__, ["row", "column"]), (A, ["i0", "i1"])):
        t = te.compute((20, 16), computes, name="T")
        assert [a.var.name for a in t.op.axis] == names
        assert t.op.input_tensors == (A,)


def test_operations_that_compute_have_a_base() -> None:
    base = tvm.te.tensor.BaseComputeOp
    assert isinstance(te.compute((4,), lambda i: i, name="T").op, base)
    assert not isinstance(A.op, base)


def test_inputs_come_in_order_of_first_use() -> None:
    b = te.placeholder((16,), "int32", name="B")
    t = te.compute((16,), lambda i: A[b[i], i] + A[i, 0], name="T")
    assert [x.name for x in t.op.input_tensors] == ["B", "A"]


def test_several_outputs_share_one_operation() -> None:
    x, y = te.compute((4,), lambda i: (i + 1, i * 2.0), name="T")
    assert x.op is y.op
    assert (x.name, y.name) == ("T.v0", "T.v1")
    assert (x.dtype, y.dtype) == ("int32", "float32")
    assert x.op.output(1) is y


def test_a_tensor_without_dimensions_is_a_scalar() -> None:
    total = te.compute((), lambda: te.sum(A[0, k], axis=k), name="total")
    t = te.compute((4,), lambda i: total() + 1.0, name="T")
    assert t.op.input_tensors == (total,)
    assert [a.name for a in total.op.reduce_axis] == ["k"]


def test_the_same_names_combine_and_reduce() -> None:
    relu = te.compute((20,), lambda i: te.max(A[i, 0], 0.0), name="relu")
    largest = te.compute((20,), lambda i: te.max(A[i, k], axis=k), name="largest")
    assert relu.op.reduce_axis == ()
    assert largest.op.reduce_axis == (k,)


def test_a_shape_may_be_a_quotient() -> None:
    assert [str(d) for d in te.placeholder((64 / 32, 3), name="T").shape] == ["2", "3"]


def test_reduce_axis_takes_a_range() -> None:
    axis = te.reduce_axis(Range(2, 5), name="r")
    assert axis.iter_type == IterVar.CommReduce
    assert str(axis.dom.extent if axis.dom else None) == "3"


def test_thread_axis_takes_its_tag_first_or_its_extent() -> None:
    assert te.thread_axis("threadIdx.x").thread_tag == "threadIdx.x"
    axis = te.thread_axis((0, 8), "threadIdx.y")
    assert axis.thread_tag == "threadIdx.y"
    assert axis.dom is not None


def test_tensors_are_compared_as_objects_and_scalars_as_values() -> None:
    total = te.compute((), lambda: 1.0, name="total")
    assert A == A
    assert total != A
    assert A in [total, A]
    assert str(total == 1.0) == "total[()] == T.float32(1.0)"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: A[1, 2, 3], BoundError, "A: expected 2 indices, got 3"),
        (lambda: A[1] + 1, BoundError, "A: expected 2 indices, got 1"),
        (lambda: A[1:2, 0] + 1, ArgumentError, "A: an element is read with one index per dimension, got a slice"),
        (lambda: te.exp(A), ArgumentError, "A: a tensor of shape (20, 16) is not a scalar; index it: A[i]"),
        (lambda: bool(A[1, 1] > 0), TVMError, "a symbolic expression has no truth value"),
        (lambda: te.placeholder((2,), dtype="floot"), DTypeError, "got 'floot'"),
        (lambda: te.placeholder((2.5,), name="T"), DTypeError, "placeholder: shape must be integers, got float32"),
        (lambda: te.compute((-4,), lambda i: i, name="T"), ArgumentError, "shape must not be negative, got -4"),
        (lambda: te.compute((4,), 5, name="T"), ArgumentError, "fcompute must be callable, got 5 (tensor 'T')"),
        (lambda: te.compute((4,), lambda i, j: i, name="T"), ArgumentError, "fcompute must take 1 indices"),
        (lambda: te.compute((4,), lambda i: None), DTypeError, "expected an expression or a number, got NoneType"),
        (lambda: te.compute((4,), lambda i: "x"), ArgumentError, "fcompute must return a number, got handle"),
        (lambda: te.compute((4,), lambda i: ()), ArgumentError, "must return an expression, got an empty tuple"),
        (
            lambda: te.compute((20,), lambda i: te.sum(A[i, k], axis=k) + 1.0, name="T"),
            ArgumentError,
            "compute: a reduction is only allowed at the top level of a compute",
        ),
        (
            lambda: te.compute((20,), lambda i: (te.sum(A[i, k], axis=k), A[i, 0]), name="T"),
            ArgumentError,
            "compute: all outputs must be reductions, or none",
        ),
        (
            lambda: te.compute((20,), lambda i: (te.sum(A[i, k], axis=k), te.max(A[i, k], axis=k)), name="T"),
            ArgumentError,
            "compute: the outputs must be the 1 results of one reduction",
        ),
        (lambda: te.compute((4,), lambda i: A[i, 1.5]), DTypeError, "index 1 of 'A' must be an integer, got float32"),
        (
            lambda: te.compute((4,), type),
            ArgumentError,
            "fcompute must be a function of the indices, got <class 'type'>",
        ),
        (lambda: te.compute((4,), lambda i: i, name=5), ArgumentError, "compute: name must be a string, got 5"),
        (lambda: te.placeholder((4,), "A"), DTypeError, "got 'A'"),
        (lambda: te.placeholder((4,), name=A), ArgumentError, "placeholder: name must be a string, got Tensor"),
        (lambda: te.sum(A[0, k], axis=[k, k]), ArgumentError, "sum: each axis must be given once, got k, k"),
        (lambda: te.reduce_axis(5), ArgumentError, "reduce_axis: dom must be (begin, end) or a Range, got 5"),
        (lambda: te.reduce_axis((0, 4), name=5), ArgumentError, "reduce_axis: name must be a string, got 5"),
        (lambda: te.placeholder((4,), 3, name="T"), DTypeError, "dtype must be a string, got 3 (tensor 'T')"),
        (lambda: te.tag_scope(3), ArgumentError, "tag_scope: tag must be a string, got 3"),
        (lambda: A[0:4].region(), BoundError, "A: expected 2 indices, got 1"),
        (lambda: te.var(5), ArgumentError, "var: name must be a string, got 5"),
        (lambda: te.size_var(5), ArgumentError, "size_var: name must be a string, got 5"),
        (lambda: te.gradient("y", [A]), ArgumentError, "gradient: expected tensors, got 'y'"),
        (lambda: te.gradient(A, [A, "x"]), ArgumentError, "gradient: expected tensors, got 'x'"),
        (lambda: te.gradient(A, [A], te.placeholder((16,))), ArgumentError, "head must end with the dimensions"),
        (lambda: te.thread_axis(), ArgumentError, "thread_axis: tag must be given, such as 'threadIdx.x'"),
        (lambda: tir.if_then_else(A[1, 1], 1, 2), DTypeError, "cond must be of type bool, got float32"),
    ],
)
def test_mistakes_are_named(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)


def test_text_of_a_computation() -> None:
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((4,), lambda i: te.max(A[i, k], axis=k), name="B", tag="rows", attrs={"lanes": 4})
    text = str(B.op)
    assert text.startswith("compute(B, body=[")
    assert text.endswith(
        'axis=[T.iter_var(i, T.Range(0, 4), "DataPar", "")], '
        'reduce_axis=[T.iter_var(k, T.Range(0, 8), "CommReduce", "")], tag=rows, attrs={"lanes": 4})'
    )


def test_indices_of_a_tensor_with_more_elements_than_int32_counts_are_64_bits_wide() -> None:
    large = te.placeholder((65536, 32769), "int8", name="large")
    copy = te.compute((65536, 32769), lambda i, j: large[i, j], name="copy")
    assert {d.dtype for t in (large, copy) for d in t.shape} == {"int64"}
    with tvm.transform.PassContext(disabled_pass=["tir.CommonSubexprElimTIR"]):
        func = tvm.lower(te.create_schedule(copy.op), [large, copy])["main"]
    loops: list[tir.For] = []
    stores: list[tir.BufferStore] = []
    post_order_visit(func.body, lambda n: loops.append(n) if isinstance(n, tir.For) else None)
    post_order_visit(func.body, lambda n: stores.append(n) if isinstance(n, tir.BufferStore) else None)
    last = {loop.loop_var: loop.extent - 1 for loop in loops}
    (index,) = stores[0].indices
    assert index.dtype == "int64"
    assert structural_equal(Analyzer().simplify(substitute(index, last)), const(65536 * 32769 - 1, "int64"))


def test_indices_of_other_tensors_stay_32_bits_wide() -> None:
    assert te.placeholder((65536, 32767), "int8").shape[0].dtype == "int32"


def test_attributes_are_numbers_with_their_value_and_read_as_json() -> None:
    attrs = te.compute((4,), lambda i: i, attrs={"hint": 1, "sizes": [10, 12], "name": "x"}).op.attrs
    assert attrs["hint"] == attrs["hint"].value == 1
    assert attrs["hint"].dtype == "int32"
    assert [size.value for size in attrs["sizes"]] == [10, 12]
    assert json.loads(str(attrs)) == {"hint": 1, "sizes": [10, 12], "name": "x"}
