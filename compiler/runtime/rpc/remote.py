"""What a program holds of a server's things: devices, arrays, modules, functions and executors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, empty, numpy_dtype
from compiler.runtime.arrays.params import load_param_dict
from compiler.runtime.device import FACTS, Device
from compiler.runtime.graph.model_module import ModelExecutor
from compiler.runtime.modules.module import ENTRY, Module
from compiler.runtime.modules.packed_func import PackedFunc
from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.timing.measurement import BenchmarkResult, measure

if TYPE_CHECKING:
    from compiler.runtime.rpc.client import RPCSession


class Held:
    """Something on the server, which is told when nobody holds it any more."""

    def __init__(self, session: RPCSession, number: int) -> None:
        self.session = session
        self.number = number

    def call(self, owner: object, name: str, *arguments: object, asked: str = "", **options: object) -> Any:
        """Call a method of it."""
        return self.session.ask("method", owner, name, arguments, options, asked=asked or name)

    def function(self, owner: object, method: str, name: str) -> RemoteFunction:
        """Return a function of it."""
        function: RemoteFunction = self.call(owner, method, name, asked=f"get_function {name!r}")
        function.name = name
        return function

    def evaluator(self, owner: object, name: str, *counts: object, **options: object) -> Callable[..., BenchmarkResult]:
        """Return what measures a function of it."""
        words = f"time_evaluator of {name!r}"
        function: RemoteFunction = self.call(owner, "time_evaluator", name, *counts, asked=words, **options)
        function.name = words
        return function

    def __del__(self) -> None:
        self.session.free(self.number)


_FOR_MEMORY = ("nd.empty", "Device.sync")
"""What can be done from here with a device of a server; all else is done by code that is there."""


@dataclass(frozen=True, slots=True)
class RemoteDevice(Device):
    """A device of a session's server."""

    session: RPCSession = field(kw_only=True, repr=False)

    def require(self, operation: str) -> Device:
        if operation not in _FOR_MEMORY:
            raise ArgumentError(
                f"{operation}: {self} is a device of {self.session.peer}:"
                " only code that remote.load_module loaded there runs on it"
            )
        if not self.exist:
            raise ArgumentError(f"{operation}: device {self} has no runtime on {self.session.peer}")
        return self

    def remote_array(self, shape: tuple[int, ...], dtype: str) -> NDArray:
        made: NDArray = self.session.ask("empty", shape, dtype, self)
        return made

    def remote_executor(self, graph: str, kernels: Module) -> ModelExecutor:
        made: ModelExecutor = self.session.ask("graph_executor", kernels, self, body=graph.encode())
        return made

    def __str__(self) -> str:
        return f"remote[{self.session.number}]:{self.kind}({self.device_id})"

    __repr__ = __str__


def _fact(name: str) -> property:
    return property(lambda self: self.session.ask("method", self, name, [], {}, asked=name))


for _name in FACTS:
    setattr(RemoteDevice, _name, _fact(_name))


class RemoteArray(NDArray):
    """An array on the server; what looks at its elements copies them to this process."""

    __slots__ = ("held",)

    def __init__(self, held: Held, shape: Sequence[int], dtype: str, device: Device) -> None:
        self.held = held
        self.shape, self.dtype, self.device = tuple(shape), dtype, device

    @property
    def _memory_shape(self) -> tuple[int, ...]:
        return self.shape if dt.lanes(self.dtype) == 1 else (*self.shape, dt.lanes(self.dtype))

    @property
    def nbytes(self) -> int:
        return math.prod(self._memory_shape) * numpy_dtype(self.dtype).itemsize

    @property
    def _memory(self) -> NumPyArray:  # type: ignore[override]
        """A copy of the elements, which cannot be written."""
        data = bytes(self.held.session.read(self, self.nbytes))
        return np.frombuffer(data, numpy_dtype(self.dtype)).reshape(self._memory_shape)

    @property
    def address(self) -> NoReturn:  # type: ignore[override]
        """None that means anything here: asking for it is an ArgumentError."""
        raise ArgumentError(f"an array on {self.held.session.peer} cannot be used here: copy it with numpy()")

    def copyfrom(self, source_array: ArrayLike) -> NDArray:
        if _is_there(source_array, self.held.session):
            self.held.call(self, "copyfrom", source_array)
        else:
            self.held.session.write(self, empty(self.shape, self.dtype).copyfrom(source_array).view())
        return self

    def _create_view(self, shape: Sequence[int]) -> NDArray:
        made: NDArray = self.held.call(self, "_create_view", shape)
        return made

    def __setitem__(self, key: Any, value: ArrayLike) -> None:
        local = empty(self.shape, self.dtype).copyfrom(self)
        local[key] = value
        self.held.session.write(self, local.view())

    def __len__(self) -> int:
        return self.shape[0]


def _is_there(value: object, session: RPCSession) -> bool:
    return isinstance(value, RemoteArray) and value.held.session is session


class RemoteFunction(PackedFunc):
    """A function on the server; arrays among its arguments are on the server as well."""

    __slots__ = ("held",)

    def __init__(self, held: Held) -> None:
        self.held = held
        self.name = "a function"

    def __call__(self, *args: object) -> Any:
        return self.held.session.ask("call", self, args, asked=f"call of {self.name}")

    def __repr__(self) -> str:
        return f"RemoteFunction({self.name})"


class RemoteModule(Module):
    """A module on the server."""

    def __init__(self, held: Held) -> None:
        super().__init__((), self._is_there)
        self.held = held
        self.program = self._is_there

    def _is_there(self) -> NoReturn:
        raise ArgumentError(f"a module on {self.held.session.peer} is run there: its code and programs are not here")

    @property
    def type_key(self) -> str:
        return "rpc"

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        return self.held.function(self, "__getitem__", name)

    __getitem__ = get_function

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        return bool(self.held.call(self, "implements_function", name, query_imports))

    @property
    def entry_func(self) -> Any:
        return self.get_function(ENTRY)

    def __call__(self, *args: object) -> Any:
        return self.held.session.ask("call", self, args, asked="call of the module")

    def import_module(self, module: Module) -> None:
        self.held.call(self, "import_module", module)

    def time_evaluator(self, func_name: str, *counts: object, **options: object) -> Callable[..., BenchmarkResult]:
        """Return what measures a function on the server; see ``tvm.runtime.Module.time_evaluator``."""
        return self.held.evaluator(self, func_name, *counts, **options)

    def __repr__(self) -> str:
        return f"RemoteModule({self.held.session.peer})"


class RemoteExecutor(ModelExecutor):
    """A model with memory for its inputs and outputs on the server."""

    def __init__(self, held: Held, is_graph: bool, input_names: list[str]) -> None:
        self.held = held
        self.is_graph = is_graph
        self._input_names = input_names
        self._functions: dict[str, RemoteFunction] = {}

    @property
    def input_names(self) -> list[str]:
        return self._input_names

    @property
    def num_outputs(self) -> int:
        return int(self.get_function("get_num_outputs")())

    @property
    def _measured(self) -> NoReturn:
        raise ArgumentError(f"instruments do not see what runs on {self.held.session.peer}")

    def timed(
        self, name: str, call: Callable[..., object], args: Any, number: int, repeat: int, min_seconds: float
    ) -> BenchmarkResult:
        return BenchmarkResult(measure(lambda: call(*args), number, repeat, min_seconds)[1])

    def get_input(self, key: int | str) -> NDArray:
        array: NDArray = self.get_function("get_input")(key)
        return array

    def get_output(self, index: int) -> NDArray:
        array: NDArray = self.get_function("get_output")(index)
        return array

    def set_input(self, key: int | str, value: ArrayLike) -> None:
        if _is_there(value, self.held.session):
            self.get_function("set_input")(key, value)
        else:
            super().set_input(key, value)

    def set_input_zero_copy(self, key: int | str, value: NDArray) -> None:
        """Let an array on the server be an input, without a copy."""
        self.get_function("set_input_zero_copy")(key, value)

    def set_output_zero_copy(self, key: int, value: NDArray) -> None:
        """Let an array on the server be an output, without a copy."""
        self.get_function("set_output_zero_copy")(key, value)

    def share_params(self, other: ModelExecutor, params_bytes: bytes | bytearray) -> None:
        """Let the parameters of another executor there be this one's as well; see ``GraphModule.share_params``."""
        for name in load_param_dict(params_bytes):
            self.set_input_zero_copy(name, other.get_input(name))

    def run(self) -> None:
        self.get_function("run")()

    def get_function(self, name: str) -> RemoteFunction:
        if name not in self._functions:
            self._functions[name] = self.held.function(self, "get_function", name)
        return self._functions[name]

    __getitem__ = get_function

    def time_evaluator(
        self, func_name: str, dev: Device, *counts: Any, **options: object
    ) -> Callable[..., BenchmarkResult]:
        return self.held.evaluator(self, func_name, dev, *counts, **options)
