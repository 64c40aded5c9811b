"""What a program holds of a server's things: devices, arrays, modules, functions and executors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.deprecation import renamed_parameter
from compiler.ir.error import ArgumentError
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, empty, numpy_dtype
from compiler.runtime.device import Device
from compiler.runtime.graph.model_module import ModelExecutor
from compiler.runtime.modules.module import DEFAULT_NAME, Module
from compiler.runtime.modules.packed_func import PackedFunc
from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.rpc.messages import Reference
from compiler.runtime.timing.measurement import BenchmarkResult, measure

if TYPE_CHECKING:
    from compiler.runtime.rpc.client import RPCSession


@dataclass(frozen=True, slots=True)
class RemoteDevice(Device):
    """A device of a session's server."""

    session: RPCSession = field(kw_only=True, repr=False)

    @property
    def exist(self) -> bool:
        """Whether the server has the device."""
        return bool(self.session.ask("fact", self, "exist"))

    def require(self, operation: str) -> Device:
        """Return the device; see :meth:`Device.require`."""
        if not self.exist:
            raise ArgumentError(f"{operation}: device {self} has no runtime on {self.session.peer}")
        return self

    def remote_array(self, shape: tuple[int, ...], dtype: str) -> NDArray:
        """Return a new array on the server."""
        made: NDArray = self.session.ask("empty", shape, dtype, self)
        return made

    def remote_executor(self, graph: str, kernels: Module) -> ModelExecutor:
        """Return what runs a graph on the server."""
        made: ModelExecutor = self.session.ask("graph_executor", graph, kernels, self, asked="graph_executor")
        return made

    def __str__(self) -> str:
        return f"remote[{self.session.number}]:{self.kind}({self.device_id})"

    __repr__ = __str__


def _fact(name: str) -> property:
    return property(lambda self: self.session.ask("fact", self, name), doc=getattr(Device, name).__doc__)


for _name in Device.FACTS - {"exist"}:
    setattr(RemoteDevice, _name, _fact(_name))


class Held:
    """Something on the server, which is told when nobody holds it any more."""

    def __init__(self, session: RPCSession, reference: Reference) -> None:
        self.session = session
        self.reference = Reference(reference.number)

    def __del__(self) -> None:
        self.session.free(self.reference.number)


class RemoteArray(NDArray):
    """An array on the server; what looks at its elements copies them to this process."""

    __slots__ = ("_held",)

    def __init__(self, held: Held, shape: Sequence[int], dtype: str, device: Device) -> None:
        self._held = held
        self.shape, self.dtype, self.device = tuple(shape), dtype, device

    @property
    def held(self) -> Held:
        """What stands for it on the server."""
        return self._held

    @property
    def _memory_shape(self) -> tuple[int, ...]:
        return self.shape if dt.lanes(self.dtype) == 1 else (*self.shape, dt.lanes(self.dtype))

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self._memory_shape) * numpy_dtype(self.dtype).itemsize

    @property
    def _memory(self) -> NumPyArray:  # type: ignore[override]
        """A copy of the elements, which cannot be written."""
        data = self._held.session.read(self, self.nbytes)
        values: NumPyArray = np.frombuffer(data, numpy_dtype(self.dtype)).reshape(self._memory_shape)
        values.flags.writeable = False
        return values

    @property
    def address(self) -> NoReturn:  # type: ignore[override]
        """None that means anything here.

        Raises
        ------
        ArgumentError
            Always.
        """
        raise ArgumentError(f"an array on {self._held.session.peer} cannot be used here: copy it with numpy()")

    def copyfrom(self, source_array: ArrayLike) -> NDArray:
        """Take the elements of another array; see :meth:`NDArray.copyfrom`."""
        source: Any = source_array
        if _is_there(source, self._held.session) and (source.shape, source.dtype) == (self.shape, self.dtype):
            self._held.session.ask("copy", source, self)
            return self
        local = empty(self.shape, self.dtype).copyfrom(source_array)
        self._held.session.write(self, local.view())
        return self

    def _create_view(self, shape: Sequence[int]) -> NDArray:
        made: NDArray = self._held.session.ask("reshaped", self, [int(extent) for extent in shape])
        return made

    def __setitem__(self, key: Any, value: ArrayLike) -> None:
        local = np.array(self._memory)
        local[key] = value.view() if isinstance(value, NDArray) else value
        self._held.session.write(self, local)

    def __len__(self) -> int:
        return self.shape[0]


def _is_there(value: object, session: RPCSession) -> bool:
    return isinstance(value, RemoteArray) and value.held.session is session


class RemoteFunction(PackedFunc):
    """A function on the server; arrays among its arguments are on the server as well."""

    __slots__ = ("held",)

    def __init__(self, held: Held, name: str) -> None:
        self.held = held
        self.name = name

    @property
    def is_global(self) -> bool:
        """Whether it is registered in this process: never."""
        return False

    def __call__(self, *args: object) -> Any:
        """Call the function."""
        return self.held.session.ask("call", self, args, asked=f"call of {self.name}")

    def __repr__(self) -> str:
        return f"RemoteFunction({self.name})"


class RemoteModule(Module):
    """A module on the server."""

    def __init__(self, held: Held, type_key: str) -> None:
        super().__init__((), self._nothing_here)
        self.held = held
        self._type_key = type_key

    def _nothing_here(self) -> NoReturn:
        raise ArgumentError(f"the code of this module is on {self.held.session.peer}")

    @property
    def type_key(self) -> str:
        """``rpc``, as TVM calls a module of a session."""
        return "rpc"

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """Return a function by name."""
        function = self.held.session.ask("member", self, name, asked=f"get_function {name!r}")
        function.name = name
        return function

    def __getitem__(self, name: str) -> Any:
        return self.get_function(name)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Return whether the module has a function of a name."""
        return bool(self.held.session.ask("implements", self, name))

    @property
    def entry_func(self) -> Any:
        """The entry function, which calling the module runs."""
        return self.get_function(self.entry_name if self._type_key != "GraphExecutorFactory" else DEFAULT_NAME)

    def __call__(self, *args: object) -> Any:
        """Run the entry function."""
        return self.held.session.ask("call", self, args, asked="call of the module")

    def import_module(self, module: Module) -> None:
        """Let this module find the functions of another one of the session."""
        self.held.session.ask("import_module", self, module)

    def get_source(self, fmt: str = "") -> str:
        """Return the source, if the server has it."""
        return str(self.held.session.ask("get_source", self, fmt))

    @renamed_parameter("ctx", "dev")
    def time_evaluator(
        self,
        func_name: str,
        dev: Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """Return what measures a function on the server; see ``tvm.runtime.Module.time_evaluator``."""
        options: dict[str, object] = {"cache_flush_bytes": cache_flush_bytes, "f_preproc": f_preproc}
        return _evaluator(self, self.held, func_name, dev, number, repeat, min_repeat_ms, options)

    def __repr__(self) -> str:
        return f"RemoteModule({self.held.session.peer})"


def _evaluator(
    owner: object,
    held: Held,
    name: str,
    device: Device,
    number: int,
    repeat: int,
    min_repeat_ms: int,
    options: dict[str, object],
) -> Callable[..., BenchmarkResult]:
    counts = {"number": number, "repeat": repeat, "min_repeat_ms": min_repeat_ms, **options}
    words = f"time_evaluator of {name!r}"
    function: RemoteFunction = held.session.ask("time_evaluator", owner, name, device, counts, asked=words)
    function.name = words
    return function


class RemoteExecutor(ModelExecutor):
    """A model with memory for its inputs and outputs on the server."""

    def __init__(self, held: Held, is_graph: bool, input_names: list[str]) -> None:
        self.held = held
        self.is_graph = is_graph
        self._input_names = input_names
        self._functions: dict[str, Any] = {}

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs."""
        return self._input_names

    @property
    def num_outputs(self) -> int:
        """How many outputs there are."""
        return int(self.get_function("get_num_outputs")())

    @property
    def _measured(self) -> NoReturn:
        raise ArgumentError(f"instruments do not see what runs on {self.held.session.peer}")

    def timed(
        self,
        name: str,
        call: Callable[..., object],
        args: tuple[object, ...],
        number: int,
        repeat: int,
        min_seconds: float,
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

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Set parameters that ``save_param_dict`` wrote."""
        self.get_function("load_params")(bytes(params_bytes))

    def run(self) -> None:
        self.get_function("run")()

    def get_function(self, name: str) -> Callable[..., Any]:
        if name not in self._functions:
            self._functions[name] = self.held.session.ask("member", self, name, asked=f"get_function {name!r}")
            self._functions[name].name = name
        function: Callable[..., Any] = self._functions[name]
        return function

    __getitem__ = get_function

    def evaluator(self, func_name: str, number: int, repeat: int, min_seconds: float) -> Callable[..., BenchmarkResult]:
        device = self.held.session.cpu(0)
        return _evaluator(self, self.held, func_name, device, number, repeat, round(min_seconds * 1e3), {})
