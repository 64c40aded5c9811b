"""Virtual machine programs as text, in the words that TVM has for what an instruction does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
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


_WORDS: dict[type[vm.Instruction], str] = {
    vm.LoadConstant: "load_const ${target} Const[{constant}]",
    vm.Move: "move ${target} ${source}",
    vm.ReshapeTensor: "reshape_tensor ${target} ${source} {shape}",
    vm.CallFunction: "invoke ${target} VMFunc[{function}]({args}){last}",
    vm.CallClosure: "invoke_closure ${target} ${closure}({args}){last}",
    vm.MakeClosure: "alloc_closure ${target} VMFunc[{function}]({captured})",
    vm.MakeADT: "alloc_data ${target} tag({tag}) [{fields}]",
    vm.GetField: "get_field ${target} ${source}[{index}]",
    vm.MakeRef: "ref_create ${target} ${source}",
    vm.ReadRef: "ref_read ${target} ${source}",
    vm.WriteRef: "ref_write ${target} ${ref} ${source}",
    vm.Jump: "goto {to}",
    vm.JumpUnless: "if not ${condition} goto {to}",
    vm.JumpUnlessTag: "if get_tag ${source} != {tag} goto {to}",
    vm.Return: "ret ${target}",
    vm.Fail: "fatal {message}",
}


def _text(instruction: vm.Instruction, program: Executable) -> str:
    if isinstance(instruction, vm.CallKernel):
        return _kernel_text(instruction, program)
    shown = {field.name: getattr(instruction, field.name) for field in fields(instruction)}
    shown |= {name: _registers(shown[name]) for name in ("args", "captured", "fields") if name in shown}
    shown |= {"shape": list(shown.get("shape", ())), "last": " # tail call" if shown.get("last") else ""}
    return _WORDS[type(instruction)].format_map(shown)


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


def statistics_text(program: Executable) -> str:
    """Return which constants, global functions and kernels a program has."""
    shapes = [_shape_text(constant) for constant in program.constants]
    entries = [f'("{f.name}", {at})' for at, f in enumerate(program.functions) if f.is_global]
    return (
        "Relay VM executable statistics:\n"
        f"  Constant shapes (# {len(shapes)}): [{', '.join(shapes)}]\n"
        f"  Globals (#{len(entries)}): [{', '.join(entries)}]\n"
        f"  Primitive ops (#{len(program.kernels)}): [{', '.join(map(str, program.kernels))}]\n"
    )


def _shape_text(constant: NDArray | None) -> str:
    if constant is None:
        return "late bound"
    return "scalar" if not constant.shape else f"[{', '.join(map(str, constant.shape))}]"
