"""``tvm.runtime.object`` and ``tvm.runtime.object_generic``: base classes of runtime objects."""

from __future__ import annotations

from compiler.ir.node import Node as Object
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.container import ADT, Array, Map, String
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.packed_func import PackedFunc
from compiler.runtime.modules.packed_func import convert as convert_to_object

__all__ = ["Object", "ObjectGeneric", "ObjectTypes", "convert_to_object"]

ObjectTypes = (Object, NDArray, Module, PackedFunc, ADT, Array, Map, String)
"""The classes of what counts as an object of the runtime."""


class ObjectGeneric:
    """Base of classes that are objects of the runtime once they are asked to be."""

    def asobject(self) -> Object:
        """Return the object that this one stands for.

        Raises NotImplementedError if a derived class does not say.
        """
        raise NotImplementedError(f"{type(self).__name__}.asobject")
