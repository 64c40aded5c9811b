"""Values of partial evaluation: their static part and the residual code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.ir.op import Op
from compiler.ir.origin import derived_from
from compiler.relay.adt import Constructor
from compiler.relay.expr import Constant, GraphExpr, Let, Var


@dataclass(frozen=True, slots=True)
class KnownTensor:
    """A static tensor."""

    constant: Constant


@dataclass(frozen=True, slots=True)
class KnownTuple:
    """A tuple of known size, each of whose fields may be static."""

    fields: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class KnownData:
    """A value of a data type whose constructor is known."""

    constructor: Constructor
    fields: tuple[Value, ...]


@dataclass(eq=False, slots=True)
class KnownCell:
    """A reference that is known to be no other one."""


@dataclass(eq=False, slots=True)
class KnownFunction:
    """A function whose body is known: ``apply(args, block)`` evaluates it for these arguments.

    ``running`` has, for each evaluation of the body that is going on, how many undecided branches were around it.
    """

    apply: Callable[[Sequence[Value], Block], Value]
    running: list[int] = field(default_factory=list)


Known = KnownTensor | KnownTuple | KnownData | KnownCell | KnownFunction


class Value:
    """A value at the time of partial evaluation.

    ``code`` is the atom of the residual program that denotes it, or a function that emits one when it is first needed.
    """

    __slots__ = ("_code", "known")

    def __init__(self, known: Known | None, code: GraphExpr | Callable[[], GraphExpr]) -> None:
        self.known = known
        self._code = code

    @property
    def code(self) -> Any:
        """The atom that denotes the value in the residual program."""
        if not isinstance(self._code, (RelayExpr, Op)):
            self._code = self._code()
        return self._code

    def stands_for(self, code: RelayExpr) -> None:
        """Let the value have an atom before it is defined, as a function that calls itself needs."""
        self._code = code


class Block:
    """Lets of the residual program that are being emitted."""

    def __init__(self) -> None:
        self._bindings: list[tuple[Var, RelayExpr]] = []

    def emit(self, expr: RelayExpr, name: str = "x") -> Var:
        with derived_from(expr.span):
            var = Var(name)
        self.define(var, expr)
        return var

    def define(self, var: Var, expr: RelayExpr) -> None:
        self._bindings.append((var, expr))

    def around(self, body: RelayExpr) -> RelayExpr:
        for var, value in reversed(self._bindings):
            with derived_from(value.span):
                body = Let(var, value, body)
        return body


class Environment:
    """The values of variables, in a function and in those around it."""

    __slots__ = ("_around", "_values")

    def __init__(self, around: Environment | None, values: Iterable[tuple[Var, Value]] = ()) -> None:
        self._around = around
        self._values = dict(values)

    def __setitem__(self, var: Var, value: Value) -> None:
        self._values[var] = value

    def __getitem__(self, var: Var) -> Value:
        scope: Environment | None = self
        while scope is not None:
            value = scope._values.get(var)
            if value is not None:
                return value
            scope = scope._around
        return Value(None, var)  # free in the whole program
