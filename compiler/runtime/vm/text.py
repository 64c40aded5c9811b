"""Virtual machine programs as text, in the words that TVM has for what an instruction does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from compiler.runtime.vm import instructions as vm

if TYPE_CHECKING:
    from compiler.runtime.arrays.ndarray import NDArray
    from compiler.runtime.vm.executable import Executable


class _Kernel(Protocol):
    @property
    def result_text(self) -> str:
        """The shapes and data types of the tensors that the kernel allocates; empty where only values tell them."""


def bytecode_text(program: Executable) -> str:
    """Return the instructions of a program, function by function."""
    return "\n".join(_function_text(index, function, program) for index, function in enumerate(program.functions))


def _function_text(index: int, function: vm.VMFunction, program: Executable) -> str:
    lines = [
        f"VM Function[{index}]: {function.name}({', '.join(function.params)})",
        f"# reg file size = {function.registers}",
        f"# instruction count = {len(function.instructions)}",
        *(f"{at:2}: {_text(instruction, program)}" for at, instruction in enumerate(function.instructions)),
    ]
    return "\n".join(lines) + "\n"


def _text(instruction: vm.Instruction, program: Executable) -> str:
    target = f"${instruction.target}"
    match instruction:
        case vm.LoadConstant():
            return f"load_const {target} Const[{instruction.constant}]"
        case vm.Move():
            return f"move {target} ${instruction.source}"
        case vm.ReshapeTensor():
            return f"reshape_tensor {target} ${instruction.source} {list(instruction.shape)}"
        case vm.CallKernel():
            return _kernel_text(instruction, program)
        case vm.CallFunction():
            called = f"VMFunc[{instruction.function}]({_registers(instruction.args)})"
            return f"invoke {target} {called}{_tail(instruction.last)}"
        case vm.CallClosure():
            called = f"${instruction.closure}({_registers(instruction.args)})"
            return f"invoke_closure {target} {called}{_tail(instruction.last)}"
        case vm.MakeClosure():
            return f"alloc_closure {target} VMFunc[{instruction.function}]({_registers(instruction.captured)})"
        case vm.MakeADT():
            return f"alloc_data {target} tag({instruction.tag}) [{_registers(instruction.fields)}]"
        case vm.GetField():
            return f"get_field {target} ${instruction.source}[{instruction.index}]"
        case _:
            return _control_text(instruction, target)


def _control_text(instruction: vm.Instruction, target: str) -> str:
    match instruction:
        case vm.MakeRef():
            return f"ref_create {target} ${instruction.source}"
        case vm.ReadRef():
            return f"ref_read {target} ${instruction.source}"
        case vm.WriteRef():
            return f"ref_write {target} ${instruction.ref} ${instruction.source}"
        case vm.Jump():
            return f"goto {instruction.to}"
        case vm.JumpUnless():
            return f"if not ${instruction.condition} goto {instruction.to}"
        case vm.JumpUnlessTag():
            return f"if get_tag ${instruction.source} != {instruction.tag} goto {instruction.to}"
        case vm.Return():
            return f"ret {target}"
        case vm.Fail():
            return f"fatal {instruction.message}"
        case _:
            raise NotImplementedError(type(instruction).__name__)


def _kernel_text(call: vm.CallKernel, program: Executable) -> str:
    """Return the text of a call of a kernel, which allocates its result where the shape is known before."""
    kernel = program.kernels[call.kernel]
    inputs = _registers(call.args)
    if str(kernel) == vm.RESHAPE_TENSOR:
        return f"{vm.RESHAPE_TENSOR} ${call.target} {inputs.replace(',', '')}"
    invoked = f"invoke_packed PackedFunc[{call.kernel}] (in: {inputs}, out: ${call.target})"
    result = cast(_Kernel, kernel).result_text
    return f"alloc_tensor ${call.target} {result}; {invoked}" if result else invoked


def _registers(registers: Sequence[int]) -> str:
    return ", ".join(f"${register}" for register in registers)


def _tail(last: bool) -> str:
    return " # tail call" if last else ""


def statistics_text(program: Executable) -> str:
    """Return which constants, global functions and kernels a program has."""
    shapes = [_shape_text(constant) for constant in program.constants]
    entries = [f'("{name}", {at})' for at, name in _globals(program)]
    return (
        "Relay VM executable statistics:\n"
        f"  Constant shapes (# {len(shapes)}): [{', '.join(shapes)}]\n"
        f"  Globals (#{len(entries)}): [{', '.join(entries)}]\n"
        f"  Primitive ops (#{len(program.kernels)}): [{', '.join(map(str, program.kernels))}]\n"
    )


def _globals(program: Executable) -> list[tuple[int, str]]:
    return [(at, function.name) for at, function in enumerate(program.functions) if function.is_global]


def _shape_text(constant: NDArray | None) -> str:
    if constant is None:
        return "late bound"
    return "scalar" if not constant.shape else f"[{', '.join(map(str, constant.shape))}]"
