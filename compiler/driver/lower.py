"""``tvm.lower``: from a schedule to loop IR ready for code generation."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.driver.pipeline import phases
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.ir.origin import NO_SPAN, derived_from
from compiler.ir.transform import PassContext
from compiler.target.target import Target
from compiler.te.lowering.reciprocals import multiply_by_reciprocals
from compiler.te.lowering.to_tir import Argument, Binds, schedule_to_prim_func
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.analysis.features import features
from compiler.tir.printing.loops import SIMPLE_MODE
from compiler.tir.statements.block import contains_block
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import ForKind
from compiler.tir.transform.calls.bind_target import BindTarget
from compiler.tir.transform.legalize.lower_custom_datatypes import LowerCustomDatatypes


def lower(
    inp: Schedule | PrimFunc | IRModule,
    args: Sequence[Argument] | None = None,
    name: str = "main",
    binds: Binds | None = None,
    simple_mode: bool = False,
) -> IRModule:
    """Lower a schedule, function or module through the four phases of :mod:`compiler.driver.pipeline`.

    As in TVM, a schedule's division by a floating-point constant becomes a product with its rounded reciprocal.
    Raises ArgumentError if ``inp`` is nothing that can be lowered, or ``args`` is missing or given without a schedule,
    and TVMError for whatever a pass finds wrong.

    Parameters
    ----------
    args : sequence of Tensor, Var or Buffer
        The function's parameters in order; only with a schedule.
    binds : mapping of Tensor to Buffer, optional
        Buffers that stand for tensors, where the usual compact ones will not do.
    simple_mode : bool
        Leave loops unpartitioned and subexpressions unhoisted, and let ``str`` show the loop notation
        ``for (i, 0, 1024) {`` instead of TVMScript.
    """
    return lower_program(inp, args, name, binds, simple_mode, divides=False)


def lower_program(
    inp: Schedule | PrimFunc | IRModule,
    args: Sequence[Argument] | None,
    name: str,
    binds: Binds | None = None,
    simple_mode: bool = False,
    divides: bool = True,
) -> IRModule:
    """Lower as :func:`lower` does; ``divides`` keeps divisions, whose rounding decides what a model's integers are."""
    for instrument in active_instruments():
        instrument.lower_begin(name, inp, args)
    module: IRModule | None = None
    try:
        module = _lowered(_module(inp, args, name, binds, divides), simple_mode)
    finally:
        for instrument in active_instruments():
            instrument.lower_end(module)
    return module


def lower_custom_types(module: IRModule, target: Target) -> IRModule:
    """Return a lowered module without custom types, whose operations depend on the target."""
    if not dt.CUSTOM_TYPES.any_registered():
        return module
    lowered = LowerCustomDatatypes()(BindTarget(target)(module))
    changed = (
        isinstance(func, PrimFunc) and lowered[var.name_hint].body is not func.body for var, func in module.items()
    )
    return lowered if any(changed) else module


def _lowered(module: IRModule, simple_mode: bool) -> IRModule:
    if simple_mode:
        module = module.with_attr(SIMPLE_MODE, True)
    blocks = any(isinstance(func, PrimFunc) and _is_scheduled_by_blocks(func) for func in module.functions.values())
    for phase, passes in enumerate(phases(PassContext.current(), simple_mode, blocks)):
        for each in passes:
            module = each.run_if_enabled(module)
        for instrument in active_instruments():
            instrument.phase_end(phase, module)
    return module


def _is_scheduled_by_blocks(func: PrimFunc) -> bool:
    """Whether a function has blocks, or loops that are bound to threads as their schedules leave them."""
    return contains_block(func.body) or ForKind.THREAD_BINDING in features(func).kinds


def _module(inputs: object, args: Sequence[Argument] | None, name: str, binds: Binds | None, divides: bool) -> IRModule:
    if isinstance(inputs, Schedule):
        if args is None:
            raise ArgumentError("lower: args must be given with a schedule: the tensors that become parameters")
        if not isinstance(args, (list, tuple)):
            expected("lower", "args", "a list of tensors, buffers or variables", args)
        return scheduled_program(inputs, args, name, binds, divides)
    if args is not None:
        raise ArgumentError(f"lower: args may only be given with a schedule, got {type(inputs).__name__}")
    if isinstance(inputs, PrimFunc):
        return IRModule({name: _assume_no_alias(inputs.with_attr("global_symbol", name))})
    if isinstance(inputs, IRModule):
        return inputs
    raise ArgumentError(f"lower: expected a schedule, a PrimFunc or an IRModule, got {show(inputs)}")


def scheduled_program(
    schedule: Schedule, args: Sequence[Argument], name: str, binds: Binds | None = None, divides: bool = True
) -> IRModule:
    """Return the loops of a schedule, from which :func:`lower` goes on; ``divides`` as of :func:`lower_program`."""
    # The function as such, its signature and attributes, comes from what it is there to compute.
    with derived_from(NO_SPAN.union(*(op.span for op in schedule.outputs))):
        func = schedule_to_prim_func(schedule, args, name, binds)
        func = func if divides else multiply_by_reciprocals(func)
        return IRModule({name: _assume_no_alias(func)})


def _assume_no_alias(func: PrimFunc) -> PrimFunc:
    """Mark a function's parameters as not aliasing, unless the context says otherwise."""
    return func.with_attr("tir.noalias", True) if PassContext.current().config.get("tir.noalias", True) else func
