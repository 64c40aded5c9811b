"""The NumPy program that an expert would write for a tensor expression.

Every read whose indices are affine in the axes is a strided view of its tensor, so that a matrix multiplication, a
convolution or a window sum becomes one ``numpy.einsum`` over views (which uses BLAS where it can), and elementwise
work becomes ufuncs over broadcast views.  Results of schedules are checked against it, and their speed is compared with
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Literal

import numpy as np

from compiler.arith import Analyzer
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir.error import TVMError
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, ProducerLoad, Var
from compiler.ir.expr.substitute import substitute, values_of
from compiler.ir.functor import Functor
from compiler.te.definition.numpy_program import NumPyArray, NumPyProgram, Tape, strided_view
from compiler.te.definition.operation import ComputeOp, PlaceholderOp, domain
from compiler.te.definition.tensor import Operation, Tensor
from compiler.tir.expressions.evaluation import UFUNCS

MAX_TEMPORARY_ELEMENTS = 1 << 26
"""Elements that an intermediate array may have; beyond it there is no sensible NumPy program."""

MAX_FOLD_STEPS = 1 << 14
"""Steps of a reduction that is carried out step by step, because NumPy has no function for it."""


_SUBSCRIPTS = ascii_lowercase[8:] + ascii_lowercase[:8] + ascii_uppercase
"""Letters for the axes of ``einsum``, from i on."""


class NoNumPyProgram(TVMError):
    """The expression has no NumPy program of sensible size; the message says why."""


def evaluate(outputs: Sequence[Tensor], inputs: Mapping[Tensor, NumPyArray]) -> list[NumPyArray]:
    """Compute tensors of constant shapes with NumPy."""
    return numpy_program(outputs, inputs)[0]


def numpy_program(
    outputs: Sequence[Tensor], inputs: Mapping[Tensor, NumPyArray]
) -> tuple[list[NumPyArray], NumPyProgram]:
    """Compute tensors of constant shapes with NumPy, and return the calls that compute them again from the same inputs.

    Results are C-contiguous; to repeat the calls, no expression is looked at.
    """
    values = _Values(inputs)
    arrays = [values.of(tensor) for tensor in outputs]
    return arrays, values.tape.program(arrays)


class _Values:
    """Values of tensors, each computed once; what is called for them is on the tape."""

    def __init__(self, inputs: Mapping[Tensor, NumPyArray]) -> None:
        self.tape = Tape(inputs)
        self._arrays = dict(inputs)

    def of(self, tensor: Tensor) -> NumPyArray:
        """Return the value of a tensor, and compute all that it needs."""
        if tensor not in self._arrays:
            op = tensor.op
            if isinstance(op, PlaceholderOp):
                raise NoNumPyProgram(f"no value is given for placeholder {tensor.name!r}")
            if not isinstance(op, ComputeOp):
                raise NoNumPyProgram(f"{tensor.name!r} is not a compute operation")
            for index, body in enumerate(op.body):
                result = op.output(index)
                self._arrays[result] = self._contiguous(_Evaluation(op.axis, self).at_all_points(body), result.dtype)
        return self._arrays[tensor]

    def _contiguous(self, value: NumPyArray, dtype: str) -> NumPyArray:
        """Return a value in C order, as strided reads count on."""
        if value.dtype == dtype and value.flags.c_contiguous:
            return value
        if value.dtype == dtype:
            array: NumPyArray = self.tape.call(np.ascontiguousarray, value)
        else:
            array = self.tape.call(_astype, value, dtype, order="C")
        return array


def _range_of(axis: expr.IterVar) -> tuple[int, int]:
    """Return the first value of an axis, and how many there are."""
    begin, extent = domain(axis).min, domain(axis).extent
    if not isinstance(begin, expr.IntImm) or not isinstance(extent, expr.IntImm):
        raise NoNumPyProgram(f"axis {axis.var.name!r} has a symbolic extent")
    return begin.value, extent.value


def _copied(op: Operation) -> ProducerLoad | None:
    """Return the read that an operation copies into another layout, or None when it does more than that."""
    if isinstance(op, ComputeOp) and len(op.body) == 1 and isinstance(op.body[0], ProducerLoad):
        return op.body[0]
    return None


class _Evaluation(Functor):
    """Evaluates one expression over all points of some axes at once; every value broadcasts to their extents."""

    def __init__(self, axes: Sequence[expr.IterVar], values: _Values) -> None:
        self.axes = list(axes)
        self.vars = [axis.var for axis in axes]
        ranges = [_range_of(axis) for axis in axes]
        self.starts = [begin for begin, _ in ranges]
        self.shape = tuple(extent for _, extent in ranges)
        self.values = values
        self.tape = values.tape
        self.bound: dict[Var, object] = {}
        self._analyzer = Analyzer()
        for axis in axes:
            self._analyzer.bind(axis.var, domain(axis))

    def at_all_points(self, e: PrimExpr) -> NumPyArray:
        """Return the value of ``e`` at every point."""
        value = self.tape.array(self.visit(e))
        return value if value.shape == self.shape else self.tape.view(np.broadcast_to, value, self.shape)

    def visit_IntImm(self, n: expr.IntImm | expr.FloatImm) -> object:
        return np.dtype(n.dtype).type(n.value)

    visit_FloatImm = visit_IntImm

    def visit_Var(self, n: Var) -> object:
        if n in self.bound:
            return self.bound[n]
        if n not in self.vars:
            raise NoNumPyProgram(f"variable {n.name!r} has no value")
        where = self.vars.index(n)
        low = self.starts[where]
        values = np.arange(low, low + self.shape[where], dtype=n.dtype)
        return values.reshape([-1 if d == where else 1 for d in range(len(self.shape))])

    def visit_BinaryOp(self, n: expr.BinaryOp) -> object:
        a, b = self.visit(n.a), self.visit(n.b)
        if not isinstance(n, expr.Div):
            return self.tape.call(UFUNCS[n.symbol], a, b)
        quotient = self.tape.call(np.true_divide, a, b)
        return quotient if n.dtype.startswith("float") else self._cast(self.tape.call(np.trunc, quotient), n.dtype)

    def _cast(self, value: object, dtype: str) -> object:
        array = self.tape.array(value)
        return array if array.dtype == dtype else self.tape.call(_astype, array, dtype)

    def visit_Not(self, n: expr.Not) -> object:
        return self.tape.call(np.logical_not, self.visit(n.a))

    def visit_Cast(self, n: expr.Cast) -> object:
        return self._cast(self.visit(n.value), n.dtype)

    def visit_Broadcast(self, n: expr.Broadcast) -> object:
        raise NoNumPyProgram("vectors have no NumPy counterpart here")

    def visit_Let(self, n: expr.Let) -> object:
        self.bound[n.var] = self.visit(n.value)
        return self.visit(n.body)

    def visit_Select(self, n: expr.Select) -> object:
        return self.tape.call(np.where, self.visit(n.condition), self.visit(n.true_value), self.visit(n.false_value))

    def visit_Call(self, n: expr.Call) -> object:
        name = getattr(n.op, "name", "")
        reference = np.where if name == "tir.if_then_else" else getattr(n.op, "reference", None)
        if reference is None:
            raise NoNumPyProgram(f"{name or n.op} has no NumPy counterpart")
        args = [self.visit(a) for a in n.args]
        if name == "tir.likely":
            return args[0]
        value = self.tape.call(reference, *args)
        return value if reference is np.where else self._cast(value, n.dtype)

    def visit_ProducerLoad(self, n: ProducerLoad) -> object:
        n = self._through_copies(n)
        source = self.values.of(n.producer)
        view = self._strided(source, n.indices)
        if view is not None:
            return view
        if int(np.prod(self.shape)) > MAX_TEMPORARY_ELEMENTS:
            raise NoNumPyProgram(f"reading {n.producer.name!r} needs a temporary of {self.shape} elements")
        # Reads that a condition guards may point outside: any value will do there, the condition drops it.
        indices = [
            self.tape.call(np.clip, self.visit(i), 0, d - 1) for i, d in zip(n.indices, source.shape, strict=True)
        ]
        return self.tape.call(_take, source, *indices)

    def _through_copies(self, n: ProducerLoad) -> ProducerLoad:
        """Return the read of what a copy was made from: packing is for speed, and NumPy packs by itself."""
        while (original := _copied(n.producer.op)) is not None:
            here = values_of(zip((axis.var for axis in n.producer.op.axis), n.indices, strict=True))
            indices = [self._analyzer.simplify(substitute(index, here)) for index in original.indices]
            n = ProducerLoad(original.producer, tuple(indices))
        return n

    def _strided(self, source: NumPyArray, indices: Sequence[PrimExpr]) -> NumPyArray | None:
        """Return the read as a view over the axes, or None if it is not affine or leaves the tensor."""
        strides, offset = [0] * len(self.vars), 0
        for dimension, index in enumerate(indices):
            row = self._affine(index)
            if row is None:
                return None
            *coefficients, base = row
            reach = [c * (extent - 1) for c, extent in zip(coefficients, self.shape, strict=True)]
            low, high = base + sum(min(0, r) for r in reach), base + sum(max(0, r) for r in reach)
            if low < 0 or high >= source.shape[dimension]:
                return None
            offset += base * source.strides[dimension]
            strides = [s + c * source.strides[dimension] for s, c in zip(strides, coefficients, strict=True)]
        shape = tuple(extent if stride else 1 for extent, stride in zip(self.shape, strides, strict=True))
        if not offset and shape == source.shape and tuple(strides) == source.strides:
            return source
        return self.tape.view(strided_view, source, offset // source.itemsize, shape, tuple(strides))

    def _affine(self, index: PrimExpr) -> list[int] | None:
        """Return the coefficient of each axis and the constant, axes counted from zero."""
        row = detect_linear_equation(index, self.vars)
        values = [c.value for c in row if isinstance(c, expr.IntImm)]
        if not row or len(values) < len(row):
            return None
        values[-1] += sum(c * s for c, s in zip(values, self.starts, strict=False))
        return values

    def visit_Reduce(self, n: expr.Reduce) -> object:
        inner = _Evaluation([*self.axes, *n.axis], self.values)
        combine = _reducer(n)
        unconditional = isinstance(n.condition, expr.IntImm)
        if combine is np.add and unconditional and not n.init:
            product = inner.factors(n.source[0])
            if product is not None:
                return inner.contract(product, len(self.axes))
        if int(np.prod(inner.shape)) > MAX_TEMPORARY_ELEMENTS:
            raise NoNumPyProgram(f"the reduction needs a temporary of {inner.shape} elements")
        if combine is None:
            return self._fold(n, inner)
        start = inner.visit(n.combiner.identity_element[0])
        values = inner.at_all_points(n.source[0])
        if not unconditional:
            values = self.tape.call(np.where, inner.at_all_points(n.condition), values, start)
        where = tuple(range(len(self.axes), len(inner.axes)))
        result = self.tape.call(combine.reduce, values, axis=where, dtype=n.dtype, initial=start)
        return self.tape.call(combine, self.at_all_points(n.init[0]), result) if n.init else result

    def _fold(self, n: expr.Reduce, inner: _Evaluation) -> NumPyArray:
        """Reduce by any combiner: one step a reduced element, all elements of the result at once."""
        steps = int(np.prod(inner.shape[len(self.axes) :]))
        if steps > MAX_FOLD_STEPS:
            raise NoNumPyProgram(f"the reduction has no NumPy counterpart, and {steps} steps")
        shape = (*self.shape, steps)
        sources = [self.tape.call(np.reshape, inner.at_all_points(e), shape) for e in n.source]
        condition = self.tape.call(np.reshape, inner.at_all_points(n.condition), shape)
        state = [self.at_all_points(e) for e in n.init or n.combiner.identity_element]
        step = _Evaluation(self.axes, self.values)
        for p in range(steps):
            step.bound = dict(zip(n.combiner.lhs, state, strict=True))
            step.bound |= zip(n.combiner.rhs, (self.tape.view(_plane, s, p) for s in sources), strict=True)
            new = [step.at_all_points(e) for e in n.combiner.result]
            chosen = self.tape.view(_plane, condition, p)
            state = [self.tape.call(np.where, chosen, *pair) for pair in zip(new, state, strict=True)]
        return state[n.value_index]

    def factors(self, e: PrimExpr) -> list[NumPyArray] | None:
        """Return the factors of a product of views, or None if ``e`` is something else."""
        if isinstance(e, expr.Mul):
            left, right = self.factors(e.a), self.factors(e.b)
            return None if left is None or right is None else left + right
        if isinstance(e, ProducerLoad):
            e = self._through_copies(e)
            view = self._strided(self.values.of(e.producer), e.indices)
            return None if view is None else [view]
        return None

    def contract(self, product: list[NumPyArray], rank: int) -> NumPyArray:
        """Sum a product of views over the axes from ``rank`` on."""
        # An axis that a factor does not depend on has extent 1: it is not a subscript of that factor.
        factors = [([d for d, extent in enumerate(view.shape) if extent > 1], view) for view in product]
        # With the rows' factor last, a matrix product comes in C order; else all of it would have to be copied.
        factors.sort(key=lambda factor: min(factor[0], default=rank), reverse=True)
        views = [(dims, self._without_broadcast_axes(view, dims)) for dims, view in factors]
        present = {d for dims, _ in views for d in dims}
        repeat = int(np.prod([self.shape[d] for d in range(rank, len(self.shape)) if d not in present]))
        out = [d for d in range(rank) if d in present]
        result = self._einsum(views, out)
        shape = tuple(self.shape[d] if d in present else 1 for d in range(rank))
        total: NumPyArray = result if result.shape == shape else self.tape.call(np.reshape, result, shape)
        return total if repeat == 1 else self.tape.call(np.multiply, total, product[0].dtype.type(repeat))

    def _without_broadcast_axes(self, view: NumPyArray, dims: list[int]) -> NumPyArray:
        """Return a view with the axes ``dims`` alone."""
        if len(dims) == view.ndim:
            return view
        shape = tuple(view.shape[d] for d in dims)
        return self.tape.view(np.reshape, view, shape)

    def _einsum(self, views: list[tuple[list[int], NumPyArray]], out: list[int]) -> NumPyArray:
        """Sum a product of views, each with the axes that its dimensions are, over those that are not in ``out``."""
        subscripts = ",".join("".join(_SUBSCRIPTS[d] for d in dims) for dims, _ in views)
        subscripts += "->" + "".join(_SUBSCRIPTS[d] for d in out)
        operands = [view for _, view in views]
        if (matrices := self._matrices(views, out)) is not None:
            product: NumPyArray = self.tape.call(np.matmul, *matrices)
            return product
        path = np.einsum_path(subscripts, *operands, optimize="greedy")[0]
        result: NumPyArray = self.tape.call(np.einsum, subscripts, *operands, optimize=path)
        return result

    def _matrices(self, views: list[tuple[list[int], NumPyArray]], out: list[int]) -> list[NumPyArray] | None:
        """Return two factors as the matrices whose product they are, or None if it is not a product of matrices.

        Axes of a view come in the order of the loops, so what is stored as a matrix may be seen transposed here.
        """
        if len(views) != 2 or len(out) != 2 or any(len(dims) != 2 or not _is_dense(view) for dims, view in views):
            return None
        rows, columns = out
        left, right = views if rows in views[0][0] else views[::-1]
        shared = set(left[0]) & set(right[0])
        if shared & {rows, columns} or set(left[0]) != {rows} | shared or set(right[0]) != {columns} | shared:
            return None
        return [
            view if dims[place] == axis else self.tape.view(np.transpose, view)
            for (dims, view), place, axis in ((left, 0, rows), (right, 1, columns))
        ]


def _is_dense(matrix: NumPyArray) -> bool:
    """Whether the rows or the columns of a matrix are contiguous: BLAS takes such a matrix as it is."""
    return matrix.itemsize in matrix.strides


def _astype(value: NumPyArray, dtype: str, order: Literal["K", "C"] = "K") -> NumPyArray:
    return value.astype(dtype, order=order)


def _take(source: NumPyArray, *indices: NumPyArray) -> NumPyArray:
    """Return the elements at some indices, which broadcast against each other."""
    elements: NumPyArray = source[indices]
    return elements


def _plane(values: NumPyArray, index: int) -> NumPyArray:
    """Return the elements whose last index is ``index``."""
    plane: NumPyArray = values[..., index]
    return plane


def _reducer(n: expr.Reduce) -> np.ufunc | None:
    """Return the ufunc of a reduction whose combiner is one operation on its two arguments, else None."""
    combiner = n.combiner
    if len(combiner.result) > 1:
        return None
    e = combiner.result[0]
    if (
        not isinstance(e, (expr.Add, expr.Mul, expr.Min, expr.Max))
        or e.a is not combiner.lhs[0]
        or e.b is not combiner.rhs[0]
    ):
        return None
    return UFUNCS[e.symbol]
