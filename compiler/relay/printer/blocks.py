"""Writes the blocks of a graph: one line for each expression, indented blocks for functions, branches and cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.op import Op
from compiler.ir.printing.format import Annotation
from compiler.ir.printing.text import TextBuilder, tuple_text
from compiler.ir.source_span import Span
from compiler.relay.adt import Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.function_devices import written_devices
from compiler.relay.printer.names import Names
from compiler.relay.printer.plan import Block, LetLine, Plan
from compiler.relay.printer.spans import span_text
from compiler.relay.printer.types import type_text
from compiler.relay.printer.values import ValueText, shown_attrs
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.target.virtual_device import VirtualDevice


class BlockPrinter:
    """Writes expressions; ``annotate(expr)`` is written behind them in place of their types."""

    def __init__(self, out: TextBuilder, annotate: Annotation | None = None) -> None:
        self.out = out
        self._annotate = annotate
        self.names = Names()
        self.values = ValueText(self.names)
        self._root: GraphExpr = Tuple(())
        self._plan = Plan(Tuple(()))
        self._number = 0

    def whole(self, expr: GraphExpr) -> None:
        """Write an expression as a text of its own."""
        self._enter(expr)
        self._block(self._plan.root)

    def definition(self, name: str, func: Function) -> None:
        """Write a function of a module."""
        self._enter(func)
        self._function(f"def @{name}", func)
        self.out.newline()

    def _enter(self, expr: GraphExpr) -> None:
        self._root = expr
        self._plan = Plan(expr, self._number)
        self._number = self._plan.next_number
        for var in self._plan.variables:
            self.names.variable(var)
        for constant in self._plan.constants:
            self.values.constant(constant)

    # lines

    def _block(self, block: Block) -> None:
        for line in block.lines:
            if isinstance(line, LetLine):
                self._let(line.let)
            elif isinstance(line, Var):
                with self.out.at(line):
                    self.out.write(f"free_var {self._declared(line, self._root)};")
                self.out.newline()
            else:
                self._line(line, f"%{self._plan.numbers[line]} = ", ";")
        result: Any = self._plan.chain(block.result)
        self._line(result, "", "", by_number=result in self._plan.numbers)

    def _let(self, let: Let) -> None:
        with self.out.at(let):
            self.out.write(f"let {self._declared(let.var, let)} = ")
        self._line(let.value, "", ";", by_number=let.value in self._plan.numbers)

    def _line(self, expr: RelayExpr, before: str, after: str, by_number: bool = False) -> None:
        """Write one expression, in full or as the number that it has."""
        rule = None if by_number else _MANY_LINES.get(type(expr))
        if rule is not None:
            rule(self, before, expr, after)
        else:
            with self.out.at(expr):
                self.out.write(before)
                if by_number:
                    self._atom(expr)
                else:
                    self._in_full(expr)
                self.out.write(after)
        self.out.newline()

    # what takes one line

    def _in_full(self, expr: GraphExpr) -> None:
        match expr:
            case Call():
                self._call(expr)
            case Tuple():
                self._list(expr.fields, comma=len(expr.fields) == 1)
                self._typed(expr)
            case TupleGetItem():
                self._field(expr)
            case RefCreate():
                self._word("ref", expr.value)
            case RefRead():
                self._word("ref_read", expr.ref)
            case RefWrite():
                self._word("ref_write", expr.ref, expr.value)
            case _:
                self._atom(expr)

    def _call(self, call: Call) -> None:
        self._atom(call.op)
        attrs = self.values.attributes(shown_attrs(call))
        if call.args or attrs or not isinstance(call.op, Constructor):
            self._list(call.args, attrs)
        self._typed(call)

    def _field(self, expr: TupleGetItem) -> None:
        plain = isinstance(expr.tuple_value, Var) or expr.tuple_value in self._plan.numbers
        self.out.write("" if plain else "(")
        self._atom(expr.tuple_value)
        self.out.write(f"{'' if plain else ')'}.{expr.index}")
        self._typed(expr)

    def _word(self, word: str, *args: RelayExpr) -> None:
        self.out.write(word)
        self._list(args)

    def _list(self, items: tuple[GraphExpr, ...], more: list[str] | None = None, comma: bool = False) -> None:
        write = self.out.write
        write("(")
        for index, item in enumerate(items):
            write(", " if index else "")
            self._atom(item)
        if more:
            write((", " if items else "") + ", ".join(more))
        write(",)" if comma else ")")

    def _atom(self, expr: GraphExpr) -> None:
        number = self._plan.numbers.get(expr)
        if number is not None:
            self.out.write(f"%{number}")
            return
        match expr:
            case Var():
                self.out.write(f"%{self.names.variable(expr)}")
            case Constant():
                with self.out.at(expr):
                    self.out.write(self.values.constant(expr))
                    self._typed(expr)
            case GlobalVar():
                self.out.write(f"@{expr.name_hint}")
            case Op():
                self.out.write(expr.name)
            case Constructor():
                self.out.write(expr.name_hint)
            case _:
                raise TypeError(f"a {type(expr).__name__} must be bound to a variable")

    def _typed(self, expr: GraphExpr) -> None:
        self.out.write(self._comment(expr))

    def _comment(self, expr: GraphExpr) -> str:
        """Return what is said of an expression: its type, and where it comes from."""
        if self._annotate is not None:
            return self._annotate(expr)
        comment = [] if expr.checked_type_ is None else [f"ty={type_text(expr.checked_type_, self.names)}"]
        if isinstance(expr, (Call, Tuple)) or isinstance(expr.span, Span):  # of others only what programs named
            comment += span_text(expr.span)
        return f" /* {' '.join(comment)} */" if comment else ""

    def _declared(self, var: Var, binder: GraphExpr, device: VirtualDevice | None = None) -> str:
        """Return a variable where it is bound; its type is inferred where that of what binds it is."""
        text = f"%{self.names.variable(var)}"
        if device not in (None, VirtualDevice()):
            text += f" {{virtual_device={device}}}"
        if var.type_annotation is not None:
            text += f": {type_text(var.type_annotation, self.names)}"
        inferred = self._annotate is not None or binder.checked_type_ is not None
        return text + (self._comment(var) if inferred else "")

    # what takes many lines

    def _function(self, before: str, func: Function) -> None:
        """Write a function up to its last brace, which more may follow."""
        out = self.out
        self.names.open_types(func.type_params)
        with out.at(func):
            out.write(before)
            if func.type_params:
                out.write(f"[{', '.join(self.names.type_variable(v) for v in func.type_params)}]")
            out.write("(")
            devices, others = written_devices(func)
            for index, param in enumerate(func.params):
                out.write(", " if index else "")
                with out.at(param):
                    out.write(self._declared(param, func, devices[index] if devices else None))
            attrs = self.values.attributes(others)
            out.write((", " if func.params and attrs else "") + ", ".join(attrs) + ")")
            if func.ret_type is not None:
                out.write(f" -> {type_text(func.ret_type, self.names)}")
            out.write(" {")
        out.newline()
        self._indented(func)
        self.names.close_types(func.type_params)
        with out.at(func):
            out.write("}")

    def _literal(self, before: str, func: Function, after: str) -> None:
        self._function(f"{before}fn ", func)
        with self.out.at(func):
            self._typed(func)
            self.out.write(after)

    def _if(self, before: str, expr: If, after: str) -> None:
        with self.out.at(expr):
            self.out.write(f"{before}if (")
            self._atom(expr.cond)
            self.out.write(") {")
        self.out.newline()
        self._indented((expr, 0))
        with self.out.at(expr):
            self.out.write("} else {")
        self.out.newline()
        self._indented((expr, 1))
        with self.out.at(expr):
            self.out.write(f"}}{after}")

    def _match(self, before: str, match: Match, after: str) -> None:
        out = self.out
        with out.at(match):
            out.write(f"{before}match{'' if match.complete else '?'} (")
            self._atom(match.data)
            out.write(") {")
        out.newline()
        with out.indented():
            for clause in match.clauses:
                with out.at(clause):
                    out.write(f"{self._pattern(clause.lhs, match)} => {{")
                out.newline()
                self._indented(clause)
                with out.at(clause):
                    out.write("},")
                out.newline()
        with out.at(match):
            out.write(f"}}{after}")

    def _pattern(self, pattern: Pattern, binder: Match) -> str:
        match pattern:
            case PatternVar():
                return self._declared(pattern.var, binder)
            case PatternTuple():
                return tuple_text([self._pattern(p, binder) for p in pattern.patterns])
            case PatternConstructor():
                parts = ", ".join(self._pattern(p, binder) for p in pattern.patterns)
                return pattern.constructor.name_hint + (f"({parts})" if parts else "")
            case _:
                return "_"

    def _parenthesised(self, before: str, let: Let, after: str) -> None:
        with self.out.at(let):
            self.out.write(f"{before}(")
        self.out.newline()
        self._indented(let)
        with self.out.at(let):
            self.out.write(f"){after}")

    def _indented(self, key: object) -> None:
        with self.out.indented():
            self._block(self._plan.blocks[key])


_MANY_LINES: dict[type, Callable[[BlockPrinter, str, Any, str], None]] = {
    Function: BlockPrinter._literal,
    If: BlockPrinter._if,
    Match: BlockPrinter._match,
    Let: BlockPrinter._parenthesised,
}
