"""The server's side of a session: what a client may ask for, in a process and a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import msgspec

from compiler.ir.error import ArgumentError, TVMError, show
from compiler.runtime.arrays.ndarray import NDArray, empty
from compiler.runtime.device import Device
from compiler.runtime.graph.aot_executor import AotLibrary
from compiler.runtime.graph.executor_factory import ExecutorFactoryModule
from compiler.runtime.graph.graph_executor import GraphExecutor
from compiler.runtime.graph.model_module import ModelExecutor
from compiler.runtime.modules.library import OtherMachineError, load_module, system_lib
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.packed_func import get_global_func
from compiler.runtime.rpc.frames import PIECE, Bytes, Channel, ClosedError, DamagedError
from compiler.runtime.rpc.messages import Code, Done, Failed, Place, Reference, Request, extended, packed
from compiler.runtime.timing.measurement import BenchmarkResult

F = TypeVar("F", bound=Callable[..., object])
_OWNERS: tuple[Any, ...] = (Module, ModelExecutor, ExecutorFactoryModule, AotLibrary)
Count = Annotated[int, msgspec.Meta(ge=0)]
Facts = Device.FACTS

_OPERATIONS: dict[str, Callable[..., object]] = {}
_SETTABLE = {"number", "repeat", "min_repeat_ms", "cache_flush_bytes", "f_preproc"}


def _operation(function: F) -> F:
    """Let clients ask for a method by its name, with arguments of the types that it is annotated with."""
    _OPERATIONS[function.__name__] = function
    return function


class Session:
    """Carries out a client's requests until the client ends the session.

    Parameters
    ----------
    folder : Path
        For the files that are sent.
    """

    def __init__(self, channel: Channel, folder: Path) -> None:
        self._channel = channel
        self._folder = folder.resolve()
        self._objects: dict[int, object] = {}
        self._next = 0
        self._body = bytearray()
        self._answer: Bytes = b""
        self._types = {name: _argument_types(operation) for name, operation in _OPERATIONS.items()}

    def serve(self) -> None:
        """Answer requests.  What is no request ends the session with a sentence."""
        while True:
            try:
                request, self._body = self._channel.receive(Request, self._decoded)
            except ClosedError:
                return
            except ArgumentError as unknown:
                self._channel.send(Failed(str(unknown)))
                continue
            except DamagedError as damaged:
                self._channel.part(Failed(f"{damaged}; the session is closed"))
                return
            for number in request.freed:
                self._objects.pop(number, None)
            self._answer = b""
            try:
                answer: Done | Failed = Done(packed(self._carry_out(request), self._extension))
                self._channel.send(answer, self._answer)
            except ClosedError:
                return
            except Exception as failed:  # a registered function may raise anything: the client is told
                self._channel.send(Failed(_reason(failed)))

    def _carry_out(self, request: Request) -> object:
        operation = _OPERATIONS.get(request.operation)
        if operation is None:
            raise ArgumentError(f"there is no operation {show(request.operation)}")
        arguments = msgspec.convert(request.arguments, self._types[request.operation])
        return operation(self, *arguments)

    # values

    def _extension(self, value: object) -> msgspec.msgpack.Ext | None:
        if isinstance(value, BenchmarkResult):
            return extended(Code.TIMES, [float(seconds) for seconds in value.results])
        if isinstance(value, Device):
            return extended(Code.DEVICE, Place(value.device_type, value.device_id))
        about: list[object] = []
        if isinstance(value, NDArray):
            kind, about = "array", [value.shape, value.dtype, value.device.device_type, value.device.device_id]
        elif isinstance(value, ModelExecutor):
            kind, about = "executor", [isinstance(value, GraphExecutor), value.input_names]
        elif isinstance(value, (Module, ExecutorFactoryModule, AotLibrary)):
            kind, about = "module", [value.type_key if isinstance(value, Module) else "GraphExecutorFactory"]
        elif callable(value):
            kind = "function"
        else:
            return None
        self._next += 1
        self._objects[self._next] = value
        return extended(Code.REFERENCE, Reference(self._next, kind, about))

    def _decoded(self, code: int, data: memoryview) -> object:
        if code == Code.DEVICE:
            place = msgspec.msgpack.decode(data, type=Place)
            return Device(place.kind, place.number)
        if code == Code.REFERENCE:
            number = msgspec.msgpack.decode(data, type=Reference).number
            if number in self._objects:
                return self._objects[number]
        raise ArgumentError(f"there is nothing on this server that a value of kind {code} refers to")

    def _path(self, name: str) -> Path:
        path = (self._folder / name.replace("\0", "/..")).resolve()
        if not path.is_relative_to(self._folder):
            raise ArgumentError(f"{show(name)} is not within the folder of the session")
        return path

    def _existing(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise ArgumentError(f"there is no file {show(name)}")
        return path

    # files

    @_operation
    def upload(self, name: str, start: Count) -> None:
        """Write a part of a file; the part at 0 begins a new file."""
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not start:
            path.unlink(missing_ok=True)  # a library that is loaded keeps its file
        with path.open("ab") as file:
            if file.tell() != start:
                raise ArgumentError(f"{show(name)} has {file.tell()} bytes, so no part of it begins at {start}")
            file.write(self._body)

    @_operation
    def download(self, name: str, start: Count) -> int:
        """Return a part of a file and the size of all of it."""
        path = self._existing(name)
        with path.open("rb") as file:
            file.seek(start)
            self._answer = file.read(PIECE)
        return path.stat().st_size

    @_operation
    def remove(self, name: str) -> None:
        """Remove a file."""
        self._existing(name).unlink()

    @_operation
    def listdir(self, name: str) -> list[str]:
        """Return the names of what is in a folder."""
        path = self._path(name)
        if not path.is_dir():
            raise ArgumentError(f"there is no folder {show(name)}")
        return sorted(entry.name for entry in path.iterdir())

    # functions

    @_operation
    def load_module(self, name: str) -> object:
        """Load what a file contains that was sent."""
        try:
            return load_module(self._existing(name))
        except OtherMachineError as other:
            if other.missing:
                raise ArgumentError(
                    f"this module needs {', '.join(other.missing)}, which this server's CPU does not have"
                ) from None
            raise ArgumentError(f"this module is for {other.family}; this server runs {other.here}") from None

    @_operation
    def system_lib(self) -> object:
        """Return the functions of the libraries that are linked into the server."""
        return system_lib()

    @_operation
    def import_module(self, owner: Module, imported: Module) -> None:
        """Let a module find the functions of another one."""
        owner.import_module(imported)

    @_operation
    def get_source(self, owner: Module, fmt: str) -> str:
        """Return a module's source."""
        return owner.get_source(fmt)

    @_operation
    def get_function(self, name: str) -> object:
        """Return a registered function."""
        return get_global_func(name)

    @_operation
    def member(self, owner: Any, name: str) -> object:
        """Return a function of a module or an executor."""
        if not isinstance(owner, _OWNERS):
            raise ArgumentError(f"a {type(owner).__name__} has no functions")
        found: Any = owner.get_function if isinstance(owner, ModelExecutor) else owner.__getitem__
        return found(name)

    @_operation
    def implements(self, owner: Module, name: str) -> bool:
        """Return whether a module has a function."""
        return owner.implements_function(name, True)

    @_operation
    def call(self, function: Any, arguments: list[Any]) -> object:
        """Call a function, or a module's entry function."""
        if not callable(function):
            raise ArgumentError(f"a {type(function).__name__} is not a function")
        return function(*arguments)

    @_operation
    def time_evaluator(self, owner: Any, name: str, device: Device, options: dict[str, Any]) -> object:
        """Return what measures a function on this machine."""
        if not isinstance(owner, (Module, ModelExecutor)):
            raise ArgumentError(f"the functions of a {type(owner).__name__} cannot be measured")
        known = {key: value for key, value in options.items() if key in _SETTABLE}
        return owner.time_evaluator(name, device, **known)

    @_operation
    def graph_executor(self, graph: str, kernels: Module, device: Device) -> object:
        """Return what runs a graph."""
        return GraphExecutor(graph, kernels, device)

    # arrays

    @_operation
    def fact(self, device: Device, name: str) -> object:
        """Return what a device says of itself."""
        if name not in Facts:
            raise ArgumentError(f"a device does not say {show(name)}")
        return getattr(device, name)

    @_operation
    def empty(self, shape: list[Count], dtype: str, device: Device) -> object:
        """Return a new array."""
        return empty(shape, dtype, device)

    @_operation
    def read(self, array: NDArray, start: Count) -> None:
        """Return the bytes of an array from one of them on."""
        self._answer = _bytes_of(array)[start : start + PIECE]

    @_operation
    def write(self, array: NDArray, start: Count) -> None:
        """Write bytes into an array from one of them on."""
        memory = _bytes_of(array)
        if start + len(self._body) > len(memory):
            raise ArgumentError(f"an array of {len(memory)} bytes does not have {start + len(self._body)}")
        memory[start : start + len(self._body)] = self._body

    @_operation
    def copy(self, source: NDArray, target: NDArray) -> None:
        """Copy the elements of an array into another one."""
        target.copyfrom(source)

    @_operation
    def reshaped(self, array: NDArray, shape: list[Count]) -> object:
        """Return an array of another shape that shares the memory of one."""
        return array._create_view(shape)


def _argument_types(operation: Callable[..., object]) -> Any:
    hints = get_type_hints(operation, include_extras=True)
    hints.pop("return")
    return tuple[tuple(hints.values())]  # type: ignore[misc]


def _bytes_of(array: NDArray) -> memoryview:
    return memoryview(array.view().reshape(-1).view("uint8").data)


def _reason(error: Exception) -> str:
    text = str(error)[:4000]
    return text if isinstance(error, (TVMError, msgspec.ValidationError)) else f"{type(error).__name__}: {text}"
