"""Stand-ins for parts of TVM that are not provided, most of which need hardware, a library or a service.

Each can be imported, so that a program that only mentions it runs; calling anything in it raises
:class:`~compiler.ir.error.UnavailableError`.
"""

from __future__ import annotations

from types import ModuleType
from typing import NoReturn

from compiler.ir.error import UnavailableError
from compiler.ir.extension import extension_point

__all__ = ["UnavailableModule", "UnavailableName"]


_DOC = """Stand in for {}, which is not available: {}.

Parameters
----------
*args, **kwargs : object
    The arguments that it takes in TVM.

Raises
------
UnavailableError
    Always.
"""


class UnavailableName:
    """A function or class that is not provided: it can be named, and derived from, but not called."""

    def __init__(self, name: str, reason: str) -> None:
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self._name = name
        self._reason = reason
        self.__doc__ = _DOC.format(name, reason)

    def __getattr__(self, attribute: str) -> object:
        return _part(self._name, attribute, self._reason)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise UnavailableError(f"{self._name} is not available: {self._reason}")

    def __enter__(self) -> NoReturn:
        self()

    def __exit__(self, *exc: object) -> None:
        """Nothing was entered."""

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (object,)

    def __repr__(self) -> str:
        return f"<{self._name} is not available: {self._reason}>"


class UnavailableModule(ModuleType):
    """A module that is not provided; its names, but for those that are provided, are of :class:`UnavailableName`.

    Programs may call it like one.
    """

    __all__: tuple[str, ...] = ()

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, f"Not available: {reason}.")
        self.__path__: list[str] = []
        self._reason = reason

    def __getattr__(self, attribute: str) -> object:
        return _part(self.__name__, attribute, self._reason)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise UnavailableError(f"{self.__name__} is not available: {self._reason}")


def _part(owner: str, attribute: str, reason: str) -> object:
    """Return what stands in for a part of something that is not provided, or the part, where that is."""
    if attribute.startswith("__"):
        raise AttributeError(attribute)
    load = extension_point(owner).find(attribute)
    return UnavailableName(f"{owner}.{attribute}", reason) if load is None else load()
