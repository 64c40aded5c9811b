"""The server's side of a session: what a client may ask for, in a process and a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import msgspec

from compiler.ir.error import ArgumentError, TVMError, show
from compiler.runtime.arrays.ndarray import NDArray, empty
from compiler.runtime.device import FACTS, Device
from compiler.runtime.graph.aot_executor import AotLibrary
from compiler.runtime.graph.executor_factory import ExecutorFactoryModule
from compiler.runtime.graph.graph_executor import GraphExecutor
from compiler.runtime.graph.model_module import ModelExecutor
from compiler.runtime.modules.library import OtherMachineError, load_module, system_lib
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.packed_func import get_global_func
from compiler.runtime.rpc.frames import PIECE, Bytes, Channel, ClosedError, DamagedError
from compiler.runtime.rpc.messages import Code, Done, Failed, Reference, Request, extended, packed
from compiler.runtime.timing.measurement import BenchmarkResult

F = TypeVar("F", bound=Callable[..., object])
Count = Annotated[int, msgspec.Meta(ge=0)]

_OPERATIONS: dict[str, tuple[Callable[..., object], Any]] = {}
"""By name: a method of :class:`Session`, and the types of its arguments."""
_METHODS: dict[type, frozenset[str]] = {
    Device: FACTS,
    NDArray: frozenset(("copyfrom", "_create_view")),
    Module: frozenset(("__getitem__", "implements_function", "import_module", "time_evaluator")),
    ModelExecutor: frozenset(("get_function", "time_evaluator")),
    ExecutorFactoryModule: frozenset(("__getitem__",)),
    AotLibrary: frozenset(("__getitem__",)),
}
"""What clients may ask of the server's things: properties and methods."""


def _operation(function: F) -> F:
    """Let clients ask for a method by its name, with arguments of the types that it is annotated with."""
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return")
    _OPERATIONS[function.__name__] = function, tuple[tuple(hints.values())]  # type: ignore[misc]
    return function


class Session:
    """Carries out a client's requests until the client ends the session; ``folder`` is for files that are sent."""

    def __init__(self, channel: Channel, folder: Path) -> None:
        self._channel = channel
        self._folder = folder.resolve()
        self._objects: dict[int, object] = {}
        self._next = 0
        self._body = bytearray()
        self._answer: Bytes = b""

    def serve(self) -> None:
        """Answer requests.  What is no request ends the session with a sentence."""
        try:
            while True:
                self._serve_one()
        except ClosedError:
            return
        except DamagedError as damaged:
            self._channel.part(Failed(f"{damaged}; the session is closed"))

    def _serve_one(self) -> None:
        try:
            request, self._body = self._channel.receive(Request, self._decoded)
            for number in request.freed:
                self._objects.pop(number, None)
            self._answer = b""
            answer = Done(packed(self._carry_out(request), self._extension))
            self._channel.send(answer, self._answer)
        except (ClosedError, DamagedError):
            raise
        except Exception as failed:  # a registered function may raise anything: the client is told
            text = str(failed)[:4000]
            is_said = isinstance(failed, (TVMError, msgspec.ValidationError))
            self._channel.send(Failed(text if is_said else f"{type(failed).__name__}: {text}"))

    def _carry_out(self, request: Request) -> object:
        if request.operation not in _OPERATIONS:
            raise ArgumentError(f"there is no operation {show(request.operation)}")
        operation, types = _OPERATIONS[request.operation]
        return operation(self, *msgspec.convert(request.arguments, types))

    def _extension(self, value: object) -> msgspec.msgpack.Ext | None:
        if isinstance(value, BenchmarkResult):
            return extended(Code.TIMES, [float(seconds) for seconds in value.results])
        if isinstance(value, Device):
            return extended(Code.DEVICE, (value.device_type, value.device_id))
        about: list[object] = []
        if isinstance(value, NDArray):
            kind, about = "array", [value.shape, value.dtype, value.device.device_type, value.device.device_id]
        elif isinstance(value, ModelExecutor):
            kind, about = "executor", [value.is_graph, value.input_names]
        elif isinstance(value, (Module, ExecutorFactoryModule, AotLibrary)):
            kind = "module"
        elif callable(value):
            kind = "function"
        else:
            return None
        self._next += 1
        self._objects[self._next] = value
        return extended(Code.REFERENCE, Reference(self._next, kind, about))

    def _decoded(self, code: int, data: memoryview) -> object:
        if code == Code.DEVICE:
            return Device(*msgspec.msgpack.decode(data, type=tuple[int, int]))
        if code == Code.REFERENCE:
            number = msgspec.msgpack.decode(data, type=Reference).number
            if number in self._objects:
                return self._objects[number]
        raise ArgumentError(f"there is nothing on this server that a value of kind {code} refers to")

    # files

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
        with self._existing(name).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(start)
            self._answer = file.read(PIECE)
        return size

    @_operation
    def remove(self, name: str) -> None:
        """Remove a file."""
        self._existing(name).unlink()

    @_operation
    def listdir(self, name: str) -> list[str]:
        """Return the names of what is in a folder."""
        return sorted(entry.name for entry in self._path(name).iterdir())

    # functions

    @_operation
    def load_module(self, name: str) -> object:
        """Load what a file contains that was sent."""
        try:
            return load_module(self._existing(name))
        except OtherMachineError as other:
            here = f"is for {other.family}; this server runs {other.here}"
            lacking = f"needs {', '.join(other.missing)}, which this server's CPU does not have"
            raise ArgumentError(f"this module {lacking if other.missing else here}") from None

    @_operation
    def system_lib(self) -> object:
        """Return the functions of the libraries that are linked into the server."""
        return system_lib()

    @_operation
    def get_function(self, name: str) -> object:
        """Return a registered function."""
        return get_global_func(name)

    @_operation
    def call(self, function: Any, arguments: list[Any]) -> object:
        """Call a function, or a module's entry function."""
        return function(*arguments)

    @_operation
    def method(self, owner: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> object:
        """Return a property of something on the server, or call a method of it."""
        if not any(isinstance(owner, kind) and name in names for kind, names in _METHODS.items()):
            raise ArgumentError(f"a {type(owner).__name__} has no {show(name)}")
        found = getattr(owner, name)
        return found(*arguments, **options) if callable(found) else found

    @_operation
    def graph_executor(self, kernels: Module, device: Device) -> object:
        """Return what runs the graph that is sent along."""
        return GraphExecutor(self._body.decode(), kernels, device)

    # arrays

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


def _bytes_of(array: NDArray) -> memoryview:
    return memoryview(array.view().reshape(-1).view("uint8").data)
