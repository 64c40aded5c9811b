"""Reads Relay's text format, as :mod:`compiler.relay.printer` and TVM 0.19 write it.

::

    type    = "type" Name ["[" A, … "]"] "{" Constructor ["(" type, … ")"], … "}" | "extern" "type" Name ["[" A, … "]"]
    def     = "def" "@name" function
    function= ["[" A, … "]"] "(" "%x" [":" type], …, name "=" value, … ")" ["->" type] block
    block   = "{" { "let" "%x" [":" type] "=" expr ";" | "%0" "=" expr ";" | "free_var" "%x" [":" type] ";" } expr "}"

``%0``, ``%1``, … name expressions of a graph, which may be used many times; ``let`` is an expression of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.ir.error import expected
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint_source
from compiler.relay.inference.entry import infer_module
from compiler.relay.parser.lexer import ParseError
from compiler.relay.parser.program import Program
from compiler.relay.parser.span_check import SpanCheck

__all__ = ["ParseError", "SpanCheck", "fromtext", "parse", "parse_expr"]


def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
) -> IRModule:
    """Return the module of a program in Relay's text format; of one expression, that is ``main``.

    Raises ParseError, which names the line, the column and what was expected there. Raises TypeInferenceError if the
    program has no types.

    Parameters
    ----------
    source_name : str
        The file that the text comes from.
    init_module : IRModule, optional
        Types and functions that the text may use; they become part of the module.
    init_meta_table : mapping, optional
        What ``meta[relay.Constant][0]``, ``meta[VirtualDevice][0]`` and so on stand for, by the kind of node.

    Examples
    --------
    >>> mod = relay.parse('''
    ... #[version = "0.0.5"]
    ... def @main(%x: Tensor[(1, 8), float32]) { nn.relu(%x) }
    ... ''')
    """
    program = read("parse", source, init_module, init_meta_table)
    return infer_module(program if isinstance(program, IRModule) else IRModule.from_expr(program))


def parse_expr(source: str) -> Any:
    """Return the expression of a text in Relay's text format; of a module, its function ``main``.

    Raises ParseError as :func:`parse` does.
    """
    program = read("parse_expr", source)
    if not isinstance(program, IRModule):
        return program
    if "main" not in program:
        raise ParseError("parse_expr: expected an expression, got definitions without @main", source, 0)
    return program["main"]


def fromtext(source: str, source_name: str = "from_string") -> Any:
    """Return the module or the expression of a text, whichever it is; see :func:`parse`."""
    program = read("fromtext", source)
    return infer_module(program) if isinstance(program, IRModule) else program


def read(
    who: str, source: str, init_module: IRModule | None = None, constants: Mapping[str, Sequence[Any]] | None = None
) -> Any:
    """Return the module or the expression of a text as it is written, without the types of its expressions."""
    if not isinstance(source, str):
        expected(who, "source", "a string", source)
    with derived_from(mint_source(f"relay.{who}")):
        program = Program(source, init_module, constants)
        try:
            return program.read()
        except RecursionError:
            raise ParseError("expressions are nested too deeply", source, program.cursor.token.position) from None
