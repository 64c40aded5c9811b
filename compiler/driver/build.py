"""``tvm.build``: from a schedule or loop IR to callable machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.driver.build_device import build_for_device, is_device
from compiler.driver.lower import lower, lower_custom_types
from compiler.driver.narrow_floats import legalize_narrow_floats
from compiler.ir.error import ArgumentError, TargetError, expected, show
from compiler.ir.expr.primexpr import IterVar
from compiler.ir.function import BaseFunc
from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.ir.origin import user_place
from compiler.runtime.modules.module import Module
from compiler.target.codegen import llvm
from compiler.target.codegen.llvm.gpus import DEVICES
from compiler.target.codegen.source import LANGUAGES, source_code, source_module
from compiler.target.target import Target
from compiler.te.lowering.to_tir import Argument, Binds
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.analysis import is_lowered
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, For
from compiler.tir.statements.stmt_functor import statements_of
from compiler.tir.transform.legalize.lower_intrin import ApplyIntrinRules, needs_intrin_rules
from compiler.tir.transform.loops.separate_tails import separate_tails
from compiler.tir.transform.memory.flatten_buffer import FlattenBuffer


def build(
    inputs: Schedule | PrimFunc | IRModule | Sequence[IRModule] | Mapping[str | Target, IRModule],
    args: Sequence[Argument] | None = None,
    target: str | Target | None = None,
    target_host: str | Target | None = None,
    runtime: object = None,
    name: str = "main",
    binds: Binds | None = None,
) -> Module:
    """Compile a schedule, function or module for a target: a module to call, or to ask for functions and sources.

    Raises ArgumentError if ``inputs`` is nothing that can be built, or ``args`` does not go with it; if modules are for
    several targets. Raises TargetError if the target is unknown, or has no threads for the loops that are bound to
    thread axes.

    Parameters
    ----------
    inputs : Schedule, PrimFunc, IRModule, sequence of IRModule, or mapping of Target to IRModule
        A module is lowered first, unless it looks like what :func:`lower` returns; several are joined.
    args : sequence of Tensor, Var or Buffer
        The function's parameters in order, of a schedule; what is a function already has its own.
    target : str or Target, optional
        E.g. ``llvm -mcpu=native``; by default the current target, or else this machine.
    target_host : str or Target, optional
        The target of the functions that launch a device's kernels; ``llvm`` by default.
    binds : mapping of Tensor to Buffer, optional
        Buffers that stand for tensors, where the usual compact ones will not do.
    """
    if isinstance(inputs, Mapping):
        target, inputs = _only_target(inputs), list(inputs.values())
    chosen = _target(target)
    if target_host is not None:
        chosen = chosen.with_host(target_host)
    if not isinstance(inputs, (Schedule, PrimFunc, IRModule)) and isinstance(inputs, Sequence):
        inputs = _joined(inputs)
    if isinstance(inputs, IRModule) and all(is_lowered(f) for _, f in inputs.items() if isinstance(f, PrimFunc)):
        module = inputs
    else:
        module = lower(inputs, args if isinstance(inputs, Schedule) else None, name=name, binds=binds)
    _check(module, chosen)
    lowered = module
    if any(_has_axis_separators(func) for _, func in module.items() if isinstance(func, PrimFunc)):
        module = FlattenBuffer(separated="none")(module)
    module = lower_custom_types(module, chosen)
    if is_device(chosen):
        return build_for_device(module, chosen, name)
    module = legalize_narrow_floats(module)
    if any(needs_intrin_rules(func, str(chosen.kind)) for _, func in module.items() if isinstance(func, PrimFunc)):
        module = ApplyIntrinRules(str(chosen.kind))(module)
    generated = separate_tails(module) if chosen.kind == "llvm" else module
    for instrument in active_instruments():
        instrument.build_begin(name, generated, chosen, lowered)
    built: Module | None = None
    try:
        if chosen.kind in LANGUAGES:
            built = source_module(source_code(generated, chosen.kind), chosen)
        else:
            built = llvm.runtime_module(llvm.codegen(generated, chosen))
    finally:
        for instrument in active_instruments():
            instrument.build_end(built)
    return built


def _has_axis_separators(func: PrimFunc) -> bool:
    """Return whether a parameter is accessed by several indices even after lowering; processors' memory has one."""
    return any(buffer.axis_separators for buffer in func.buffer_map.values())


def _only_target(modules: Mapping[str | Target, IRModule]) -> Target:
    """Return the target of modules that are given with theirs: one library is for one machine."""
    targets = {str(made): made for made in map(_target, modules)}
    if len(targets) != 1:
        raise ArgumentError(f"build: modules must be for one target, got {', '.join(map(repr, targets)) or 'none'}")
    return next(iter(targets.values()))


def _joined(modules: Sequence[object]) -> IRModule:
    """Merge the functions of several modules into one."""
    functions: dict[str, BaseFunc] = {}
    for module in modules:
        if not isinstance(module, IRModule):
            expected("build", "inputs", "modules where they are several", module)
        for var, function in module.functions.items():
            if var.name_hint in functions:
                raise ArgumentError(f"build: two modules have a function {var.name_hint!r}")
            functions[var.name_hint] = function
    return IRModule(functions)


def _target(target: str | Target | None) -> Target:
    """Return the intended target; ``stackvm``, which TVM interprets, compiles for the host instead."""
    if target is None:
        return Target.current() or Target("llvm")
    made = target if isinstance(target, Target) else Target(target)
    return Target("llvm") if made.kind == "stackvm" else made


def _check(module: IRModule, target: Target) -> None:
    """Reject what no code can be generated for, in terms of the schedule."""
    if target.kind != "llvm" and target.kind not in LANGUAGES and not is_device(target):
        made = ", ".join(("llvm", *LANGUAGES, *DEVICES))
        raise TargetError(
            f"build: code is generated for {made}, not for {target.kind}; use tvm.lower to see the loop IR"
        )
    functions = [(var.name_hint, func) for var, func in module.items()]
    if not functions:
        raise ArgumentError("build: the module has no functions")
    for name, func in functions:
        if not isinstance(func, PrimFunc):
            raise ArgumentError(f"build: function {name!r} must be a PrimFunc, got {type(func).__name__} {show(func)}")
        bound = {} if is_device(target) else _bound_loops(func)
        if bound:
            tags = ", ".join(f"{tag}{user_place(loop.span)}" for tag, loop in bound.items())
            raise TargetError(
                f"build: function {name!r} binds loops to {tags}, and target {str(target)!r} has no such threads; "
                "use parallel, vectorize or unroll for a CPU"
            )


def thread_tags(func: PrimFunc) -> list[str]:
    """Return the thread axes that a function's loops are bound to, in order of first use."""
    return list(_bound_loops(func))


def _bound_loops(func: PrimFunc) -> dict[str, AttrStmt | For]:
    """Return the first statement that binds a loop to each thread axis, in order."""
    tags: dict[str, AttrStmt | For] = {}
    for n in statements_of(func.body, AttrStmt, For):
        axis = n.thread_binding if isinstance(n, For) else n.node if n.attr_key == "thread_extent" else None
        if isinstance(axis, IterVar):
            tags.setdefault(axis.thread_tag, n)
    return tags
