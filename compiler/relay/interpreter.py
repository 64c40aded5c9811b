"""Evaluates graphs with NumPy, operator by operator: the reference that passes and kernels are checked against.

An abstract machine with an explicit stack, so that neither long chains nor deep recursion of the program use Python's.
Within one call of a function every expression is evaluated once, when it is first needed (call by need).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.types import Type
from compiler.relay.adt import Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from compiler.relay.analysis.traversal import operands
from compiler.relay.argument_shapes import Shapes, check_shapes
from compiler.relay.computed_reference import computed
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.relay.ty import TensorType, TupleType
from compiler.runtime.arrays.ndarray import NDArray, name_to_numpy, numpy_dtype
from compiler.runtime.container import ADT


class InterpreterError(TVMError):
    """A graph that cannot be evaluated with these values."""


class Frame:
    """The values of one call of a function; those of ``parent``, the call that made the function, are visible."""

    __slots__ = ("parent", "pending", "values")

    def __init__(self, parent: Frame | None = None) -> None:
        self.parent = parent
        self.values: dict[GraphExpr, object] = {}
        self.pending: dict[GraphExpr, tuple[GraphExpr, Frame]] = {}
        """Calls, branches and matches in evaluation: the expression that yields the value, and its frame."""

    def find(self, expr: GraphExpr) -> object:
        """Return the value of a variable or an expression, or :data:`UNKNOWN`."""
        frame: Frame | None = self
        while frame is not None:
            if expr in frame.values:
                return frame.values[expr]
            frame = frame.parent
        return UNKNOWN


class _Unknown:
    def __repr__(self) -> str:
        return "<unknown>"


UNKNOWN = _Unknown()


@dataclass(frozen=True, slots=True)
class Closure:
    """A function with the values that it can see."""

    func: Function
    frame: Frame


@dataclass(frozen=True, slots=True)
class ConstructorValue:
    """A value of an algebraic data type; ``tag`` is the position of the constructor in its type."""

    tag: int
    fields: Sequence[Any]
    constructor: Constructor


@dataclass(slots=True)
class RefValue:
    """A mutable cell."""

    value: Any


class Interpreter:
    """Evaluates expressions and functions.

    Values are NumPy arrays, tuples of values, :class:`Closure`, :class:`ConstructorValue` and :class:`RefValue`.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self._mod = IRModule() if mod is None else mod

    def evaluate(
        self, expr: GraphExpr | str = "main", args: Sequence[object] | Mapping[str, object] | None = None
    ) -> Any:
        """Return the value of an expression, of a function applied to arguments, or of the function of the module of
        that name.

        Arguments are arrays, numbers, tuples, or values that were returned before; a mapping names the parameters.
        Raises InterpreterError if an operator has no reference or refuses its arguments, a variable is free, or no
        clause matches. Raises ArgumentError if the arguments do not fit the parameters.
        """
        if isinstance(expr, str):
            expr = self._mod.get_global_var(expr)
        value = self._run(expr, Frame())
        return value if args is None else self.apply(value, args)

    def apply(self, function: object, args: Sequence[object] | Mapping[str, object]) -> Any:
        """Return the value of a function value applied to arguments; see :meth:`evaluate`.

        Raises ArgumentError if ``function`` is none, or the arguments do not fit its parameters.
        """
        if not isinstance(function, Closure):
            raise ArgumentError(f"evaluate: arguments may only be given for a function, got {type(function).__name__}")
        values = _arguments(function.func, args)
        for param, value in zip(function.func.params, values, strict=True):
            check_shapes("evaluate", param, _shapes(value))
        frame = Frame(function.frame)
        params = function.func.params
        typed = [_of_type(param.type_annotation, value) for param, value in zip(params, values, strict=True)]
        frame.values.update(zip(params, typed, strict=True))
        return self._run(function.func.body, frame)

    def _run(self, expr: GraphExpr, frame: Frame) -> object:
        todo: list[tuple[GraphExpr, Frame]] = [(expr, frame)]
        while todo:
            part, where = todo[-1]
            if self._value(part, where) is not UNKNOWN:
                todo.pop()
                continue
            begun = where.pending.get(part)
            if begun is not None:
                value = self._value(*begun)
                if value is UNKNOWN:
                    todo.append(begun)
                else:
                    where.values[part] = value
                    del where.pending[part]
                continue
            needed = [(p, where) for p in _needed(part) if self._value(p, where) is UNKNOWN]
            if needed:
                todo.extend(reversed(needed))
            else:
                self._step(part, where)
        return self._value(expr, frame)

    def _value(self, expr: GraphExpr, frame: Frame) -> object:
        """Return the value of an expression if that takes no work."""
        match expr:
            case Constant():
                return expr.value
            case Op() | Constructor():
                return expr
            case GlobalVar():
                return self._global(expr)
            case _:
                value = frame.find(expr)
                if value is UNKNOWN and isinstance(expr, Function):
                    value = frame.values[expr] = Closure(expr, frame)
                if value is UNKNOWN and isinstance(expr, Var):
                    raise InterpreterError(f"interpreter: variable %{expr.name_hint} has no value")
                return value

    def _global(self, var: GlobalVar) -> Closure:
        func = self._mod.functions.get(var)
        if func is None:
            func = self._mod[var.name_hint]
        if not isinstance(func, Function):
            raise InterpreterError(f"interpreter: @{var.name_hint} is a {type(func).__name__}, not a graph")
        return Closure(func, Frame())

    def _step(self, expr: GraphExpr, frame: Frame) -> None:
        """Evaluate an expression whose operands have values, or enter the body that yields its value."""
        rule = _STEPS.get(type(expr))
        if rule is None:
            raise InterpreterError(f"interpreter: there is no value of a {type(expr).__name__}")
        result = rule(self, expr, frame)
        if isinstance(result, _Continue):
            frame.pending[expr] = (result.expr, result.frame)
        else:
            frame.values[expr] = result

    def _call(self, call: Call, frame: Frame) -> object:
        function = self._value(call.op, frame)
        args = tuple([self._value(a, frame) for a in call.args])
        match function:
            case Closure():
                inner = Frame(function.frame)
                if len(args) != len(function.func.params):
                    raise InterpreterError(
                        f"interpreter: a function of {len(function.func.params)} parameters is called with {len(args)}"
                    )
                inner.values.update(zip(function.func.params, args, strict=True))
                return _Continue(function.func.body, inner)
            case Constructor():
                return ConstructorValue(function.tag, args, function)
            case RelayOp():
                return self.operator(function, call, args)
            case _:
                raise InterpreterError(f"interpreter: {show(function)} is called but is not a function")

    def operator(self, op: RelayOp, call: Call, args: tuple[object, ...]) -> object:
        """Return the value of an operator's call.

        Raises InterpreterError if the operator has no reference, or refuses the values.
        """
        return apply_operator(op, call.attrs, args)

    def _let(self, let: Let, frame: Frame) -> object:
        frame.values[let.var] = self._value(let.value, frame)
        return _Continue(let.body, frame)

    def _if(self, expr: If, frame: Frame) -> object:
        condition: Any = self._value(expr.cond, frame)
        if np.size(condition) != 1:
            raise InterpreterError(f"interpreter: the condition of an if must be a scalar, got {_described(condition)}")
        chosen = bool(condition)
        return _Continue(expr.true_branch if chosen else expr.false_branch, frame)

    def _match(self, match: Match, frame: Frame) -> object:
        data = self._value(match.data, frame)
        for clause in match.clauses:
            bound: dict[GraphExpr, object] = {}
            if _fits(clause.lhs, data, bound):
                frame.values.update(bound)
                return _Continue(clause.rhs, frame)
        raise InterpreterError(f"interpreter: no clause of a match matches {_described(data)}")

    def _item(self, expr: TupleGetItem, frame: Frame) -> object:
        values = self._value(expr.tuple_value, frame)
        if not isinstance(values, tuple) or not 0 <= expr.index < len(values):
            raise InterpreterError(f"interpreter: there is no element {expr.index} in {_described(values)}")
        return values[expr.index]

    def _write(self, expr: RefWrite, frame: Frame) -> object:
        self._reference(expr.ref, frame).value = self._value(expr.value, frame)
        return ()

    def _reference(self, expr: GraphExpr, frame: Frame) -> RefValue:
        value = self._value(expr, frame)
        if not isinstance(value, RefValue):
            raise InterpreterError(f"interpreter: expected a reference, got {_described(value)}")
        return value


@dataclass(frozen=True, slots=True)
class _Continue:
    """The value of an expression is that of another one."""

    expr: GraphExpr
    frame: Frame


_STEPS: dict[type, Callable[[Interpreter, Any, Frame], object]] = {
    Call: Interpreter._call,
    Let: Interpreter._let,
    If: Interpreter._if,
    Match: Interpreter._match,
    Tuple: lambda run, expr, frame: tuple([run._value(f, frame) for f in expr.fields]),
    TupleGetItem: Interpreter._item,
    RefCreate: lambda run, expr, frame: RefValue(run._value(expr.value, frame)),
    RefRead: lambda run, expr, frame: run._reference(expr.ref, frame).value,
    RefWrite: Interpreter._write,
}


def _needed(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return the operands that are evaluated before an expression; branches and bodies come later."""
    match expr:
        case Let():
            return (expr.value,)
        case If():
            return (expr.cond,)
        case Match():
            return (expr.data,)
        case Function():
            return ()
        case _:
            return operands(expr)


def apply_operator(op: RelayOp, attrs: Attrs, args: Sequence[Any]) -> object:
    """Return what an operator makes of values, by its NumPy reference, or else by its definition."""
    name_to_numpy(attrs.values())
    try:
        with np.errstate(all="ignore"):  # infinities are values like any other
            result = computed(op, attrs, args) if op.reference is None else op.reference(attrs, *args)
    except (TVMError, ValueError, TypeError, IndexError, ArithmeticError, np.exceptions.AxisError) as exc:
        values = ", ".join(_described(a) for a in args)
        raise InterpreterError(f"interpreter: {op.name}({values}): {exc}") from exc
    return _as_value(result)


def rebuilt(value: object, leaf: Callable[[Any], object], tuple_of: Callable[[list[Any]], object]) -> Any:
    """Return a value whose tuples and values of data types are made anew, however deep they are nested."""
    done: dict[int, object] = {}
    todo: list[Any] = [value]
    while todo:
        part = todo[-1]
        is_data = isinstance(part, ConstructorValue)
        if not is_data and not isinstance(part, (tuple, list, ADT)):
            done[id(todo.pop())] = leaf(part)
            continue
        fields = part.fields if is_data else part
        waiting = [field for field in fields if id(field) not in done]
        if waiting:
            todo += waiting
            continue
        made = [done[id(field)] for field in fields]
        done[id(todo.pop())] = ConstructorValue(part.tag, tuple(made), part.constructor) if is_data else tuple_of(made)
    return done[id(value)]


def _as_value(value: object) -> object:
    """Return what a user or an operator gives as a value."""
    return value if isinstance(value, np.ndarray) else rebuilt(value, _as_leaf, tuple)


def _as_leaf(value: object) -> object:
    match value:
        case np.ndarray() | Closure() | Op() | Constructor():
            return value
        case RefValue():
            return RefValue(_as_value(value.value))
        case np.generic():  # before float, which NumPy's float64 is one of
            return np.asarray(value)
        case NDArray():
            return value.view()
        case bool():
            return np.asarray(value)
        case int():
            return np.asarray(value, "int32")
        case float():
            return np.asarray(value, "float32")
        case _:
            return np.asarray(value)


def _arguments(func: Function, args: Sequence[object] | Mapping[str, object]) -> list[object]:
    names = [p.name_hint for p in func.params]
    if isinstance(args, Mapping):
        unknown = [name for name in args if name not in names]
        missing = [name for name in names if name not in args]
        if unknown or missing:
            raise ArgumentError(
                f"evaluate: the parameters are {', '.join(names) or 'none'}; missing: {', '.join(missing) or 'none'}, "
                f"unknown: {', '.join(unknown) or 'none'}"
            )
        args = [args[name] for name in names]
    if len(args) != len(names):
        raise ArgumentError(
            f"evaluate: the function takes {len(names)} arguments ({', '.join(names)}), got {len(args)}"
        )
    return [_as_value(a) for a in args]


def _of_type(t: Type | None, value: object) -> object:
    """Return an argument in the data type of its parameter, as the other executors take it."""
    if isinstance(value, tuple) and isinstance(t, TupleType) and len(value) == len(t.fields):
        return tuple(_of_type(field, part) for field, part in zip(t.fields, value, strict=True))
    if not isinstance(value, np.ndarray) or not isinstance(t, TensorType) or dt.is_custom(t.dtype):
        return value
    return value.astype(numpy_dtype(t.dtype), copy=False)


def _shapes(value: object) -> Shapes:
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    return tuple(_shapes(part) for part in value) if isinstance(value, tuple) else None


def _fits(pattern: Pattern, value: object, bound: dict[GraphExpr, object]) -> bool:
    match pattern:
        case PatternVar():
            bound[pattern.var] = value
            return True
        case PatternTuple():
            parts = value if isinstance(value, tuple) else None
        case PatternConstructor():
            if not isinstance(value, ConstructorValue) or value.constructor is not pattern.constructor:
                return False
            parts = tuple(value.fields)
        case _:
            return True
    if parts is None or len(parts) != len(pattern.patterns):
        return False
    return all(_fits(p, v, bound) for p, v in zip(pattern.patterns, parts, strict=True))


def _described(value: object) -> str:
    match value:
        case np.ndarray():
            return f"{value.dtype}{list(value.shape)}"
        case tuple():
            return f"({', '.join(_described(v) for v in value)})"
        case ConstructorValue():
            return f"{value.constructor.name_hint}({', '.join(_described(v) for v in value.fields)})"
        case _:
            return type(value).__name__
