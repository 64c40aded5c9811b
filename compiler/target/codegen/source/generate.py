"""Source code generation for lowered modules."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import msgspec

from compiler.ir import dtype as dt
from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.ir.printing.text import TextBuilder
from compiler.ir.transform import PassContext
from compiler.runtime.modules.signature import Signature
from compiler.target.codegen.signatures import distinct, passed_type, signatures_of
from compiler.target.codegen.source.c import C
from compiler.target.codegen.source.cuda import CUDA
from compiler.target.codegen.source.data_types import require_data_types
from compiler.target.codegen.source.kernels import is_kernel, write_kernel
from compiler.target.codegen.source.lanes import without_vectors
from compiler.target.codegen.source.language import Language
from compiler.target.codegen.source.line_directives import LINE_DIRECTIVES, with_line_directives
from compiler.target.codegen.source.metal import METAL
from compiler.target.codegen.source.names import identifier
from compiler.target.codegen.source.opencl import OPENCL
from compiler.target.codegen.source.program import DeclaredFunction, Program
from compiler.target.codegen.source.statements import Statements
from compiler.target.codegen.source.webgpu import WEBGPU
from compiler.tir.statements.function import PrimFunc

LANGUAGES: dict[str, Language] = {language.name: language for language in (C, CUDA, OPENCL, METAL, WEBGPU)}
"""The languages by target kind."""


class SourceCode(msgspec.Struct, frozen=True, kw_only=True):
    """A generated program, the regions of whose listing refer to the IR."""

    language: Language
    signatures: list[Signature]
    listing: TextBuilder

    @property
    def text(self) -> str:
        """The source code."""
        return self.listing.text() + "\n"


def source_code(module: IRModule, kind: str) -> SourceCode:
    """Generate source code for a lowered module."""
    started = time.perf_counter()
    functions = [(var.name_hint, func) for var, func in module.items() if isinstance(func, PrimFunc)]
    program = Program(LANGUAGES[kind], is_static=any(func.attrs.get("runner_function") for _, func in functions))
    for _, func in functions:
        require_data_types(program.language, func)
    declared = _declare(program, functions)
    bodies = TextBuilder()
    for function in declared:
        bodies.newline()
        write = write_kernel if is_kernel(function.func) else _write
        write(program, bodies, function)
    signatures = [msgspec.structs.replace(d.signature, messages=program.messages) for d in declared]
    listing = _joined(program, declared, bodies)
    if PassContext.current().config.get(LINE_DIRECTIVES):
        listing = with_line_directives(listing, program.language.spelling.line)
    code = SourceCode(language=program.language, signatures=signatures, listing=listing)
    for instrument in active_instruments():
        instrument.source_generated(program.language.name, code.listing, (time.perf_counter() - started) * 1e3)
    return code


def _declare(program: Program, functions: Sequence[tuple[str, PrimFunc]]) -> list[DeclaredFunction]:
    declared = []
    language = program.language
    described = signatures_of(functions, parallel=False)
    symbols = distinct([identifier(re.sub(r"\W", "_", each.symbol), language.reserved) for each, _ in described])
    for (name, func), (signature, sizes), symbol in zip(functions, described, symbols, strict=True):
        renamed = msgspec.structs.replace(signature, symbol=symbol)
        function = DeclaredFunction(func, renamed, sizes)
        program.functions[name] = program.functions[signature.name] = function
        declared.append(function)
    return declared


def _write(program: Program, out: TextBuilder, function: DeclaredFunction) -> None:
    """Emit a function: its head, conversions of its parameters, and its body."""
    language, func, signature = program.language, function.func, function.signature
    statements = Statements(program, out, signature.returns)
    names, elements = statements.names, statements.expressions.elements
    parameters, conversions = [], []
    for var in (*func.params, *function.sizes):
        buffer = func.buffer_map.get(var)
        if buffer is not None:
            elements[buffer.data] = dt.element(buffer.dtype)
            typ, name = language.type(dt.element(buffer.dtype)), names.define(buffer.data)
            parameters.append(
                (language.parameter if signature.noalias else "{type}* {name}").format(type=typ, name=name)
            )
            continue
        name, passed = names.define(var), passed_type(var.dtype)
        parameters.append(f"{language.type(passed)} {name}")
        if passed != var.dtype:
            narrow = names.fresh(var.name)
            conversions.append(f"{language.type(var.dtype)} {narrow} = ({language.type(var.dtype)}){name};")
            names.bind(var, narrow)
    if signature.returns:
        kind = "int64" if dt.is_bool(signature.returns) else signature.returns
        parameters.append(f"{language.type(kind)}* result")
    function.head.append(f"int32_t {signature.symbol}({', '.join(parameters) or 'void'})")
    with out.at(func):
        out.line(f"{function.head[0]} {{")
    with out.indented():
        for line in conversions:
            out.line(line)
        statements.visit(without_vectors(func.body))
        out.line("return 0;")
    out.line("}")


def _joined(program: Program, declared: Sequence[DeclaredFunction], bodies: TextBuilder) -> TextBuilder:
    """Assemble the program, starting with the definitions that its functions turned out to need."""
    out = TextBuilder()
    text = "\n".join(line.text for line in bodies.lines) + str(program.definitions)
    for line in (*program.language.needed(text), *program.language.prologue):
        out.line(line)
    for lines in program.definitions.values():
        out.newline()
        for line in lines:
            out.line(line)
    heads = [function.head[0] for function in declared if function.head]
    if len(heads) > 1:
        out.newline()
        for head in heads:
            out.line(f"{head};")
    first = len(out.lines)
    out.lines += bodies.lines
    out.positions.update({node: (line + first, column) for node, (line, column) in bodies.positions.items()})
    return out
