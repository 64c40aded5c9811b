"""How a built model is run, and what it is linked with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from compiler.ir.error import ArgumentError, did_you_mean, show

__all__ = ["Executor", "Runtime"]

Option = bool | int | str


@dataclass(frozen=True)
class _Choice:
    """A name out of a table, with the options that the table has for it."""

    kinds: ClassVar[Mapping[str, Mapping[str, type]]] = {}

    name: str
    options: Mapping[str, Option] = field(default_factory=dict)

    def __post_init__(self) -> None:
        what = type(self).__name__
        if self.name not in self.kinds:
            hint = did_you_mean(self.name, self.kinds)
            raise ArgumentError(f"{what}: there is no {what.lower()} {self.name!r}{hint}")
        declared = self.kinds[self.name]
        for option, value in self.options.items():
            if option not in declared:
                raise ArgumentError(f"{what}: {self.name!r} has no option {option!r}{did_you_mean(option, declared)}")
            if not isinstance(value, declared[option]):
                raise ArgumentError(
                    f"{what}: option {option!r} must be of type {declared[option].__name__}, got {show(value)}"
                )

    def __contains__(self, option: str) -> bool:
        return option in self.options

    def __getitem__(self, option: str) -> Option:
        if option not in self.options:
            raise KeyError(option)
        return self.options[option]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(other) == str(self)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        given = "".join(f" -{option}={value}" for option, value in sorted(self.options.items()))
        return f"{self.name}{given}"

    @property
    def attrs(self) -> Mapping[str, Option]:
        """The options that were given."""
        return self.options


@dataclass(frozen=True, eq=False)
class Executor(_Choice):
    """How a built model is run.

    Parameters
    ----------
    name : str
        ``graph``, by a list of kernels, or ``aot``, by a function that calls them.
    options : mapping of str to (bool, int or str)
        Of that executor.

    Raises
    ------
    ArgumentError
        If there is no such executor or option, or a value is of the wrong type.
    """

    kinds = {
        "graph": {"link-params": bool},
        "aot": {
            "link-params": bool,
            "unpacked-api": bool,
            "interface-api": str,
            "workspace-byte-alignment": int,
            "constant-byte-alignment": int,
        },
    }

    @staticmethod
    def list_registered() -> list[str]:
        """Return the names of all executors.

        Returns
        -------
        list of str
        """
        return list(Executor.kinds)

    @staticmethod
    def list_registered_options(name: str) -> dict[str, str]:
        """Return the options of an executor.

        Parameters
        ----------
        name : str

        Returns
        -------
        dict of str to str
            The type of each option.
        """
        return {option: kind.__name__ for option, kind in Executor(name).kinds[name].items()}


@dataclass(frozen=True, eq=False)
class Runtime(_Choice):
    """What a built model is linked with.

    Parameters
    ----------
    name : str
        ``cpp``, or ``crt`` for small devices.
    options : mapping of str to (bool, int or str)
        Of that runtime.

    Raises
    ------
    ArgumentError
        If there is no such runtime or option, or a value is of the wrong type.
    """

    kinds = {"cpp": {"system-lib": bool}, "crt": {"system-lib": bool}}

    @staticmethod
    def list_registered() -> list[str]:
        """Return the names of all runtimes.

        Returns
        -------
        list of str
        """
        return list(Runtime.kinds)

    @staticmethod
    def list_registered_options(name: str) -> dict[str, str]:
        """Return the options of a runtime.

        Parameters
        ----------
        name : str

        Returns
        -------
        dict of str to str
            The type of each option.
        """
        return {option: kind.__name__ for option, kind in Runtime(name).kinds[name].items()}
