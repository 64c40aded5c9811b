"""Device-specific parts of a language: kernels, thread axes, address spaces, barriers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call

if TYPE_CHECKING:
    from compiler.target.codegen.source.expressions import Expressions

CallRule: TypeAlias = "Callable[[Expressions, Call, int], None]"
"""Emits the call of an operator, in parentheses if it binds less tightly than the given level."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a kernel: ``dtype`` is of the value, or of the elements behind a pointer.

    ``type`` is its spelling in the language; ``is_written`` says whether the kernel writes through the pointer.
    """

    name: str
    dtype: str
    type: str
    is_pointer: bool
    is_written: bool


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the head of a kernel is generated from; ``threads`` per block along x, y and z are None until launch."""

    symbol: str
    parameters: list[KernelParameter]
    threads: tuple[int, int, int] | None
    noalias: bool


class Head(NamedTuple):
    """The first lines of a kernel."""

    line: str
    """The signature, ending with the opening brace of the body."""
    before: list[str] = []
    """Declarations outside of the kernel, which then include its parameters."""
    first: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRules:
    """Vector loads and stores of contiguous elements.

    Attributes
    ----------
    types : mapping of str to str
        The name of the vector types of a data type, without the number of lanes.
    sizes : mapping of int to str
        A type of so many bytes, by which vectors are copied whose data type has no vector type of their length.
    load, store : str
        Templates of ``pointer``, ``vector`` (the type), ``lanes``, ``space``, and of ``value`` to store.
    """

    types: Mapping[str, str]
    sizes: Mapping[int, str] = field(default_factory=dict)
    lanes: tuple[int, ...] = (2, 4)
    max_bytes: int = 16
    load: str = "*({space}{vector}*)({pointer})"
    store: str = "*({space}{vector}*)({pointer}) = {value};"

    def type_of(self, dtype: str) -> str | None:
        """Return the type by which a vector is read and written at once; None if there is none."""
        count, element = dt.lanes(dtype), dt.element(dtype)
        bytes_ = count * dt.storage_bytes(element)
        if count in self.lanes and element in self.types and bytes_ <= self.max_bytes:
            return f"{self.types[element]}{count}"
        return self.sizes.get(bytes_) if dt.bits(element) >= 8 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRules:
    """The definition of a language's device-specific parts."""

    head: Callable[[Kernel], Head]
    """Generates the :class:`Head` of a :class:`Kernel`."""
    axes: Mapping[str, str]
    """The expression of each thread index."""
    memory: Mapping[str, str]
    """Templates of array declarations by storage scope, with ``type``, ``name`` and ``count``; for tensor core
    fragments also ``shape`` and ``layout``.
    """
    barriers: Mapping[str, str]
    """The barrier statement of each scope."""
    module_memory: frozenset[str] = frozenset()
    """Scopes whose arrays are declared outside of the kernel."""
    pointers: Mapping[str, str] = field(default_factory=dict)
    """The address space qualifier of pointers into a scope."""
    vectors: VectorRules | None = None
    """None if memory is accessed element by element."""
    read_only: Mapping[str, str] = field(default_factory=dict)
    """Templates of loads from read-only memory, by data type; ``{}`` is the address."""
    calls: Mapping[str, CallRule] = field(default_factory=dict)
    """Emitters of operators that templates cannot express, such as those of tensor cores."""
    needs_constant_threads: bool = False
    """Whether the number of threads per block is part of the program."""
    stored: Mapping[str, str] = field(default_factory=dict)
    """Data types that pointers do not support, with the types of the same size that are used instead."""
    unstored: Mapping[str, str] = field(default_factory=dict)
    """Data types that cannot be stored in memory, with suggestions."""
