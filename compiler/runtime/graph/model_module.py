"""Shared by executors: setting inputs, running, reading outputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from compiler.ir.deprecation import renamed_parameter
from compiler.ir.error import ArgumentError, expected
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array
from compiler.runtime.arrays.params import load_param_dict
from compiler.runtime.device import Device
from compiler.runtime.modules.module import Module
from compiler.runtime.timing.measurement import BenchmarkResult, benchmark
from compiler.runtime.timing.time_evaluator import Timed

if TYPE_CHECKING:
    from compiler.ir.instrument.interface import Callee


class ModelExecutor(Timed):
    """What runs a model: memory for its inputs and outputs, and its kernels."""

    is_graph = False
    """Whether it runs a graph."""

    def __init__(self, lib: Module) -> None:
        self.lib = lib

    @property
    @abstractmethod
    def input_names(self) -> list[str]:
        """Names of the inputs, parameters included."""

    @property
    @abstractmethod
    def num_outputs(self) -> int:
        """How many outputs there are."""

    @abstractmethod
    def get_input(self, key: int | str) -> NDArray:
        """Return the memory of an input, by index or name.

        Raises ArgumentError if there is no such input.
        """

    @abstractmethod
    def get_output(self, index: int) -> NDArray:
        """Return an output's memory, which the next run overwrites."""

    def _output_number(self, index: int) -> int:
        if not isinstance(index, (int, np.integer)) or not 0 <= index < self.num_outputs:
            expected("get_output", "index", f"an int from 0 to {self.num_outputs - 1}", index)
        return int(index)

    @abstractmethod
    def run(self) -> None:
        """Run the model on the inputs that were set."""

    @abstractmethod
    def get_function(self, name: str) -> Callable[..., object]:
        """Return a method by name, e.g. ``run`` or ``set_input``, as TVM's modules have them.

        Raises ArgumentError if there is none with that name.
        """

    @property
    @abstractmethod
    def _measured(self) -> Callee:
        """What instruments are told is measured."""

    def get_input_index(self, name: str) -> int:
        """Return the index of an input; -1 if there is none with that name."""
        names = self.input_names
        return names.index(name) if name in names else -1

    def set_input(self, key: int | str, value: ArrayLike) -> None:
        """Copy a value into an input, by index or name.  Raises ArgumentError if its shape is not the input's."""
        target = self.get_input(key)
        given = value.view() if isinstance(value, NDArray) else np.asarray(value)
        if given.shape != target.shape:
            raise ArgumentError(f"set_input: {key!r} must have shape {target.shape}, got {given.shape}")
        target.copyfrom(given)

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Set parameters that ``save_param_dict`` wrote; names that the model does not have are left out, as in TVM."""
        for name, value in load_param_dict(params_bytes).items():
            if self.get_input_index(name) >= 0:
                self.set_input(name, value)

    def timed(
        self,
        name: str,
        call: Callable[..., object],
        args: tuple[object, ...],
        number: int,
        repeat: int,
        min_seconds: float,
    ) -> BenchmarkResult:
        """Measure a call that runs the model, unless an instrument answers instead.

        ``name`` is the function's, for instruments.  Each of ``repeat`` measurements averages over ``number`` calls, or
        more until it lasts ``min_seconds``.
        """
        return benchmark(self._measured, name, args, lambda: call(*args), number, repeat, min_seconds)

    @renamed_parameter("ctx", "dev")
    def time_evaluator(
        self, func_name: str, dev: Device, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0, **options: object
    ) -> Callable[..., BenchmarkResult]:
        """Return a function that measures one of the executor's functions, such as ``run``, as modules have it."""
        return Module.time_evaluator(self, func_name, dev, number, repeat, min_repeat_ms)

    def evaluator(self, func_name: str, number: int, repeat: int, min_seconds: float) -> Callable[..., BenchmarkResult]:
        call = self.get_function(func_name)
        return lambda *args: self.timed(func_name, call, args, number, repeat, min_seconds)


class ModelModule:
    """A model that can be run, with TVM's interface."""

    def __init__(self, module: ModelExecutor) -> None:
        self.module = module

    def set_input(self, key: int | str | None = None, value: ArrayLike | None = None, **params: ArrayLike) -> None:
        """Copy values into inputs, one by name or index or several by name, converted to their data types.

        Names that the model does not have are left out, as in TVM; a shape that differs is refused.
        """
        if isinstance(key, (int, np.integer, str)):
            if value is None:
                expected("set_input", "value", f"an array, for input {key!r}", value)
            self.module.set_input(key, value)
        else:  # models may have inputs with these names
            if key is not None and "key" not in self.module.input_names:
                expected("set_input", "key", "the name or the index of an input", key)
            self._set_inputs({"key": key, "value": value})
        self._set_inputs(params)

    def _set_inputs(self, values: Mapping[str, ArrayLike | None]) -> None:
        for name, value in values.items():
            if value is not None and name in self.module.input_names:
                self.module.set_input(name, value)

    def run(self, **input_dict: ArrayLike) -> None:
        """Set inputs, if any are given, and run the model."""
        self._set_inputs(input_dict)
        self.module.run()

    def get_output(self, index: int, out: NDArray | None = None) -> NDArray:
        """Return an output, copied to ``out`` if that is given; else its memory, which the next run overwrites."""
        output = self.module.get_output(index)
        return output if out is None else out.copyfrom(output)

    def get_input(self, index: int | str, out: NDArray | None = None) -> NDArray:
        """Return an input, by index or name, copied to ``out`` if that is given; else its memory."""
        value = self.module.get_input(index)
        return value if out is None else out.copyfrom(value)

    def get_num_outputs(self) -> int:
        """Count the outputs."""
        return self.module.num_outputs

    def get_num_inputs(self) -> int:
        """Count the inputs, parameters included."""
        return len(self.module.input_names)

    def get_input_index(self, name: str) -> int:
        """Return the index of an input; -1 if there is none with that name."""
        return self.module.get_input_index(name)

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return the shapes by name, and the data types by name, of all inputs."""
        arrays = {name: self.module.get_input(name) for name in self.module.input_names}
        return {n: a.shape for n, a in arrays.items()}, {n: a.dtype for n, a in arrays.items()}

    def benchmark(
        self,
        device: Device,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        **inputs: ArrayLike,
    ) -> BenchmarkResult:
        """Measure the model, or one of its functions, in seconds a call; the inputs given are set before.

        Each of ``repeat`` measurements averages over ``number`` calls, or more until it lasts ``min_repeat_ms``
        milliseconds.  With ``end_to_end``, copying the inputs in and the outputs out is part of it.  TVM's other
        options change nothing.
        """
        self._set_inputs(inputs)
        if not end_to_end:
            return self.module.time_evaluator(func_name, device, number, repeat, min_repeat_ms or 0)()
        values = {name: array(value) for name, value in inputs.items()}

        def run_end_to_end() -> None:
            self._set_inputs(values)
            self.module.run()
            for index in range(self.get_num_outputs()):
                array(self.get_output(index))

        return self.module.timed(func_name, run_end_to_end, (), number, repeat, (min_repeat_ms or 0) / 1e3)
