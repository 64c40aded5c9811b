"""Compiles the kernels of a graph: equal ones once, with LLVM running beside the lowering of the next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import msgspec

from compiler.driver.build_device import is_device, kernel_module
from compiler.driver.device_pipeline import SplitModule, split_for_device
from compiler.driver.emulate import lower_for_emulation
from compiler.driver.narrow_floats import legalize_narrow_floats
from compiler.driver.relay.groups import KernelNames, StructuralKey, has_own_implementation, structural_key
from compiler.driver.relay.lower import LoweredKernel, schedule_kernel
from compiler.ir.context_stack import in_this_context
from compiler.ir.error import BuildError
from compiler.ir.function import BaseFunc, GlobalVar
from compiler.ir.instrument import Instrument, active_instruments, first_answer, uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.function import Function
from compiler.relay.implementations import is_tuned
from compiler.runtime.cuda.execution import launch_on_cuda
from compiler.runtime.modules.function import Function as NativeFunction
from compiler.runtime.modules.linking import library_content
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.native_code import MAKING, NativeCode
from compiler.runtime.modules.signature import Signature
from compiler.target.codegen import llvm
from compiler.target.target import Target
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.loops.separate_tails import separate_tails

_MAX_CACHED = 512

BuildOptions = tuple[object, ...]
"""What kernels depend on besides what they compute; hashable."""

_cache: OrderedDict[tuple[BuildOptions, StructuralKey], CompiledKernel] = OrderedDict()
"""Kernels by what they compute, for what target and under what options; the least recently used go first."""


class EmittedFunction(NamedTuple):
    """What LLVM compiles of a function, with those that it calls."""

    target: Target
    signature: Signature
    signatures: list[Signature]
    text: str


class CompiledFunction:
    """A function and, once LLVM is done, its machine code."""

    def __init__(self, emit: Callable[[], EmittedFunction], generate: Callable[[], llvm.GeneratedModule]) -> None:
        self._emit = emit
        self._generate = generate
        self._native: NativeCode | None = None

    @property
    def signature(self) -> Signature:
        """How it is called."""
        return self._emit().signature

    @property
    def generated(self) -> llvm.GeneratedModule:
        """What code generation made of the function, and of those that it calls."""
        return self._generate()

    @property
    def native(self) -> NativeCode:
        """The machine code, linked into this process."""
        if self._native is None:
            generated = self.generated
            with MAKING:
                self._native = self._native or llvm.linked(generated)
        return self._native


class CompiledKernel(CompiledFunction):
    """The function of a group of operators, and what it was lowered from."""

    def __init__(
        self, lowered: LoweredKernel, emit: Callable[[], EmittedFunction], generate: Callable[[], llvm.GeneratedModule]
    ) -> None:
        super().__init__(emit, generate)
        self.lowered = lowered


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A function under the name that it has in one program."""

    name: str
    kernel: CompiledFunction

    @property
    def signature(self) -> Signature:
        """How it is called, by that name."""
        return msgspec.structs.replace(self.kernel.signature, name=self.name)


@dataclass(frozen=True, slots=True)
class NamedKernel(NamedFunction):
    """A kernel under the name that it has in one graph."""

    kernel: CompiledKernel


class KernelCompiler:
    """Makes kernels of fused functions; used as a context, at whose end all machine code is there.

    Attributes
    ----------
    is_emulated : bool
        Whether kernels of a device are made to run on this machine's CPU.
    loops : list of NamedFunction
        Functions that call kernels again and again.
    host_functions, device_functions : dict of GlobalVar to BaseFunc
        For a device, what the host runs, and what that launches.
    """

    def __init__(self, target: Target, is_emulated: bool = False, module: str = "tvmgen_default") -> None:
        self.target = target
        self.kernels: list[NamedKernel] = []
        self.loops: list[NamedFunction] = []
        self.host_functions: dict[GlobalVar, BaseFunc] = {}
        self.device_functions: dict[GlobalVar, BaseFunc] = {}
        self._is_emulated = is_emulated
        self._names = KernelNames(module)
        self._by_key: dict[StructuralKey, NamedKernel] = {}
        self._options = _options(target)
        # LLVM works on one thing at a time; a second thread would only wait.
        self._pool = ThreadPoolExecutor(1)
        self._later = bool(first_answer(i.compile_lazily() for i in active_instruments()))

    def __enter__(self) -> KernelCompiler:
        return self

    def __exit__(self, failed: type[BaseException] | None, *exc: object) -> None:
        self._pool.shutdown(cancel_futures=failed is not None)
        if failed is None and not self._later:
            for item in (*self.kernels, *self.loops):
                item.kernel.generated  # noqa: B018  what went wrong there is raised here

    def launched(self) -> SplitModule | None:
        """Return what the kernels launch on the target's device, and their hosts; None if they launch nothing."""
        if not self.device_functions:
            return None
        return SplitModule(IRModule(self.host_functions), IRModule(self.device_functions))

    def kernel(self, function: Function) -> NamedKernel:
        """Return the kernel of a fused function: one that there is already, or a new one."""
        key = structural_key(function)
        named = self._by_key.get(key)
        if named is None:
            name = self._names.name(function)
            named = self._by_key[key] = NamedKernel(name, self._compiled(function, name, key))
            self.kernels.append(named)
        return named

    def loop(self, write: Callable[[str], IRModule]) -> NamedFunction:
        """Return the function of a loop: machine code of its own, with all that it calls.

        ``write`` returns a module of loop IR that has the function under the name given to it.
        """
        name = self._names.numbered("loop")
        module = write(name)
        with uninstrumented():
            functions = [(var.name_hint, f) for var, f in module.items() if isinstance(f, PrimFunc)]
            signatures, text = llvm.emit(functions, module, self.target, False)
        signature = next(s for s in signatures if s.name == name)
        emitted = EmittedFunction(self.target, signature, signatures, text)
        named = NamedFunction(name, CompiledFunction(lambda: emitted, self._generation(emitted)))
        self.loops.append(named)
        return named

    def as_operators_say(self, named: NamedKernel) -> NamedKernel:
        """Return a kernel as its operators define it: itself, unless an instrument has replaced its definition."""
        lowered = named.kernel.lowered
        if lowered.replaced is None:
            return named
        return NamedKernel(named.name, self._compile(self._scheduled(lowered.function, named.name)))

    def _compiled(self, function: Function, name: str, key: StructuralKey) -> CompiledKernel:
        # Instruments that are told of lowering hear of every kernel, made from its own lines; what programs and records
        # say may change.
        is_told = any(type(i).kernel_lowered is not Instrument.kernel_lowered for i in active_instruments())
        if is_told or is_tuned() or has_own_implementation(function) or self._options is None:
            return self._compile(self._scheduled(function, name))
        decides = any(type(i).kernel_defined is not Instrument.kernel_defined for i in active_instruments())
        lowered = self._scheduled(function, name) if decides else None
        if lowered is not None and lowered.replaced is not None:
            return self._compile(lowered)
        cache_key = (self._options, key)
        kernel = _cache.get(cache_key) or self._compile(lowered or self._scheduled(function, name))
        with MAKING:
            _cache[cache_key] = kernel
            _cache.move_to_end(cache_key)
            if len(_cache) > _MAX_CACHED:
                _cache.popitem(last=False)
        return kernel

    def _scheduled(self, function: Function, name: str) -> LoweredKernel:
        instruments = active_instruments()
        with uninstrumented():
            return schedule_kernel(function, name, self.target, instruments)

    def _compile(self, lowered: LoweredKernel) -> CompiledKernel:
        emitted = partial(self._emitted, lowered, active_instruments())
        with uninstrumented():
            emit = cache(in_this_context(emitted))
        if self._later and self._is_usual(lowered):
            return CompiledKernel(lowered, emit, cache(lambda: _generate(emit())))
        return CompiledKernel(lowered, emit, self._generation(emit()))

    def _is_usual(self, lowered: LoweredKernel) -> bool:
        """Whether nothing of a user takes part in the lowering of a kernel, so that nobody waits to hear of it."""
        own = lowered.replaced is not None or has_own_implementation(lowered.function)
        return not own and self._options is not None and not PassContext.current().instruments

    def _emitted(self, lowered: LoweredKernel, instruments: Sequence[Instrument]) -> EmittedFunction:
        name = lowered.name
        module, target = self._for_cpu(IRModule({name: lowered.prim_func}))
        signatures, text = llvm.emit([(name, module[name])], module, target, False)
        for instrument in instruments:
            instrument.kernel_lowered(name, lowered.function, lowered.outputs, lowered.prim_func)
        return EmittedFunction(target, signatures[0], signatures, text)

    def _generation(self, emitted: EmittedFunction) -> Callable[[], llvm.GeneratedModule]:
        """Return what waits for LLVM, which is at work already unless an instrument wants it to begin when asked."""
        work = partial(_generate, emitted)
        return cache(work if self._later else partial(_finished, self._pool.submit(work), work))

    def _for_cpu(self, module: IRModule) -> tuple[IRModule, Target]:
        """Return what LLVM compiles of a kernel, and for what: of a device's the part of the host, unless emulated."""
        if not is_device(self.target):
            return separate_tails(legalize_narrow_floats(module, rounds_each=True)), self.target
        host = self.target.host or Target("llvm")
        if self._is_emulated:
            return legalize_narrow_floats(lower_for_emulation(module, self.target), rounds_each=True), host
        parts = split_for_device(module, self.target, packed=False)
        self.host_functions |= parts.host.functions
        self.device_functions |= parts.device.functions
        return parts.host, host


def _finished(future: Future[llvm.GeneratedModule], work: Callable[[], llvm.GeneratedModule]) -> llvm.GeneratedModule:
    """Return what the thread generates; what a failed build took away from it, and another one needs, is made now."""
    return work() if future.cancelled() else future.result()


def _generate(emitted: EmittedFunction) -> llvm.GeneratedModule:
    generated = llvm.GeneratedModule(emitted.target, emitted.signatures, emitted.text, False)
    if emitted.target.is_host:
        generated.object_code  # noqa: B018  made here, beside the next kernel's lowering
    return generated


def _options(target: Target) -> BuildOptions | None:
    """Return what kernels depend on besides what they compute.

    None if a user's passes take part, and for devices, whose kernels are written as one program for each graph.
    """
    context = PassContext.current()
    if "tir.add_lower_pass" in context.config or is_device(target):
        return None
    config = tuple(sorted((key, repr(value)) for key, value in context.config.items()))
    passes = (tuple(sorted(context.disabled_pass)), tuple(sorted(context.required_pass)))
    return (str(target), target.opt_level, context.opt_level, config, passes)


def clear_cache() -> None:
    """Forget all kernels."""
    _cache.clear()


class KernelModule(Module):
    """The kernels of a graph as one module; each is compiled on its own.

    ``kernels`` have the floating-point operations and bytes of one call; for a device, an imported module has what they
    launch there.
    """

    def __init__(
        self,
        named: Sequence[NamedKernel],
        target: Target,
        launched: SplitModule | None = None,
        loops: Sequence[NamedFunction] = (),
    ) -> None:
        self._named = list(named)
        self._all: list[NamedFunction] = [*named, *loops]
        sources: dict[str, Callable[[], str]] = {
            "ll": lambda: self._text("optimised"),
            "asm": lambda: self._text("assembly"),
        }
        super().__init__([], self._no_code, sources, self._export, target)
        self.compiled_for = target
        self._functions = {n.name: NativeFunction(self, n.name, *_called(n)) for n in self._all}
        self._entry = next(iter(self._functions), "")
        self.kernels = {n.name: n.kernel.lowered for n in named}
        if launched is not None:
            kernels = kernel_module(launched, target)
            self.import_module(kernels)
            launch_on_cuda(self, kernels)

    def generated(self, name: str) -> llvm.GeneratedModule:
        """Return what code generation made of one kernel or loop: its LLVM IR and its assembly."""
        return next(n for n in self._all if n.name == name).kernel.generated

    def as_operators_say(self) -> KernelModule:
        """Return the module without the definitions that instruments gave: what the operators say, in their place."""
        with uninstrumented(), KernelCompiler(self.compiled_for) as compiler:
            return KernelModule([compiler.as_operators_say(named) for named in self._named], self.compiled_for)

    def _text(self, kind: str) -> str:
        return "\n".join(getattr(n.kernel.generated, kind) for n in self._all)

    def _no_code(self) -> NativeCode:
        raise BuildError("this module has no kernels")

    def _export(self, file_name: str, attached: bytes) -> bytes:
        return self.exported_with(file_name, attached)

    def exported_with(self, file_name: str, attached: bytes, graph: str = "", model: str = "") -> bytes:
        """Return what a file contains that has the kernels, data that goes with them, and a model's graph."""
        if any(module.is_runnable and not module.stored_data() for module in self.imported_modules):
            raise BuildError("export_library: a library cannot hold the code of external compilers")
        parts, signatures = [], []
        for named in self._all:
            signature = named.signature
            parts.append((named.kernel.generated, {signature.symbol: named.name}))
            signatures.append(msgspec.structs.replace(signature, symbol=named.name))
        description = llvm.described(self.compiled_for, signatures, graph, model)
        code = llvm.linked_object_code(parts, description)
        return library_content(code, file_name, attached)


def _called(named: NamedFunction) -> tuple[Callable[[], Signature], Callable[[], NativeCode]]:
    return lambda: named.signature, lambda: named.kernel.native
