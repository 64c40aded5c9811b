"""Virtual machine programs, as returned by ``relay.vm.compile``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from os import PathLike
from pathlib import Path

from compiler.ir.error import ArgumentError, show
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array
from compiler.runtime.arrays.params import load_param_dict_from_file, save_param_dict_to_file
from compiler.runtime.modules.module import Module
from compiler.runtime.vm.format import loaded_program, saved_program
from compiler.runtime.vm.instructions import VMFunction
from compiler.runtime.vm.text import bytecode_text, statistics_text
from compiler.runtime.vm.values import Value

Kernel = Callable[[Sequence[Value]], Value]


class Executable:
    """A program of the virtual machine: empty, or what a module with a program holds.

    Attributes
    ----------
    entries : dict of str to int
        Functions that can be called from outside, by name.
    constants : list of NDArray or None
        None for those that were taken out.
    dtypes : dict of str to list of str or None
        What arrays given to an entry are converted to.
    late_bound : dict of str to int
        The numbers of constants that were taken out, by name: a machine needs them back.
    """

    def __init__(self, mod: Module | None = None) -> None:
        self.functions: list[VMFunction] = []
        self.entries: dict[str, int] = {}
        self.constants: list[NDArray | None] = []
        self.kernels: list[Kernel] = []
        self.dtypes: dict[str, list[str | None]] = {}
        self.lib: Module | None = None
        self.late_bound: dict[str, int] = {}
        if mod is not None:
            if mod.program is None:
                raise ArgumentError("Executable: the module holds no program; Executable.mod.export_library writes one")
            loaded_program(self, mod.program(), mod)

    @property
    def module(self) -> Module:
        """The program as a module, as :attr:`mod`."""
        return self.mod

    @property
    def mod(self) -> Module:
        """The program as a module: the machine code of its kernels, exported with its instructions and constants."""
        if self.lib is None:
            raise ArgumentError("Executable: the program has no machine code")
        module = copy(self.lib)
        module.program = lambda: bytes(saved_program(self))
        return module

    def save(self) -> tuple[bytearray, Module | None]:
        """Return bytes of instructions and constants, and the machine code, for :meth:`load_exec`."""
        return saved_program(self), self.lib

    @staticmethod
    def load_exec(bytecode: bytes | bytearray, lib: Module | None) -> Executable:
        """Return a program that was saved; ``lib`` is its machine code."""
        return loaded_program(Executable(), bytes(bytecode), lib)

    # constants that are kept apart

    def get_late_bound_consts(self, byte_limit: int) -> dict[str, NDArray]:
        """Take constants of at least ``byte_limit`` bytes out of the program, so that it can be saved without them.

        Raises ArgumentError if constants have been taken out already.
        """
        if self.late_bound:
            raise ArgumentError("get_late_bound_consts: the constants have already been removed from the program")
        taken = {f"const_{i}": c for i, c in enumerate(self.constants) if c is not None and c.nbytes >= byte_limit}
        for index, constant in enumerate(self.constants):
            if f"const_{index}" in taken and constant is not None:
                self.late_bound[f"const_{index}"] = index
                self.constants[index] = None
        return taken

    def move_late_bound_consts(self, path: str | PathLike[str], byte_limit: int) -> None:
        """Move constants of at least ``byte_limit`` bytes from the program to a file of parameters."""
        save_param_dict_to_file(self.get_late_bound_consts(byte_limit), path)

    def load_late_bound_consts(self, path: str | PathLike[str]) -> None:
        """Give the program the constants back that :meth:`move_late_bound_consts` wrote.

        Raises ArgumentError if there is no such file, or it lacks a constant.
        """
        if not Path(path).is_file():
            raise ArgumentError(f"load_late_bound_consts: there is no file {show(str(path))}")
        self.load_late_bound_consts_from_map(load_param_dict_from_file(path))

    def load_late_bound_consts_from_map(self, map: Mapping[str, ArrayLike]) -> None:
        """Give the program the constants back that :meth:`get_late_bound_consts` took out.

        Raises ArgumentError if a constant is missing.
        """
        missing = [name for name in self.late_bound if name not in map]
        if missing:
            raise ArgumentError(f"load_late_bound_consts: there is no {', '.join(missing)}")
        for name, index in self.late_bound.items():
            value = map[name]
            self.constants[index] = value if isinstance(value, NDArray) else array(value)
        self.late_bound = {}

    # what there is

    def get_function_params(self, func_name: str) -> list[str]:
        """Return the names of a function's parameters.

        Raises ArgumentError if there is no such function.
        """
        for function in self.functions:
            if function.is_global and function.name == func_name:
                return list(function.params)
        raise ArgumentError(f"vm: there is no function {show(func_name)}; there are {', '.join(self.globals)}")

    @property
    def bytecode(self) -> str:
        """The instructions as text, in TVM's words."""
        return bytecode_text(self)

    @property
    def globals(self) -> list[str]:
        """The names of the global functions that the program has."""
        return [function.name for function in self.functions if function.is_global]

    @property
    def primitive_ops(self) -> list[str]:
        """The names of the kernels."""
        return [str(kernel) for kernel in self.kernels]

    @property
    def primitives(self) -> str:
        """The kernels with their numbers, a line each."""
        return "".join(f"VM PackedFunc[{i}]: {name}\n" for i, name in enumerate(self.primitive_ops))

    @property
    def stats(self) -> str:
        """The shapes of the constants, the global functions and the kernels, in a few lines."""
        return statistics_text(self)
