"""The TVMScript printer of modules, functions, statements and expressions.

This is the one printer of loop IR.  Whoever wants to know where a node stands in the text reads
``script(module).positions``.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import (
    CommReducer,
    IntImm,
    IterVar,
    PrimExpr,
    Range,
    Var,
    is_const_int,
)
from compiler.ir.expr.substitute import free_vars
from compiler.ir.memory import ALIGNMENT
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.printing.format import TextFormat, register
from compiler.ir.printing.text import TextBuilder
from compiler.ir.scriptable import ScriptOptions
from compiler.ir.types import PointerType, PrimType
from compiler.tir.printing.block import BlockPrinter
from compiler.tir.printing.expr import DEFAULT_OPTIONS, ExprPrinter
from compiler.tir.printing.literals import declaration_text, handle_text, type_text
from compiler.tir.printing.loops import SIMPLE_MODE, loops
from compiler.tir.printing.marks import marked_text
from compiler.tir.printing.scope import Definitions, Names
from compiler.tir.printing.stmt import StmtPrinter
from compiler.tir.statements.block import MatchBufferRegion
from compiler.tir.statements.buffer import DEFAULT, Buffer, BufferRegion
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Stmt

__all__ = ["LoopFormat", "module_text", "script", "text"]

_TIR_IMPORT = "# from tvm.script import tir as T"
_IR_IMPORT = "# from tvm.script import ir as I"


def script(n: IRModule | Node, options: ScriptOptions = DEFAULT_OPTIONS) -> TextBuilder:
    """Return a module, function, statement or expression as TVMScript.

    Axes, ranges, regions, buffers, reducers and types are written as well. The builder's ``lines`` have a region for
    every node, ``positions`` says where each node was first written; prefixes and marks of ``options`` are no matter of
    it. Raises ArgumentError if ``n`` is not one of these.
    """
    out = TextBuilder(" " * options.indent_spaces)
    if isinstance(n, IRModule):
        _module(out, n, options)
    elif isinstance(n, PrimFunc):
        out.line(_TIR_IMPORT)
        out.newline()
        _function(out, n, options.name or n.attrs.get("global_symbol") or "main", options)
    elif isinstance(n, Stmt):
        definitions = Definitions()
        definitions.of_statement(n)
        _printer(out, definitions, options).body(n, False)
    elif isinstance(n, MatchBufferRegion):
        _printer(out, _declared(n.source), options).match_region(n)
    elif isinstance(n, (PrimType, PointerType)):
        out.line(type_text(n))
    elif isinstance(n, (PrimExpr, IterVar, Range, Buffer, BufferRegion, CommReducer)):
        printer = _printer(out, _declared(n) if options.verbose_expr else Definitions(), options)
        for declared in printer.definitions.at_top:
            printer.definition(declared)
        printer.expr(n)
        out.newline()
    else:
        raise ArgumentError(f"script: expected a module, function, statement or expression, got {show(n)}")
    return out


def _declared(n: Node) -> Definitions:
    """Return what has to be declared before an expression is written."""
    definitions = Definitions()
    definitions.of_expression(n)
    return definitions


def _printer(out: TextBuilder, definitions: Definitions, options: ScriptOptions) -> BlockPrinter:
    names = Names((options.tir_prefix, options.ir_prefix), options.show_object_address)
    return BlockPrinter(out, definitions, names, options)


def module_text(mod: IRModule) -> str:
    """Return a module as ``str`` shows it: in loop notation if it was lowered in simple mode, else as TVMScript."""
    return loops(mod).text() if mod.attrs.get(SIMPLE_MODE) else script(mod).text()


def text(n: IRModule | PrimFunc | Stmt | PrimExpr) -> str:
    """Return :func:`script` as a string."""
    return script(n).text()


def _module(out: TextBuilder, mod: IRModule, options: ScriptOptions) -> None:
    out.line(_IR_IMPORT)
    if mod.functions:
        out.line(_TIR_IMPORT)
    out.newline()
    out.line("@I.ir_module")
    class_name = options.name or ExprPrinter.module
    out.line(f"class {class_name}:")
    with out.indented():
        attrs = {key: value for key, value in mod.attrs.items() if key != SIMPLE_MODE}
        if attrs:
            _statement(out, "I.module_attrs", attrs)
        if mod.global_infos:
            _statement(out, "I.module_global_infos", mod.global_infos)
        functions = sorted(((var.name_hint, func) for var, func in mod.items()), key=lambda f: (f[0] == "main", f[0]))
        for index, (name, func) in enumerate(functions):
            if index:
                out.newline()
            if isinstance(func, PrimFunc):
                _function(out, func, name, options, class_name)
            else:
                out.line(f"# {name}: {type(func).__name__}")
        if not functions and not attrs and not mod.global_infos:
            out.line("pass")


def _statement(out: TextBuilder, word: str, facts: Mapping[str, object]) -> None:
    out.write(f"{word}(")
    ExprPrinter(out).value(facts)
    out.write(")")
    out.newline()


def _function(
    out: TextBuilder, func: PrimFunc, name: str, options: ScriptOptions, module: str = ExprPrinter.module
) -> None:
    definitions = Definitions()
    definitions.of_function(func)
    printer = _printer(out, definitions, options)
    printer.module = module
    symbol = func.attrs.get("global_symbol")
    out.line("@T.prim_func" if symbol is not None else "@T.prim_func(private=True)")
    matched = []
    with out.at(func):
        out.write(f"def {name}(")
        for index, param in enumerate(func.params):
            out.write(", " if index else "")
            buffer = func.buffer_map.get(param)
            if buffer is not None and options.syntax_sugar and _fits_signature(buffer):
                _buffer_parameter(printer, buffer)
            else:
                out.write(f"{printer.names.define(param, param.name)}: {handle_text(param)}")
                if buffer is not None:
                    matched.append((param, buffer))
        out.write(f"){_returns(func)}:")
    out.newline()
    with out.indented():
        _attributes(printer, func, name)
        undeclared = {n: None for n in definitions.at_top if not isinstance(n, Buffer)}
        of_buffers = [_taken(undeclared, buffer) for _, buffer in matched]
        _free_variables(printer, list(undeclared))
        for n in definitions.at_top:
            if isinstance(n, Buffer):
                printer.definition(n)
        for (param, buffer), variables in zip(matched, of_buffers, strict=True):
            _free_variables(printer, variables)
            _match_buffer(printer, param, buffer)
        printer.function_body(func.body)


def _returns(func: PrimFunc) -> str:
    """Return the arrow with the type that a function says it returns."""
    return "" if func.ret_type is None else f" -> {type_text(func.ret_type)}"


def _taken(undeclared: dict[Var, None], buffer: Buffer) -> list[Var]:
    """Take from what is to be declared what a buffer uses first."""
    used = dict.fromkeys(free_vars((*buffer.shape, *buffer.strides, buffer.elem_offset)))
    variables = [var for var in undeclared if var in used]
    for var in variables:
        del undeclared[var]
    return variables


def _free_variables(printer: StmtPrinter, variables: list[Var]) -> None:
    """Declare the variables that the shapes of the parameters define, on one line."""
    if len(variables) == 1:
        printer.definition(variables[0])
    elif variables:
        for index, v in enumerate(variables):
            printer.out.write(", " if index else "")
            with printer.out.at(v):
                printer.out.write(printer.names.define(v, v.name))
        printer.out.line(f" = {', '.join(declaration_text(v) for v in variables)}")


def _fits_signature(buffer: Buffer) -> bool:
    """Return whether a parameter's buffer is plain enough to be annotated: constant shape, compact, from the start."""
    constant = all(isinstance(d, IntImm) for d in buffer.shape)
    at_start = buffer.offset_factor <= 1 and is_const_int(buffer.elem_offset, 0)
    aligned = buffer.data_alignment == ALIGNMENT and at_start
    compact = not buffer.strides and not buffer.axis_separators and buffer.buffer_type == DEFAULT
    return constant and aligned and compact and buffer.storage_scope in ("", "global")


def _buffer_parameter(printer: StmtPrinter, buffer: Buffer) -> None:
    name = printer.names.define(buffer, buffer.name)
    printer.names.alias(buffer.data, f"{name}.data")
    with printer.out.at(buffer):
        printer.out.write(f"{name}: T.Buffer(")
        printer.shape(buffer.shape)
        printer.out.write(f', "{buffer.dtype}")')


def _match_buffer(printer: StmtPrinter, param: Var, buffer: Buffer) -> None:
    with printer.line(buffer):
        name = printer.declare(buffer)
        printer.out.write(f"{name} = T.match_buffer({printer.name_of(param)}, ")
        printer.buffer_arguments(buffer)
        printer.out.write(")")


def _attributes(printer: StmtPrinter, func: PrimFunc, name: str) -> None:
    shown = {k: v for k, v in func.attrs.items() if not (k == "global_symbol" and v == name)}
    if shown:
        with printer.line(func):
            printer.out.write("T.func_attr(")
            printer.value(shown)
            printer.out.write(")")


class LoopFormat(TextFormat):
    """Loop IR as TVMScript."""

    abstraction = 0

    def text(self, thing: IRModule | PrimFunc | Stmt | PrimExpr) -> str:
        """Return what ``str`` shows; lowered in simple mode, a module is shown in loop notation."""
        return module_text(thing) if isinstance(thing, IRModule) else text(thing)

    def script(self, thing: IRModule | Node, options: ScriptOptions) -> str:
        """Return a module, a function or a part of one as TVMScript."""
        return marked_text(thing, script(thing, options), options)


_FORMAT = LoopFormat()
_NODES = PrimFunc, Stmt, PrimExpr, Range, IterVar, Buffer, BufferRegion, CommReducer, MatchBufferRegion
for _kind in (IRModule, *_NODES, PrimType, PointerType):
    register(_kind, _FORMAT)
