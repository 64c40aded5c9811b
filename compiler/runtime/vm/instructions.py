"""Instructions of the virtual machine, over the registers of a frame.

A frame's ``at`` is already the next instruction when one is executed; jumps change it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from compiler.ir.error import TVMError
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.vm.values import ADT, Closure, Ref, Value

if TYPE_CHECKING:
    from compiler.runtime.vm import VirtualMachine

RESHAPE_TENSOR = "reshape_tensor"
"""The name of a kernel that only changes the shape of a tensor, to one that values tell."""


@dataclass(slots=True)
class VMFunction:
    """A function as instructions; the parameters are in the first registers, an inner function is not ``is_global``."""

    name: str
    params: tuple[str, ...]
    registers: int = 0
    instructions: list[Instruction] = field(default_factory=list)
    is_global: bool = False


class Frame:
    """A call that runs: its function, its registers, and where it is."""

    __slots__ = ("at", "function", "registers", "target")

    def __init__(self, function: VMFunction, args: tuple[Value, ...], target: int) -> None:
        self.function = function
        self.registers: list[Any] = [*args, *([None] * (function.registers - len(args)))]
        self.at = 0
        self.target = target


@dataclass(slots=True)
class Instruction(ABC):
    """Base of instructions: ``target`` is the register of the result, ``reads`` names the fields with other ones."""

    reads: ClassVar[tuple[str, ...]] = ()

    target: int

    def registers_read(self) -> list[int]:
        """Return the registers that the instruction reads."""
        values = [getattr(self, name) for name in self.reads]
        return [register for value in values for register in (value if isinstance(value, tuple) else (value,))]

    @abstractmethod
    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        """Do what the instruction is for."""


@dataclass(slots=True)
class LoadConstant(Instruction):
    """A constant of the executable."""

    constant: int

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        frame.registers[self.target] = machine.executable.constants[self.constant]


@dataclass(slots=True)
class Move(Instruction):
    """Another register's value."""

    reads: ClassVar[tuple[str, ...]] = ("source",)
    source: int

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        frame.registers[self.target] = frame.registers[self.source]


@dataclass(slots=True)
class ReshapeTensor(Instruction):
    """A tensor in another shape, which shares its elements."""

    reads: ClassVar[tuple[str, ...]] = ("source",)
    source: int
    shape: tuple[int, ...]

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        given: NDArray = frame.registers[self.source]
        frame.registers[self.target] = NDArray(given.view().reshape(self.shape), given.dtype, given.device)


@dataclass(slots=True)
class CallKernel(Instruction):
    """The result of a kernel; several are a tuple."""

    reads: ClassVar[tuple[str, ...]] = ("args",)
    kernel: int
    args: tuple[int, ...]

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        registers = frame.registers
        kernel = machine.executable.kernels[self.kernel]
        registers[self.target] = kernel([registers[a] for a in self.args])


@dataclass(slots=True)
class CallFunction(Instruction):
    """The result of a function of the executable; ``last`` if the caller only returns it."""

    reads: ClassVar[tuple[str, ...]] = ("args",)
    function: int
    args: tuple[int, ...]
    last: bool = False

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        registers = frame.registers
        machine.enter(self.function, tuple([registers[a] for a in self.args]), self.target, self.last)


@dataclass(slots=True)
class CallClosure(Instruction):
    """The result of a function that is a value; ``last`` if the caller only returns it."""

    reads: ClassVar[tuple[str, ...]] = ("closure", "args")
    closure: int
    args: tuple[int, ...]
    last: bool = False

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        registers = frame.registers
        closure = registers[self.closure]
        args = closure.captured + tuple([registers[a] for a in self.args])
        machine.enter(closure.function, args, self.target, self.last)


@dataclass(slots=True)
class MakeClosure(Instruction):
    """A function with captured values; it may capture itself."""

    reads: ClassVar[tuple[str, ...]] = ("captured",)
    function: int
    captured: tuple[int, ...]

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        registers = frame.registers
        made = registers[self.target] = Closure(self.function)
        made.captured = tuple([registers[c] for c in self.captured])


@dataclass(slots=True)
class MakeADT(Instruction):
    """A tuple, or a value of a data type."""

    reads: ClassVar[tuple[str, ...]] = ("fields",)
    tag: int
    name: str
    fields: tuple[int, ...]

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        registers = frame.registers
        registers[self.target] = ADT(self.tag, [registers[f] for f in self.fields], self.name)


@dataclass(slots=True)
class GetField(Instruction):
    """A field of a tuple or of a value of a data type."""

    reads: ClassVar[tuple[str, ...]] = ("source",)
    source: int
    index: int

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        frame.registers[self.target] = frame.registers[self.source].fields[self.index]


@dataclass(slots=True)
class MakeRef(Instruction):
    """A new cell."""

    reads: ClassVar[tuple[str, ...]] = ("source",)
    source: int

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        frame.registers[self.target] = Ref(frame.registers[self.source])


@dataclass(slots=True)
class ReadRef(Instruction):
    """The value in a cell."""

    reads: ClassVar[tuple[str, ...]] = ("source",)
    source: int

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        frame.registers[self.target] = frame.registers[self.source].value


@dataclass(slots=True)
class WriteRef(Instruction):
    """Puts a value into a cell; the result is the empty tuple."""

    reads: ClassVar[tuple[str, ...]] = ("ref", "source")
    ref: int
    source: int

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        frame.registers[self.ref].value = frame.registers[self.source]
        frame.registers[self.target] = ADT(0, ())


@dataclass(slots=True)
class Jump(Instruction):
    """Goes on at another instruction."""

    to: int

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        frame.at = self.to


@dataclass(slots=True)
class JumpUnless(Instruction):
    """Goes on at another instruction if a scalar is false."""

    reads: ClassVar[tuple[str, ...]] = ("condition",)
    condition: int
    to: int

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        value: NDArray = frame.registers[self.condition]
        if not value.view():
            frame.at = self.to


@dataclass(slots=True)
class JumpUnlessTag(Instruction):
    """Goes on at another instruction if a value was made by another constructor."""

    reads: ClassVar[tuple[str, ...]] = ("source",)
    source: int
    tag: int
    to: int

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        if frame.registers[self.source].tag != self.tag:
            frame.at = self.to


@dataclass(slots=True)
class Return(Instruction):
    """Ends the function; the target is the register of its result."""

    reads: ClassVar[tuple[str, ...]] = ("target",)

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        machine.leave(frame.registers[self.target])


@dataclass(slots=True)
class Fail(Instruction):
    """Ends the program: no clause of a match fits."""

    message: str

    def execute(self, machine: VirtualMachine, frame: Frame) -> None:
        raise TVMError(f"vm: {frame.function.name}: {self.message}")


def mark_last_calls(function: VMFunction) -> None:
    """Mark the calls whose result the function only returns."""
    for at, instruction in enumerate(function.instructions):
        if isinstance(instruction, (CallFunction, CallClosure)):
            instruction.last = _only_returned(function.instructions, at + 1, instruction.target)


def _only_returned(instructions: list[Instruction], at: int, register: int) -> bool:
    for _ in instructions:
        following = instructions[at]
        match following:
            case Return():
                return following.target == register
            case Move() if following.source == register:
                register, at = following.target, at + 1
            case Jump():
                at = following.to
            case _:
                return False
    return False
