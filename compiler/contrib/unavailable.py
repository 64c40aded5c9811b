"""Parts of TVM that need hardware, a library or a service that does not exist here.

Each can be imported, so that a program that only mentions it runs; whatever is called in it raises
:class:`~compiler.ir.error.UnavailableError`.
"""

from __future__ import annotations

from types import ModuleType
from typing import NoReturn

from compiler.ir.error import UnavailableError

__all__ = ["UnavailableModule", "UnavailableName"]


_DOC = """Stand for {}, which does not exist here: {}.

Parameters
----------
*args, **kwargs : object
    What it takes in TVM.

Raises
------
UnavailableError
    Always.
"""


class UnavailableName:
    """A function or class of such a part: it can be named, and derived from, but not called.

    Parameters
    ----------
    name : str
        Its full name, e.g. ``tvm.contrib.cudnn.softmax``.
    reason : str
        Why it does not exist.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self._name = name
        self._reason = reason
        self.__doc__ = _DOC.format(name, reason)

    def __getattr__(self, attribute: str) -> UnavailableName:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return UnavailableName(f"{self._name}.{attribute}", self._reason)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise UnavailableError(f"{self._name}: {self._reason}")

    def __enter__(self) -> NoReturn:
        self()

    def __exit__(self, *exc: object) -> None:
        """Nothing was entered."""

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (object,)

    def __repr__(self) -> str:
        return f"<{self._name} is not available: {self._reason}>"


class UnavailableModule(ModuleType):
    """Such a part, whose every name is an :class:`UnavailableName`; a single function is one that is called.

    Parameters
    ----------
    name : str
        Its full name, e.g. ``tvm.contrib.cudnn``.
    reason : str
        Why it does not exist.
    """

    __all__: tuple[str, ...] = ()

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, f"Not available: {reason}.")
        self.__path__: list[str] = []
        self._reason = reason

    def __getattr__(self, attribute: str) -> UnavailableName:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return UnavailableName(f"{self.__name__}.{attribute}", self._reason)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise UnavailableError(f"{self.__name__}: {self._reason}")
