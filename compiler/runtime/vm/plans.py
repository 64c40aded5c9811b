"""Runs of instructions that only call machine code, prepared for the shapes that come again.

A *stretch* is a run of instructions of a function without jumps and calls.  What its kernels do depends only on the
shapes of what it reads, so the third time that these come, its calls are noted as they happen: afterwards the machine
calls the code with addresses, without looking at instructions, arrays and shapes.  A kernel whose result's shape only
values tell ends a stretch, and another one begins behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from compiler.ir.memory import ALIGNMENT
from compiler.runtime.arrays.ndarray import ArrayType, NDArray
from compiler.runtime.modules.call_sequence import CallSequence
from compiler.runtime.modules.function import Function
from compiler.runtime.vm import instructions as vm
from compiler.runtime.vm.values import ADT, Value

if TYPE_CHECKING:
    from compiler.runtime.vm import VirtualMachine

_VISITS = 3
"""How often shapes come before calls are noted: by then what can be compiled for them is."""
_MAX_PLANS, _MAX_SEEN = 32, 256
"""How many shapes of a stretch are prepared, and how many are counted."""
_MAX_KEPT = 1 << 18
"""The largest size in bytes of a result that has its memory between runs; larger ones get new memory."""

_PREPARED = (vm.LoadConstant, vm.Move, vm.ReshapeTensor, vm.CallKernel, vm.MakeADT, vm.GetField)

_Shapes: TypeAlias = tuple[object, ...]
"""Shapes and data types of arrays, and what tuples they are in."""


@dataclass(frozen=True, slots=True)
class MachineCode:
    """What a kernel calls for arguments of certain shapes: the function, and the arrays behind the arguments."""

    function: Function
    constants: Sequence[NDArray]


class _Kernel(Protocol):
    def __call__(self, args: Sequence[Value]) -> Value:
        """Return the result."""

    def machine_code(self, args: Sequence[Value]) -> MachineCode | None:
        """Return what is called for arguments; None if there is no machine code for them."""


@dataclass(frozen=True, slots=True)
class _Place:
    """An array: where its address stands among those of a plan, and the shape if that is another than it had there."""

    number: int
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Parts:
    """A tuple, or a value of a data type."""

    tag: int
    name: str
    fields: tuple[_Form, ...]


_Form: TypeAlias = _Place | _Parts
"""What a register holds."""


def stretches(function: vm.VMFunction) -> list[Stretch | None]:
    """Return, for each instruction of a function, the stretch that begins there."""
    instructions = function.instructions
    found: list[Stretch | None] = [None] * len(instructions)
    escaping = _escaping(function)
    targets = {i.to for i in instructions if isinstance(i, (vm.Jump, vm.JumpUnless, vm.JumpUnlessTag))}
    begin = 0
    for at in range(len(instructions) + 1):
        is_end = at == len(instructions) or not isinstance(instructions[at], _PREPARED)
        if is_end or at in targets:
            _enter(found, function, begin, at, escaping)
            begin = at + 1 if is_end else at
    return found


def _enter(
    found: list[Stretch | None], function: vm.VMFunction, begin: int, end: int, escaping: frozenset[int]
) -> None:
    if any(isinstance(i, vm.CallKernel) for i in function.instructions[begin:end]):
        found[begin] = Stretch(found, function, begin, end, escaping)


def _escaping(function: vm.VMFunction) -> frozenset[int]:
    """Return the registers whose values others may have when the function runs again.

    All, if it calls others, and so perhaps itself.
    """
    instructions = function.instructions
    if any(isinstance(i, (vm.CallFunction, vm.CallClosure)) for i in instructions):
        return frozenset(range(function.registers))
    found: set[int] = set()
    for instruction in reversed(instructions):  # registers are written before they are read
        passes_on = isinstance(instruction, (vm.Move, vm.ReshapeTensor, vm.MakeADT, vm.GetField))
        is_kernel = isinstance(instruction, (vm.CallKernel, vm.JumpUnless, vm.JumpUnlessTag))
        if not is_kernel and (not passes_on or instruction.target in found):
            found.update(instruction.registers_read())
    return frozenset(found)


class Stretch:
    """Instructions from ``begin`` up to, and without, ``end``; ``found`` has all stretches of the function."""

    def __init__(
        self, found: list[Stretch | None], function: vm.VMFunction, begin: int, end: int, escaping: frozenset[int]
    ) -> None:
        self._found, self._function, self._begin, self._end = found, function, begin, end
        self._escaping = escaping
        self._plans: dict[_Shapes, _Plan] = {}
        self._visits: dict[_Shapes, int] = {}
        written: set[int] = set()
        given: dict[int, None] = {}
        for instruction in function.instructions[begin:end]:
            given.update(dict.fromkeys(r for r in instruction.registers_read() if r not in written))
            written.add(instruction.target)
        outside = [*function.instructions[:begin], *function.instructions[end:]]
        needed = {register for instruction in outside for register in instruction.registers_read()}
        self._given, self._results = list(given), sorted(written & needed)

    def run(self, machine: VirtualMachine, frame: vm.Frame) -> bool:
        """Run the instructions if that is prepared; False if the machine is to execute the next one."""
        registers = frame.registers
        arrays: list[NDArray] = []
        shapes: list[object] = []
        for register in self._given:
            value = registers[register]
            if type(value) is NDArray:
                arrays.append(value)
                shapes += value.shape, value.dtype
            elif not _describe(value, arrays, shapes):
                return False
        key = tuple(shapes)
        plan = self._plans.get(key)
        if plan is None:
            return self._is_due(key) and self._prepare(machine, frame, key)
        if not plan.run(arrays, registers):
            return False
        frame.at = self._end
        return True

    def _is_due(self, key: _Shapes) -> bool:
        """Count a visit, and return whether shapes have come often enough to be prepared."""
        visits = self._visits.get(key, 0) + 1
        if visits > _VISITS or len(self._plans) >= _MAX_PLANS or (visits == 1 and len(self._visits) >= _MAX_SEEN):
            return False
        self._visits[key] = visits
        return visits == _VISITS

    def _prepare(self, machine: VirtualMachine, frame: vm.Frame, key: _Shapes) -> bool:
        """Execute the instructions, and prepare what they do."""
        notes = _Notes({register: frame.registers[register] for register in self._given})
        for at in range(self._begin, self._end):
            instruction = self._function.instructions[at]
            code = None
            if isinstance(instruction, vm.CallKernel):
                kernel = cast(_Kernel, machine.executable.kernels[instruction.kernel])
                code = kernel.machine_code([frame.registers[a] for a in instruction.args])
                if code is None:
                    self._split(at)
                    return at > self._begin
            frame.at = at + 1
            instruction.execute(machine, frame)
            notes.add(instruction, frame.registers[instruction.target], code)
        self._plans[key] = notes.plan(self._results, self._escaping)
        return True

    def _split(self, at: int) -> None:
        """Let the stretch end before an instruction that the machine must execute, and another begin behind it."""
        self._found[self._begin] = None
        _enter(self._found, self._function, self._begin, at, self._escaping)
        _enter(self._found, self._function, at + 1, self._end, self._escaping)


def _describe(value: object, arrays: list[NDArray], shapes: list[object]) -> bool:
    """Add the arrays of a value, and what tells its type; False if it holds something else."""
    if isinstance(value, NDArray):
        arrays.append(value)
        shapes += value.shape, value.dtype
        return True
    if not isinstance(value, ADT):
        return False
    shapes += value.tag, len(value.fields)
    return all(_describe(part, arrays, shapes) for part in value.fields)


class _Notes:
    """Notes what the instructions of a stretch do, by registers: one array may be in several, now but not later."""

    def __init__(self, given: Mapping[int, Value]) -> None:
        self._memory: list[NDArray] = []
        self._steps: list[tuple[Function, tuple[int, ...]]] = []
        self._forms = {register: self._new(value) for register, value in given.items()}
        self._given = len(self._memory)
        self._results: set[int] = set()

    def _new(self, value: Value) -> _Form:
        """Return the form of a value whose arrays have not been anywhere."""
        if isinstance(value, ADT):
            return _Parts(value.tag, value.name, tuple([self._new(part) for part in value.fields]))
        assert isinstance(value, NDArray), "functions and references are not prepared"
        self._memory.append(value)
        return _Place(len(self._memory) - 1)

    def add(self, instruction: vm.Instruction, result: Value, code: MachineCode | None) -> None:
        """Note an instruction that was executed."""
        self._forms[instruction.target] = self._form(instruction, result, code)

    def _form(self, instruction: vm.Instruction, result: Value, code: MachineCode | None) -> _Form:
        match instruction:
            case vm.Move():
                return self._forms[instruction.source]
            case vm.MakeADT():
                fields = tuple([self._forms[register] for register in instruction.fields])
                return _Parts(instruction.tag, instruction.name, fields)
            case vm.GetField():
                whole = self._forms[instruction.source]
                assert isinstance(whole, _Parts)
                return whole.fields[instruction.index]
            case vm.ReshapeTensor():
                source = self._forms[instruction.source]
                assert isinstance(source, _Place)
                return _Place(source.number, instruction.shape)
            case vm.CallKernel():
                assert code is not None
                return self._call(code, [self._forms[register] for register in instruction.args], result)
            case _:
                return self._new(result)

    def _call(self, code: MachineCode, args: Sequence[_Form], result: Value) -> _Form:
        inputs = [place.number for arg in args for place in _places(arg)]
        constants = [self._new(constant) for constant in code.constants]
        first = len(self._memory)
        made = self._new(result)
        outputs = range(first, len(self._memory))
        self._results.update(outputs)
        numbers = [*inputs, *(place.number for each in constants for place in _places(each)), *outputs]
        self._steps.append((code.function, tuple(numbers)))
        return made

    def plan(self, results: Sequence[int], escaping: frozenset[int]) -> _Plan:
        """Return what the instructions do, and how the values of ``results``, which others read, are made.

        What does not escape has the same memory in every run.
        """
        forms = {register: self._forms[register] for register in results}
        used = {place.number for register in escaping & forms.keys() for place in _places(forms[register])}
        large = {number for number in self._results if self._memory[number].nbytes > _MAX_KEPT}
        fresh = sorted(self._results & (used | large))
        return _Plan(self._memory, self._given, fresh, self._steps, forms)


def _places(form: _Form) -> Iterator[_Place]:
    if isinstance(form, _Place):
        yield form
    else:
        for part in form.fields:
            yield from _places(part)


class _Plan:
    """Calls of machine code with addresses; ``memory`` has the arrays that were given first, and those in ``fresh``,
    which get new memory in every run."""

    def __init__(
        self,
        memory: list[NDArray],
        given: int,
        fresh: list[int],
        steps: Sequence[tuple[Function, tuple[int, ...]]],
        results: Mapping[int, _Form],
    ) -> None:
        new = {*range(given), *fresh}
        self._kept = [array for number, array in enumerate(memory) if number not in new]
        self._calls = CallSequence(steps, [0 if number in new else a.address for number, a in enumerate(memory)])
        self._fresh = [(number, ArrayType(memory[number].shape, memory[number].dtype)) for number in fresh]
        fixed = {number: array for number, array in enumerate(memory) if number not in new}
        where = {number: at for at, number in enumerate([*range(given), *fresh])}
        same = {r: form for r, form in results.items() if all(place.number in fixed for place in _places(form))}
        self._same = {register: _value(form, fixed) for register, form in same.items()}
        self._made = [(r, _maker(form, where, fixed)) for r, form in results.items() if r not in same]

    def run(self, arrays: list[NDArray], registers: list[Value | None]) -> bool:
        """Make the calls, and put results into registers; False if an array does not begin where vectors may."""
        addresses = self._calls.addresses
        for number, array in enumerate(arrays):
            if array.address % ALIGNMENT:
                return False
            addresses[number] = array.address
        for number, kind in self._fresh:
            made = kind.empty()
            arrays.append(made)
            addresses[number] = made.address
        self._calls()
        for register, value in self._same.items():
            registers[register] = value
        for register, make in self._made:
            registers[register] = make(arrays)
        return True


def _maker(form: _Form, where: Mapping[int, int], fixed: Mapping[int, NDArray]) -> Callable[[list[NDArray]], Value]:
    """Return what makes a value of the arrays that a run is given and makes."""
    if all(place.number in fixed for place in _places(form)):
        constant = _value(form, fixed)
        return lambda arrays: constant
    if isinstance(form, _Parts):
        makers = [_maker(part, where, fixed) for part in form.fields]
        tag, name = form.tag, form.name
        return lambda arrays: ADT(tag, [make(arrays) for make in makers], name)
    at, shape = where[form.number], form.shape
    return lambda arrays: _reshaped(arrays[at], shape)


def _value(form: _Form, fixed: Mapping[int, NDArray]) -> Value:
    """Return a value whose arrays are the same in every run."""
    if isinstance(form, _Parts):
        return ADT(form.tag, [_value(part, fixed) for part in form.fields], form.name)
    return _reshaped(fixed[form.number], form.shape)


def _reshaped(array: NDArray, shape: tuple[int, ...] | None) -> NDArray:
    return array if shape is None else NDArray(array.view().reshape(shape), array.dtype, array.device)
