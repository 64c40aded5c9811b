"""The functions, types and constructors of arrays of tensors, by name: what a prelude offers."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.relay.tensor_array import Extent, TensorArrayOps, constructor_of, dynamic_name, static_name
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.relay.adt import Constructor
from compiler.relay.ty import GlobalTypeVar


class TensorArrayLookup:
    """Finds what works on arrays of tensors in a module."""

    mod: IRModule

    def get_name(self, canonical: str, dtype: str) -> str:
        """Return what something is called for tensors of unknown rank."""
        return dynamic_name(canonical, dtype)

    def get_global_var(self, canonical: str, dtype: str) -> GlobalVar:
        """Return a function over tensors of unknown rank; the module gets all of them with the first one."""
        TensorArrayOps(self, dtype).register()
        return self.mod.get_global_var(self.get_name(canonical, dtype))

    def get_type(self, canonical: str, dtype: str) -> GlobalTypeVar:
        """Return the type of tensors of unknown rank."""
        TensorArrayOps(self, dtype).define_tensor_adt()
        return self.mod.get_global_type_var(self.get_name(canonical, dtype))

    def get_ctor(self, ty_name: str, canonical: str, dtype: str) -> Constructor:
        """Return a constructor of a type."""
        return constructor_of(self.mod, ty_name, self.get_name(canonical, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Constructor:
        """Return a constructor of tensors of unknown rank: ``tensor_nil``, or ``tensor0`` to ``tensor6`` by rank."""
        return self.get_ctor(self.get_type("tensor_t", dtype).name_hint, canonical, dtype)

    def get_name_static(self, canonical: str, dtype: str, shape: Sequence[Extent], batch_dim: int | None = None) -> str:
        """Return what ``canonical``, a name without data type and shape, is called for tensors of a stated shape."""
        return static_name(canonical, dtype, shape, batch_dim)

    def get_global_var_static(
        self, canonical: str, dtype: str, shape: Sequence[Extent], batch_dim: int | None = None
    ) -> GlobalVar:
        """Return a function over tensors of a stated shape, which :class:`StaticTensorArrayOps` added."""
        return self.mod.get_global_var(static_name(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape: Sequence[Extent]) -> GlobalTypeVar:
        """Return the type of tensors of a stated shape."""
        return self.mod.get_global_type_var(static_name(canonical, dtype, shape))

    def get_ctor_static(self, ty_name: str, name: str, dtype: str, shape: Sequence[Extent]) -> Constructor:
        """Return a constructor of the type ``ty_name``, without data type and shape, of tensors of a stated shape."""
        return constructor_of(self.mod, static_name(ty_name, dtype, shape), static_name(name, dtype, shape))

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Sequence[Extent]) -> Constructor:
        """Return a constructor of tensors of a stated shape."""
        return self.get_ctor_static("tensor_t", name, dtype, shape)
