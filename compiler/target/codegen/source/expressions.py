"""Code generation for expressions in C-like languages."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import partial
from string import Formatter

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import Call, PrimExpr, Var, is_const_int, of_truth_values
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Functor
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.ir.printing.text import TextBuilder
from compiler.target.codegen.source.program import Program
from compiler.tir.expressions import builtin
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.buffer import Buffer, BufferLoad, compact_strides

_UNARY, _PRODUCT, _SUM, _SHIFT, _ORDER, _EQUALITY, _AND, _CHOICE, _ANY = 14, 13, 12, 11, 10, 9, 4, 2, 0
"""Operator precedence; an operand that binds less tightly is parenthesised."""

_SIGNS = {
    "+": _SUM, "-": _SUM, "*": _PRODUCT, "<": _ORDER, "<=": _ORDER, ">": _ORDER, ">=": _ORDER,
    "==": _EQUALITY, "!=": _EQUALITY, "&&": _AND, "||": _AND - 1,
}  # fmt: skip
_WORDS = {"and": "&&", "or": "||"}
_HELPERS = {"min": "min", "max": "max", "/": "div", "truncmod": "mod", "//": "floordiv", "%": "floormod"}
_ARITHMETIC = (expr.Add, expr.Sub, expr.Mul)


class Expressions(Functor):
    """Emits expressions at the end of the current line."""

    def __init__(self, program: Program, out: TextBuilder) -> None:
        self.program = program
        self.language = program.language
        self.out = out
        self.names = program.names()
        # the variables that hold the results of calls, which are emitted before the statement
        self.results: dict[Node, str] = {}
        self.elements: dict[Var, str] = {}  # the element type of each pointer
        self.read_only: set[Var] = set()  # the pointers to memory that the function does not write

    def visit(self, n: PrimExpr, *args: int) -> None:
        """Emit an expression, in parentheses if its operator binds less tightly than the level in ``args``."""
        with self.out.at(n):
            if n in self.results:
                self.out.write(self.results[n])
            else:
                logic = of_truth_values(n) if isinstance(n, expr.BinaryOp) else None
                Functor.visit(self, n if logic is None else logic, *args)

    def write(self, *parts: str | PrimExpr) -> None:
        """Emit strings and expressions."""
        for part in parts:
            if isinstance(part, str):
                self.out.write(part)
            else:
                self.visit(part, _ANY)

    def fill(self, template: str, *args: str | PrimExpr, **parts: str | PrimExpr) -> None:
        """Emit a template with strings and expressions for fields such as ``{0}`` and ``{type}``; ``{{`` is a brace."""
        for text, field, _, _ in Formatter().parse(template):
            self.out.write(text)
            if field is not None:
                self.write(args[int(field)] if field.isdigit() else parts[field])

    def cast(self, dtype: str, value: str | PrimExpr) -> None:
        """Emit the conversion of a value to a data type."""
        template = self.language.spelling.cast
        typ, prefix = self.language.type(dtype), template.endswith("{value}")
        before, after = template.format(type=typ, value="\0").split("\0")
        self.out.write(before)
        if isinstance(value, str):
            self.out.write(value)
        else:
            self.visit(value, _UNARY if prefix else _ANY)
        self.out.write(after)

    def _bound(self, level: int, needed: int, write: Callable[[], None]) -> None:
        if level < needed:
            self.out.write("(")
            write()
            self.out.write(")")
        else:
            write()

    # leaves

    def visit_Var(self, n: Var, level: int) -> None:
        self.out.write(self.names[n])

    def visit_IntImm(self, n: expr.IntImm, level: int) -> None:
        if dt.is_bool(n.dtype):
            self.out.write("true" if n.value else "false")
            return
        text = str(n.value) + self.language.suffixes.get(n.dtype, "")
        if n.value == dt.int_range(n.dtype)[0]:  # the same number of a wider type has a literal
            text = self.language.literals.get(str(n.value), text)
        self.out.write(f"({text})" if n.value < 0 and level else text)

    def visit_FloatImm(self, n: expr.FloatImm, level: int) -> None:
        value = n.value if n.dtype == "float64" else _rounded(n.value, n.dtype)
        text = self.language.literals.get(str(value), "")
        text = text or _shortest(value, n.dtype) + self.language.suffixes.get(n.dtype, "")
        if n.dtype == "float16":
            text = f"({self.language.cast(n.dtype, f'({text})' if text.startswith('-') else text)})"
        self.out.write(f"({text})" if text.startswith("-") and level else text)

    def visit_StringImm(self, n: expr.StringImm, level: int) -> None:
        self.out.write(quoted(n.value))

    def visit_Node(self, n: PrimExpr, *args: int) -> None:
        raise BuildError(f"code generation: {type(n).__name__} must be lowered before code generation")

    # arithmetic

    def visit_BinaryOp(self, n: expr.BinaryOp, level: int) -> None:
        if n.symbol in _HELPERS:
            self._helper(n, level)
            return
        sign = _WORDS.get(n.symbol, n.symbol)
        own = _SIGNS[sign]
        if isinstance(n, _ARITHMETIC) and dt.bits(n.dtype) < 32:
            # C promotes narrow types to int or float.
            before, after = self.language.cast(n.dtype, "\0").split("\0")
            self.out.write(before)
            self._infix(sign, n.a, n.b, own, _UNARY)
            self.out.write(after)
        else:
            self._infix(sign, n.a, n.b, own, level)

    def _infix(self, sign: str, a: PrimExpr, b: PrimExpr, own: int, level: int) -> None:
        strict = self.language.spelling.parenthesized and own <= _ORDER

        def write() -> None:
            self.visit(a, _UNARY if strict else own)
            self.out.write(f" {sign} ")
            self.visit(b, _UNARY if strict else own + 1)

        self._bound(own, level, write)

    def _helper(self, n: expr.BinaryOp, level: int) -> None:
        if dt.is_float(n.dtype) and isinstance(n, (expr.Div, expr.FloorDiv)):
            self._infix("/", n.a, n.b, _PRODUCT, level)
        elif dt.is_float(n.dtype) and isinstance(n, (expr.Mod, expr.FloorMod)):
            self.fill(self._template("tir.fmod", n.dtype), n.a, n.b)
        elif isinstance(n, (expr.Min, expr.Max)) and self._has_extremum(n):
            self.fill(self.language.intrinsics[type(n).__name__], n.a, n.b)
        elif isinstance(n, (expr.FloorDiv, expr.FloorMod)) and (shift := _power_of_two(n.b)) is not None:
            sign, number = (">>", shift) if isinstance(n, expr.FloorDiv) else ("&", (1 << shift) - 1)
            suffix = self.language.suffixes.get(n.dtype, "")
            self.out.write("(")
            self.visit(n.a, _UNARY)
            self.out.write(f" {sign} {number}{suffix})")
        elif isinstance(n, (expr.Div, expr.Mod)) and isinstance(n.b, expr.IntImm) and n.b.value not in (0, -1):
            self._infix("/" if isinstance(n, expr.Div) else "%", n.a, n.b, _PRODUCT, level)
        else:
            unsigned = not dt.is_int(n.dtype) and isinstance(n, (expr.FloorDiv, expr.FloorMod))
            name = _HELPERS[n.symbol].removeprefix("floor") if unsigned else _HELPERS[n.symbol]
            self.write(self.program.helper(name, n.dtype), "(", n.a, ", ", n.b, ")")

    def _has_extremum(self, n: expr.Min | expr.Max) -> bool:
        """Return whether the language's own function is the operation: of floats it loses a NaN, or keeps it."""
        return type(n).__name__ in self.language.intrinsics and dt.is_integral(n.dtype) and dt.bits(n.dtype) >= 32

    def visit_Not(self, n: expr.Not, level: int) -> None:
        self.out.write("!")
        self.visit(n.a, _UNARY)

    def visit_Select(self, n: expr.Select, level: int) -> None:
        self._choice(n.condition, n.true_value, n.false_value, level)

    def _choice(self, condition: PrimExpr, then: PrimExpr, other: PrimExpr, level: int) -> None:
        template = self.language.spelling.choice
        own = _CHOICE if template.startswith("{") else _UNARY
        parts = {"condition": condition, "then": then, "other": other}

        def write() -> None:
            for text, field, _, _ in Formatter().parse(template):
                self.out.write(text)
                if field is not None:
                    self.visit(parts[field], _CHOICE + 1 if own == _CHOICE else _ANY)

        self._bound(own, level, write)

    def visit_Let(self, n: expr.Let, level: int) -> None:
        self.visit(substitute(n.body, {n.var: n.value}), level)

    def visit_Cast(self, n: expr.Cast, level: int) -> None:
        if dt.is_bool(n.dtype):
            self._bound(_EQUALITY, level, lambda: self._is_not_zero(n.value))
        else:
            self.cast(n.dtype, n.value)

    def _is_not_zero(self, value: PrimExpr) -> None:
        self.visit(value, _UNARY if self.language.spelling.parenthesized else _EQUALITY)
        self.out.write(" != 0")

    # memory

    def visit_BufferLoad(self, n: BufferLoad, level: int) -> None:
        device = self.language.device
        template = device.read_only.get(n.dtype) if device and n.buffer.data in self.read_only else None
        if template is None:
            self.element(n.buffer, n.indices)
            return
        before, after = template.split("{}")
        self.out.write(before)
        self.element(n.buffer, n.indices)
        self.out.write(after)

    def pointer(self, buffer: Buffer) -> str:
        """Return the pointer to a buffer's memory, of the type of its elements."""
        pointer, typ = self.names[buffer.data], self.language.type(dt.element(buffer.dtype))
        if self.elements.get(buffer.data) == dt.element(buffer.dtype):
            return pointer
        return f"(({self.space(buffer.data)}{typ}*){pointer})"

    def space(self, pointer: Var) -> str:
        """Return the address space qualifier of the memory that a variable points to."""
        return self.language.device.pointers.get(pointer_scope(pointer), "") if self.language.device else ""

    def element(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> None:
        """Emit an element of a buffer."""
        self.out.write(self.pointer(buffer))
        self.out.write("[")
        terms: list[PrimExpr] = []
        for index, stride in zip(indices, buffer.strides or compact_strides(buffer.shape), strict=True):
            terms += [] if is_const_int(index, 0) else [index if is_const_int(stride, 1) else index * stride]
        terms = terms if is_const_int(buffer.elem_offset, 0) else [buffer.elem_offset, *terms]
        for number, term in enumerate(terms):
            self.out.write(" + " if number else "")
            self.visit(term, _SUM if len(terms) > 1 else _ANY)
        self.out.write("]" if terms else "0]")

    # calls

    def visit_Call(self, n: Call, level: int) -> None:
        name = n.op.name if isinstance(n.op, Op) else ""
        device = self.language.device
        rule = _CALLS.get(name) or (device.calls.get(name) if device else None)
        if name in self.language.intrinsics:
            self.fill(self.language.intrinsics[name], *n.args)
        elif rule is not None:
            rule(self, n, level)
        elif name in self.language.operators:
            self._operator(n, self.language.operators[name])
        elif name in self.language.functions:
            self._function(n, name)
        else:
            called = name or getattr(n.op, "name_hint", type(n.op).__name__)
            raise BuildError(
                f"code generation: target {self.language.name!r} has no code for a call of {called}"
                f"{user_place(n.span)}; express it with other operators, or compute it on the host"
            )

    def _operator(self, n: Call, sign: str) -> None:
        """Emit a bitwise operation, always in parentheses."""
        narrow = dt.bits(n.dtype) < 32 and not dt.is_bool(n.dtype)
        self.out.write(f"({self.language.type(n.dtype)})(" if narrow else "(")
        self.visit(n.args[0], _UNARY)
        self.out.write(f" {sign} ")
        self.visit(n.args[1], _UNARY)
        self.out.write(")")

    def _function(self, n: Call, name: str) -> None:
        """Emit the call of a math function, in single precision for half-precision values."""
        dtype = n.args[0].dtype
        if not dt.is_float(dtype):
            raise BuildError(f"code generation: {n} needs a floating-point operand, got {dtype}; cast it with .astype")
        if dtype == "float16" and name in ("tir.nextafter",):
            raise BuildError(f"code generation: target {self.language.name!r} has no {name} of {dtype}")
        before, after = "", ""
        if dtype == "float16" and not dt.is_bool(n.dtype):
            before, after = self.language.cast(n.dtype, "\0").split("\0")
        self.out.write(before)
        self.fill(self._template(name, dtype), *n.args)
        self.out.write(after)

    def _template(self, name: str, dtype: str) -> str:
        """Return the template of a math function call, adding its helper to the program if it has one."""
        template = (self.language.double_functions if dtype == "float64" else self.language.functions)[name]
        helper = name.removeprefix("tir.")
        if helper in self.language.helpers:
            self.program.helper(helper, dtype)
        return template.replace("{t}", dtype)

    def extern(self, n: Call) -> None:
        """Emit the call of an external function, and declare it."""
        name, *args = n.args
        if not isinstance(name, expr.StringImm):
            raise BuildError(f"code generation: {n.op} takes the name of a function first, got {name}")
        types = [a.dtype if not isinstance(a, expr.StringImm) else "" for a in args]
        called = self.program.extern(name.value, n.dtype, types, n.span)
        self.out.write(f"{called}(")
        for number, argument in enumerate(args):
            self.write(", " if number else "", argument)
        self.out.write(")")


def _rounded(value: float, dtype: str) -> float:
    """Round a value to a narrower data type."""
    form = "<e" if dtype == "float16" else "<f"
    try:
        return float(struct.unpack(form, struct.pack(form, value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _shortest(value: float, dtype: str) -> str:
    """Return the shortest decimal representation that round-trips in a data type."""
    if dtype == "float64":
        return repr(value)
    digits = next(text for n in range(1, 18) if _rounded(float(text := f"{value:.{n}g}"), dtype) == value)
    return digits if "." in digits or "e" in digits else f"{digits}.0"


def _power_of_two(e: PrimExpr) -> int | None:
    """Return k if an expression is the constant 2 ** k."""
    if isinstance(e, expr.IntImm) and e.value > 0 and e.value & (e.value - 1) == 0:
        return e.value.bit_length() - 1
    return None


def quoted(text: str) -> str:
    """Quote a string as a literal, escaping all that could end it."""
    plain = set(range(32, 127)) - {ord('"'), ord("\\"), ord("?")}
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'


Rule = Callable[[Expressions, Call, int], None]


def _argument(e: Expressions, n: Call, level: int) -> None:
    e.visit(n.args[0], level)


def _if_then_else(e: Expressions, n: Call, level: int) -> None:
    e._choice(n.args[0], n.args[1], n.args[2], level)


def _counted(name: str, e: Expressions, n: Call, level: int) -> None:
    """Emit the call of a helper that counts bits."""
    before, after = e.language.cast(n.dtype, "\0").split("\0")
    e.write(before, e.program.helper(name, n.args[0].dtype), "(", n.args[0], ")", after)


def _reinterpret(e: Expressions, n: Call, level: int) -> None:
    template = e.language.spelling.reinterpret
    if template:
        e.fill(template, type=e.language.type(n.dtype), value=n.args[0])
    else:
        e.write(e.program.reinterpretation(n.args[0].dtype, n.dtype), "(", n.args[0], ")")


def _not(e: Expressions, n: Call, level: int) -> None:
    narrow = "" if dt.bits(n.dtype) >= 32 else f"({e.language.type(n.dtype)})"
    e.out.write("!" if dt.is_bool(n.dtype) else f"{narrow}~")
    e.visit(n.args[0], _UNARY)


def _address_of(e: Expressions, n: Call, level: int) -> None:
    element = n.args[0]
    if not isinstance(element, BufferLoad):
        raise BuildError(f"code generation: address_of takes an element of a buffer, got {element}")
    e.out.write("&" if e.language.device else "(void*)&")
    e.element(element.buffer, element.indices)


def _access_ptr(e: Expressions, n: Call, level: int) -> None:
    kind, data, offset = n.args[:3]
    space = e.space(data) if isinstance(data, Var) else ""
    e.write(f"({space}void*)(({space}{e.language.type(kind.dtype)}*)", data, " + ")
    e.visit(offset, _SUM + 1)
    e.write(")")


def _text(text: str, e: Expressions, n: Call, level: int) -> None:
    e.out.write(text)


def _is_null(e: Expressions, n: Call, level: int) -> None:
    e.write("(", n.args[0], " == NULL)")


_CALLS: dict[str, Rule] = {
    builtin.LIKELY.name: _argument,
    builtin.IF_THEN_ELSE.name: _if_then_else,
    builtin.POPCOUNT.name: partial(_counted, "popcount"),
    builtin.CLZ.name: partial(_counted, "clz"),
    builtin.REINTERPRET.name: _reinterpret,
    builtin.ISNULLPTR.name: _is_null,
    builtin.ADDRESS_OF.name: _address_of,
    builtin.ACCESS_PTR.name: _access_ptr,
    builtin.UNDEF.name: partial(_text, "0"),
    builtin.ASSUME.name: partial(_text, "true"),
    builtin.PREFETCH.name: partial(_text, "(void)0"),
    builtin.CALL_EXTERN.name: lambda e, n, level: e.extern(n),
    builtin.CALL_PURE_EXTERN.name: lambda e, n, level: e.extern(n),
    "tir.bitwise_not": _not,
}
"""The emitters of operators that are neither functions nor operators of the language."""
