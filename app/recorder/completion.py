"""Builds what a script leaves unbuilt, so that every pane down to the assembly has content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from app.artifacts import Mode, Options
from app.machine_code import CudaProgram
from app.recorder.gpus.device_code import DEFAULT_KIND, DeviceCode, launches_threads, make_device_code
from app.recorder.gpus.kernel_report import report_kernels
from app.recorder.measuring.model_race import race_models
from app.recorder.recorder import Recorder
from app.recorder.todays_tvm.dialect import RELEASE
from app.recorder.todays_tvm.program import program_of
from app.recorder.units.fragments import show_definitions
from app.recorder.units.kernels import MEASURING_SECONDS, hottest_kernel, measure_kernels, show_kernel
from app.recorder.units.pass_check import check_passes
from app.recorder.units.schedules import ScheduleRecord, TensorSchedule, schedule_arguments
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.driver.relay.build import build as build_graph
from compiler.ir.error import TargetError, TVMError
from compiler.ir.expr.primexpr import Var
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.origin import NO_SPAN
from compiler.relay.inference.errors import TypeInferenceError
from compiler.target.assembly_targets import HOST, assembly_target, assembly_targets
from compiler.target.codegen.llvm import codegen
from compiler.target.codegen.llvm.tracing.pass_trace import trace_passes
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor

CHECKING_SECONDS: dict[Mode, float] = {"compile": 0.4, "run": 20.0}
"""The time limit for checking graph passes, by mode; other modes do not check them."""


class Completion:
    """The work of the explorer after a script has run, within the script's time limit.

    Parameters
    ----------
    compiles_cuda : bool
        Whether the server compiles CUDA C with NVIDIA's compilers.
    names : mapping
        The script's global names.
    note : callable
        Adds a note to the console.
    report : callable
        Reports an error as one of the script.
    """

    def __init__(
        self,
        mode: Mode,
        options: Options,
        recorder: Recorder,
        compiles_cuda: bool,
        names: Mapping[str, object],
        note: Callable[[str], None],
        report: Callable[[BaseException], None],
    ) -> None:
        self._mode = mode
        self._options = options
        self._recorder = recorder
        self._compiles_cuda = compiles_cuda
        self._names = names
        self._note = note
        self._report = report

    def run(self) -> None:
        """Build the last schedule or program, a kernel of the last graph, and assembly for the selected targets.

        Of a script that only defines something, they are made first.
        """
        if self._recorder.is_empty:
            show_definitions(self._names, self._recorder, self._note)
        self._build_last_schedule()
        self._build_last_program()
        self._show_last_graph()
        self._assemble()
        self._show_device_code()

    def run_after_failure(self) -> None:
        """Build the schedule as it was before a primitive that failed, and show the code of what the script built."""
        schedule = self._recorder.last_schedule
        if schedule is not None and schedule.primitives and schedule.primitives[-1].error is not None:
            try:
                self._build_last_schedule()
            except TVMError as error:
                self._note(f"the program before {schedule.primitives[-1].name} is not shown: {error}")
        self._assemble()
        self._show_device_code()

    def check_graphs(self) -> None:
        """Check that the passes of the last graph preserve its results; for longer in run mode."""
        if self._recorder.graphs.last is not None:
            with uninstrumented():
                check_passes(self._recorder.graphs.last, CHECKING_SECONDS.get(self._mode, 0.0))

    # schedules

    def _build_last_schedule(self) -> None:
        schedule = self._recorder.last_schedule
        if schedule is None:
            return
        prefix = self._options.prefix
        if prefix is not None and prefix < schedule.count:
            self._build_prefix(schedule, prefix)
            return
        if not any(f.schedule is schedule and f.primitives == schedule.count for f in self._recorder.functions):
            schedule.lower()
        function = self._recorder.function_from(schedule)
        if function is not None and function.built is None and function.lowered is not None:
            self._build_lowered(function.lowered, function.name)

    def _build_last_program(self) -> None:
        """Build the last program of a script that only defines programs; if that fails, show it as it is."""
        program = self._recorder.last_program
        if program is None or self._recorder.schedules or len(self._recorder.functions) or len(self._recorder.graphs):
            return
        try:
            lowered = lower(program)
        except TVMError as error:
            self._note(f"the program is shown, but not its code: {error}")
            return
        self._build_lowered(lowered, str(program.attrs.get("global_symbol", "main")))

    def _build_lowered(self, module: IRModule, name: str) -> None:
        """Build what the script does not; if there is no code for it, add a note."""
        threads, device = launches_threads(module), self._options.device
        try:
            build(module, target=Target((device or DEFAULT_KIND) if threads else self._options.target), name=name)
        except TargetError as error:
            self._note(f"no machine code is shown: {error}")
        except TVMError:
            if not (threads and device):
                raise  # a language that was chosen in the pane of the kernels says there why it refuses them

    def _build_prefix(self, schedule: ScheduleRecord, count: int) -> None:
        """Build the schedule as it was after ``count`` primitives, in the way the script builds it."""
        function = self._recorder.function_from(schedule)
        target = function.target if function is not None and function.target else Target(self._options.target)
        args, name = (function.args, function.name) if function is not None else (None, "main")
        prefix = schedule.build_prefix(count, args, target, name)
        self._recorder.show_prefix(schedule, count, prefix)

    # graphs

    def _show_last_graph(self) -> None:
        """Show a kernel of the last built graph, and measure all kernels in run mode."""
        self._build_last_graph()
        built = [graph for graph in self._recorder.graphs if graph.built is not None]
        if not built:
            return
        graph = built[-1]
        if self._mode == "run":
            for measured in built[-2:]:  # two models are compared with each other
                measured.kernel_times = measure_kernels(measured.built)
                if not measured.kernel_times:
                    measured.unmeasured = f"not measured: that takes longer than {MEASURING_SECONDS:g} s"
            graph.race = race_models(graph.built, self._options.threads)
        name = self._options.kernel or (None if len(self._recorder.functions) else hottest_kernel(graph))
        if name is not None and not show_kernel(graph, name, self._recorder):
            self._note(f"the graph has no kernel {name!r} any more")

    def _build_last_graph(self) -> None:
        """Build the last graph of a script that builds none, to show its kernels."""
        graphs = self._recorder.graphs
        if graphs.last is None or len(self._recorder.functions) or any(graph.built is not None for graph in graphs):
            return
        try:
            with self._recorder.building_for_explorer(graphs.last):
                build_graph(graphs.last.last, target=Target(self._options.target))
        except TypeInferenceError as error:
            graphs.last.unbuilt = str(error)
            self._report(error)
        except TVMError as error:
            graphs.last.unbuilt = str(error)
            self._note(f"no kernels are shown: {error}")

    # assembly

    def _assemble(self) -> None:
        """Generate the assembly of every function for the selected targets, that of the main pane last."""
        chosen = self._options.assembly
        for key in dict.fromkeys([*(key for key in self._options.assembly_also if key != chosen), chosen]):
            if key != HOST:
                self._assemble_for(key)
        if chosen == HOST:
            for function in self._recorder.functions:
                function.codes.sort(key=lambda code: code.form == "assembly")

    def _assemble_for(self, key: str) -> None:
        machine = assembly_target(key)
        if machine is None:
            listed = ", ".join(assembly_targets())
            self._note(f"assembly: there is no target {key!r}; there are {listed}, and any architecture:cpu")
            return
        for function in self._recorder.functions:
            if function.final is None:
                continue
            try:
                with self._recorder.assembling(function, machine):
                    codegen(function.final, machine.target)
            except TVMError as error:
                self._note(f"no assembly for {machine.name}: {error}")

    # kernels

    def _show_device_code(self) -> None:
        """Generate device code for each function that launches threads."""
        for function in self._recorder.functions:
            if launches_threads(function.lowered):
                made = make_device_code(function, self._options, self._compiles_cuda, self._note)
                if isinstance(made, DeviceCode):
                    function.device = made
                else:
                    function.refused_device = made

    def cuda_programs(self) -> Iterator[CudaProgram]:
        """Yield the programs for NVIDIA's compilers, starting with that of the last function."""
        for function in reversed(self._recorder.functions):
            if function.device is not None and function.device.program is not None:
                yield function.device.program

    def report_kernels(self) -> bool:
        """Explain and check the kernels of each function; return whether there are any."""
        functions = [function for function in self._recorder.functions if function.device is not None]
        for function in functions:
            assert function.device is not None
            function.report = report_kernels(function, function.device, self._mode)
        return bool(functions)

    # programs for TVM 0.27

    def write_programs(self) -> None:
        """Write each function as a program for TVM 0.27, or say in its place what has no counterpart there."""
        for function in self._recorder.functions:
            try:
                function.todays_program = [(line.text, line.span, line.line) for line in program_of(function).lines]
            except TVMError as error:
                why = str(error).splitlines()
                said = [f"# {function.name} has no counterpart in TVM {RELEASE}:", *(f"# {line}" for line in why)]
                function.todays_program = [(line, NO_SPAN, function.line) for line in said]

    # LLVM's passes

    def trace_llvm_passes(self) -> None:
        """Trace LLVM's passes for each function, starting with the last."""
        for function in reversed(self._recorder.functions):
            emitted = next((code.text for code in function.codes if code.form == "emitted"), None)
            if emitted is None or function.target is None:
                continue
            try:
                function.llvm_passes = trace_passes(emitted, function.target)
            except TVMError as error:
                self._note(f"LLVM's passes over {function.name} are not shown: {error}")


def function_arguments(
    recorder: Recorder, schedule: TensorSchedule, options: Options
) -> tuple[Sequence[Tensor | Var], Target]:
    """Return the arguments and the target with which a script builds, or would build, a schedule."""
    function = recorder.function_from(schedule)
    args = function.args if function is not None and function.args else schedule_arguments(schedule.schedule)
    target = function.target if function is not None and function.target else Target(options.target)
    return args, target
