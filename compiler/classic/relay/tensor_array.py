"""Arrays of tensors, as the loops of other frameworks have them: ``relay.prelude.TensorArrayOps``.

An array is a list of tensors, which are of unknown rank (:class:`TensorArrayOps`) or of a stated shape
(:class:`StaticTensorArrayOps`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from compiler.classic.relay.tensor_array_texts import (
    Names,
    common_functions,
    dims_text,
    dynamic_functions,
    dynamic_type,
    joining,
    scatter,
    split,
    stacking,
    static_functions,
    unstacking,
)
from compiler.ir.error import ArgumentError
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.relay.adt import Constructor
from compiler.relay.parser.program import Program
from compiler.relay.ty import AnyDim, GlobalTypeVar

Extent = Any
"""A number, or ``Any()``."""

DTYPES = ("float32", "float16", "float64", "int32", "uint8", "int8", "int16", "uint16", "int64")
"""The data types of which a module with arrays has the types of tensors."""


class HasModule(Protocol):
    """A prelude, as far as it matters here."""

    @property
    def mod(self) -> IRModule: ...


def constructor_of(mod: IRModule, type_name: str, name: str) -> Constructor:
    """Return a constructor of a type of a module."""
    constructors: tuple[Constructor, ...] = mod.get_type(type_name)[1:]
    for constructor in constructors:
        if constructor.name_hint == name:
            return constructor
    raise ArgumentError(f"type {type_name} has no constructor {name!r}")


def dynamic_name(canonical: str, dtype: str) -> str:
    """Return what a function, a constructor or a type of tensors of unknown rank is called."""
    return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"


def static_name(canonical: str, dtype: str, shape: Sequence[Extent], batch_dim: int | None = None) -> str:
    """Return what a function, a constructor or a type of tensors of a stated shape is called."""
    extents = "_".join("any" if isinstance(extent, AnyDim) else str(extent) for extent in shape) or "scalar"
    if canonical == "tensor_t":
        return f"static_tensor_{dtype}_{extents}_t"
    batched = batch_dim is not None and canonical not in ("tensor_constructor", "tensor_nil")
    return f"{canonical}_{dtype}_{f'batch{batch_dim}_' if batched else ''}{extents}"


def _define(mod: IRModule, text: str) -> None:
    """Add the definitions of a text to a module; a function that is defined already is replaced."""
    base = mod.shallow_copy()
    program = Program(text, base, replace=True).read()
    mod.type_definitions.update(program.type_definitions)
    mod.functions.update(program.functions)


@dataclass(frozen=True)
class _Holder:
    mod: IRModule


def define_by_name(mod: IRModule, name: str) -> None:
    """Add the types, or the functions, for tensors of unknown rank to a module if one of them is called so.

    Names are such as ``tensor_array_read_float32`` or ``tensor_float32_t``; nothing is added for others.
    """
    for dtype in DTYPES:
        ops = TensorArrayOps(_Holder(mod), dtype)
        if name == ops.get_name("tensor_t"):
            ops.define_tensor_adt()
        elif name.startswith(("tensor_", "ta_split_")) and name.endswith(f"_{dtype}"):
            ops.register()


class _Named(ABC):
    prelude: HasModule

    @abstractmethod
    def get_name(self, canonical: str) -> str:
        """Return what ``canonical``, e.g. ``tensor_array_read``, is called for this data type, and this shape."""

    def get_global_var(self, canonical: str) -> GlobalVar:
        """Return the variable of a function, given its name without these."""
        return self.prelude.mod.get_global_var(self.get_name(canonical))

    def get_type(self, canonical: str) -> GlobalTypeVar:
        """Return a type, given its name without these: ``tensor_t``."""
        return self.prelude.mod.get_global_type_var(self.get_name(canonical))

    def get_ctor(self, canonical: str) -> Constructor:
        """Return a constructor of the tensors: ``tensor_nil``, ``tensor_constructor``, ``tensor0`` to ``tensor6``."""
        return constructor_of(self.prelude.mod, self.get_name("tensor_t"), self.get_name(canonical))


class TensorArrayOps(_Named):
    """The functions over arrays of tensors of one data type whose rank is known only when they run.

    They are added to the module of ``prelude``.
    """

    def __init__(self, prelude: HasModule, dtype: str) -> None:
        self.prelude, self.dtype = prelude, dtype
        tensor = f"{self.get_name('tensor_t')}[]"
        self._names = Names(self.get_name, tensor, tensor, self.get_name("tensor_array_write"))

    def get_name(self, canonical: str) -> str:
        return dynamic_name(canonical, self.dtype)

    def define_tensor_adt(self) -> None:
        """Define the type, and those of the other data types, unless the module has them."""
        defined = {var.name_hint for var in self.prelude.mod.type_definitions}
        dtypes = dict.fromkeys((self.dtype, *DTYPES))
        types = [TensorArrayOps(self.prelude, dtype) for dtype in dtypes]
        missing = [dynamic_type(ops._names, ops.dtype) for ops in types if ops.get_name("tensor_t") not in defined]
        if missing:
            _define(self.prelude.mod, "\n".join(missing))

    def register(self) -> None:
        """Define the type and all functions, unless the module has them."""
        self.define_tensor_adt()
        if self.get_name("tensor_array") not in self.prelude.mod:
            _define(self.prelude.mod, dynamic_functions(self._names, self.dtype))


class StaticTensorArrayOps(_Named):
    """The functions over arrays of tensors of a stated shape, of one data type, added to the module of ``prelude``.

    ``batch_dim`` is the extent of the first axis of what stacking makes, where it is known.
    """

    def __init__(self, prelude: HasModule, dtype: str, shape: Sequence[Extent], batch_dim: int | None = None) -> None:
        self.prelude, self.dtype, self.shape, self.batch_dim = prelude, dtype, tuple(shape), batch_dim

    def get_name(self, canonical: str) -> str:
        return static_name(canonical, self.dtype, self.shape, self.batch_dim)

    def is_cached(self, name: str) -> bool:
        """Return whether the module has a type or a function."""
        mod = self.prelude.mod
        return name in mod or any(var.name_hint == name for var in mod.type_definitions)

    def define_tensor_adt(self) -> None:
        """Define the type of the tensors, unless the module has it."""
        self._type(self.shape)

    def define_tensor_array_scatter(
        self, indices_shape: Sequence[Extent] | None = None, force_update: bool = False
    ) -> None:
        """Define the function that writes tensors at some places of an array.

        The shape of the places is left out where it is not known; ``force_update`` replaces the function that the
        module has.
        """
        if force_update or self.get_name("tensor_array_scatter") not in self.prelude.mod:
            shape = indices_shape or (AnyDim(),)
            mark = "" if indices_shape is None else f"_indices_{_extents(shape)}"
            _define(self.prelude.mod, scatter(self._names(), dims_text(shape), mark))

    def define_tensor_array_split(
        self,
        value_shape: Sequence[Extent] | None = None,
        lengths_shape: Sequence[Extent] | None = None,
        force_update: bool = False,
    ) -> None:
        """Define the function that writes the parts of a tensor into an array.

        The shape of the tensor is by default that of the tensors of the array; that of the lengths of the parts may be
        unknown.  ``force_update`` replaces the function that the module has.
        """
        if not force_update and self.get_name("tensor_array_split") in self.prelude.mod:
            return
        value = StaticTensorArrayOps(self.prelude, self.dtype, value_shape or self.shape, self.batch_dim)
        value._define_parts()
        lengths = lengths_shape or (AnyDim(),)
        stated = value_shape is not None or lengths_shape is not None
        mark = f"_value_{_extents(value.shape)}_lengths_{_extents(lengths)}" if stated else ""
        names = self._names()
        tensor = value._type(value.shape)
        take = value.get_name("tensor_take")
        _define(self.prelude.mod, split(names, tensor, take, dims_text(lengths), mark))

    def register(self) -> None:
        """Define the type and all functions, unless the module has them."""
        TensorArrayOps(self.prelude, self.dtype).define_tensor_adt()
        if self.get_name("tensor_array") in self.prelude.mod:
            return
        self._define_basics()
        self._define_stacking()
        if self.shape:
            self._define_parts()
            self._define_unstacking()
            self.define_tensor_array_split()

    def _names(self) -> Names:
        parts = self._with_shape((AnyDim(), *self.shape[1:]))
        write = parts.get_name("tensor_array_write")
        return Names(self.get_name, self._type(self.shape), self._type(parts.shape), write)

    def _with_shape(self, shape: Sequence[Extent]) -> StaticTensorArrayOps:
        return StaticTensorArrayOps(self.prelude, self.dtype, shape, self.batch_dim)

    def _tensor(self, shape: Sequence[Extent]) -> str:
        return f"Tensor[{dims_text(shape)}, {self.dtype}]"

    def _type(self, shape: Sequence[Extent]) -> str:
        """Define the type of tensors of a shape, unless the module has it, and return it as texts have it."""
        name = static_name("tensor_t", self.dtype, shape)
        if not self.is_cached(name):
            nil, constructor = (static_name(c, self.dtype, shape) for c in ("tensor_nil", "tensor_constructor"))
            _define(self.prelude.mod, f"type {name} {{ {nil}, {constructor}({self._tensor(shape)}), }}")
        return f"{name}[]"

    def _define_basics(self) -> None:
        names = self._names()
        _define(self.prelude.mod, static_functions(names, self._tensor(self.shape)))

    def _concatenate(self) -> str:
        """Define the concatenation of two tensors along the first axis, unless the module has it; return its name."""
        name = self.get_name("tensor_concatenate")
        if name not in self.prelude.mod:
            tensor, joined = self._type(self.shape), (AnyDim(), *self.shape[1:])
            result, made = self._type(joined), static_name("tensor_constructor", self.dtype, joined)
            own = self.get_name("tensor_constructor")
            body = f"{own}(%a) => {{ match? (%y) {{ {own}(%b) => {made}(concatenate((%a, %b), axis=0)), }} }},"
            text = f"def @{name}(%x: {tensor}, %y: {tensor}) -> {result} {{ match? (%x) {{ {body} }} }}"
            _define(self.prelude.mod, text)
        return name

    def _define_stacking(self) -> None:
        """Define what puts a new axis before the others."""
        higher = self._with_shape((AnyDim(), *self.shape))
        tensor, stacked = self._type(self.shape), self._type(higher.shape)
        made, own = higher.get_name("tensor_constructor"), self.get_name("tensor_constructor")
        concatenate = higher._concatenate()
        name = self.get_name("tensor_expand_dims")
        body = f"match? (%x) {{ {own}(%t) => {made}(expand_dims(%t, axis=0)), }}"
        _define(self.prelude.mod, f"def @{name}(%x: {tensor}) -> {stacked} {{ {body} }}")
        _define(self.prelude.mod, stacking(self._names(), stacked, concatenate))

    def _define_parts(self) -> None:
        """Define what works along the first axis: taking and joining parts of any length."""
        if self.get_name("tensor_take") in self.prelude.mod:
            return
        parts = self._with_shape((AnyDim(), *self.shape[1:]))
        tensor, part = self._type(self.shape), self._type(parts.shape)
        if parts.get_name("tensor_array_write") not in self.prelude.mod:
            _define(self.prelude.mod, common_functions(parts._names()))
        made, own = parts.get_name("tensor_constructor"), self.get_name("tensor_constructor")
        body = f'match? (%x) {{ {own}(%t) => {made}(take(%t, arange(%begin, %end, 1, dtype="int32"), axis=0)), }}'
        head = f"def @{self.get_name('tensor_take')}(%x: {tensor}, %begin: int32, %end: int32) -> {part}"
        _define(self.prelude.mod, f"{head} {{ {body} }}")
        self._concatenate()
        _define(self.prelude.mod, joining(self._names(), parts._concatenate()))

    def _define_unstacking(self) -> None:
        lower = self._with_shape(self.shape[1:])
        name, helper = (self.get_name(n) for n in ("tensor_array_unstack", "tensor_array_unstack_helper"))
        part = self._type(lower.shape)
        text = unstacking(name, helper, self._tensor(self.shape), part, lower.get_name("tensor_constructor"))
        _define(self.prelude.mod, text)


def _extents(shape: Sequence[Extent]) -> str:
    return "_".join("any" if isinstance(extent, AnyDim) else str(extent) for extent in shape)
