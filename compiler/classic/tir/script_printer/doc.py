"""Docs: the Python syntax tree of a script to print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto, unique

from compiler.ir.error import ArgumentError, expected
from compiler.ir.expr.primexpr import FloatImm, IntImm
from compiler.ir.object_path import ObjectPath


@dataclass(slots=True, eq=False)
class Doc:
    """A part of a script; ``source_paths`` says where in the program it comes from."""

    source_paths: list[ObjectPath] = field(init=False, default_factory=list, repr=False)


@dataclass(slots=True, eq=False)
class ExprDoc(Doc):
    """An expression."""

    def attr(self, name: str) -> AttrAccessDoc:
        """Return an attribute of this expression."""
        return AttrAccessDoc(self, name)

    def call(self, *args: ExprDoc, **kwargs: ExprDoc) -> CallDoc:
        """Return a call of this expression."""
        return CallDoc(self, *args, **kwargs)

    def __getitem__(self, indices: ExprDoc | SliceDoc | Sequence[ExprDoc | SliceDoc]) -> IndexDoc:
        return IndexDoc(self, [indices] if isinstance(indices, Doc) else list(indices))

    def __iter__(self) -> None:
        raise RuntimeError(f"{type(self).__name__} is not iterable: documents are written, never evaluated")


@dataclass(slots=True, eq=False)
class StmtDoc(Doc):
    """A statement.

    A comment stands behind the statement, above it where it has a body, or is the documentation of a function or class.
    """

    comment: str | None = field(init=False, default=None)


@dataclass(slots=True, eq=False)
class StmtBlockDoc(Doc):
    """Statements one after the other."""

    stmts: list[StmtDoc]


@dataclass(slots=True, eq=False)
class LiteralDoc(ExprDoc):
    """A literal; constants of the IR stand for their numbers."""

    value: str | float | bool | int | None
    path: ObjectPath | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.value, (IntImm, FloatImm)):
            self.value = self.value.value
        if not (self.value is None or isinstance(self.value, (str, float, bool, int))):
            expected("LiteralDoc", "value", "a string, a number, a truth value or None", self.value)
        if self.path is not None:
            self.source_paths = [self.path]


@dataclass(slots=True, eq=False)
class IdDoc(ExprDoc):
    """A name."""

    name: str


@dataclass(slots=True, eq=False)
class AttrAccessDoc(ExprDoc):
    """An attribute: ``value.name``."""

    value: ExprDoc
    name: str


@dataclass(slots=True, eq=False)
class IndexDoc(ExprDoc):
    """An element or a slice: ``value[indices]``."""

    value: ExprDoc
    indices: list[ExprDoc | SliceDoc]


@dataclass(slots=True, eq=False, init=False)
class CallDoc(ExprDoc):
    """A call.

    Arguments by keyword are kept as ``kwargs_keys`` and ``kwargs_values``.
    """

    callee: ExprDoc
    args: list[ExprDoc]
    kwargs_keys: list[str]
    kwargs_values: list[ExprDoc]

    def __init__(self, callee: ExprDoc, *args: ExprDoc, **kwargs: ExprDoc) -> None:
        self.source_paths = []
        self.callee, self.args = callee, list(args)
        self.kwargs_keys, self.kwargs_values = list(kwargs), list(kwargs.values())


@unique
class OperationKind(IntEnum):
    """An operator of Python; the members with an underscore only bound the unary, binary and other ones."""

    _UnaryStart = 0
    USub = auto()
    Invert = auto()
    Not = auto()
    _UnaryEnd = auto()
    _BinaryStart = auto()
    Add = auto()
    Sub = auto()
    Mult = auto()
    Div = auto()
    FloorDiv = auto()
    Mod = auto()
    Pow = auto()
    LShift = auto()
    RShift = auto()
    BitAnd = auto()
    BitOr = auto()
    BitXor = auto()
    Lt = auto()
    LtE = auto()
    Eq = auto()
    NotEq = auto()
    Gt = auto()
    GtE = auto()
    And = auto()
    Or = auto()
    _BinaryEnd = auto()
    _SpecialStart = auto()
    IfThenElse = auto()
    _SpecialEnd = auto()


@dataclass(slots=True, eq=False)
class OperationDoc(ExprDoc):
    """An operator and its operands.

    Those of ``IfThenElse`` are the condition, the value where it holds, and the other one.
    """

    kind: OperationKind
    operands: list[ExprDoc]


@dataclass(slots=True, eq=False)
class LambdaDoc(ExprDoc):
    """A function without a name."""

    args: list[IdDoc]
    body: ExprDoc


@dataclass(slots=True, eq=False)
class TupleDoc(ExprDoc):
    """A tuple."""

    elements: list[ExprDoc]


@dataclass(slots=True, eq=False)
class ListDoc(ExprDoc):
    """A list."""

    elements: list[ExprDoc]


@dataclass(slots=True, eq=False, init=False)
class DictDoc(ExprDoc):
    """A dictionary, kept as ``keys`` and ``values``."""

    keys: list[ExprDoc]
    values: list[ExprDoc]

    def __init__(self, content: Mapping[ExprDoc, ExprDoc]) -> None:
        self.source_paths = []
        self.keys, self.values = list(content), list(content.values())


@dataclass(slots=True, eq=False)
class SliceDoc(Doc):
    """A slice between brackets: ``start:stop:step``."""

    start: ExprDoc | None = None
    stop: ExprDoc | None = None
    step: ExprDoc | None = None


@dataclass(slots=True, eq=False)
class AssignDoc(StmtDoc):
    """An assignment or a declaration: ``lhs: annotation = rhs``."""

    lhs: ExprDoc
    rhs: ExprDoc | None = None
    annotation: ExprDoc | None = None

    def __post_init__(self) -> None:
        if self.rhs is None and self.annotation is None:
            raise ArgumentError("AssignDoc: rhs or annotation must be given")


@dataclass(slots=True, eq=False)
class IfDoc(StmtDoc):
    """A branch."""

    predicate: ExprDoc
    then_branch: list[StmtDoc]
    else_branch: list[StmtDoc]

    def __post_init__(self) -> None:
        if not self.then_branch and not self.else_branch:
            raise ArgumentError("IfDoc: then_branch or else_branch must have a statement")


@dataclass(slots=True, eq=False)
class WhileDoc(StmtDoc):
    """A loop with a condition."""

    predicate: ExprDoc
    body: list[StmtDoc]


@dataclass(slots=True, eq=False)
class ForDoc(StmtDoc):
    """A loop: ``for lhs in rhs``."""

    lhs: ExprDoc
    rhs: ExprDoc
    body: list[StmtDoc]


@dataclass(slots=True, eq=False)
class ScopeDoc(StmtDoc):
    """A scope: ``with rhs as lhs``."""

    lhs: ExprDoc | None
    rhs: ExprDoc
    body: list[StmtDoc]


@dataclass(slots=True, eq=False)
class ExprStmtDoc(StmtDoc):
    """An expression that is a statement."""

    expr: ExprDoc


@dataclass(slots=True, eq=False)
class AssertDoc(StmtDoc):
    """An assertion."""

    test: ExprDoc
    msg: ExprDoc | None = None


@dataclass(slots=True, eq=False)
class ReturnDoc(StmtDoc):
    """The return of a value."""

    value: ExprDoc


@dataclass(slots=True, eq=False)
class FunctionDoc(StmtDoc):
    """The definition of a function."""

    name: IdDoc
    args: list[AssignDoc]
    decorators: list[ExprDoc]
    return_type: ExprDoc | None
    body: list[StmtDoc]


@dataclass(slots=True, eq=False)
class ClassDoc(StmtDoc):
    """The definition of a class."""

    name: IdDoc
    decorators: list[ExprDoc]
    body: list[StmtDoc]


@dataclass(slots=True, eq=False, init=False)
class CommentDoc(StmtDoc):
    """A comment on lines of its own."""

    def __init__(self, comment: str) -> None:
        self.source_paths = []
        self.comment = comment


@dataclass(slots=True, eq=False, init=False)
class DocStringDoc(StmtDoc):
    """A documentation string."""

    def __init__(self, docs: str) -> None:
        self.source_paths = []
        self.comment = docs
