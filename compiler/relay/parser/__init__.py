"""Reads Relay's text format, as :mod:`compiler.relay.printer` and TVM 0.19 write it.

::

    type    = "type" Name ["[" A, … "]"] "{" Constructor ["(" type, … ")"], … "}"
    def     = "def" "@name" function
    function= ["[" A, … "]"] "(" "%x" [":" type], …, name "=" value, … ")" ["->" type] block
    block   = "{" { "let" "%x" [":" type] "=" expr ";" | "%0" "=" expr ";" | "free_var" "%x" [":" type] ";" } expr "}"

``%0``, ``%1``, … name expressions of a graph, which may be used many times; ``let`` is an expression of its own.
"""

from __future__ import annotations

from typing import Any

from compiler.ir.error import expected
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint_source
from compiler.relay.parser.lexer import ParseError
from compiler.relay.parser.program import Program

__all__ = ["ParseError", "fromtext", "parse", "parse_expr"]


def parse(source: str, src_path: str = "", init_module: IRModule | None = None) -> IRModule:
    """Return the module of a program in Relay's text format.

    Parameters
    ----------
    source : str
        Types and functions, or one expression, which becomes ``main``.
    src_path : str
        The file that the text comes from.
    init_module : IRModule, optional
        Types and functions that the text may use; they become part of the module.

    Returns
    -------
    IRModule
        Without inferred types.

    Raises
    ------
    ParseError
        Naming the line, the column and what was expected there.

    Examples
    --------
    >>> mod = relay.parse('''
    ... #[version = "0.0.5"]
    ... def @main(%x: Tensor[(1, 8), float32]) { nn.relu(%x) }
    ... ''')
    """
    program = _read("parse", source, init_module)
    return program if isinstance(program, IRModule) else IRModule.from_expr(program)


def parse_expr(source: str) -> Any:
    """Return the expression of a text in Relay's text format.

    Parameters
    ----------
    source : str
        One expression, or a module, of which it is ``main``.

    Returns
    -------
    Expr

    Raises
    ------
    ParseError
        See :func:`parse`.
    """
    program = _read("parse_expr", source, None)
    return program["main"] if isinstance(program, IRModule) else program


def fromtext(data: str, source_name: str = "") -> Any:
    """Return the module or the expression of a text, whichever it is.

    Parameters
    ----------
    data : str
        A program in Relay's text format.
    source_name : str
        The file that the text comes from.

    Returns
    -------
    IRModule or Expr

    Raises
    ------
    ParseError
        See :func:`parse`.
    """
    return _read("fromtext", data, None)


def _read(who: str, source: str, init_module: IRModule | None) -> Any:
    if not isinstance(source, str):
        expected(who, "source", "a string", source)
    with derived_from(mint_source(f"relay.{who}")):
        program = Program(source, init_module)
        try:
            return program.read()
        except RecursionError:
            raise ParseError("expressions are nested too deeply", source, program.cursor.token.position) from None
