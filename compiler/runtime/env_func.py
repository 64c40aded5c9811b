"""Functions of the runtime as parts of programs: a program names one, and whoever runs it looks it up."""

from __future__ import annotations

from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.node import Node, node
from compiler.runtime.packed_func import PackedFunc, get_global_func

__all__ = ["EnvFunc"]


@node
class EnvFunc(Node):
    """A function that is registered under a name; two of one name are the same.

    Parameters
    ----------
    name : str
        As given to ``tvm.register_func``.
    """

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """Return the function of that name.

        Parameters
        ----------
        name : str

        Returns
        -------
        EnvFunc

        Raises
        ------
        ArgumentError
            If no function is registered under the name.
        """
        get_global_func(name)
        return EnvFunc(name)

    @property
    def func(self) -> PackedFunc:
        """What is registered under the name now."""
        func = get_global_func(self.name)
        if func is None:
            raise ArgumentError(f"EnvFunc: no function is registered under {self.name!r}")
        return func

    def __call__(self, *args: object) -> Any:
        """Call the function.

        Parameters
        ----------
        *args
            As :class:`PackedFunc` takes them.

        Returns
        -------
        object
            What the function returns.
        """
        return self.func(*args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnvFunc) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)
