"""``tvm._ffi``: registries of classes and functions.

There is no foreign interface: everything is Python.  What programs register is kept by its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from compiler.ir.error import register_error
from compiler.ir.extension import public_module
from compiler.runtime.modules.packed_func import get_global_func, register_func

__all__ = [
    "get_global_func", "register_error", "register_extension", "register_func", "register_object", "registered_object",
]  # fmt: skip

Class = TypeVar("Class", bound=type)

_OBJECTS: dict[str, type] = {}


def register_object(type_key: str | Class | None = None) -> Any:
    """Register a class of objects under a name, its own by default."""
    if isinstance(type_key, type):
        return register_object(type_key.__name__)(type_key)

    def register(cls: Class) -> Class:
        _OBJECTS[type_key or cls.__name__] = cls
        return cls

    return register


def registered_object(type_key: str) -> type | None:
    """Return the class that is registered under a name."""
    return _OBJECTS.get(type_key)


def register_extension(cls: Class, fcreate: object = None) -> Class:
    """Let objects of a class be arguments of functions of the runtime; here all objects may be."""
    return cls


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm._ffi", __all__)
