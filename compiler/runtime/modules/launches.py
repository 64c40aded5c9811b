"""The device operations of a host function - allocations and launches, in order - and their JSON form.

The text says for each function of the host the memory that it uses on the device and what it launches::

    {"format": "strata-launches", "version": 1, "functions": {
        "main": {
            "memory": [{"name": "A", "dtype": "float32", "elements": 64, "parameter": 0}, …],
            "launches": [{"kernel": "main_kernel", "memory": [1, 0], "numbers": [["int32", 7]],
                          "blocks": [2, 1, 1], "threads": [32, 1, 1], "shared_bytes": 0, "dynamic_bytes": 0}, …]},
        "other": {"why": "launch_plan: n is only known when the function is called"}}}

``parameter`` is the position among the function's parameters, and null for memory that the function allocates;
``memory`` of a launch are positions in the function's memory, in the order of the kernel's pointers; ``numbers`` are
its further parameters.  ``blocks`` and ``threads`` are extents along x, y and z, and ``dynamic_bytes`` the part of
``shared_bytes`` whose size the launch says.  A function that launches nothing is not listed; of one that cannot be
written so, ``why`` is what a call says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError
from compiler.runtime.modules.signature import Parameter, Signature

MAX_LAUNCHES = 10_000
"""Of one call of a function: a host that launches kernels in a loop may launch many."""
_FORMAT, _VERSION = "strata-launches", 1
MAX_BLOCKS = ((1 << 31) - 1, 65535, 65535)
MAX_THREADS = (1024, 1024, 64)
MAX_BLOCK_THREADS = 1024
MAX_DEVICE_BYTES = 1 << 48
"""The address space of a device."""


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Memory of the device, for the function's parameter at a position, or allocated by the function (None)."""

    name: str
    dtype: str
    elements: int
    parameter: int | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of a kernel.

    Attributes
    ----------
    memory : tuple of int
        Positions in :attr:`Launches.memory` of what the kernel's pointers lead to, in the order of its parameters.
    numbers : tuple of (str, int or float)
        Its other parameters in their order: data type and value.
    blocks, threads : tuple of int
        Blocks of the grid and threads of a block along x, y and z.
    dynamic_bytes : int
        The size of scope ``shared.dyn``, which the launch says.
    """

    kernel: str
    memory: tuple[int, ...]
    numbers: tuple[tuple[str, int | float], ...]
    blocks: tuple[int, int, int]
    threads: tuple[int, int, int]
    shared_bytes: int
    dynamic_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Launches:
    """What a function of the host launches, each launch after the one before has ended.

    ``memory`` begins with that of the parameters, in their order.
    """

    memory: list[DeviceMemory]
    launches: list[Launch]


@dataclass(frozen=True, slots=True)
class NoLaunches:
    """Of a function whose launches are not known before it is called."""

    why: str


@dataclass(frozen=True, slots=True)
class OpenLaunches(NoLaunches):
    """Of a function whose launches follow from a call's sizes and numbers.

    ``of`` returns them for the arguments: the shape of each array, and each number as it is.
    """

    of: Callable[[tuple[tuple[int, ...] | float, ...]], Launches]


FunctionLaunches = Mapping[str, Launches | NoLaunches]
"""Launches by the function of the host; one that launches nothing has no entry."""


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A function as it is written: launches, or why there are none."""

    memory: list[DeviceMemory] | None = None
    launches: list[Launch] | None = None
    why: str | None = None


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    version: int
    functions: dict[str, _Entry]


def encode_launches(functions: FunctionLaunches) -> str:
    """Return launches as JSON text."""
    entries = {
        name: _Entry(why=plan.why) if isinstance(plan, NoLaunches) else _Entry(plan.memory, plan.launches)
        for name, plan in functions.items()
    }
    return msgspec.json.encode(_Stored(_FORMAT, _VERSION, entries)).decode()


def decode_launches(text: str, kernels: Mapping[str, Sequence[str]], path: str) -> dict[str, Launches | NoLaunches]:
    """Return the launches that a text says, each of them one that a device may be asked for.

    ``kernels`` has the data types of the parameters of each kernel, ``handle`` for pointers.
    """
    try:
        stored = msgspec.json.decode(text, type=_Stored)
    except msgspec.MsgspecError as error:
        raise ArgumentError(f"load_module: {path!r} is damaged: launches: {error}") from None
    if (stored.format, stored.version) != (_FORMAT, _VERSION):
        _damaged(path, f"their format must be {_FORMAT} {_VERSION}, got {stored.format!r} {stored.version}")
    functions: dict[str, Launches | NoLaunches] = {}
    for name, entry in stored.functions.items():
        if entry.why is not None and entry.memory is None and entry.launches is None:
            functions[name] = NoLaunches(entry.why)
        elif entry.why is None and entry.memory is not None and entry.launches is not None:
            plan = functions[name] = Launches(entry.memory, entry.launches)
            _check(plan, kernels, f"{name}: ", path)
        else:
            _damaged(path, f"{name} must have memory and launches, or say why not")
    return functions


def require_fitting(functions: FunctionLaunches, signatures: Mapping[str, Signature], path: str) -> None:
    """Reject launches that do not go with the functions of the host whose they are."""
    for name, plan in functions.items():
        signature = signatures.get(name)
        if signature is None:
            _damaged(path, f"the host has no function {name!r}")
        if isinstance(plan, NoLaunches):
            continue
        given = [(m.dtype, m.elements) for m in plan.memory if m.parameter is not None]
        own = [(dt.element(p.dtype), _elements(p)) for p in signature.parameters]
        if given != own:
            _damaged(path, f"{name} takes {_told(own)}, got {_told(given)}")


def _elements(parameter: Parameter) -> int | None:
    """Return how many elements an array has; None if that is not constant, and for numbers."""
    if parameter.shape is None:
        return None
    sizes = [size for size in parameter.shape if isinstance(size, int)]
    return math.prod(sizes) * dt.lanes(parameter.dtype) if len(sizes) == len(parameter.shape) else None


def _told(arrays: Sequence[tuple[str, int | None]]) -> str:
    return ", ".join(f"{'?' if elements is None else elements} of {dtype}" for dtype, elements in arrays) or "nothing"


def _check(plan: Launches, kernels: Mapping[str, Sequence[str]], function: str, path: str) -> None:
    """Reject a plan whose launches no device runs."""
    parameters = [memory.parameter for memory in plan.memory if memory.parameter is not None]
    if parameters != list(range(len(parameters))) or any(m.parameter is None for m in plan.memory[: len(parameters)]):
        _damaged(path, f"{function}the parameters' memory must come first, in their order, got {parameters}")
    for memory in plan.memory:
        if not 0 <= memory.elements * (_bytes(memory.dtype) or MAX_DEVICE_BYTES + 1) <= MAX_DEVICE_BYTES:
            _damaged(path, f"{function}{memory.elements} elements of {memory.dtype!r} are not memory of a device")
    if not 0 < len(plan.launches) <= MAX_LAUNCHES:
        _damaged(path, f"{function}expected 1 to {MAX_LAUNCHES:,} launches, got {len(plan.launches)}")
    for launch in plan.launches:
        _check_launch(launch, plan.memory, kernels, function, path)


def _check_launch(
    launch: Launch, memory: Sequence[DeviceMemory], kernels: Mapping[str, Sequence[str]], function: str, path: str
) -> None:
    if launch.kernel not in kernels:
        _damaged(path, f"{function}there is no kernel {launch.kernel!r}")
    if not all(0 <= position < len(memory) for position in launch.memory):
        _damaged(path, f"{function}{launch.kernel} is given memory {list(launch.memory)} of {len(memory)}")
    given = ["handle"] * len(launch.memory) + [dtype for dtype, _ in launch.numbers]
    if given != list(kernels[launch.kernel]):
        _damaged(path, f"{function}{launch.kernel} takes {list(kernels[launch.kernel])}, got {given}")
    for dtype, value in launch.numbers:
        if not _holds(dtype, value):
            _damaged(path, f"{function}{launch.kernel} is given a number: {value} is not of type {dtype}")
    for extents, most in ((launch.blocks, MAX_BLOCKS), (launch.threads, MAX_THREADS)):
        if not all(0 < extent <= limit for extent, limit in zip(extents, most, strict=True)):
            _damaged(path, f"{function}{launch.kernel} is launched with {list(extents)}, at most {list(most)}")
    if math.prod(launch.threads) > MAX_BLOCK_THREADS:
        _damaged(
            path, f"{function}{launch.kernel} has {math.prod(launch.threads)} threads, at most {MAX_BLOCK_THREADS}"
        )
    if not 0 <= launch.dynamic_bytes <= launch.shared_bytes < 1 << 31:
        _damaged(path, f"{function}{launch.kernel} has {launch.dynamic_bytes} of {launch.shared_bytes} shared bytes")


def _holds(dtype: str, value: float) -> bool:
    """Return whether a number is one of a type's."""
    if not dt.is_integral(dtype):
        return True
    least, most = dt.int_range(dtype)
    return isinstance(value, int) and least <= value <= most


def _bytes(dtype: str) -> int | None:
    """Return the bytes of an element, or None if there is no such type."""
    try:
        return dt.storage_bytes(dtype)
    except DTypeError:
        return None


def _damaged(path: str, why: str) -> NoReturn:
    raise ArgumentError(f"load_module: {path!r} is damaged: launches: {why}")
