"""``tvm.ir.EnvFunc``: functions that programs refer to by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.extension import extension_point

FUNCTIONS = "functions"
"""The extension point of the registry of functions, which the runtime keeps."""


class EnvFunc:
    """A function known by the name given to ``tvm.register_func``; two of one name are the same."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @staticmethod
    def get(name: str) -> EnvFunc:
        """Return the function of a name."""
        function = EnvFunc(name)
        function.resolve()
        return function

    def resolve(self) -> Callable[..., Any]:
        """Return the function that is registered now.

        Raises ArgumentError if none is.
        """
        lookup = extension_point(FUNCTIONS).find("lookup")
        function: Any = None if lookup is None else lookup()
        registered: Callable[..., Any] | None = None if function is None else function(self.name, True)
        if registered is None:
            raise ArgumentError(f"EnvFunc: no function is registered under {self.name!r}")
        return registered

    @property
    def func(self) -> Callable[..., Any]:
        """The function that is registered now."""
        return self.resolve()

    def __call__(self, *args: object) -> Any:
        """Call the function."""
        return self.resolve()(*args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnvFunc) and other.name == self.name

    def __hash__(self) -> int:
        return hash((EnvFunc, self.name))

    def __repr__(self) -> str:
        return f"EnvFunc({self.name})"
