"""``te.create_prim_func``: lowers tensor expressions to TensorIR blocks, for ``tir.Schedule``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, ProducerLoad, Range, Reduce, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Mutator
from compiler.ir.names import take_name
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.te.definition.dataflow import post_dfs_order
from compiler.te.definition.extern import ExternOp
from compiler.te.definition.index_types import IndexTypes
from compiler.te.definition.operation import ComputeOp, PlaceholderOp, domain
from compiler.te.definition.scan import warn_of_reads_outside
from compiler.te.definition.tensor import Operation, Tensor
from compiler.tir.analysis.block_access import get_block_access_region
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind, IfThenElse, LetStmt, Stmt, seq

LAYOUT_FREE = "layout_free_placeholders"
"""The attribute of operations whose inputs may be laid out anew."""


def create_prim_func(ops: Sequence[Tensor | Var], index_dtype_override: str | None = None) -> PrimFunc:
    """Return a function of blocks that computes tensors, one block for each operation, in loops over its axes.

    What is computed in between is allocated in the root block. Raises ArgumentError if ``ops`` holds something else, or
    a placeholder that is read is not among them. Raises DTypeError if an operation is neither a placeholder, a
    computation nor an extern operation: a ``TypeError``.

    Parameters
    ----------
    ops : sequence of Tensor or Var
        The parameters of the function, in order: inputs, outputs, and scalars.
    index_dtype_override : str, optional
        The data type of all loops and indices, e.g. ``int64``.

    Examples
    --------
    >>> A = te.placeholder((128,), name="A")
    >>> B = te.compute((128,), lambda i: A[i] * 2.0, name="B")
    >>> sch = tir.Schedule(te.create_prim_func([A, B]))
    """
    for arg in ops:
        if not isinstance(arg, (Tensor, Var)):
            raise ArgumentError(f"create_prim_func: expected tensors and variables, got {show(arg)}")
    order = post_dfs_order(t.op for t in ops if isinstance(t, Tensor))
    warn_of_reads_outside(order)
    return _Blocks(ops, IndexTypes(index_dtype_override)).function(order)


class _Blocks:
    """Makes the blocks of some operations."""

    def __init__(self, args: Sequence[Tensor | Var], types: IndexTypes) -> None:
        self._args = args
        self._types = types
        self._buffers: dict[Tensor, Buffer] = {}
        self._given: dict[Tensor, Buffer] = {}
        """What extern operations have declared for their tensors."""
        self._allocated: list[Buffer] = []
        self._names: set[str] = set()

    def function(self, order: Sequence[Operation]) -> PrimFunc:
        """Return the function that carries out operations in some order."""
        for op in order:
            if not isinstance(op, (PlaceholderOp, ComputeOp, ExternOp)):
                raise DTypeError(f"create_prim_func: Unsupported Operation: {type(op).__name__}. It has no block")
        for op in order:
            if isinstance(op, ExternOp):
                for tensor, buffer in zip(op.inputs, op.input_placeholders, strict=True):
                    self._given.setdefault(tensor, buffer)
                self._given.update(zip(op.outputs, op.output_placeholders, strict=True))
        for op in order:
            self._declare(op)
        statements = [statement for op in order if (statement := self._statement(op)) is not None]
        params, buffer_map = self._parameters()
        attrs: dict[str, object] = {"global_symbol": "main", "tir.noalias": True}
        parameters = [buffer_map.get(p) for p in params]
        free = _LayoutFree(parameters)
        body = self._root(free.visit(seq(statements)))
        if free.places:
            attrs["layout_free_buffers"] = sorted(free.places)
        return PrimFunc(params, body, buffer_map=buffer_map, attrs=attrs)

    def _declare(self, op: Operation) -> None:
        """Declare the buffers of what an operation computes; parameters are what extern operations have declared."""
        if isinstance(op, PlaceholderOp) and not any(op.output(0) is arg for arg in self._args):
            raise ArgumentError(f"create_prim_func: placeholder {op.name!r} is read, and must be among ops")
        for tensor in op.outputs:
            is_parameter = any(tensor is arg for arg in self._args)
            if is_parameter and tensor in self._given:
                buffer = self._given[tensor]
            else:
                with derived_from(tensor.op.span):
                    name = tensor.name.replace(".", "_")
                    buffer = decl_buffer(self._types.indices(tensor.shape), tensor.dtype, name)
            self._buffers[tensor] = buffer
            if not is_parameter:
                self._allocated.append(buffer)

    def _parameters(self) -> tuple[tuple[Var, ...], dict[Var, Buffer]]:
        params: list[Var] = []
        buffer_map: dict[Var, Buffer] = {}
        for arg in self._args:
            if isinstance(arg, Var):
                params.append(self._types.variable(arg))
                continue
            handle = Var(f"var_{arg.name}", "handle")
            buffer_map[handle] = self._buffers[arg]
            params.append(handle)
        return tuple(params), buffer_map

    def _root(self, body: Stmt) -> Stmt:
        if isinstance(body, BlockRealize) and not body.block.iter_vars and not self._allocated:
            return body
        block = Block((), (), (), "root", body, None, tuple(self._allocated))
        return BlockRealize((), const(True, "bool"), block)

    def _statement(self, op: Operation) -> Stmt | None:
        with derived_from(op.span):
            if isinstance(op, ComputeOp):
                return self._compute(op)
            return self._extern(op) if isinstance(op, ExternOp) else None

    def _unique(self, name: str) -> str:
        """Return a name that no other block has."""
        return take_name(name.replace(".", "_"), self._names)

    # computations

    def _compute(self, op: ComputeOp) -> Stmt:
        """Return the loops of a computation, with one block; with one for each output where it reduces nothing."""
        axes = [self._types.axis(axis) for axis in op.root_iter_vars]
        loops = [Var(axis.var.name, axis.var.dtype) for axis in axes]
        to_loops: dict[Var, PrimExpr] = {a.var: v for a, v in zip(axes, loops, strict=True)}
        if isinstance(op.body[0], Reduce):
            body = self._block(op, axes, loops, op.name, range(op.num_outputs))
        else:
            body = seq([self._block(op, axes, loops, op.output(i).name, [i]) for i in range(op.num_outputs)])
        for axis, var in reversed(list(zip(axes, loops, strict=True))):
            dom = domain(axis)
            with derived_from(axis.span | op.span):
                begin, extent = substitute(dom.min, to_loops), substitute(dom.extent, to_loops)
                body = For(var, begin, extent, ForKind.SERIAL, body)
        return body

    def _block(
        self, op: ComputeOp, axes: Sequence[IterVar], loops: Sequence[Var], name: str, outputs: Sequence[int]
    ) -> Stmt:
        own = {a.var: Var(f"v_{a.var.name}", a.var.dtype) for a in axes}
        iter_vars = tuple(IterVar(substitute(domain(a), own), own[a.var], a.iter_type, span=a.span) for a in axes)
        values: tuple[PrimExpr, ...] = tuple(loops)
        if not axes:
            dtype = self._types.dtype or "int32"
            iter_vars = (IterVar(Range(const(0, dtype), const(1, dtype)), Var("vi", dtype), IterVar.DataPar),)
            values = (const(0, dtype),)
        elements = _Elements(self._buffers, self._types, own)
        indices = tuple(own[self._types.variable(a.var)] for a in op.axis)
        init, body = self._steps(op, outputs, elements, indices)
        annotations = {key: self._annotation(key, value) for key, value in op.attrs.items()}
        block = Block(iter_vars, (), (), self._unique(name), body, init, annotations=annotations)
        return BlockRealize(values, const(True, "bool"), self._completed(block))

    def _steps(
        self, op: ComputeOp, outputs: Sequence[int], elements: _Elements, indices: tuple[PrimExpr, ...]
    ) -> tuple[Stmt | None, Stmt]:
        """Return the initial statement of a block, and its body."""
        buffers = [self._buffers[op.output(i)] for i in outputs]
        reduction = op.body[0]
        if not isinstance(reduction, Reduce):
            return None, seq(
                [BufferStore(b, elements.of(op.body[i]), indices) for b, i in zip(buffers, outputs, strict=True)]
            )
        starts = reduction.init or reduction.combiner.identity_element
        init = seq([BufferStore(b, elements.of(e), indices) for b, e in zip(buffers, starts, strict=True)])
        combiner = reduction.combiner
        operands: dict[Var, PrimExpr] = {}
        for left, right, buffer, e in zip(combiner.lhs, combiner.rhs, buffers, reduction.source, strict=True):
            operands |= {left: BufferLoad(buffer, indices), right: elements.of(e)}
        with derived_from(reduction.span | op.span):
            results = [substitute(elements.as_written(e), operands) for e in combiner.result]
            update = _stores(buffers, results, indices)
        condition = elements.of(reduction.condition)
        always = isinstance(condition, IntImm) and condition.value
        return init, update if always else IfThenElse(condition, update)

    def _annotation(self, key: str, value: Any) -> object:
        if key == LAYOUT_FREE:
            return [self._buffers[tensor] for tensor in value]
        return value

    # operations with statements of their own

    def _extern(self, op: ExternOp) -> Stmt:
        def region(buffer: Buffer) -> BufferRegion:
            return BufferRegion(buffer, tuple(Range(0, extent) for extent in buffer.shape))

        ins, outs = ([self._buffers[t] for t in tensors] for tensors in (op.inputs, op.outputs))
        declared = (*op.input_placeholders, *op.output_placeholders)
        matched = tuple(
            MatchBufferRegion(own, region(actual))
            for own, actual in zip(declared, (*ins, *outs), strict=True)
            if own is not actual
        )
        reads, writes = (tuple(map(region, buffers)) for buffers in (ins, outs))
        block = Block((), reads, writes, self._unique(op.name), op.body, match_buffers=matched)
        return BlockRealize((), const(True, "bool"), block)

    def _completed(self, block: Block) -> Block:
        """Return a block that says what it accesses."""
        around = {buffer.data: buffer for buffer in self._buffers.values()}
        reads, writes, _ = get_block_access_region(block, around)
        return rebuild(block, reads=tuple(reads), writes=tuple(writes))


def _stores(buffers: Sequence[Buffer], results: Sequence[PrimExpr], indices: tuple[PrimExpr, ...]) -> Stmt:
    """Store several results at once: those of a reduction of tuples read what the others overwrite."""
    if len(buffers) == 1:
        return BufferStore(buffers[0], results[0], indices)
    variables = [Var(f"v_{b.name}", e.dtype) for b, e in zip(buffers, results, strict=True)]
    body = seq([BufferStore(b, v, indices) for b, v in zip(buffers, variables, strict=True)])
    for var, value in reversed(list(zip(variables, results, strict=True))):
        body = LetStmt(var, value, body)
    return body


class _Elements(Mutator):
    """Expressions over the axes and the buffers of a block."""

    def __init__(self, buffers: Mapping[Tensor, Buffer], types: IndexTypes, variables: Mapping[Var, PrimExpr]) -> None:
        self._buffers = buffers
        self._types = types
        self._variables = variables
        self._analyzer = Analyzer()

    def of(self, e: PrimExpr) -> PrimExpr:
        """Return an expression of a definition as one of the block, simplified for axes of any extent."""
        return self._analyzer.simplify(self.as_written(e))

    def as_written(self, e: PrimExpr) -> PrimExpr:
        """Return an expression of a definition as one of the block."""
        rewritten: PrimExpr = self.visit(self._types.value(e))
        return rewritten

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._variables.get(n, n)

    def visit_ProducerLoad(self, n: ProducerLoad) -> PrimExpr:
        indices = tuple(self._analyzer.simplify(i) for i in self._visit_tuple(n.indices))
        return BufferLoad(self._buffers[n.producer], indices)


class _LayoutFree(Mutator):
    """Takes the parameters out of what blocks say may be laid out anew, and remembers their places."""

    def __init__(self, parameters: Sequence[Buffer | None]) -> None:
        self._parameters = parameters
        self.places: set[int] = set()

    def visit_Block(self, n: Block) -> Block:
        block: Block = self.visit_Node(n)
        given = block.annotations.get(LAYOUT_FREE)
        if given is None:
            return block
        others = []
        for buffer in given:
            place = next((i for i, p in enumerate(self._parameters) if p is buffer), None)
            if place is None:
                others.append(buffer)
            else:
                self.places.add(place)
        rest = {key: value for key, value in block.annotations.items() if key != LAYOUT_FREE}
        return rebuild(block, annotations={**rest, LAYOUT_FREE: others} if others else rest)
