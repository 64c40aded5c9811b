"""The ahead-of-time executor: calls the one function of a compiled model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.instrument import active_instruments
from compiler.runtime.arrays.huge_pages import copied_together
from compiler.runtime.arrays.ndarray import NDArray, aligned_empty
from compiler.runtime.device import Device
from compiler.runtime.graph.model_module import ModelExecutor, ModelModule
from compiler.runtime.modules.module import Module
from compiler.runtime.parallel.threads import num_threads
from compiler.runtime.timing.measurement import Thunk


class AotInterface(msgspec.Struct, frozen=True, kw_only=True):
    """What the main function of a model takes, in its order; the constants' values are kept beside the code.

    ``dtypes`` has the data types of arrays whose elements the code takes as bits, such as bfloat16.
    """

    main: str
    inputs: list[str]
    constants: list[str]
    outputs: list[str]
    dtypes: dict[str, str] = {}


class AotExecutor(ModelExecutor):
    """A model with memory for its inputs and outputs; ``lib["default"](dev)`` makes one.

    ``lib`` has the main function and the kernels; each constant of the interface must be given.
    """

    def __init__(self, lib: Module, interface: AotInterface, device: Device, constants: Mapping[str, NDArray]) -> None:
        super().__init__(lib)
        self.interface = interface
        self.device = device.require("aot_executor")
        self._main = lib.get_function(interface.main)
        parameters = {p.name: p for p in self._main.signature.parameters}
        self._arrays = {}
        for name in (*interface.inputs, *interface.outputs):
            dtype = interface.dtypes.get(name, parameters[name].dtype)
            self._arrays[name] = _memory(parameters[name].shape, dtype, device)
        missing = [name for name in interface.constants if name not in constants]
        if missing:
            raise ArgumentError(f"aot_executor: there is no value of constant {missing[0]!r}")
        inputs, outputs = ([self._arrays[n] for n in names] for names in (interface.inputs, interface.outputs))
        (weights,) = copied_together([constants[n] for n in interface.constants])
        self._arguments = (*inputs, *weights, *outputs)
        self._prepared: tuple[int, Thunk] | None = None

    @property
    def input_names(self) -> list[str]:
        return self.interface.inputs

    @property
    def num_outputs(self) -> int:
        return len(self.interface.outputs)

    @property
    def _measured(self) -> Module:
        return self.lib

    def get_input(self, key: int | str) -> NDArray:
        names = self.input_names
        if isinstance(key, (int, np.integer)) and 0 <= key < len(names):
            key = names[int(key)]
        if key not in names:
            raise ArgumentError(f"aot_executor: there is no input {show(key)}; there are {', '.join(names) or 'none'}")
        return self._arrays[str(key)]

    def get_output(self, index: int) -> NDArray:
        return self._arrays[self.interface.outputs[self._output_number(index)]]

    def run(self) -> None:
        if active_instruments():
            self._main(*self._arguments)
        else:
            self._thunk()()

    def _thunk(self) -> Thunk:
        """Return what calls the main function, prepared once for a number of threads, which is an argument of it."""
        threads = num_threads()
        if self._prepared is None or self._prepared[0] != threads:
            self._prepared = threads, self._main.prepare(self._arguments)
        return self._prepared[1]

    def get_function(self, name: str) -> Callable[..., object]:
        methods = (self.run, self.set_input, self.get_input, self.get_input_index, self.get_output)
        by_name: dict[str, Callable[..., object]] = {method.__name__: method for method in methods}
        if name not in by_name:
            raise ArgumentError(f"aot_executor: there is no function {show(name)}; there are {', '.join(by_name)}")
        return by_name[name]

    __getitem__ = get_function


def _memory(shape: Sequence[object] | None, dtype: str, device: Device) -> NDArray:
    """Return memory for an array of the main function, whose extents are numbers."""
    extents = tuple(extent for extent in shape or () if isinstance(extent, int))
    return NDArray(aligned_empty(extents, dtype), dtype, device)


class AotModule(ModelModule):
    """A model that was compiled ahead of time, with TVM's interface, around what ``lib["default"](dev)`` returned."""

    def __init__(self, module: ModelExecutor) -> None:
        if not isinstance(module, ModelExecutor) or module.is_graph:
            expected("AotModule", "module", 'what lib["default"](dev) returns', type(module).__name__)
        super().__init__(module)

    def get_input_name(self, index: int) -> str:
        """Return the name of an input.

        Raises ArgumentError if there is no such input.
        """
        names = self.module.input_names
        if not 0 <= index < len(names):
            raise ArgumentError(f"get_input_name: the model has {len(names)} inputs, there is no input {show(index)}")
        return names[index]


class AotLibrary:
    """A model that was compiled ahead of time; ``library[name](dev)`` makes an executor."""

    def __init__(self, lib: Module, interface: AotInterface, constants: Mapping[str, NDArray], name: str) -> None:
        self.lib = lib
        self.interface = interface
        self.constants = dict(constants)
        self.libmod_name = name

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return what makes an executor on a device; ``list_module_names`` lists the names of models."""
        if name == "list_module_names":
            return lambda: [self.libmod_name]
        if name != self.libmod_name:
            raise ArgumentError(f"this model's name is {self.libmod_name!r}, got {show(name)}")
        return lambda device: AotExecutor(self.lib, self.interface, device, self.constants)

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """Return what ``library[name]`` is; ``query_imports`` changes nothing."""
        return self[name]

    def get_lib(self) -> Module:
        """Return the main function and the kernels."""
        return self.lib

    def get_source(self, fmt: str = "") -> str:
        """Return the code as text, e.g. ``ll`` or ``asm``; see ``Module.get_source``."""
        return self.lib.get_source(fmt)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.libmod_name}, {self.lib!r})"
