"""Compilation of a lowered module to LLVM IR, optimised LLVM IR, assembly and machine code."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from llvmlite import ir

from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Var
from compiler.ir.functor import nodes_of
from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.runtime.llvm import binding
from compiler.runtime.modules.library import Description, describe
from compiler.runtime.modules.signature import Parameter, Signature
from compiler.runtime.parallel.threads import openmp
from compiler.target import llvm_machine
from compiler.target.codegen.llvm import pipeline
from compiler.target.codegen.llvm.builder import Builder
from compiler.target.codegen.llvm.selection.mask_registers import features_of_safe_masks, with_features
from compiler.target.codegen.llvm.selection.missing_types import placing_missing_types, require_half_precision
from compiler.target.codegen.llvm.state import DeclaredFunction, FunctionState, ModuleState
from compiler.target.codegen.llvm.statements import Statements
from compiler.target.codegen.llvm.tracing.debug_locations import DebugLocations
from compiler.target.codegen.llvm.tracing.restore_locations import restore_locations
from compiler.target.codegen.llvm.types import I32, POINTER, register_type
from compiler.target.codegen.signatures import passed_type, signatures_of
from compiler.target.cpu.processor_features import used_features
from compiler.target.kinds import KINDS
from compiler.target.target import Target
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import StmtVisitor


def declare_functions(shared: ModuleState, functions: Sequence[tuple[str, PrimFunc]]) -> list[Signature]:
    """Declare the functions of a module, so that they can call each other, and return their signatures."""
    signatures = []
    for (name, func), (signature, sizes) in zip(functions, signatures_of(functions, shared.parallel), strict=True):
        types = [register_type(passed_type(v.dtype)) for v in (*func.params, *sizes)]
        types += [I32] * signature.threads + [POINTER] * bool(signature.returns)
        function = shared.define(signature.symbol, I32, types)
        declared = DeclaredFunction(function, func, signature, sizes)
        shared.functions[name] = shared.functions[signature.name] = declared
        signatures.append(signature)
    return signatures


def write_function(shared: ModuleState, declared: DeclaredFunction) -> None:
    """Generate the body of a declared function."""
    function, func, signature = declared.code, declared.func, declared.signature
    variables = [*func.params, *declared.sizes]
    builder = Builder(function.append_basic_block("entry"))
    threads = function.args[len(variables)] if signature.threads else None
    accumulated = _Accumulated()
    accumulated.visit(func.body)
    state = FunctionState(shared, function, builder, threads=threads, accumulated=frozenset(accumulated.found))
    for var, argument in zip(variables, function.args, strict=False):
        argument.name = var.name
        narrow = register_type(var.dtype)
        state.values[var] = argument if argument.type == narrow else builder.fptrunc(argument, narrow)
    for param, argument, described in zip(func.params, function.args, signature.parameters, strict=False):
        if described.shape is not None:
            _array_argument(state, param, func.buffer_map.get(param), argument, described, signature.noalias)
    if threads is not None:
        threads.name = "threads"
    if signature.returns:
        state.result, state.returns = function.args[-1], signature.returns
        state.result.name = "result"
    Statements(state).visit(func.body)
    builder.ret(ir.Constant(I32, 0))


class _Accumulated(StmtVisitor):
    """Notes the pointer variables of buffers that some statement both reads and writes."""

    def __init__(self) -> None:
        self.found: set[Var] = set()

    def visit_BufferStore(self, n: BufferStore) -> None:
        data = n.buffer.data
        if data not in self.found and any(load.buffer.data is data for load in nodes_of(n.value, BufferLoad)):
            self.found.add(data)


def _array_argument(
    state: FunctionState, param: Var, buffer: Buffer | None, argument: ir.Argument, described: Parameter, noalias: bool
) -> None:
    data = buffer.data if buffer is not None else param
    state.values[data] = argument
    state.alignments[data] = described.alignment
    if noalias:
        argument.add_attribute("noalias")
        state.distinct.add(data)
    argument.attributes.align = described.alignment


def with_imported(text: str, imported: Iterable[str], target: Target) -> str:
    """Link imported functions into generated LLVM IR.

    They become private to the module, so that LLVM can inline them and two modules of a library may import the same.
    """
    parts = list(dict.fromkeys(imported))
    if not parts:
        return text
    module = pipeline.parse(text)
    names = []
    for part in parts:
        library = _read(part)
        library.triple, library.data_layout = target.triple, pipeline.data_layout(target)
        names += [function.name for function in library.functions if not function.is_declaration]
        try:
            module.link_in(library)
        except RuntimeError as exc:
            raise BuildError(f"build: import_llvm: {exc}") from None
    for name in names:
        module.get_function(name).linkage = "internal"
    return str(module)


def _read(part: str) -> binding.ModuleRef:
    """Parse LLVM IR, given as a string or by a path."""
    llvm_machine.initialize()
    try:
        if part.endswith(".bc"):
            module = binding.parse_bitcode(Path(part).read_bytes())
        else:
            module = binding.parse_assembly(Path(part).read_text(encoding="utf-8") if part.endswith(".ll") else part)
        module.verify()
    except (OSError, RuntimeError) as exc:
        raise BuildError(f"build: import_llvm: what is imported is not LLVM IR: {exc}") from None
    return module


T = TypeVar("T")


class GeneratedModule:
    """The LLVM module of a lowered module; later stages are computed on first access.

    Debug locations (``with_locations``) that LLVM's optimiser drops are restored.
    """

    def __init__(self, target: Target, signatures: list[Signature], emitted: str, with_locations: bool) -> None:
        self.target = target
        self.signatures = signatures
        self._emitted = emitted
        self._module = pipeline.optimised(emitted, target)
        self._optimised: str | None = str(self._module)
        features = features_of_safe_masks(self._optimised, target)
        if features is not None:
            self._optimised = with_features(str(pipeline.optimised(emitted, target, features)), features)
        if with_locations or features is not None:
            # Parsed once more, so that the assembly has the restored locations and the changed features as well.
            text = self._optimised
            self._module = pipeline.parse(restore_locations(emitted, text) if with_locations else text)
            self._optimised = None
        self._assembly: str | None = None
        self._object: bytes | None = None

    @property
    def emitted(self) -> str:
        """LLVM IR before optimisation."""
        return tidy(self._emitted)

    @property
    def optimised(self) -> str:
        """LLVM IR after optimisation."""
        if self._optimised is None:
            self._optimised = str(self._module)
        return self._optimised

    @property
    def assembly(self) -> str:
        """Assembly for the target."""
        if self._assembly is None:
            self._assembly = pipeline.assembly(self._module, self.target)
        return self._assembly

    @property
    def object_code(self) -> bytes:
        """Relocatable machine code."""
        if self._object is None:
            self._object = pipeline.object_code(self._module, self.target)
        return self._object

    def described_object_code(self) -> bytes:
        """Return machine code with its description embedded, for export."""
        return pipeline.object_code(self.described_module(), self.target)

    def described_module(self) -> binding.ModuleRef:
        """Return the optimised LLVM module with its description embedded."""
        return pipeline.parse(self.optimised + _description(described(self.target, self.signatures)))


def described(target: Target, signatures: Sequence[Signature], graph: str = "", model: str = "") -> Description:
    """Return the description to embed in exported machine code."""
    return Description(
        triple=target.triple,
        features=sorted(_needed_features(target)),
        target=str(target),
        signatures=list(signatures),
        graph=graph,
        model=model,
    )


def _needed_features(target: Target) -> set[str]:
    """Return what a CPU has to be able to do: what the target states and, of x86, what its ``-mcpu`` implies.

    Of other processors no system tells reliably what they can do.
    """
    stated = {f[1:] for f in target.llvm_features.split(",") if f.startswith("+")}
    if not target.triple.startswith(("x86_64", "i686")):
        return stated
    return stated | used_features(target.triple, target.cpu, target.llvm_features)


def linked_object_code(parts: Sequence[tuple[GeneratedModule, dict[str, str]]], description: Description) -> bytes:
    """Link several modules into machine code with a description embedded."""
    module = pipeline.parse(_description(description))
    target = parts[0][0].target if parts else Target(description.target)
    for generated, names in parts:
        part = pipeline.parse(generated.optimised)
        for old, new in names.items():
            part.get_function(old).name = new
        module.link_in(part)
    return pipeline.object_code(module, target)


def _description(description: Description) -> str:
    """Return LLVM IR that embeds a description in a way that linkers keep, once per linked module."""
    content = bytearray(describe(description))
    data = "".join(f"\\{byte:02x}" for byte in content)
    return (
        f'\n@strata_description = internal constant [{len(content)} x i8] c"{data}"\n'
        '@llvm.used = appending global [1 x ptr] [ptr @strata_description], section "llvm.metadata"\n'
    )


def codegen(module: IRModule, target: Target) -> GeneratedModule:
    """Generate code for a lowered module.

    Instruments are notified of each stage.  The code has debug locations, which refer to lines and columns of the
    printed module, only if there are instruments.
    """
    if target.kind != "llvm":
        raise BuildError(
            f"build: code generation does not support target {target.kind}"
            f" ({KINDS[target.kind].doc}); use an llvm target"
        )
    functions = [(var.name_hint, func) for var, func in module.items() if isinstance(func, PrimFunc)]
    if not functions:
        raise BuildError("build: the module contains no PrimFunc")
    instruments = active_instruments()
    observed = bool(instruments)
    started = time.perf_counter()
    signatures, emitted = emit(functions, module, target, observed)
    emitted = tidy(emitted) if observed else emitted  # LLVM takes it as it is
    milliseconds = (time.perf_counter() - started) * 1e3
    for instrument in instruments:
        instrument.code_generated("emitted", "llvm", emitted, milliseconds)
    generated, milliseconds = _timed(lambda: GeneratedModule(target, signatures, emitted, observed))
    for instrument in instruments:
        instrument.code_generated("optimised", "llvm", generated.optimised, milliseconds)
    if instruments:
        text, milliseconds = _timed(lambda: generated.assembly)
        for instrument in instruments:
            instrument.code_generated("assembly", "gas", text, milliseconds)
    return generated


def emit(
    functions: list[tuple[str, PrimFunc]], module: IRModule, target: Target, with_locations: bool
) -> tuple[list[Signature], str]:
    """Generate LLVM IR for functions, and their signatures in their order.

    The text, which is not tidied, is in alphabetical order, independent of their order in the module; debug locations
    refer to lines and columns of the printed module.
    """
    llvm = ir.Module("strata")
    llvm.triple = target.triple
    llvm.data_layout = pipeline.data_layout(target)
    debug = None
    if with_locations:
        from compiler.tir.printing import printer

        debug = DebugLocations(llvm, printer.script(module).positions)
    shared = ModuleState(llvm, debug, target, parallel=openmp() is not None or not target.is_host)
    in_order = sorted(functions, key=lambda function: function[0])
    with placing_missing_types(func for _, func in in_order):
        declared = dict(zip((name for name, _ in in_order), declare_functions(shared, in_order), strict=True))
        for name, _ in in_order:
            write_function(shared, shared.functions[name])
    signatures = [msgspec.structs.replace(declared[name], messages=shared.messages) for name, _ in functions]
    text = str(llvm)
    require_half_precision((func for _, func in functions), text, target)
    return signatures, with_imported(text, shared.imported, target)


_QUOTED = re.compile(r'([%@])"([A-Za-z_.$][\w.$]*)"', re.ASCII)
"""Matches are replaced by their groups."""
_SPACES = re.compile(r" (?:(?<=\S ) *(?=, !dbg)|(?<=phi )(?= )|(?<=select )(?= )| *$)", re.M)
"""The common prefix of all cases comes first, so that the search skips from space to space."""


def tidy(text: str) -> str:
    """Normalise llvmlite's LLVM IR to LLVM's own style: names without needless quotes, single spaces.

    llvmlite's values and instructions print themselves, with all names quoted, so this works on the text.  ::

        %".12" = phi  i64 [0, %"entry"]       →       %.12 = phi i64 [0, %entry]
    """
    # Splitting and joining at the quotes is faster than a substitution, which expands its template for every name.
    return _SPACES.sub("", "".join(_QUOTED.split(text)))


def _timed(make: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    result = make()
    return result, (time.perf_counter() - started) * 1e3
