"""``tvm.runtime.profiler_vm``: the virtual machine with timing per instruction."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

from compiler.classic.runtime.profiling import MetricCollector, Profiler, argument_shapes
from compiler.classic.runtime.report import Report
from compiler.runtime.device import Device
from compiler.runtime.modules.module import Module
from compiler.runtime.vm import Argument, Executable, VirtualMachine
from compiler.runtime.vm.instructions import CallKernel, Frame, Instruction, VMFunction


def enabled() -> bool:
    """Return whether programs of the virtual machine can be measured: always."""
    return True


class VirtualMachineProfiler(VirtualMachine):
    """Runs an executable, and measures each instruction where that is asked for."""

    def __init__(self, exe: Executable | Module, device: Device, memory_cfg: object = None) -> None:
        super().__init__(exe, device, memory_cfg)
        self._timed = copy(self.executable)
        self._timed.functions = [_timed(function) for function in self.executable.functions]
        self.profiler: Profiler | None = None

    def profile(
        self,
        *args: Argument,
        func_name: str = "main",
        collectors: Sequence[MetricCollector] | None = None,
        **kwargs: Argument,
    ) -> Report:
        """Call a function and return how long each instruction took."""
        self.invoke(func_name, *args, **kwargs)  # what is done once only, is done
        plain, self.executable = self.executable, self._timed
        self.profiler = Profiler(self.device, "VM", collectors)
        try:
            self.invoke(func_name, *args, **kwargs)
            return self.profiler.report()
        finally:
            self.executable, self.profiler = plain, None


@dataclass(slots=True)
class _Timed(Instruction):
    """Another instruction, which is measured."""

    instruction: Instruction

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        assert isinstance(machine, VirtualMachineProfiler)
        assert machine.profiler is not None
        inner = self.instruction
        name, shapes, digest = f"VM::{type(inner).__name__}", "", ""
        if isinstance(inner, CallKernel):
            kernel = machine.executable.kernels[inner.kernel]
            name, digest = str(kernel), getattr(kernel, "hash", "")
            shapes = argument_shapes([frame.registers[register] for register in inner.args])
        machine.profiler.measure(lambda: inner.execute(machine, frame), Name=name, Argument_Shapes=shapes, Hash=digest)


def _timed(function: VMFunction) -> VMFunction:
    return replace(function, instructions=[_Timed(i.target, i) for i in function.instructions])
