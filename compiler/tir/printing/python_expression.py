"""Translation of expressions to Python, for the interpreter."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError, TVMError
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import Call, PrimExpr, Var, of_truth_values, wrap_int
from compiler.ir.functor import Functor
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.runtime.modules import packed_call
from compiler.tir.expressions import builtin, evaluation
from compiler.tir.expressions.evaluation import Value, Values, numpy_dtype
from compiler.tir.statements import memory
from compiler.tir.trace import CALL_TRACE_PACKED

ACTIVE_LANES = Op.get("tir.get_active_lane_mask")

_DEEPEST = 40
"""Python's parser allows 200 nested parentheses; deeper expressions become functions of their own."""


class FunctionReturn(Exception):
    """The function returned before its end."""


class AssertionFailed(TVMError):
    """The condition of an assertion did not hold."""


def _leave(value: object) -> None:
    raise FunctionReturn


def _fail(message: str) -> None:
    raise AssertionFailed(f"assertion failed: {message}")


_LIBRARY: dict[str, object] = {
    "box": memory.box,
    "cast_value": evaluation.cast_value,
    "fail": _fail,
    "from_numpy": evaluation.from_numpy,
    "full": np.full,
    "layout": memory.layout,
    "leading_zeros": evaluation.leading_zeros,
    "leave": _leave,
    "call_packed": packed_call.call,
    "call_traced": packed_call.call_traced,
    "new_memory": memory.new_memory,
    "packed_array": memory.packed_array,
    "prod": math.prod,
    "reinterpret": evaluation.reinterpret,
    "select": evaluation.select,
    "shuffle": evaluation.shuffle,
    "to_numpy": evaluation.to_numpy,
    "wrap_int": wrap_int,
}


def _fixed_lanes(n: PrimExpr) -> int:
    """Return how many lanes a vector has."""
    if dt.is_scalable(n.dtype):
        raise BuildError(f"interpret: the value of {n} depends on the processor")
    return dt.lanes(n.dtype)


class PythonExpression(Functor):
    """Turns expressions into Python that can stand anywhere in an expression.

    ``constants`` holds the objects that the source names.  ``fixed`` are variables whose value is known beforehand.
    """

    def __init__(self, fixed: Values) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Value] = dict(_LIBRARY)
        self._fixed = fixed
        self._names: dict[Var, str] = {}
        self._indent = 1
        self._depth = 0
        self._count = 0
        self._lets: list[str] = []

    def value(self, e: PrimExpr) -> Value:
        """Return the value of an expression of fixed variables."""
        return eval(self.visit(e), self.constants)

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _constant(self, value: object) -> str:
        name = self._fresh("k")
        self.constants[name] = value
        return name

    def _line(self, text: str) -> None:
        self.lines.append(" " * self._indent + text)

    def visit(self, n: object, *args: object) -> str:
        if not isinstance(n, PrimExpr):
            other: str = super().visit(n)
            return other
        logic = of_truth_values(n) if isinstance(n, expr.BinaryOp) else None
        n = n if logic is None else logic
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                return self._as_function(n)
            source: str = super().visit(n)
            return source
        finally:
            self._depth -= 1

    def _as_function(self, n: PrimExpr) -> str:
        depth, self._depth = self._depth, 0
        source = super().visit(n)
        self._depth = depth
        name, params = self._fresh("e"), ", ".join(self._lets)
        self._line(f"def {name}({params}): return {source}")
        return f"{name}({params})"

    def visit_PrimExpr(self, n: PrimExpr) -> str:
        raise BuildError(f"interpret: {type(n).__name__} has no value: {n}")

    def visit_IntImm(self, n: expr.IntImm) -> str:
        if n.dtype == "bool":
            return str(bool(n.value))
        return str(n.value) if n.value >= 0 else f"({n.value})"

    def visit_FloatImm(self, n: expr.FloatImm) -> str:
        return self._constant(numpy_dtype(n.dtype).type(n.value))

    def visit_StringImm(self, n: expr.StringImm) -> str:
        return self._constant(n.value)

    def visit_Var(self, n: Var) -> str:
        name = self._names.get(n)
        if name is not None:
            return name
        if n not in self._fixed:
            raise BuildError(f"interpret: the variable {n.name} has no value")
        name = self._names[n] = self._constant(self._fixed[n])
        return name

    def visit_BinaryOp(self, n: expr.BinaryOp) -> str:
        """Write a division, a minimum or a maximum; the others have their own rules."""
        kind = type(n)
        if kind in (expr.FloorDiv, expr.FloorMod) and isinstance(n.b, expr.IntImm) and n.b.value > 0:
            return f"({self.visit(n.a)} {kind.symbol} {n.b.value})"
        if kind in (expr.Min, expr.Max) and dt.lanes(n.dtype) == 1:
            a, b = self._fresh("t"), self._fresh("t")
            order = "<" if kind is expr.Min else ">"
            return f"({a} if ({a} := {self.visit(n.a)}) {order} ({b} := {self.visit(n.b)}) else {b})"
        function = self._constant(evaluation.operation(kind, n.a.dtype))
        return f"{function}({self.visit(n.a)}, {self.visit(n.b)})"

    def _ring(self, n: expr.Add | expr.Sub | expr.Mul) -> str:
        if not dt.is_integral(n.dtype) or dt.lanes(n.dtype) > 1:
            return f"({self._sum(n)})"
        value, (low, high) = self._fresh("t"), dt.int_range(n.dtype)
        return f"({value} if {low} <= ({value} := {self._sum(n)}) <= {high} else wrap_int({value}, {n.dtype!r}))"

    visit_Add = visit_Sub = visit_Mul = _ring

    def _sum(self, n: PrimExpr) -> str:
        """Write a tree of ``+``, ``-`` and ``*`` that is wrapped around, if at all, as a whole."""
        if not isinstance(n, (expr.Add, expr.Sub, expr.Mul)):
            return self.visit(n)
        terms: list[str] = []
        e: PrimExpr = n
        while isinstance(e, (expr.Add, expr.Sub)):  # a long chain is not a deep expression
            terms.append(f" {e.symbol} {self._operand(e.b)}")
            e = e.a
        if isinstance(e, expr.Mul):
            terms.append(f"{self._operand(e.a)} * {self._operand(e.b)}")
        else:
            terms.append(self._operand(e))
        return "".join(reversed(terms))

    def _operand(self, e: PrimExpr) -> str:
        self._depth += 1
        try:
            shallow = self._depth < _DEEPEST
            return f"({self._sum(e)})" if shallow and isinstance(e, (expr.Add, expr.Sub, expr.Mul)) else self.visit(e)
        finally:
            self._depth -= 1

    def visit_CmpOp(self, n: expr.CmpOp) -> str:
        return f"({self.visit(n.a)} {n.symbol} {self.visit(n.b)})"

    def visit_And(self, n: expr.And) -> str:
        """Both sides are evaluated, as in compiled code."""
        return f"({self.visit(n.a)} & {self.visit(n.b)})"

    def visit_Or(self, n: expr.Or) -> str:
        return f"({self.visit(n.a)} | {self.visit(n.b)})"

    def visit_Not(self, n: expr.Not) -> str:
        return f"(~{self.visit(n.a)})" if dt.lanes(n.dtype) > 1 else f"(not {self.visit(n.a)})"

    def visit_Cast(self, n: expr.Cast) -> str:
        value = self.visit(n.value)
        if dt.lanes(n.dtype) == 1 and dt.is_float(n.dtype):
            return f"{self._constant(numpy_dtype(n.dtype).type)}({value})"
        return f"cast_value({value}, {n.value.dtype!r}, {n.dtype!r})"

    def visit_Select(self, n: expr.Select) -> str:
        return f"select({self.visit(n.condition)}, {self.visit(n.true_value)}, {self.visit(n.false_value)})"

    def visit_Ramp(self, n: expr.Ramp) -> str:
        kind, count = numpy_dtype(n.dtype), _fixed_lanes(n)
        if isinstance(n.stride, expr.IntImm):
            steps = wrap_int(1, "int64") * np.arange(count) * n.stride.value
            return f"({self.visit(n.base)} + {self._constant(steps.astype(kind))})"
        steps = np.arange(count).astype(kind)
        return f"({self.visit(n.base)} + {self.visit(n.stride)} * {self._constant(steps)})"

    def visit_Broadcast(self, n: expr.Broadcast) -> str:
        return f"full({_fixed_lanes(n)}, {self.visit(n.value)}, {self._constant(numpy_dtype(n.dtype))})"

    def visit_Shuffle(self, n: expr.Shuffle) -> str:
        return f"shuffle({self._tuple(n.vectors)}, {self._tuple(n.indices)}, {n.dtype!r})"

    def visit_Let(self, n: expr.Let) -> str:
        value, name = self.visit(n.value), self._name(n.var)
        self._lets.append(name)
        body = self.visit(n.body)
        self._lets.pop()
        return f"(lambda {name}: {body})({value})"

    def visit_Call(self, n: Call) -> str:
        special = _CALLS.get(n.op)
        if special is not None:
            return special(self, n)
        reference = getattr(n.op, "reference", None)
        if reference is None:
            name, doc = (getattr(n.op, field, "") for field in ("name", "doc"))
            about = f": {doc}" if doc else ""
            raise BuildError(f"interpret: {name or n.op}{user_place(n.span)} cannot be evaluated{about}")
        args = ", ".join(f"to_numpy({self.visit(a)}, {a.dtype!r})" for a in n.args)
        return f"from_numpy({self._constant(reference)}({args}), {n.dtype!r})"

    def _tuple(self, parts: tuple[PrimExpr, ...]) -> str:
        return f"({', '.join(self.visit(p) for p in parts)},)" if parts else "()"

    def _name(self, var: Var) -> str:
        name = self._names[var] = self._fresh("v")
        return name

    # Calls that are not functions of their arguments' values

    def _if_then_else(self, n: Call) -> str:
        condition, a, b = (self.visit(arg) for arg in n.args)
        return f"({a} if {condition} else {b})"

    def _active_lanes(self, n: Call) -> str:
        base, limit = (self.visit(arg) for arg in n.args)
        return f"({base} + {self._constant(np.arange(_fixed_lanes(n)))} < {limit})"

    def _likely(self, n: Call) -> str:
        return self.visit(n.args[0])

    def _return(self, n: Call) -> str:
        return f"leave({self.visit(n.args[0])})"

    def _reinterpret(self, n: Call) -> str:
        return f"reinterpret({self.visit(n.args[0])}, {n.args[0].dtype!r}, {n.dtype!r})"

    def _leading_zeros(self, n: Call) -> str:
        return f"leading_zeros({self.visit(n.args[0])}, {dt.bits(n.args[0].dtype)})"

    def _half(self, n: Call) -> str:
        lanes = dt.lanes(n.dtype)
        picked = range(lanes) if n.op is builtin.VECTOR_LOW else range(lanes, 2 * lanes)
        return f"shuffle(({self.visit(n.args[0])},), {self._constant(tuple(picked))}, {n.dtype!r})"

    def _combine(self, n: Call) -> str:
        return f"shuffle({self._tuple(n.args)}, {self._constant(tuple(range(dt.lanes(n.dtype))))}, {n.dtype!r})"

    def _no_effect(self, n: Call) -> str:
        return "None"

    def _packed(self, n: Call) -> str:
        args = ", ".join(self._packed_argument(a) for a in n.args[1:])
        return f"call_packed({self.visit(n.args[0])}, [{args}])"

    def _traced(self, n: Call) -> str:
        args = ", ".join(self.visit(a) for a in n.args[1:])
        passed = "float64" if dt.is_float(n.dtype) else "int64"
        traced = f"call_traced({self.visit(n.args[0])}, [{args}], {dt.is_float(n.dtype)})"
        return f"cast_value({traced}, {passed!r}, {n.dtype!r})"

    def _packed_argument(self, a: PrimExpr) -> str:
        if isinstance(a, Call) and a.op is builtin.STACK_MAKE_ARRAY:
            data, shape, strides, _, kind, offset = a.args
            steps = self._tuple(strides.args) if isinstance(strides, Call) else "()"
            assert isinstance(shape, Call)
            memory_of = self.memory_of(data)
            layout_of = f"{self._tuple(shape.args)}, {steps}, {self.visit(offset)}, {kind.dtype!r}"
            return f"packed_array({memory_of}, {layout_of})"
        if a.dtype.startswith("handle"):
            raise BuildError(f"interpret: a called function is passed the pointer {a}; pass a buffer instead")
        return self.visit(a)

    def memory_of(self, pointer: PrimExpr) -> str:
        """Return the memory behind a pointer, and what was written of it, as source."""
        raise BuildError(f"interpret: the memory of {pointer} cannot be used in an expression")


_CALLS: dict[object, Callable[[PythonExpression, Call], str]] = {
    builtin.IF_THEN_ELSE: PythonExpression._if_then_else,
    ACTIVE_LANES: PythonExpression._active_lanes,
    builtin.LIKELY: PythonExpression._likely,
    builtin.RET: PythonExpression._return,
    builtin.REINTERPRET: PythonExpression._reinterpret,
    builtin.CLZ: PythonExpression._leading_zeros,
    builtin.VECTOR_LOW: PythonExpression._half,
    builtin.VECTOR_HIGH: PythonExpression._half,
    builtin.VECTOR_COMBINE: PythonExpression._combine,
    builtin.CALL_PACKED: PythonExpression._packed,
    CALL_TRACE_PACKED: PythonExpression._traced,
    builtin.PREFETCH: PythonExpression._no_effect,
    builtin.ASSUME: PythonExpression._no_effect,
    builtin.STORAGE_SYNC: PythonExpression._no_effect,
}
