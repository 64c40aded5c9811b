"""Types of operator calls: the operator's relation is asked as soon as it can answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.error import ProgramError, TVMError
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, GraphExpr, TupleGetItem
from compiler.relay.inference.errors import UnificationError
from compiler.relay.inference.solver import Solver
from compiler.relay.operator import RelayOp
from compiler.relay.ty import IncompleteType, TensorType, TupleType

Report = Callable[[str, Any], Type]


class OperatorCalls:
    """Calls whose relation has been asked, and those that wait for a type to become known."""

    def __init__(self, solver: Solver, error: Report) -> None:
        self._solver = solver
        self._error = error
        self._open: dict[RelayExpr, tuple[Sequence[Type], IncompleteType]] = {}

    def apply(self, call: Call, op: RelayOp, args: Sequence[Type]) -> Type:
        """Return the type of an operator's call; a variable while too little is known."""
        for t in args:
            if type(t) is not TensorType:
                break
        else:
            return self._ask(call, op, tuple(args))
        return self._with_unknowns(call, op, args, None)

    def element_later(self, get: TupleGetItem, t: IncompleteType) -> Type:
        """Return a variable for the element of a tuple that is not known yet."""
        result = IncompleteType()
        self._open[get] = ((t,), result)
        self._solver.wait(t, get)
        return result

    def solve(self) -> None:
        """Take up all that waited and need not wait any longer."""
        ready = self._solver.ready
        while ready:
            expr = ready.popleft()
            waiting = self._open.pop(expr, None)
            if waiting is None:
                continue
            args, result = waiting
            if isinstance(expr, TupleGetItem):
                answer = self._element(expr, self._solver.shallow(args[0]))
            else:
                answer = self._with_unknowns(expr, expr.op, args, result)
            if answer is not result:
                self._fill(expr, result, answer)

    def unsolved(self) -> list[tuple[RelayExpr, Sequence[Type]]]:
        """Return the calls whose types could not be found, with what is known of their arguments."""
        return [(expr, [self._solver.resolve(t) for t in args]) for expr, (args, _) in self._open.items()]

    def _with_unknowns(self, call: Call, op: RelayOp, args: Sequence[Type], result: IncompleteType | None) -> Type:
        types = self._resolved(args)
        if any(t is None for t in types) and op.complete is not None:
            self._complete(call, op, args, types)
            types = self._resolved(args)
        concrete = tuple(t for t in types if t is not None)
        if len(concrete) == len(args):
            return self._ask(call, op, concrete)
        result = IncompleteType() if result is None else result
        self._open[call] = (args, result)
        for t, resolved in zip(args, types, strict=True):
            if resolved is None and (variable := self._solver.unknown_in(t)) is not None:
                self._solver.wait(variable, call)
        return result

    def _resolved(self, args: Sequence[Type]) -> tuple[Type | None, ...]:
        solver = self._solver
        return tuple(solver.resolve(t) if solver.unknown_in(t) is None else None for t in args)

    def _complete(self, call: Call, op: RelayOp, args: Sequence[Type], types: tuple[Type | None, ...]) -> None:
        assert op.complete is not None
        try:
            for t, completed in zip(args, op.complete(types, call.attrs), strict=True):
                if completed is not None:
                    self._solver.unify(t, completed)
        except TVMError as error:
            self._error(f"{op.name}: {error}", call)

    def _ask(self, call: Call, op: RelayOp, types: tuple[Type, ...]) -> Type:
        if op.relation is None:
            return self._error(f"{op.name}: this operator has no type relation", call)
        if op.inputs and len(types) != len(op.inputs):
            takes = f"{len(op.inputs)} arguments ({', '.join(op.inputs)})"
            return self._error(f"{op.name}: takes {takes}, it is called with {len(types)}", call)
        try:
            return op.relation(types, call.attrs)
        except ProgramError:
            raise
        except TVMError as error:
            inputs = ", ".join(f"{name}: {t}" for name, t in zip(op.inputs, types, strict=False))
            return self._error(f"{op.name}({inputs}): {error}", call)

    def _element(self, get: TupleGetItem, t: Type) -> Type:
        if isinstance(t, TupleType) and 0 <= get.index < len(t.fields):
            return t.fields[get.index]
        return self._error(f"there is no element {get.index} in {self._solver.resolve(t)}", get)

    def _fill(self, expr: GraphExpr, result: Type, answer: Type) -> None:
        try:
            self._solver.unify(result, answer)
        except UnificationError as error:
            self._error(f"{getattr(getattr(expr, 'op', None), 'name', 'element')}: {error}", expr)
