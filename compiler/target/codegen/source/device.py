"""How a language says what runs on a device: kernels, threads, address spaces, barriers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from compiler.ir import dtype as dt
from compiler.ir.primexpr import Call

if TYPE_CHECKING:
    from compiler.target.codegen.source.expressions import Expressions

__all__ = ["CallRule", "DeviceRules", "Head", "Kernel", "KernelParameter", "VectorRules"]

CallRule: TypeAlias = "Callable[[Expressions, Call, int], None]"
"""Writes a call of an operator, in parentheses where it binds less tightly than the number says."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a kernel.

    Attributes
    ----------
    name : str
        As the program spells it.
    dtype : str
        Of the value; of a pointer, of what it points to.
    type : str
        The data type in the language's words.
    is_pointer, is_written : bool
        Whether it is memory, and whether the kernel stores there.
    """

    name: str
    dtype: str
    type: str
    is_pointer: bool
    is_written: bool


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the head of a kernel says.

    Attributes
    ----------
    symbol : str
    parameters : list of KernelParameter
    threads : tuple of int, optional
        Threads of a block along x, y and z; None if they are only known when it is launched.
    noalias : bool
        Whether no two pointers lead to the same memory.
    """

    symbol: str
    parameters: list[KernelParameter]
    threads: tuple[int, int, int] | None
    noalias: bool


class Head(NamedTuple):
    """The lines that a kernel begins with.

    Attributes
    ----------
    line : str
        Ends with the brace that opens the body.
    before : list of str
        What is declared outside of the kernel; its parameters' names are then names of the program.
    first : list of str
        Lines of the body.
    """

    line: str
    before: list[str] = []
    first: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRules:
    """How elements that lie side by side are read and written at once.

    Attributes
    ----------
    types : mapping of str to str
        The type of vectors of a data type, without the number of lanes.
    lanes : tuple of int
        Numbers of lanes that there are.
    max_bytes : int
        Size of the largest access.
    load, store : str
        Templates of ``pointer``, ``vector`` (the type), ``lanes``, ``space``, and of ``value`` to store.
    """

    types: Mapping[str, str]
    lanes: tuple[int, ...] = (2, 4)
    max_bytes: int = 16
    load: str = "*({space}{vector}*)({pointer})"
    store: str = "*({space}{vector}*)({pointer}) = {value};"

    def has(self, dtype: str) -> bool:
        """Return whether there are vectors of a type.

        Parameters
        ----------
        dtype : str
            E.g. ``float32x4``.

        Returns
        -------
        bool
        """
        bytes_ = dt.lanes(dtype) * dt.storage_bytes(dt.element(dtype))
        return dt.lanes(dtype) in self.lanes and dt.element(dtype) in self.types and bytes_ <= self.max_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRules:
    """The tables of a language of kernels.

    Attributes
    ----------
    head : callable
        From a :class:`Kernel` to its :class:`Head`.
    axes : mapping of str to str
        The index of a thread along each axis.
    memory : mapping of str to str
        How an array of a storage scope is declared: a template of ``type``, ``name`` and ``count``; for fragments of
        tensor cores of ``shape`` and ``layout`` too.
    module_memory : frozenset of str
        Scopes whose arrays are declared outside of the kernel.
    barriers : mapping of str to str
        The statement that lets threads wait for each other, by scope.
    pointers : mapping of str to str
        What stands before the type of pointers into a scope.
    vectors : VectorRules, optional
        None if memory is read and written element by element.
    read_only : mapping of str to str
        How an element that no thread writes is read, by data type; ``{}`` is its address.
    calls : mapping of str to callable
        How calls of operators are written that no template says: those of tensor cores.
    needs_constant_threads : bool
        Whether the number of threads of a block is a part of the program.
    stored : mapping of str to str
        Data types that pointers cannot lead to, and those of the same size that they lead to.
    unstored : mapping of str to str
        Data types that memory cannot hold, and what to use in their place.
    """

    head: Callable[[Kernel], Head]
    axes: Mapping[str, str]
    memory: Mapping[str, str]
    barriers: Mapping[str, str]
    module_memory: frozenset[str] = frozenset()
    pointers: Mapping[str, str] = field(default_factory=dict)
    vectors: VectorRules | None = None
    read_only: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, CallRule] = field(default_factory=dict)
    needs_constant_threads: bool = False
    stored: Mapping[str, str] = field(default_factory=dict)
    unstored: Mapping[str, str] = field(default_factory=dict)
