"""What a part of a graph can be compared with.  Two places with one pattern object must hold one expression."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from compiler.classic.relay.dataflow_pattern.groups import Partition, groups
from compiler.classic.relay.dataflow_pattern.matcher import Graph, Matcher
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.op import Op
from compiler.ir.structural import structural_equal
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, GraphExpr, Var
from compiler.relay.inference import infer_expr
from compiler.relay.ty import Dim, TensorType, same_dim

__all__ = [
    "AltPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFPattern", "DataTypePattern", "DominatorPattern",
    "ExprPattern", "ShapePattern", "TypePattern", "VarPattern", "WildcardPattern",
]  # fmt: skip

_COMMUTATIVE = ("add", "multiply")
_ASSOCIATIVE = ("multiply", "divide")


@dataclass(frozen=True, eq=False, repr=False)
class DFPattern(ABC):
    """Base of all patterns.

    Called with patterns it is the pattern of a call; ``+ - * /`` are the patterns of the calls of these operators, and
    ``a | b`` takes either.  A pattern object that occurs twice must match one expression in both places.
    """

    @abstractmethod
    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        """Return whether an expression matches; the matcher compares its parts, and hears of what was taken apart."""

    def __call__(self, *args: object) -> CallPattern:
        """Return the pattern of this applied to arguments; ``p(None)`` takes any."""
        return CallPattern(self, None if len(args) == 1 and args[0] is None else checked_all("call", args))

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, checked("|", other))

    def __add__(self, other: DFPattern) -> CallPattern:
        return ExprPattern(Op.get("add"))(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return ExprPattern(Op.get("subtract"))(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return ExprPattern(Op.get("multiply"))(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return ExprPattern(Op.get("divide"))(self, other)

    def has_attr(self, attrs: Mapping[str, object]) -> AttrPattern:
        """Return this pattern where attributes have given values; of an operator these are facts such as
        ``TOpPattern``.
        """
        return AttrPattern(self, dict(attrs))

    def has_type(self, ttype: Type) -> TypePattern:
        """Return this pattern where the expression is of a type."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """Return this pattern where the elements are of a data type."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Dim]) -> ShapePattern:
        """Return this pattern where the tensor is of a shape."""
        return ShapePattern(self, TensorType(tuple(shape)).dims)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """Return this pattern with something more around it, or without: ``conv.optional(lambda x:
        is_op("nn.relu")(x))``.
        """
        return AltPattern(option_constructor(self), self)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """Return the pattern of an expression that this pattern matches and that a parent dominates
        (:func:`dominates`).

        Between them may be ``path``, by default anything.
        """
        return DominatorPattern(parent, WildcardPattern() if path is None else path, self)

    def match(self, expr: GraphExpr) -> bool:
        """Return whether an expression matches this pattern."""
        return Matcher(Graph(expr)).match(self, expr)

    def partition(
        self,
        expr: GraphExpr,
        attrs: Mapping[str, object] | None = None,
        check: Callable[[GraphExpr], bool] = lambda match: True,
    ) -> Any:
        """Move everything that matches into functions of its own, and call them.

        Parameters
        ----------
        attrs : mapping of str to object, optional
            Attributes of these functions, besides ``PartitionedFromPattern``.
        check : callable
            From an expression that matches to whether it is moved; all are by default.

        Examples
        --------
        ::

            nn.relu(nn.conv2d(%x, %w))
            ->
            fn (%a, %b, PartitionedFromPattern="nn.conv2d_nn.relu_") { nn.relu(nn.conv2d(%a, %b)) }(%x, %w)
        """
        return Partition(groups(self, expr), attrs or {}, check).visit(expr)

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(show(value) for value in vars(self).values())})"

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class WildcardPattern(DFPattern):
    """Anything, or what another pattern matches: see :meth:`redirect_to`."""

    redirected: list[DFPattern] = field(default_factory=list, init=False)

    def redirect_to(self, pat: DFPattern) -> None:
        """Let this pattern stand for another one, in which it may be: so chains of any length are described.

        Examples
        --------
        >>> rest = wildcard()
        >>> chain = is_op("nn.relu")(rest) | is_var()
        >>> rest.redirect_to(chain)
        """
        self.redirected[:] = [pat]

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        return all(matcher.fits(pattern, expr) for pattern in self.redirected)

    def __str__(self) -> str:  # what refers to itself has no finite text
        return "WildcardPattern()"

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class ConstantPattern(DFPattern):
    """A constant."""

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        return isinstance(expr, Constant) and matcher.take(expr)


@dataclass(frozen=True, eq=False, repr=False)
class VarPattern(DFPattern):
    """A variable of a name, the field ``name``; of any if that is empty."""

    name: str

    def __init__(self, name_hint: str = "") -> None:
        object.__setattr__(self, "name", name_hint)

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        return isinstance(expr, Var) and self.name in ("", expr.name_hint)


@dataclass(frozen=True, eq=False, repr=False)
class ExprPattern(DFPattern):
    """One expression or operator: what has the same structure matches."""

    expr: Any

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        if isinstance(self.expr, Op):
            return expr is self.expr
        same = expr is self.expr or structural_equal(expr, self.expr)
        return same and (not isinstance(expr, Constant) or matcher.take(expr))


@dataclass(frozen=True, eq=False, repr=False)
class AltPattern(DFPattern):
    """Either of two patterns, tried from left to right."""

    left: DFPattern
    right: DFPattern

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        return matcher.fits(self.left, expr) or matcher.fits(self.right, expr)


@dataclass(frozen=True, eq=False, repr=False)
class CallPattern(DFPattern):
    """A call; its arguments are in either order for commutative operators, and any if they are None."""

    op: DFPattern
    args: tuple[DFPattern, ...] | None

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        if not isinstance(expr, Call):
            return False
        if self._matches_as_written(matcher, expr):
            return True
        product = isinstance(expr.op, Op) and expr.op.name in _ASSOCIATIVE
        return product and any(other.fits_whole(matcher, expr) for other in self._alternatives())

    def fits_whole(self, matcher: Matcher, expr: Call) -> bool:
        """Return whether a call matches as it is written; where it does not, the matcher is as it was before."""
        return matcher.attempt(lambda: self._matches_as_written(matcher, expr))

    def _matches_as_written(self, matcher: Matcher, expr: Call) -> bool:
        if not matcher.fits(self.op, expr.op):
            return False
        args = self.args
        if args is None or matcher.try_all(args, expr.args):
            return matcher.take(expr)
        swapped = isinstance(expr.op, Op) and expr.op.name in _COMMUTATIVE and len(args) == 2
        return swapped and matcher.try_all(args[::-1], expr.args) and matcher.take(expr)

    def _alternatives(self) -> Iterator[CallPattern]:
        """Yield what the pattern is by the associativity of multiplication and division.

        ``a * b / c`` is ``a * (b / c)`` and ``b * (a / c)``, and ``a / c * b`` is ``a * b / c``.
        """
        args = self.args
        if args is None or len(args) != 2:
            return
        product, divisor = args
        if _is_call_of(self, "divide") and _is_call_of(product, "multiply"):
            for a, b in (_operands(product), _operands(product)[::-1]):
                yield CallPattern(product.op, (b, CallPattern(self.op, (a, divisor))))
        if _is_call_of(self, "multiply"):
            for quotient, factor in (args, args[::-1]):
                if _is_call_of(quotient, "divide"):
                    a, divisor = _operands(quotient)
                    yield CallPattern(quotient.op, (CallPattern(self.op, (a, factor)), divisor))


def _operands(pattern: CallPattern) -> tuple[DFPattern, ...]:
    assert pattern.args is not None
    return pattern.args


def _is_call_of(pattern: DFPattern, name: str) -> TypeGuard[CallPattern]:
    """Return whether a pattern is that of a call of an operator with two arguments."""
    if not isinstance(pattern, CallPattern) or pattern.args is None or len(pattern.args) != 2:
        return False
    callee = pattern.op.expr if isinstance(pattern.op, ExprPattern) else None
    return isinstance(callee, Op) and callee.name == name


@dataclass(frozen=True, eq=False, repr=False)
class AttrPattern(DFPattern):
    """What matches a pattern and has attributes of given values."""

    pattern: DFPattern
    attrs: Mapping[str, object]

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        if isinstance(expr, Op):
            get: Callable[[str], Any] = getattr(expr, "get_attr", lambda name: None)
        else:
            get = getattr(expr, "attrs", DictAttrs()).get
        expected = DictAttrs(self.attrs)
        return all(get(name) == expected[name] for name in expected) and matcher.fits(self.pattern, expr)


@dataclass(frozen=True, eq=False, repr=False)
class TypePattern(DFPattern):
    """What matches a pattern and is of a type, the field ``type``."""

    pattern: DFPattern
    type: Type

    def __init__(self, pattern: DFPattern, ttype: Type) -> None:
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "type", ttype)

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        return structural_equal(_type_of(expr), self.type) and matcher.fits(self.pattern, expr)


@dataclass(frozen=True, eq=False, repr=False)
class DataTypePattern(DFPattern):
    """What matches a pattern and has elements of a data type."""

    pattern: DFPattern
    dtype: str

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        t = _type_of(expr)
        return isinstance(t, TensorType) and t.dtype == self.dtype and matcher.fits(self.pattern, expr)


@dataclass(frozen=True, eq=False, repr=False)
class ShapePattern(DFPattern):
    """What matches a pattern and is a tensor of a shape."""

    pattern: DFPattern
    shape: tuple[Any, ...]

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        t = _type_of(expr)
        if not isinstance(t, TensorType) or len(t.dims) != len(self.shape):
            return False
        return all(map(same_dim, t.dims, self.shape)) and matcher.fits(self.pattern, expr)


@dataclass(frozen=True, eq=False, repr=False)
class DominatorPattern(DFPattern):
    """Everything from a parent to a child that it leads to, on all paths between them; see :func:`dominates`."""

    parent: DFPattern
    path: DFPattern
    child: DFPattern

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        return matcher.fits(self.child, expr) and matcher.dominates(self.parent, self.path, expr)


def checked(what: str, value: object) -> DFPattern:
    if not isinstance(value, DFPattern):
        raise ArgumentError(f"pattern: {what} takes patterns, got {type(value).__name__} {show(value)}")
    return value


def checked_all(what: str, values: Sequence[object]) -> tuple[DFPattern, ...]:
    return tuple(checked(what, v) for v in values)


def _type_of(expr: GraphExpr) -> Type | None:
    return None if isinstance(expr, Op) else infer_expr(expr)
