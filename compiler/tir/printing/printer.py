"""The TVMScript printer of modules, functions, statements and expressions.

This is the one printer of loop IR.  Whoever wants to know where a node stands in the text reads
``script(module).positions``.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import CommReducer, IntImm, IterVar, PrimExpr, Range, Var, is_const_int
from compiler.ir.expr.substitute import free_vars
from compiler.ir.function import BaseFunc
from compiler.ir.memory import ALIGNMENT
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.object_path import (
    ArrayIndexPath,
    AttributeAccessPath,
    MapValuePath,
    MissingArrayElementPath,
    MissingMapEntryPath,
    ObjectPath,
)
from compiler.ir.printing.format import TextFormat, register
from compiler.ir.printing.marks import TextMarks, marked_lines
from compiler.ir.printing.text import TextBuilder
from compiler.ir.scriptable import ScriptOptions
from compiler.ir.types import PointerType, PrimType
from compiler.tir.printing.block import BlockPrinter
from compiler.tir.printing.expr import DEFAULT_OPTIONS, ExprPrinter
from compiler.tir.printing.literals import declaration_text, handle_text, type_text
from compiler.tir.printing.loops import SIMPLE_MODE, loops
from compiler.tir.printing.scope import Definitions, Names
from compiler.tir.printing.stmt import StmtPrinter
from compiler.tir.statements.block import MatchBufferRegion
from compiler.tir.statements.buffer import DEFAULT, Buffer, BufferRegion
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Stmt

__all__ = ["LoopFormat", "module_text", "script", "text"]


def marked_text(root: object, out: TextBuilder, options: ScriptOptions) -> str:
    """Return a printed program with what the options ask for beside the program itself."""
    lines = _with_prefixes(out.text(), options).split("\n")
    underlined = [*options.obj_to_underline, *_at_paths(out, root, options.path_to_underline)]
    remarks = {**options.obj_to_annotate}
    for path, remark in options.path_to_annotate.items():
        remarks.update(dict.fromkeys(_at_paths(out, root, [path]), remark))
    marks = TextMarks(
        {number: (columns,) for number, columns in _underlined(out, underlined).items()},
        {out.positions[part][0] - 1: remark for part, remark in remarks.items() if part in out.positions},
        options.num_context_lines,
        options.print_line_numbers,
    )
    return "\n".join(marked_lines(lines, marks))


def _with_prefixes(text: str, options: ScriptOptions) -> str:
    """Return a program with its words imported under other names."""
    prefixes = {"T": options.tir_prefix, "I": options.ir_prefix}
    if all(old == new for old, new in prefixes.items()):
        return text
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    lines = text.split("\n")
    for token, following in reversed(list(pairwise(tokens))):
        if token.type == tokenize.NAME and token.string in prefixes and following.string == ".":
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = line[:column] + prefixes[token.string] + line[column + 1 :]
    imports = {f"# from tvm.script import {module} as {old}": f"# from tvm.script import {module} as {prefixes[old]}"
               for module, old in (("tir", "T"), ("ir", "I"))}  # fmt: skip
    return "\n".join(imports.get(line, line) for line in lines)


def _at_paths(out: TextBuilder, root: object, paths: Iterable[ObjectPath]) -> Iterator[object]:
    """Yield the parts of a program at the ends of some paths; what has no text of its own stands in what has."""
    printed = {region.node for line in out.lines for region in line.regions} if paths else set()
    for path in paths:
        part = shown = root
        for length in range(2, len(path) + 1):
            step = path.get_prefix(length)
            if isinstance(step, (MissingMapEntryPath, MissingArrayElementPath)):
                break
            try:
                part = _part_at(part, step)
            except (AttributeError, LookupError, TypeError):
                raise ArgumentError(f"script: there is no {step}") from None
            shown = part if isinstance(part, Node) and part in printed else shown
        yield shown


def _part_at(thing: Any, step: ObjectPath) -> object:
    if isinstance(step, AttributeAccessPath):
        is_number = isinstance(thing, (int, float)) and step.attr_key == "value"  # a constant of TVM's
        return thing if is_number else getattr(thing, step.attr_key)
    if isinstance(step, ArrayIndexPath):
        return thing[step.index]
    return thing[step.key] if isinstance(step, MapValuePath) else thing


def _underlined(out: TextBuilder, parts: Iterable[object]) -> dict[int, tuple[int, int]]:
    """Return the columns of each line that are underlined, by the number of the line from 0."""
    columns: dict[int, tuple[int, int]] = {}
    for part in parts:
        lines = _lines_of(out, part)
        for line in lines:
            text = out.lines[line].text
            if text.strip() and not text.lstrip().startswith("#"):
                columns[line] = (len(text) - len(text.lstrip()), len(text))
        if not lines:
            for number, printed in enumerate(out.lines):
                for region in printed.regions:
                    if region.node is part:
                        columns[number] = (region.start, region.end)
    return columns


def _lines_of(out: TextBuilder, part: object) -> range:
    """Return the lines of a statement, function or module: its header, and what is indented below it."""
    if isinstance(part, IRModule):
        first = next((number for number, line in enumerate(out.lines) if line.text.startswith("@")), len(out.lines))
        return range(first, len(out.lines))
    if not isinstance(part, (Stmt, BaseFunc)) or part not in out.positions:
        return range(0)
    first = out.positions[part][0] - 1
    indent = _indent(out.lines[first].text)
    last = first + 1
    while last < len(out.lines) and (
        _indent(out.lines[last].text) > indent or out.lines[last].text in ("", " " * indent + "else:")
    ):
        last += 1
    decorated = first > 0 and out.lines[first - 1].text.startswith(" " * indent + "@")
    return range(first - decorated, last)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


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
        returns = "" if func.ret_type is None else f" -> {type_text(func.ret_type)}"
        out.write(f"){returns}:")
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
        return module_text(thing) if isinstance(thing, IRModule) else text(thing)

    def script(self, thing: IRModule | Node, options: ScriptOptions) -> str:
        """Return a module, a function or a part of one as TVMScript."""
        return marked_text(thing, script(thing, options), options)


_FORMAT = LoopFormat()
_NODES = PrimFunc, Stmt, PrimExpr, Range, IterVar, Buffer, BufferRegion, CommReducer, MatchBufferRegion
for _kind in (IRModule, *_NODES, PrimType, PointerType):
    register(_kind, _FORMAT)
