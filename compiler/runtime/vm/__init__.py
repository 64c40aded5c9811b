"""The virtual machine: control flow, recursion, closures, ADTs and dynamic shapes.

Every function is a list of instructions over registers; calls are frames on a stack of the machine's own, and a call in
last place takes its caller's frame, so that loops written as recursion need no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from compiler.ir.error import ArgumentError, TVMError, expected, show
from compiler.ir.instrument import active_instruments
from compiler.runtime.arrays.named_arguments import arguments_in_order
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array
from compiler.runtime.device import Device
from compiler.runtime.modules.module import Module
from compiler.runtime.timing.measurement import BenchmarkResult, benchmark, call_instrumented
from compiler.runtime.timing.time_evaluator import Timed
from compiler.runtime.vm.executable import Executable, Kernel
from compiler.runtime.vm.instructions import Frame, VMFunction
from compiler.runtime.vm.plans import Stretch, stretches
from compiler.runtime.vm.values import ADT, Closure, Value

__all__ = ["ADT", "Closure", "Executable", "Kernel", "VMFunction", "VirtualMachine"]

MAX_FRAMES = 200_000
"""Calls inside of calls; a recursion that is deeper does not end."""

Argument = ArrayLike | ADT | Closure
"""What a caller gives: arrays, tuples of such, closures that a call returned."""


class VirtualMachine(Timed):
    """Runs an executable, or a module that holds one, as ``relay.vm.compile`` returns it.

    Kernels for shapes that come again are called one behind the other, with memory that was allocated before.
    ``memory_cfg`` (``naive`` or ``pooled``, for all devices or for each) changes nothing.
    """

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(self, exe: Executable | Module, device: Device, memory_cfg: object = None) -> None:
        if isinstance(exe, Module):
            exe = Executable(exe)
        if not isinstance(exe, Executable):
            expected("VirtualMachine", "exe", "what relay.vm.compile returns", type(exe).__name__)
        if exe.late_bound:
            raise ArgumentError(
                f"VirtualMachine: constants {', '.join(exe.late_bound)} are missing; call load_late_bound_consts first"
            )
        self.executable = exe
        self.device = device.require("VirtualMachine")
        self._frames: list[Frame] = []
        self._result: Value | None = None
        self._inputs: dict[str, dict[int, Value]] = {}
        self._outputs: list[Any] = []
        self._prepared: dict[int, tuple[VMFunction, list[Stretch | None]]] = {}

    # calls from outside

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """Return the position of a parameter; -1 if there is no such parameter."""
        params = self._entry(func_name).params
        return params.index(input_name) if input_name in params else -1

    def invoke_stateful(self, func_name: str, *args: Argument, **kwargs: Argument) -> None:
        """Call a function and keep its result for :meth:`get_outputs`."""
        self.invoke(func_name, *args, **kwargs)

    def get_outputs(self) -> list[object]:
        """Return the results of the last call: the fields of a tuple, or one value."""
        return list(self._outputs)

    def set_input(self, func_name: str, *args: Argument, **kwargs: Argument) -> None:
        """Set the arguments that a function is called with when it is given none."""
        self._inputs[func_name] = dict(enumerate(self._arguments(func_name, args, kwargs)))

    def set_one_input(self, func_name: str, *args: int | str | Argument, **kwargs: Argument) -> None:
        """Set one of the arguments that a function is called with when it is given none.

        It is given with the parameter's position or name before it, or by the name. Raises ArgumentError if not one
        argument is given, or the function has no such parameter.
        """
        if len(args) != (0 if kwargs else 2) or len(kwargs) > 1:
            raise ArgumentError("set_one_input: expected a parameter and its value, or one argument by name")
        which, value = args if args else next(iter(kwargs.items()))
        params = self._entry(func_name).params
        index = params.index(which) if which in params else which
        if not isinstance(index, int) or not 0 <= index < len(params):
            names = ", ".join(params)
            raise ArgumentError(f"set_one_input: {func_name} has no parameter {show(which)}; it has {names}")
        self._inputs.setdefault(func_name, {})[index] = _value(cast(Argument, value), self._dtypes(func_name)[index])

    def invoke_with_outputs(
        self, func_name: str, input_args: Mapping[str, Argument], output_args: Sequence[NDArray]
    ) -> None:
        """Call a function and write its results, one or the fields of a tuple, into arrays.

        Raises ArgumentError if the number of arrays, or the shape of one, is not that of the results.
        """
        self.set_input(func_name, **input_args)
        self.invoke_stateful(func_name)
        if len(output_args) != len(self._outputs):
            raise ArgumentError(
                f"invoke_with_outputs: {func_name} has {len(self._outputs)} results, got {len(output_args)} arrays"
            )
        for output, result in zip(output_args, self._outputs, strict=True):
            output.copyfrom(result)

    def invoke(self, func_name: str, *args: Argument, **kwargs: Argument) -> Any:
        """Call a function.

        Raises ArgumentError if there is no such function, or the arguments do not fit. Raises TVMError if the program
        fails: no clause of a match fits, or a recursion does not end.
        """
        values = self._arguments(func_name, args, kwargs)
        instruments = active_instruments()
        if instruments:
            result = call_instrumented(instruments, self, func_name, values, lambda: self._run(func_name, values))
        else:
            result = self._run(func_name, values)
        self._outputs = list(result) if isinstance(result, ADT) else [result]
        return result

    def run(self, *args: Argument, **kwargs: Argument) -> Any:
        """Call the function ``main``."""
        return self.invoke("main", *args, **kwargs)

    def get_function(self, name: str) -> Callable[..., object]:
        """Return a function by name."""
        self._entry(name)
        return lambda *args: self.invoke(name, *args)

    def benchmark(
        self,
        device: Device,
        *args: Argument,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Argument,
    ) -> BenchmarkResult:
        """Measure calls of a function, in seconds a call, with the conversion of the arguments if it is ``end_to_end``.

        A measurement lasts at least ``min_repeat_ms`` milliseconds.
        """
        rounds = (number, repeat, min_repeat_ms or 0)
        if end_to_end:
            params = self._entry(func_name).params
            given = arguments_in_order(f"vm: {func_name}", params, args, kwargs) if args or kwargs else ()
            return Module.time_evaluator(self, "invoke_return_to_device", device, *rounds)(func_name, *given)
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        return Module.time_evaluator(self, "invoke", device, *rounds)(func_name)

    def evaluator(self, func_name: str, number: int, repeat: int, min_seconds: float) -> Callable[..., BenchmarkResult]:
        # What is measured is a call by TVM's names; the function to call is the first of its arguments.
        converts = func_name == "invoke_return_to_device"
        if not converts and func_name != "invoke":
            raise ArgumentError(f"vm: expected 'invoke' or 'invoke_return_to_device', got {show(func_name)}")

        def evaluate(name: str, *args: Argument) -> BenchmarkResult:
            values = self._arguments(name, args, {})

            def run() -> None:
                self._run(name, self._arguments(name, args, {}) if converts else values)

            return benchmark(self, name, values, run, number, repeat, min_seconds)

        return evaluate

    def _entry(self, name: str) -> VMFunction:
        index = self.executable.entries.get(name)
        if index is None:
            names = ", ".join(self.executable.entries)
            raise ArgumentError(f"vm: there is no function {show(name)}; there are {names}")
        return self.executable.functions[index]

    def _arguments(self, name: str, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> tuple[Value, ...]:
        function = self._entry(name)
        if not args and not kwargs and name in self._inputs:
            inputs = self._inputs[name]
            unset = [param for index, param in enumerate(function.params) if index not in inputs]
            if unset:
                raise ArgumentError(f"vm: {name}: no value was set for {', '.join(unset)}")
            return tuple([inputs[index] for index in range(len(function.params))])
        values = arguments_in_order(f"vm: {name}", function.params, args, kwargs)
        return tuple(_value(v, dtype) for v, dtype in zip(values, self._dtypes(name), strict=True))

    def _dtypes(self, name: str) -> list[str | None]:
        return self.executable.dtypes.get(name) or [None] * len(self._entry(name).params)

    # running

    def _run(self, name: str, args: tuple[Value, ...]) -> Value | None:
        outer, self._frames = self._frames, []
        self.enter(self.executable.entries[name], args, -1)
        frames = self._frames
        try:
            while frames:
                frame = frames[-1]
                instructions, prepared = frame.function.instructions, self._stretches(frame.function)
                while frames and frames[-1] is frame:
                    stretch = prepared[frame.at]
                    if stretch is not None and stretch.run(self, frame):
                        continue
                    instruction = instructions[frame.at]
                    frame.at += 1
                    instruction.execute(self, frame)
        finally:
            self._frames = outer
        return self._result

    def _stretches(self, function: VMFunction) -> list[Stretch | None]:
        found = self._prepared.get(id(function))
        if found is None:
            found = self._prepared[id(function)] = function, stretches(function)
        return found[1]

    def enter(self, function: int, args: tuple[Value, ...], target: int, last: bool = False) -> None:
        """Begin a call, whose result is for the caller's register ``target``.

        Where the caller only returns the result (``last``), the call takes the caller's place. Raises TVMError if the
        recursion does not end.
        """
        frames = self._frames
        if last:
            target = frames.pop().target
        elif len(frames) >= MAX_FRAMES:
            raise TVMError(f"vm: calls are nested more than {MAX_FRAMES} deep: the recursion does not terminate")
        frames.append(Frame(self.executable.functions[function], args, target))

    def leave(self, value: Value) -> None:
        """End the running call."""
        target = self._frames.pop().target
        if self._frames:
            self._frames[-1].registers[target] = value
        else:
            self._result = value


def _value(given: Argument, dtype: str | None) -> Value:
    """Return an argument as the machine has it: arrays aligned, Python sequences as tuples.

    A tensor may come as a tuple of one array.
    """
    if isinstance(given, (tuple, list)) and dtype is None:
        return ADT(0, [_value(v, None) for v in given])
    if isinstance(given, (tuple, list)) and len(given) == 1 and isinstance(given[0], (np.ndarray, NDArray)):
        return _value(given[0], dtype)
    if isinstance(given, (ADT, Closure)):
        return given
    if isinstance(given, NDArray) and (dtype is None or given.dtype == dtype):
        return given
    values = given.view() if isinstance(given, NDArray) else np.asarray(given)
    return array(values if dtype is None else values.astype(dtype))
