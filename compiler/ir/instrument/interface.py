"""Instruments: objects whose methods the compiler calls as it works: ``tvm.instrument``, and events beyond TVM's.

A :class:`PassInstrument` is called around passes, an :class:`Instrument` for everything from schedule to measurement.
It is activated by ``PassContext(instruments=…)``, as in TVM, for the passes of that context, or by :func:`instrumented`
for all events of a thread, a task, or the process.  Events are methods, so that a type checker sees each name and each
argument.  With no instrument active an event costs one read of a context variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from compiler.driver.relay.build import BuiltGraph
    from compiler.driver.relay.lower import KernelDefinition
    from compiler.ir.error import TVMError
    from compiler.ir.module import IRModule
    from compiler.ir.node import Node
    from compiler.ir.passes.context import PassInfo
    from compiler.ir.printing.text import TextBuilder
    from compiler.relay.function import Function
    from compiler.runtime.arrays.ndarray import NDArray
    from compiler.runtime.graph.graph_executor import GraphExecutor
    from compiler.runtime.modules.module import Module
    from compiler.runtime.vm import Executable, VirtualMachine
    from compiler.target.target import Target
    from compiler.te.definition.tensor import Tensor
    from compiler.te.scheduling.primitives import Primitive
    from compiler.te.scheduling.schedule import Schedule
    from compiler.tir.schedule.schedule import Schedule as TIRSchedule
    from compiler.tir.schedule.step import ScheduleStep
    from compiler.tir.statements.function import PrimFunc

    Callee: TypeAlias = Module | GraphExecutor | VirtualMachine
    """What native code is called through."""

CodeForm = Literal["emitted", "optimised", "assembly"]
"""The texts of code generation: LLVM IR as written and as optimised, and assembly."""


class PassInstrument:
    """Base of instruments of passes; override the methods of interest.  An instrument never changes a module.

    Examples
    --------
    >>> class Names(tvm.instrument.PassInstrument):
    ...     def run_before_pass(self, mod, info):
    ...         print(info.name)
    >>> with tvm.transform.PassContext(instruments=[Names()]):
    ...     tvm.lower(s, [A, B])
    """

    def enter_pass_ctx(self) -> None:
        """Called when the context is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when the context is left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Decide whether a pass runs: it does if every instrument agrees."""
        return True

    def pass_skipped(self, mod: IRModule, info: PassInfo, reason: str) -> None:
        """Called in place of a pass that the context disables, is of too high a level, or an instrument vetoed."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called before a pass runs."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called after a pass has run, with its result: the very module it was given where it changed nothing."""

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        """Called when a pass raises."""


class Instrument(PassInstrument):
    """Base of instruments of the whole compiler, passes included; override the methods of interest.

    A method that returns a value may decide for the compiler; None leaves the decision to other instruments.

    Examples
    --------
    >>> class Kernels(Instrument):
    ...     def build_end(self, built):
    ...         print(built)
    >>> with instrumented(Kernels()):
    ...     tvm.build(s, [A, B])
    """

    # schedules

    def schedule_created(self, schedule: Schedule) -> None:
        """Called when a user creates a schedule."""

    def primitive_applied(self, schedule: Schedule, primitive: Primitive) -> None:
        """Called when a schedule primitive has been applied and recorded."""

    def tir_schedule_created(self, schedule: TIRSchedule, parent: TIRSchedule | None) -> None:
        """Called when a TensorIR schedule has been created, as a copy of ``parent`` if that is given."""

    def tir_step_applied(self, schedule: TIRSchedule, step: ScheduleStep) -> None:
        """Called when a primitive of a TensorIR schedule has been applied; the step has the program after it."""

    def tir_step_refused(self, schedule: TIRSchedule, step: ScheduleStep, error: TVMError) -> None:
        """Called when a primitive cannot be applied; the step has the program before it, ``error`` is raised next."""

    # lowering and code generation

    def lower_begin(self, name: str, source: Schedule | PrimFunc | IRModule, args: Sequence[object] | None) -> None:
        """Called when ``lower`` begins."""

    def phase_end(self, phase: int, module: IRModule) -> None:
        """Called after a lowering phase (0 to 3), its user passes included."""

    def lower_end(self, module: IRModule | None) -> None:
        """Called when ``lower`` ends; without a module if it fails."""

    def build_begin(self, name: str, module: IRModule, target: Target, lowered: IRModule) -> None:
        """Called when code generation begins, of a module that was made of one that ``lower`` returned."""

    def code_generated(self, form: CodeForm, language: str, text: str, milliseconds: float) -> None:
        """Called when code generation has produced a text in the language ``llvm`` or ``gas``."""

    def source_generated(self, language: str, listing: TextBuilder, milliseconds: float) -> None:
        """Called when a program of source code has been written; its regions know their loop IR."""

    def build_end(self, built: Module | None) -> None:
        """Called when ``build`` ends; without a module if it fails."""

    # programs

    def program_parsed(self, program: PrimFunc | IRModule) -> None:
        """Called when TVMScript was read: a decorated function or class, or a text."""

    # graphs

    def model_read(self, form: str, model: object) -> None:
        """Called when a file has been read: its format, and the model as its importer represents it.

        ``model_imported`` follows if it can be imported.
        """

    def model_imported(self, module: IRModule, weights: Mapping[str, NDArray]) -> None:
        """Called when the file that was read last has been imported, after ``module_created``, with its weights."""

    def module_created(self, module: IRModule) -> None:
        """Called when a user creates a module: from an expression, a text, or a model's file."""

    def graph_build_begin(self, module: IRModule, target: Target) -> None:
        """Called when ``relay.build`` or ``relay.vm.compile`` begins; the function ``main`` is the graph."""

    def way_chosen(self, operator: str, usual: str, ways: Sequence[str]) -> str | None:
        """Decide in which of several ways an operator is computed, where a pass knows them; ``usual`` is by its rule.

        ``operator`` says what is computed: its name, types and attributes.
        """
        return None

    def kernel_defined(self, name: str, function: Function, definition: KernelDefinition) -> KernelDefinition | None:
        """Decide how a fused function of a graph is computed, given what its operators say.

        A definition that is returned takes the place of that one; its parameters have the same shapes and data types.
        """
        return None

    def kernel_lowered(self, name: str, function: Function, outputs: Sequence[Tensor], prim_func: PrimFunc) -> None:
        """Called when a fused function of a graph has been lowered."""

    def graph_build_end(self, built: BuiltGraph | Executable | None) -> None:
        """Called when ``relay.build`` or ``relay.vm.compile`` ends; without a result if it fails."""

    def compile_lazily(self) -> bool | None:
        """Return True to lower and compile the kernels of a graph when they are first called, not when it is built."""
        return None

    # calls and measurements

    def stop_graph(self, executor: GraphExecutor) -> bool | None:
        """Decide, before each kernel, whether a graph's run ends there."""
        return None

    def before_call(self, callee: Callee, name: str, args: Sequence[object]) -> None:
        """Called before native code runs; raise to prevent it."""

    def after_call(self, callee: Callee, name: str, seconds: float) -> None:
        """Called after native code has returned or failed."""

    def measure(
        self, callee: Callee, name: str, number: int, repeat: int, args: Sequence[object]
    ) -> list[float] | None:
        """Called by ``time_evaluator``; seconds a call, one for each repeat, are reported instead of measured ones."""
        return None

    def measured(self, callee: Callee, name: str, number: int, seconds: list[float]) -> None:
        """Called when ``time_evaluator`` has measured the seconds a call of each repeat."""

    # rewrites

    def node_rewritten(self, before: Node, after: object) -> None:
        """Called for each node that a mutator replaces."""
