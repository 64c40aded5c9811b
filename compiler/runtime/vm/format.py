"""The serialised form of virtual machine programs: instructions, constants, and operators as JSON."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec

from compiler.ir.error import ArgumentError
from compiler.runtime.arrays.huge_pages import copied_together
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.arrays.params import load_param_dict, save_param_dict
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.packed_func import get_global_func
from compiler.runtime.vm.instructions import Instruction, VMFunction

if TYPE_CHECKING:
    from compiler.runtime.vm.executable import Executable

_INSTRUCTIONS = {kind.__name__: kind for kind in Instruction.__subclasses__()}


class _Saveable(Protocol):
    def saved(self) -> tuple[str, list[NDArray], str]:
        """Return the kernel's name in the machine code, its constants, and its operators as JSON."""


class _Function(msgspec.Struct):
    name: str
    params: list[str]
    registers: int
    is_global: bool
    instructions: list[tuple[str, list[object]]]


class _Kernel(msgspec.Struct):
    name: str
    constants: list[int]
    function: str


class _Program(msgspec.Struct):
    functions: list[_Function]
    entries: dict[str, int]
    dtypes: dict[str, list[str | None]]
    constants: bytes
    kernels: list[_Kernel]
    late_bound: dict[str, int] = {}


def saved_program(program: Executable) -> bytearray:
    """Return a program without its machine code as bytes."""
    constants = list(program.constants)
    kernels = []
    for kernel in program.kernels:
        name, own, function = cast(_Saveable, kernel).saved()
        kernels.append(_Kernel(name, list(range(len(constants), len(constants) + len(own))), function))
        constants += own
    functions = [
        _Function(f.name, list(f.params), f.registers, f.is_global, [_row(i) for i in f.instructions])
        for f in program.functions
    ]
    numbered = save_param_dict({str(index): value for index, value in enumerate(constants) if value is not None})
    whole = _Program(functions, program.entries, program.dtypes, bytes(numbered), kernels, program.late_bound)
    return bytearray(msgspec.msgpack.encode(whole))


def _row(instruction: Instruction) -> tuple[str, list[object]]:
    return type(instruction).__name__, [getattr(instruction, field.name) for field in fields(instruction)]


def loaded_program(program: Executable, data: bytes, lib: Module | None) -> Executable:
    """Fill a program with what was saved."""
    try:
        saved = msgspec.msgpack.decode(data, type=_Program)
    except (msgspec.MsgspecError, ValueError) as exc:
        raise ArgumentError(f"Executable.load_exec: the bytes are not a program: {exc}") from None
    loaded = load_param_dict(saved.constants)
    (placed,) = copied_together(list(loaded.values()))
    numbered = dict(zip(loaded, placed, strict=True))
    constants = [numbered.get(str(index)) for index in range(len(numbered) + len(saved.late_bound))]
    program.late_bound = saved.late_bound
    program.functions = [_function(f) for f in saved.functions]
    program.entries, program.dtypes, program.constants, program.lib = saved.entries, saved.dtypes, constants, lib
    load: Any = get_global_func("relay.vm.load_kernel")
    program.kernels = [load(lib, k.name, [numbered[str(c)] for c in k.constants], k.function) for k in saved.kernels]
    return program


def _function(saved: _Function) -> VMFunction:
    instructions = [_instruction(name, values) for name, values in saved.instructions]
    return VMFunction(saved.name, tuple(saved.params), saved.registers, instructions, saved.is_global)


def _instruction(name: str, values: list[object]) -> Instruction:
    kind: Any = _INSTRUCTIONS.get(name)
    if kind is None:
        raise ArgumentError(f"Executable.load_exec: there is no instruction {name!r}")
    made: Instruction = kind(*[tuple(value) if isinstance(value, list) else value for value in values])
    return made
