"""TVMScript printing of expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.expr import primexpr as prim
from compiler.ir.expr.lanes import Lanes
from compiler.ir.expr.primexpr import PrimExpr, Var, binary, const, is_const_int
from compiler.ir.function import GlobalVar
from compiler.ir.functor import Functor
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.ir.printing.text import TextBuilder
from compiler.ir.scriptable import ScriptOptions
from compiler.tir.expressions.call_types import call_dtype
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.printing.literals import float_text, int_text, string_text
from compiler.tir.printing.scope import Named, Names
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore

DEFAULT_OPTIONS = ScriptOptions()

OR, AND, NOT, COMPARE, SUM, PRODUCT = range(1, 7)
"""Levels of precedence, loosest first, as in Python."""

PRECEDENCE = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), COMPARE),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
}
"""The level of each symbol; operations with other symbols are written as calls of functions."""
_OPERATOR_NAMES = {
    f"tir.tvm_{name}": name for name in ("call_cpacked", "call_cpacked_lowered", "call_packed", "call_packed_lowered")
}
"""Operators that programs call otherwise."""
_IMMEDIATES = (prim.IntImm, prim.FloatImm)
_ITER_TYPES = (
    "DataPar", "ThreadIndex", "CommReduce", "Ordered", "DimInfo", "Unrolled", "Vectorized", "Parallelized",
    "Tensorized",
)  # fmt: skip


class ExprPrinter(Functor):
    """Writes expressions to a text builder; each one but a variable or constant is a region of its own."""

    module = "Module"
    """The name of the module whose functions are called."""

    def __init__(self, out: TextBuilder, names: Names | None = None, options: ScriptOptions = DEFAULT_OPTIONS) -> None:
        self.options = options
        self.out = out  # what is written to
        self.names = names or Names()

    def expr(self, e: Node, level: int = 0) -> None:
        """Write ``e`` where operators looser than ``level`` need parentheses."""
        if isinstance(e, (Var, *_IMMEDIATES)):
            self.visit(e, level)
        else:
            with self.out.at(e):
                self.visit(e, level)

    def sequence(self, items: Sequence[Node], separator: str = ", ") -> None:
        """Write expressions one after the other."""
        for index, item in enumerate(items):
            if index:
                self.out.write(separator)
            self.expr(item)

    def shape(self, dims: Sequence[PrimExpr]) -> None:
        """Write a tuple of expressions."""
        self.out.write("(")
        self.sequence(dims)
        self.out.write(",)" if len(dims) == 1 else ")")

    def name_of(self, n: Named) -> str:
        """Return the name of a variable, buffer or tensor."""
        return self.names.undeclared(n)

    def _call(self, function: str, *args: str | Node) -> None:
        """Write a call; strings are written as they stand."""
        self.out.write(function + "(")
        for index, arg in enumerate(args):
            if index:
                self.out.write(", ")
            if isinstance(arg, str):
                self.out.write(arg)
            else:
                self.expr(arg)
        self.out.write(")")

    @contextmanager
    def line(self, n: Node) -> Iterator[None]:
        """Write one line for ``n``."""
        with self.out.at(n):
            yield
        self.out.newline()

    def visit_Node(self, n: Node, level: int) -> None:
        """Show what is not an expression, such as the operation that an attribute is about."""
        self.out.write(getattr(n, "name", type(n).__name__))

    # leaves

    def visit_Var(self, n: Var, level: int) -> None:
        self.out.write(self.name_of(n))

    def visit_IntImm(self, n: prim.IntImm, level: int) -> None:
        self.out.write(int_text(n.value, n.dtype, self.options.int_dtype))

    def visit_FloatImm(self, n: prim.FloatImm, level: int) -> None:
        text = float_text(n.value)
        self.out.write(text if n.dtype == self.options.float_dtype else f"T.{n.dtype}({text})")

    def visit_StringImm(self, n: prim.StringImm, level: int) -> None:
        self.out.write(string_text(n.value))

    # operators

    def visit_BinaryOp(self, n: prim.BinaryOp, level: int) -> None:
        kind = type(n)
        precedence = PRECEDENCE.get(kind.symbol)
        if _needs_node(n):
            self._call(f"T.{kind.__name__}", n.a, n.b)
        elif precedence is None:
            self._call(f"T.{kind.symbol}", n.a, n.b)
        else:
            self._infix(n, f" {kind.symbol} ", precedence, level)

    def _infix(self, n: prim.BinaryOp, symbol: str, own: int, level: int) -> None:
        if own < level:
            self.out.write("(")
        # Comparisons do not chain as Python's do.
        self.expr(n.a, own + (own == COMPARE))
        self.out.write(symbol)
        self.expr(n.b, own if own in (AND, OR) and type(n.b) is not type(n) else own + 1)
        if own < level:
            self.out.write(")")

    def visit_Not(self, n: prim.Not, level: int) -> None:
        self.out.write("(not " if level > NOT else "not ")
        self.expr(n.a, NOT)
        if level > NOT:
            self.out.write(")")

    def visit_Cast(self, n: prim.Cast, level: int) -> None:
        self._call("T.Cast", f'"{n.dtype}"', n.value)

    def visit_Select(self, n: prim.Select, level: int) -> None:
        self._call("T.Select", n.condition, n.true_value, n.false_value)

    def visit_Ramp(self, n: prim.Ramp, level: int) -> None:
        self._call("T.Ramp", n.base, n.stride, _lanes(n.lanes))

    def visit_Broadcast(self, n: prim.Broadcast, level: int) -> None:
        self._call("T.Broadcast", n.value, _lanes(n.lanes))

    def visit_Shuffle(self, n: prim.Shuffle, level: int) -> None:
        self.out.write("T.Shuffle([")
        self.sequence(n.vectors)
        self.out.write("], [")
        self.sequence(n.indices)
        self.out.write("])")

    def visit_Let(self, n: prim.Let, level: int) -> None:
        name = self.names.define(n.var, n.var.name)
        self.out.write("T.Let(")
        self.expr(n.body)
        self.out.write(f", where={{{name}: ")
        self.expr(n.value)
        self.out.write("})")

    def visit_Call(self, n: prim.Call, level: int) -> None:
        op = n.op
        if isinstance(op, Op):
            function = "T." + _OPERATOR_NAMES.get(op.name, op.name.removeprefix("tir."))
            if op.prints_dtype:
                dtype = f'"{n.dtype}"'
                args: tuple[str | Node, ...] = (*n.args, dtype) if op.dtype_is_last else (dtype, *n.args)
                self._call(function, *args)
            else:
                stated = () if _has_usual_dtype(n, op) else (f'dtype="{n.dtype}"',)
                self._call(function, *n.args, *stated)
        else:
            name = op.name_hint if isinstance(op, GlobalVar) else str(op)
            self._call(f"{self.module}.{name}", *n.args)

    # memory

    def visit_BufferLoad(self, n: BufferLoad, level: int) -> None:
        if n.predicate is None:
            self.element(n.buffer, n.indices)
        else:
            self.vector_access("vload", n)

    def vector_access(self, method: str, n: BufferLoad | BufferStore, *values: PrimExpr) -> None:
        """Write ``buffer.vload([indices], predicate=…)``, or a store of values by ``vstore``."""
        self.out.write(f"{self.name_of(n.buffer)}.{method}([")
        self.sequence(n.indices)
        self.out.write("]")
        for value in values:
            self.out.write(", ")
            self.expr(value)
        self.out.write(", predicate=")
        assert n.predicate is not None
        self.expr(n.predicate)
        self.out.write(")")

    def element(self, buffer: Named, indices: Sequence[PrimExpr]) -> None:
        """Write ``buffer[indices]``, contiguous and strided vectors of indices as slices."""
        self.out.write(self.name_of(buffer) + "[")
        if not indices:
            self.out.write("()")
        for position, index in enumerate(indices):
            if position:
                self.out.write(", ")
            step = _slice_step(index)
            if isinstance(index, prim.Ramp) and step:
                self._slice(index, step)
            else:
                self.expr(index)
        self.out.write("]")

    def _slice(self, index: prim.Ramp, stride: int) -> None:
        with self.out.at(index):
            self.expr(index.base)
            self.out.write(":")
            if isinstance(index.lanes, PrimExpr):
                if not is_const_int(index.base, 0):
                    self.expr(index.base, SUM)
                    self.out.write(" + ")
                self.expr(index.lanes)
            elif isinstance(index.base, prim.IntImm):
                self.out.write(str(index.base.value + index.lanes * stride))
            else:
                self.expr(index.base, SUM)
                self.out.write(f" + {index.lanes * stride}")
            if stride != 1:
                self.out.write(f":{stride}")

    def region(self, buffer: Named, bounds: Sequence[prim.Range], points: bool = False) -> None:
        """Write ``buffer[begin:end, …]``; with ``points``, a range of one element as an index."""
        self.out.write(self.name_of(buffer) + "[")
        if not bounds:
            self.out.write("()")
        for position, bound in enumerate(bounds):
            if position:
                self.out.write(", ")
            self.expr(bound.min)
            if points and is_const_int(bound.extent, 1) and bound.extent.dtype == bound.min.dtype:
                continue
            self.out.write(":")
            self.range_end(bound.min, bound.extent)
        self.out.write("]")

    def range_end(self, low: PrimExpr, extent: PrimExpr) -> None:
        """Write ``low + extent``."""
        if is_const_int(low, 0):
            self.expr(extent)
        elif isinstance(low, prim.IntImm) and isinstance(extent, prim.IntImm):
            self.out.write(int_text(low.value + extent.value, low.dtype))
        else:
            self.expr(low, SUM)
            self.out.write(" + ")
            self.expr(extent, SUM + 1)

    def visit_BufferRegion(self, n: BufferRegion, level: int) -> None:
        self.region(n.buffer, n.region, points=True)

    def visit_Buffer(self, n: Buffer, level: int) -> None:
        self.out.write(self.name_of(n))

    def visit_Range(self, n: prim.Range, level: int) -> None:
        self._range("I", n)

    def _range(self, module: str, n: prim.Range) -> None:
        self.out.write(f"{module}.Range(")
        self.expr(n.min)
        self.out.write(", ")
        self.range_end(n.min, n.extent)
        self.out.write(")")

    # reductions, before they become loops

    def visit_ProducerLoad(self, n: prim.ProducerLoad, level: int) -> None:
        self.element(n.producer, n.indices)

    def visit_DataProducer(self, n: prim.DataProducer, level: int) -> None:
        self.out.write(n.name)

    def visit_IterVar(self, n: prim.IterVar, level: int) -> None:
        self.out.write(f"T.iter_var({self.name_of(n.var)}, ")
        if n.dom is None:
            self.out.write("None")
        else:
            self._range("T", n.dom)
        self.out.write(f', "{_ITER_TYPES[n.iter_type]}", "{n.thread_tag}")')

    def visit_CommReducer(self, n: prim.CommReducer, level: int) -> None:
        names = ", ".join(self.name_of(v) for v in (*n.lhs, *n.rhs))
        self.out.write(f"T.comm_reducer(lambda {names}: ")
        if len(n.result) == 1:
            self.expr(n.result[0])
        else:
            self.shape(n.result)
        self.out.write(", [")
        self.sequence(n.identity_element)
        self.out.write("])")

    def visit_Reduce(self, n: prim.Reduce, level: int) -> None:
        self.out.write("T.reduce(")
        self.expr(n.combiner)
        for title, items in (("source", n.source), ("init", n.init), ("axis", n.axis)):
            self.out.write(f", {title}=[")
            self.sequence(items)
            self.out.write("]")
        self.out.write(", condition=")
        self.expr(n.condition)
        self.out.write(f", value_index={n.value_index})")

    def visit_IndexMap(self, n: IndexMap, level: int) -> None:
        self.out.write("T.index_map(")
        self._mapping(n)
        if n.inverse_index_map is not None:
            self.out.write(", inverse_index_map=")
            self._mapping(n.inverse_index_map)
        dtype = n.initial_indices[0].dtype if n.initial_indices else "int64"
        self.out.write(f', index_dtype="{dtype}")' if dtype != "int64" else ")")

    def _mapping(self, n: IndexMap) -> None:
        with self.names.scope():
            names = [self.names.define(var, var.name) for var in n.initial_indices]
            self.out.write(f"lambda {', '.join(names)}: ")
            self.shape(n.final_indices)

    # what is not an expression

    def value(self, v: object) -> None:
        """Write the value of an attribute or annotation: a number, a string, a node, or a container of them."""
        if isinstance(v, Node):
            self.expr(v)
        elif isinstance(v, bool):
            self.out.write(f"T.bool({v})")
        elif isinstance(v, float):
            self.expr(const(v, "float32"))
        elif isinstance(v, str):
            self.out.write(string_text(v))
        elif isinstance(v, Mapping):
            self.out.write("{")
            for index, key in enumerate(sorted(v, key=str)):
                self.out.write((", " if index else "") + string_text(str(key)) + ": ")
                self.value(v[key])
            self.out.write("}")
        elif isinstance(v, (tuple, list)):
            self.out.write("[")
            for index, item in enumerate(v):
                self.out.write(", " if index else "")
                self.value(item)
            self.out.write("]")
        elif hasattr(v, "export"):
            self.out.write("T.target(")
            self.value(v.export())
            self.out.write(")")
        else:
            self.out.write(str(v))


def _slice_step(index: PrimExpr) -> int:
    """Return the step of a vector of indices that can be written as a slice, 0 of any other index."""
    if (
        not isinstance(index, prim.Ramp)
        or not isinstance(index.stride, prim.IntImm)
        or not index.dtype.startswith("int32")
    ):
        return 0
    return index.stride.value if index.stride.value == 1 or not dt.is_scalable(index.dtype) else 0


def _lanes(lanes: Lanes) -> str | PrimExpr:
    """Return a number of lanes as what :meth:`ExprPrinter._call` writes."""
    return str(lanes) if isinstance(lanes, int) else lanes


def _has_usual_dtype(n: prim.Call, op: Op) -> bool:
    """Return whether the operands of a call tell its data type."""
    try:
        return call_dtype(op, n.args) == n.dtype
    except ArgumentError:
        return False


def _needs_node(n: prim.BinaryOp) -> bool:
    """Return whether Python's operator would fold constants, drop a neutral one, or divide otherwise."""
    if type(n) is prim.Div and dt.is_integral(n.dtype):
        return True
    constants = isinstance(n.a, _IMMEDIATES) + isinstance(n.b, _IMMEDIATES)
    if constants != 1:
        return constants == 2
    try:
        read = binary(type(n), n.a, n.b)
    except ArgumentError:  # a division by zero
        return True
    return not (isinstance(read, type(n)) and read.a is n.a and read.b is n.b)
