"""Extern operations: calls of foreign functions, and loops written with the IR builder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral

from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, PrimExpr, Range, Var
from compiler.ir.node import node
from compiler.ir.origin import derived_from, mint_source
from compiler.te.definition.tag import current_tag
from compiler.te.definition.tensor import Operation, Tensor
from compiler.tir.analysis.memory import used_buffers
from compiler.tir.expressions.builtin import tvm_tuple
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, Evaluate, Stmt


@node
class ExternOp(Operation):
    """Computes its outputs by a statement over buffers, its placeholders; made by :func:`extern`."""

    inputs: tuple[Tensor, ...]
    input_placeholders: tuple[Buffer, ...]
    output_placeholders: tuple[Buffer, ...]
    body: Stmt

    def __post_init__(self) -> None:
        self._set_outputs([(b.shape, b.dtype) for b in self.output_placeholders])

    @property
    def expressions(self) -> tuple[PrimExpr, ...]:
        return tuple(extent for t in self.outputs for extent in t.shape)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return self.inputs

    def with_inputs(self, mapping: Mapping[Tensor, Tensor]) -> ExternOp:
        inputs = tuple(mapping.get(t, t) for t in self.inputs)
        with derived_from(self.span):
            return ExternOp(
                self.name, self.tag, self.attrs, inputs, self.input_placeholders, self.output_placeholders, self.body
            )

    def statement(self) -> Stmt:
        """Return the statement, with its buffers bound to the tensors that they stand for."""
        body = self.body
        tensors = (*self.inputs, *self.outputs)
        buffers = (*self.input_placeholders, *self.output_placeholders)
        for tensor, buffer in reversed(list(zip(tensors, buffers, strict=True))):
            body = bind_buffer(buffer, tensor, [Range(0, extent) for extent in tensor.shape], body)
        return body

    def __repr__(self) -> str:
        return f"extern({self.name}, {hex(id(self))})"

    __str__ = __repr__


def bind_buffer(buffer: Buffer, tensor: Tensor, region: Sequence[Range], body: Stmt) -> Stmt:
    """Return a statement in which a buffer stands for a part of a tensor.

    Variables in the buffer's strides and its offset get their values here.
    """
    box = [e for r in region for e in (r.min, r.extent)]
    return AttrStmt((buffer, tensor), "buffer_bind_scope", tvm_tuple(*box), body)


def extern(
    shape: ExprLike | Sequence[ExprLike] | Sequence[Sequence[ExprLike]],
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Buffer], list[Buffer]], PrimExpr | Stmt],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    in_buffers: Buffer | Sequence[Buffer] | None = None,
    out_buffers: Buffer | Sequence[Buffer] | None = None,
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
) -> Tensor | list[Tensor]:
    """Declare tensors that a statement of the user's computes, such as the call of a registered function.

    Raises ArgumentError if an argument is not as described, or the inputs are of several data types and ``dtype`` is
    not given.

    Parameters
    ----------
    shape : tuple of int or PrimExpr, or list of such tuples
        The shape of the output, or of each of several, which are then returned as a list.
    fcompute : callable
        ``fcompute(ins, outs)`` takes lists of buffers and returns a call or a statement.
    dtype : str or sequence of str, optional
        The data types of the outputs; that of the inputs by default.
    in_buffers, out_buffers : Buffer or sequence of Buffer, optional
        What ``fcompute`` is given in place of compact buffers.

    Examples
    --------
    >>> C = te.extern((n,), [A, B], lambda ins, outs: tir.call_packed("add", ins[0], ins[1], outs[0]), name="C")
    """
    shapes = _shapes(shape)
    for t in inputs:
        if not isinstance(t, Tensor):
            raise ArgumentError(f"extern: inputs must be tensors, got {show(t)}")
    with derived_from(mint_source(f"{name} = extern")):
        ins = _given("in_buffers", in_buffers, len(inputs)) or [_anywhere(t.shape, t.dtype, t.name) for t in inputs]
        outs = _given("out_buffers", out_buffers, len(shapes))
        if not outs:
            types = _types(dtype, inputs, len(shapes))
            outs = [_anywhere(s, kind, name) for s, kind in zip(shapes, types, strict=True)]
        body = fcompute(ins, outs)
        if isinstance(body, PrimExpr):
            body = Evaluate(body)
        if not isinstance(body, Stmt):
            raise ArgumentError(f"extern: fcompute must return a call or a statement, got {show(body)} ({name!r})")
        op = ExternOp(name, current_tag("extern", tag), dict(attrs or {}), tuple(inputs), tuple(ins), tuple(outs), body)
    return list(op.outputs) if len(op.outputs) > 1 else op.output(0)


def _anywhere(shape: ExprLike, dtype: str, name: str) -> Buffer:
    """Declare a buffer that may begin at any element of its memory."""
    return decl_buffer(shape, dtype, name, elem_offset=Var("elem_offset"), offset_factor=1)


def extern_primfunc(
    input_tensors: Sequence[Tensor], primfunc: PrimFunc, name: str = "extern", tag: str = ""
) -> Tensor | list[Tensor]:
    """Declare tensors that a function over loops computes.

    The tensors stand for the buffers that the function reads, in the order of its parameters; it writes its other
    buffers. Raises ArgumentError if the function reads or writes nothing, writes what it reads, or its buffers do not
    fit the tensors.
    """
    if not isinstance(primfunc, PrimFunc):
        raise ArgumentError(f"extern_primfunc: primfunc must be a PrimFunc, got {show(primfunc)}")
    read, written = used_buffers(primfunc.body)
    ordered = [primfunc.buffer_map[p] for p in primfunc.params if p in primfunc.buffer_map]
    ins = [b for b in ordered if b in read]
    outs = [b for b in ordered if b in written]
    for buffer in ins:
        if buffer in written:
            raise ArgumentError(f"extern_primfunc: buffer {buffer.name!r} must be read or written, and is both")
    if not ins or not outs:
        raise ArgumentError("extern_primfunc: the function must read some buffers and write others")
    if len(ins) != len(input_tensors):
        raise ArgumentError(f"extern_primfunc: the function reads {len(ins)} buffers, got {len(input_tensors)} tensors")
    for tensor, buffer in zip(input_tensors, ins, strict=True):
        if len(tensor.shape) != len(buffer.shape) or tensor.dtype != buffer.dtype:
            raise ArgumentError(f"extern_primfunc: tensor {tensor.name!r} does not fit buffer {buffer.name!r}")
        for d, (a, b) in enumerate(zip(tensor.shape, buffer.shape, strict=True)):
            if not Analyzer().can_prove_equal(a, b):
                raise ArgumentError(
                    f"extern_primfunc: dimension {d} of tensor {tensor.name!r} has {a} elements, "
                    f"that of buffer {buffer.name!r} {b}"
                )
    shapes = [b.shape for b in outs]
    return extern(shapes, input_tensors, lambda *_: primfunc.body, name, in_buffers=ins, out_buffers=outs, tag=tag)


def _shapes(shape: ExprLike | Sequence[ExprLike] | Sequence[Sequence[ExprLike]]) -> list[tuple[ExprLike, ...]]:
    dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not dims or isinstance(dims[0], (PrimExpr, Integral)):
        return [dims]
    return [tuple(s) for s in dims]


def _given(argument: str, buffers: Buffer | Sequence[Buffer] | None, count: int) -> list[Buffer]:
    if not buffers:
        return []
    listed = [buffers] if isinstance(buffers, Buffer) else list(buffers)
    if len(listed) != count:
        raise ArgumentError(f"extern: {argument} must be {count} buffers, got {len(listed)}")
    return listed


def _types(dtype: str | Sequence[str] | None, inputs: Sequence[Tensor], count: int) -> list[str]:
    if dtype is None:
        kinds = {t.dtype for t in inputs}
        if len(kinds) != 1:
            raise ArgumentError("extern: dtype must be given, as the inputs have no single data type")
        return [*kinds] * count
    listed = [dtype] * count if isinstance(dtype, str) else list(dtype)
    if len(listed) != count:
        raise ArgumentError(f"extern: dtype must be {count} data types, got {len(listed)}")
    return listed
