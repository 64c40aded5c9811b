"""Writes modules, functions, expressions and types in Relay's text format.

This is the one printer of graphs; ``relay_text(module).positions`` says where each node is written.
"""

from __future__ import annotations

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.printing.format import Annotation, TextFormat, register
from compiler.ir.printing.text import TextBuilder
from compiler.ir.types import Type
from compiler.relay.adt import TypeData
from compiler.relay.expr import Expr
from compiler.relay.function import Function
from compiler.relay.printer.blocks import BlockPrinter
from compiler.relay.printer.names import Names
from compiler.relay.printer.types import type_text
from compiler.relay.text_metadata import metadata_text

__all__ = ["astext", "relay_text", "text"]

_VERSION = '#[version = "0.0.5"]'
_LEFT_OUT = "/* The values of large constants are left out; astext(show_meta_data=True) appends them. */"


def relay_text(n: IRModule | RelayExpr | Type, show_meta_data: bool = True) -> TextBuilder:
    """Write a module, an expression or a type in Relay's text format.

    The ``lines`` of the result have a region for every node, ``positions`` says where each node was first written. With
    ``show_meta_data``, constants that are too large for the text follow in a ``#[metadata]`` section. Raises
    ArgumentError if ``n`` is not one of these.
    """
    return _written(n, show_meta_data)[0]


def text(n: IRModule | RelayExpr | Type) -> str:
    """Return a module, an expression or a type as ``str`` shows it: without the values of large constants."""
    return relay_text(n, show_meta_data=False).text()


def astext(n: IRModule | RelayExpr | Type, show_meta_data: bool = True, annotate: Annotation | None = None) -> str:
    """Return a module or an expression as a whole text that can be parsed again, with the version of the format.

    Without ``show_meta_data`` the values of constants that are too large are left out, and the text says so.
    ``annotate(expr)`` is the text after an expression, in place of the comment with its type.
    """
    out, left_out = _written(n, show_meta_data, annotate)
    parts = [_VERSION, out.text()]
    return "\n".join([*parts, _LEFT_OUT] if left_out else parts)


def _written(
    n: IRModule | RelayExpr | Type, show_meta_data: bool, annotate: Annotation | None = None
) -> tuple[TextBuilder, bool]:
    """Return the text, and whether values of constants are missing in it."""
    out = TextBuilder("  ")
    if isinstance(n, Type):
        out.line(type_text(n, Names()))
        return out, False
    printer = BlockPrinter(out, annotate)
    if isinstance(n, IRModule):
        _module(printer, n)
    elif isinstance(n, (RelayExpr, Op)):
        printer.whole(n)
    else:
        raise ArgumentError(f"relay_text: expected a module, an expression or a type, got {show(n)}")
    constants = [c.data for c in printer.values.constants.values()]
    if show_meta_data and constants:
        out.newline()
        for line in metadata_text(constants).split("\n"):
            out.line(line)
    return out, bool(constants) and not show_meta_data


def _module(printer: BlockPrinter, mod: IRModule) -> None:
    out = printer.out
    types = sorted(mod.type_definitions.values(), key=lambda data: str(data.header.name_hint))
    functions = sorted(mod.items(), key=lambda item: item[0].name_hint)
    for index, data in enumerate(types):
        if index:
            out.newline()
        _type_definition(printer, data)
    for index, (var, func) in enumerate(functions):
        if index or types:
            out.newline()
        if isinstance(func, Function):
            printer.definition(var.name_hint, func)
        else:
            out.line(f"/* @{var.name_hint} is a {type(func).__name__} */")


def _type_definition(printer: BlockPrinter, data: TypeData) -> None:
    out, names = printer.out, printer.names
    names.open_types(data.type_vars)
    with out.at(data):
        params = f"[{', '.join(names.type_variable(v) for v in data.type_vars)}]" if data.type_vars else ""
        head = f"type {data.header.name_hint}{params}"
        out.write(f"{head} {{" if data.constructors else f"extern {head}")
    if not data.constructors:
        names.close_types(data.type_vars)
        out.newline()
        return
    out.newline()
    with out.indented():
        for constructor in data.constructors:
            with out.at(constructor):
                parts = ", ".join(type_text(t, names) for t in constructor.inputs)
                out.write(f"{constructor.name_hint}({parts})," if parts else f"{constructor.name_hint},")
            out.newline()
    names.close_types(data.type_vars)
    with out.at(data):
        out.write("}")
    out.newline()


class GraphFormat(TextFormat):
    """Graphs and their types in Relay's text format."""

    abstraction = 1

    def text(self, thing: IRModule | RelayExpr | Type) -> str:
        return text(thing)

    def astext(self, thing: IRModule | RelayExpr, show_meta_data: bool, annotate: Annotation | None = None) -> str:
        return astext(thing, show_meta_data, annotate)


_FORMAT = GraphFormat()
for _kind in (Expr, Type, GlobalVar, Op):
    register(_kind, _FORMAT)
