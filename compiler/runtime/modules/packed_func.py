"""Packed functions: Python functions registered by name, and the values they take.

TVM calls functions by name wherever parts meet: a program registers one and another part, such as built code, calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from compiler.ir.env_func import FUNCTIONS
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import convert as as_expr
from compiler.ir.extension import extension_point, public_module
from compiler.ir.node import Node
from compiler.runtime.container import Array, Map, String

__all__ = [
    "PackedFunc", "convert", "get_global_func", "list_global_func_names", "register_func", "remove_global_func",
]  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])


class PackedFunc:
    """A function that is called with values of the runtime.

    Arguments that are lists, dictionaries or functions are given to the Python function as an ``Array``, a ``Map`` or a
    ``PackedFunc``; all others as they are.
    """

    __slots__ = ("__wrapped__", "name")

    def __init__(self, function: Callable[..., object], name: str = "") -> None:
        self.__wrapped__ = function
        self.name = name

    @property
    def is_global(self) -> bool:
        """Whether it is registered under a name."""
        return _REGISTRY.get(self.name) is self

    def __call__(self, *args: object) -> Any:
        """Call the function."""
        return self.__wrapped__(*(_argument(arg) for arg in args))

    def __repr__(self) -> str:
        return f"PackedFunc({self.name or getattr(self.__wrapped__, '__name__', 'anonymous')})"


_REGISTRY: dict[str, PackedFunc] = {}


def _argument(value: object) -> object:
    """Return an argument as functions of the runtime get it: numbers and texts are Python's."""
    if isinstance(value, (list, dict)) or (callable(value) and not isinstance(value, (PackedFunc, Node, type))):
        return convert(value)
    return value


def convert(value: object) -> object:
    """Return a Python value as an object of the runtime; the items of containers as well, None and objects stay.

    Raises ArgumentError if there is nothing that the value could become.

    Examples
    --------
    >>> tvm.runtime.convert([1, "a", {"b": 2.5}])[0]
    1
    """
    if value is None or (isinstance(value, (Node, Map, Array, PackedFunc)) and not isinstance(value, (tuple, dict))):
        return value
    if isinstance(value, str):
        return String(value)
    if isinstance(value, (list, tuple)):
        return Array(convert(item) for item in value)
    if isinstance(value, Mapping):
        return Map({convert_key(key): convert(item) for key, item in value.items()})
    if isinstance(value, (bool, int, float)) or hasattr(value, "asobject"):
        return as_expr(value)
    if type(value).__module__.startswith("compiler."):
        return value
    if callable(value):
        return PackedFunc(value)
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        return as_expr(value)
    raise ArgumentError(f"convert: a value of type {type(value).__name__} is not an object of the runtime")


def convert_key(key: object) -> object:
    """Return the key of a mapping as an object of the runtime."""
    return key if isinstance(key, (str, Node)) else convert(key)


def register_func(func_name: str | Callable[..., object], f: Function | None = None, override: bool = False) -> object:
    """Register a function under a name, its own by default; without ``f``, a decorator.

    Raises ArgumentError if the name is taken, unless the function overrides the other, or what is registered is not a
    function.

    Examples
    --------
    ::

        @tvm.register_func("my.add")
        def add(x, y):
            return x + y

        tvm.get_global_func("my.add")(1, 2)
    """
    if callable(func_name):
        return register_func(func_name.__name__, func_name, override)

    def register(function: Function) -> Function:
        if not callable(function):
            raise ArgumentError(f"register_func: f must be a function, got {type(function).__name__}")
        if func_name in _REGISTRY and not override:
            raise ArgumentError(f"register_func: the name {func_name!r} is taken; pass override=True to replace it")
        registered = function if isinstance(function, PackedFunc) else PackedFunc(function)
        _REGISTRY[func_name] = PackedFunc(registered.__wrapped__, func_name)
        return function

    return register if f is None else register(f)


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """Return the function that is registered under a name.

    Raises ArgumentError if there is none, unless ``allow_missing`` lets it be None.
    """
    if name not in _REGISTRY:
        extension_point(FUNCTIONS).load_modules()
    if name not in _REGISTRY and not allow_missing:
        raise ArgumentError(f"get_global_func: no function is registered under {name!r}")
    return _REGISTRY.get(name)


def remove_global_func(name: str) -> None:
    """Free a name that a function is registered under.

    Raises ArgumentError if there is none.
    """
    if _REGISTRY.pop(name, None) is None:
        raise ArgumentError(f"remove_global_func: no function is registered under {name!r}")


def list_global_func_names() -> list[str]:
    """Return the names that functions are registered under."""
    extension_point(FUNCTIONS).load_modules()
    return sorted(_REGISTRY)


extension_point(FUNCTIONS).add("lookup", lambda: get_global_func)

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm._ffi.registry", __all__)
