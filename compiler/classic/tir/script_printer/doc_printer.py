"""Printing of docs as Python."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum, auto

from compiler.classic.tir.script_printer.doc import (
    AssertDoc,
    AssignDoc,
    AttrAccessDoc,
    CallDoc,
    ClassDoc,
    CommentDoc,
    DictDoc,
    Doc,
    DocStringDoc,
    ExprDoc,
    ExprStmtDoc,
    ForDoc,
    FunctionDoc,
    IdDoc,
    IfDoc,
    IndexDoc,
    LambdaDoc,
    ListDoc,
    LiteralDoc,
    OperationDoc,
    OperationKind,
    ReturnDoc,
    ScopeDoc,
    SliceDoc,
    StmtBlockDoc,
    StmtDoc,
    TupleDoc,
    WhileDoc,
)
from compiler.ir.error import ArgumentError, expected
from compiler.ir.object_path import ObjectPath
from compiler.ir.printing.marks import Columns, TextMarks, marked_lines


class _Precedence(IntEnum):
    """How tightly parts of expressions bind, weakest first."""

    LAMBDA = auto()
    CONDITIONAL = auto()
    OR = auto()
    AND = auto()
    NOT = auto()
    COMPARISON = auto()
    BIT_OR = auto()
    BIT_XOR = auto()
    BIT_AND = auto()
    SHIFT = auto()
    SUM = auto()
    PRODUCT = auto()
    UNARY = auto()
    POWER = auto()
    PRIMARY = auto()


_OPERATORS = {
    OperationKind.USub: ("-", _Precedence.UNARY),
    OperationKind.Invert: ("~", _Precedence.UNARY),
    OperationKind.Not: ("not ", _Precedence.NOT),
    OperationKind.Add: ("+", _Precedence.SUM),
    OperationKind.Sub: ("-", _Precedence.SUM),
    OperationKind.Mult: ("*", _Precedence.PRODUCT),
    OperationKind.Div: ("/", _Precedence.PRODUCT),
    OperationKind.FloorDiv: ("//", _Precedence.PRODUCT),
    OperationKind.Mod: ("%", _Precedence.PRODUCT),
    OperationKind.Pow: ("**", _Precedence.POWER),
    OperationKind.LShift: ("<<", _Precedence.SHIFT),
    OperationKind.RShift: (">>", _Precedence.SHIFT),
    OperationKind.BitAnd: ("&", _Precedence.BIT_AND),
    OperationKind.BitOr: ("|", _Precedence.BIT_OR),
    OperationKind.BitXor: ("^", _Precedence.BIT_XOR),
    OperationKind.Lt: ("<", _Precedence.COMPARISON),
    OperationKind.LtE: ("<=", _Precedence.COMPARISON),
    OperationKind.Eq: ("==", _Precedence.COMPARISON),
    OperationKind.NotEq: ("!=", _Precedence.COMPARISON),
    OperationKind.Gt: (">", _Precedence.COMPARISON),
    OperationKind.GtE: (">=", _Precedence.COMPARISON),
    OperationKind.And: ("and", _Precedence.AND),
    OperationKind.Or: ("or", _Precedence.OR),
    OperationKind.IfThenElse: ("if", _Precedence.CONDITIONAL),
}


def to_python_script(
    doc: Doc,
    indent_spaces: int = 4,
    print_line_numbers: bool = False,
    num_context_lines: int | None = None,
    path_to_underline: Sequence[ObjectPath] | None = None,
) -> str:
    """Return a document as Python text.

    Raises ArgumentError if ``doc`` is not a document, or one that cannot be written, such as a comment of two lines
    behind a statement.

    Parameters
    ----------
    num_context_lines : int, optional
        How many lines around underlined ones are printed; all lines where left out.
    path_to_underline : list of ObjectPath, optional
        The parts that come from these places are underlined; where none does, those from the nearest place above.
    """
    if not isinstance(doc, Doc):
        expected("to_python_script", "doc", "a document", doc)
    printer = _Printer(indent_spaces)
    printer.write_doc(doc)
    lines = printer.text().split("\n")
    marks = TextMarks(printer.underlined(path_to_underline or ()), {}, num_context_lines, print_line_numbers)
    return "\n".join(marked_lines(lines, marks))


_Position = tuple[int, int]


class _Printer:
    """Writes documents, and notes where those that come from somewhere were written."""

    def __init__(self, indent_spaces: int) -> None:
        self._unit = indent_spaces
        self._level = 0
        self._lines = [""]
        self._placed: list[tuple[list[ObjectPath], _Position, _Position]] = []
        self._comments: dict[int, int] = {}

    # text

    def text(self) -> str:
        """Return what was written."""
        return "\n".join(self._lines)

    def _write(self, text: str) -> None:
        self._lines[-1] += text

    def _newline(self) -> None:
        self._lines.append(" " * (self._unit * self._level))

    def _at(self) -> _Position:
        return len(self._lines) - 1, len(self._lines[-1])

    @contextmanager
    def _indented(self) -> Iterator[None]:
        self._level += 1
        yield
        self._level -= 1

    # underlines

    def underlined(self, targets: Iterable[ObjectPath]) -> dict[int, list[Columns]]:
        """Return the columns that come from some places, by line."""
        columns: dict[int, list[Columns]] = defaultdict(list)
        for target in targets:
            lengths = [self._common_length(paths, target) for paths, _, _ in self._placed]
            best = max(lengths, default=0)
            for length, (_, start, end) in zip(lengths, self._placed, strict=True):
                if length and length == best:
                    self._underline(columns, start, end)
        return columns

    @staticmethod
    def _common_length(paths: Iterable[ObjectPath], target: ObjectPath) -> int:
        """Return the length of the longest of some paths that leads to a target; 0 if none does."""
        return max((len(path) for path in paths if path.is_prefix_of(target)), default=0)

    def _underline(self, columns: dict[int, list[Columns]], start: _Position, end: _Position) -> None:
        for number in range(start[0], end[0] + 1):
            line = self._lines[number]
            first = start[1] if number == start[0] else len(line) - len(line.lstrip())
            last = end[1] if number == end[0] else self._comments.get(number, len(line))
            if first < last:
                columns[number].append((first, last))

    # documents

    def write_doc(self, doc: Doc) -> None:
        """Write a document."""
        start = self._at()
        getattr(self, f"visit_{type(doc).__name__}")(doc)
        if doc.source_paths:
            number, last = self._at()
            self._placed.append((list(doc.source_paths), start, (number, self._comments.get(number, last))))

    def _operand(self, doc: ExprDoc, precedence: _Precedence) -> None:
        """Write an expression, in parentheses where it binds less tightly than is needed."""
        needs_parentheses = _precedence(doc) < precedence
        self._write("(" if needs_parentheses else "")
        self.write_doc(doc)
        self._write(")" if needs_parentheses else "")

    def _separated(self, docs: Iterable[Doc]) -> None:
        for index, doc in enumerate(docs):
            self._write(", " if index else "")
            self.write_doc(doc)

    # expressions

    def visit_LiteralDoc(self, doc: LiteralDoc) -> None:
        self._write(_literal(doc.value))

    def visit_IdDoc(self, doc: IdDoc) -> None:
        self._write(doc.name)

    def visit_AttrAccessDoc(self, doc: AttrAccessDoc) -> None:
        self._operand(doc.value, _Precedence.PRIMARY)
        self._write(f".{doc.name}")

    def visit_IndexDoc(self, doc: IndexDoc) -> None:
        self._operand(doc.value, _Precedence.PRIMARY)
        self._write("[" if doc.indices else "[()")
        self._separated(doc.indices)
        self._write("]")

    def visit_SliceDoc(self, doc: SliceDoc) -> None:
        if doc.start is not None:
            self.write_doc(doc.start)
        self._write(":")
        if doc.stop is not None:
            self.write_doc(doc.stop)
        if doc.step is not None:
            self._write(":")
            self.write_doc(doc.step)

    def visit_CallDoc(self, doc: CallDoc) -> None:
        self._operand(doc.callee, _Precedence.PRIMARY)
        self._write("(")
        self._separated(doc.args)
        for index, (key, value) in enumerate(zip(doc.kwargs_keys, doc.kwargs_values, strict=True)):
            self._write(f", {key}=" if doc.args or index else f"{key}=")
            self.write_doc(value)
        self._write(")")

    def visit_OperationDoc(self, doc: OperationDoc) -> None:
        if doc.kind not in _OPERATORS:
            raise ArgumentError(f"to_python_script: {doc.kind.name} is not an operator")
        text, precedence = _OPERATORS[doc.kind]
        arity = _arity(doc.kind)
        if len(doc.operands) != arity:
            expected("to_python_script", f"operands of {doc.kind.name}", f"{arity} operands", len(doc.operands))
        if arity == 1:
            self._write(text)
            self._operand(doc.operands[0], precedence)
        elif arity == 2:
            self._binary(text, precedence, *doc.operands)
        else:
            self._conditional(*doc.operands)

    def _binary(self, text: str, precedence: _Precedence, left: ExprDoc, right: ExprDoc) -> None:
        """Write an operator of two operands: powers associate to the right, and their exponents may have a sign."""
        is_power = precedence == _Precedence.POWER
        tighter = _Precedence(precedence + 1)
        self._operand(left, tighter if is_power else precedence)
        self._write(f" {text} ")
        self._operand(right, _Precedence.UNARY if is_power else tighter)

    def _conditional(self, condition: ExprDoc, value: ExprDoc, otherwise: ExprDoc) -> None:
        tighter = _Precedence.OR
        self._operand(value, tighter)
        self._write(" if ")
        self._operand(condition, tighter)
        self._write(" else ")
        self._operand(otherwise, tighter)

    def visit_LambdaDoc(self, doc: LambdaDoc) -> None:
        self._write("lambda ")
        self._separated(doc.args)
        self._write(": ")
        self.write_doc(doc.body)

    def visit_ListDoc(self, doc: ListDoc) -> None:
        self._write("[")
        self._separated(doc.elements)
        self._write("]")

    def visit_TupleDoc(self, doc: TupleDoc) -> None:
        self._write("(")
        self._separated(doc.elements)
        self._write(",)" if len(doc.elements) == 1 else ")")

    def visit_DictDoc(self, doc: DictDoc) -> None:
        self._write("{")
        for index, (key, value) in enumerate(zip(doc.keys, doc.values, strict=True)):
            self._write(", " if index else "")
            self.write_doc(key)
            self._write(": ")
            self.write_doc(value)
        self._write("}")

    # statements

    def visit_StmtBlockDoc(self, doc: StmtBlockDoc) -> None:
        self._statements(doc.stmts)

    def _statements(self, stmts: Sequence[StmtDoc]) -> None:
        for index, stmt in enumerate(stmts):
            if index:
                self._newline()
                if isinstance(stmts[index - 1], (FunctionDoc, ClassDoc)):
                    self._lines[-1:] = ["", self._lines[-1]]
            self.write_doc(stmt)

    def _body(self, stmts: Sequence[StmtDoc], documentation: str | None = None) -> None:
        with self._indented():
            self._newline()
            if documentation is not None:
                self._documentation(documentation)
                self._newline()
            if stmts:
                self._statements(stmts)
            else:
                self._write("pass")

    def _trailing_comment(self, doc: StmtDoc) -> None:
        if doc.comment is None:
            return
        if "\n" in doc.comment:
            raise ArgumentError(f"to_python_script: the comment of {type(doc).__name__} cannot have several lines")
        number, end = self._at()
        self._comments[number] = end
        self._write(f"  # {doc.comment}".rstrip())

    def _comment_above(self, doc: StmtDoc) -> None:
        if doc.comment:
            self._comment_lines(doc.comment)
            self._newline()

    def _comment_lines(self, comment: str) -> None:
        for index, line in enumerate(comment.split("\n") if comment else []):
            if index:
                self._newline()
            self._write(f"# {line}".rstrip())

    def _documentation(self, text: str) -> None:
        for index, line in enumerate(['"""', *text.split("\n"), '"""']):
            if index:
                self._newline()
            self._write(line)

    def visit_CommentDoc(self, doc: CommentDoc) -> None:
        self._comment_lines(doc.comment or "")

    def visit_DocStringDoc(self, doc: DocStringDoc) -> None:
        if doc.comment:
            self._documentation(doc.comment)

    def visit_AssignDoc(self, doc: AssignDoc) -> None:
        if isinstance(doc.lhs, TupleDoc) and len(doc.lhs.elements) > 1:
            self._separated(doc.lhs.elements)
        else:
            self.write_doc(doc.lhs)
        if doc.annotation is not None:
            self._write(": ")
            self.write_doc(doc.annotation)
        if doc.rhs is not None:
            self._write(" = ")
            self._unparenthesized(doc.rhs)
        self._trailing_comment(doc)

    def _unparenthesized(self, doc: ExprDoc) -> None:
        """Write an expression, a tuple of several elements without its parentheses."""
        if isinstance(doc, TupleDoc) and len(doc.elements) > 1:
            self._separated(doc.elements)
        else:
            self.write_doc(doc)

    def visit_IfDoc(self, doc: IfDoc) -> None:
        self._comment_above(doc)
        self._write("if ")
        self.write_doc(doc.predicate)
        self._write(":")
        self._body(doc.then_branch)
        if doc.else_branch:
            self._newline()
            self._write("else:")
            self._body(doc.else_branch)

    def visit_WhileDoc(self, doc: WhileDoc) -> None:
        self._comment_above(doc)
        self._write("while ")
        self.write_doc(doc.predicate)
        self._write(":")
        self._body(doc.body)

    def visit_ForDoc(self, doc: ForDoc) -> None:
        self._comment_above(doc)
        self._write("for ")
        self._unparenthesized(doc.lhs)
        self._write(" in ")
        self.write_doc(doc.rhs)
        self._write(":")
        self._body(doc.body)

    def visit_ScopeDoc(self, doc: ScopeDoc) -> None:
        self._comment_above(doc)
        self._write("with ")
        self.write_doc(doc.rhs)
        if doc.lhs is not None:
            self._write(" as ")
            self.write_doc(doc.lhs)
        self._write(":")
        self._body(doc.body)

    def visit_ExprStmtDoc(self, doc: ExprStmtDoc) -> None:
        self.write_doc(doc.expr)
        self._trailing_comment(doc)

    def visit_AssertDoc(self, doc: AssertDoc) -> None:
        self._write("assert ")
        self.write_doc(doc.test)
        if doc.msg is not None:
            self._write(", ")
            self.write_doc(doc.msg)
        self._trailing_comment(doc)

    def visit_ReturnDoc(self, doc: ReturnDoc) -> None:
        self._write("return ")
        self.write_doc(doc.value)
        self._trailing_comment(doc)

    def _decorators(self, decorators: Iterable[ExprDoc]) -> None:
        for decorator in decorators:
            self._write("@")
            self.write_doc(decorator)
            self._newline()

    def visit_FunctionDoc(self, doc: FunctionDoc) -> None:
        self._decorators(doc.decorators)
        self._write("def ")
        self.write_doc(doc.name)
        self._write("(")
        self._separated(doc.args)
        self._write(")")
        if doc.return_type is not None:
            self._write(" -> ")
            self.write_doc(doc.return_type)
        self._write(":")
        self._body(doc.body, doc.comment)

    def visit_ClassDoc(self, doc: ClassDoc) -> None:
        self._decorators(doc.decorators)
        self._write("class ")
        self.write_doc(doc.name)
        self._write(":")
        self._body(doc.body, doc.comment)


def _arity(kind: OperationKind) -> int:
    if kind == OperationKind.IfThenElse:
        return 3
    return 1 if kind < OperationKind._UnaryEnd else 2


def _precedence(doc: ExprDoc) -> _Precedence:
    """Return how tightly an expression binds."""
    if isinstance(doc, OperationDoc) and doc.kind in _OPERATORS:
        return _OPERATORS[doc.kind][1]
    return _Precedence.LAMBDA if isinstance(doc, LambdaDoc) else _Precedence.PRIMARY


def _literal(value: str | float | bool | int | None) -> str:
    """Return a constant as Python; a float has all of its digits."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, float):
        return repr(value)
    if not math.isfinite(value):
        return f'"{value}"'
    return f"{value:.1f}" if value.is_integer() else f"{value:.17g}"
