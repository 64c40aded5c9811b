"""The scopes of a hybrid script: names, and the buffers allocated for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr, Range, const
from compiler.te.definition.tensor import Tensor
from compiler.tir.statements.producer_stmt import ProducerRealize
from compiler.tir.statements.stmt import Stmt


@dataclass(frozen=True)
class Scalar:
    """A local variable that is assigned while the script runs: a tensor of one element."""

    tensor: Tensor


@dataclass(frozen=True)
class LoopVariable:
    """The variable of a loop, which nothing is assigned to."""

    value: PrimExpr


@dataclass
class _Scope:
    names: dict[str, object] = field(default_factory=dict)
    allocations: list[tuple[Tensor, str]] = field(default_factory=list)


class Scopes:
    """The scopes that are open: the function's, and those of the loops and branches around a statement."""

    def __init__(self, names: dict[str, object]) -> None:
        self._open = [_Scope(dict(names))]
        self._ended: set[str] = set()

    @property
    def depth(self) -> int:
        """How many scopes are open; one within the function's body."""
        return len(self._open)

    def open(self) -> None:
        """Begin the scope of a loop or a branch."""
        self._open.append(_Scope())

    def close(self, body: Stmt) -> Stmt:
        """End the innermost scope."""
        scope = self._open.pop()
        self._ended |= scope.names.keys()
        for tensor, where in reversed(scope.allocations):
            body = ProducerRealize(tensor, tuple(Range(0, e) for e in tensor.shape), const(True), body, where)
        return body

    def declare(self, name: str, value: object) -> None:
        """Let a name stand for something within the innermost scope."""
        self._open[-1].names[name] = value

    def allocate(self, tensor: Tensor, where: str) -> None:
        """Let a tensor exist within the innermost scope."""
        self._open[-1].allocations.append((tensor, where))

    def has(self, name: str) -> bool:
        """Return whether a name is declared in one of the open scopes."""
        return any(name in scope.names for scope in self._open)

    def find(self, name: str) -> object:
        """Return what a name stands for."""
        for scope in reversed(self._open):
            if name in scope.names:
                return scope.names[name]
        if name in self._ended:
            raise ArgumentError(f"{name!r} is used outside of the scope it is defined in; assign it before that scope")
        raise KeyError(name)
