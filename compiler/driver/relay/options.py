"""Executor and runtime options of a built model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from compiler.ir.error import ArgumentError, did_you_mean, show

__all__ = ["Executor", "Runtime", "as_executor", "as_runtime", "mangle_module_name"]

_PREFIX = "tvmgen"

Option = bool | int | str
Options = Mapping[str, tuple[type, Option | None]]
"""The type of each option by its name, and its default."""

_TYPE_NAMES = {bool: "IntImm", int: "IntImm", str: "runtime.String"}
"""The types of options as TVM calls them: a truth value is an integer there."""


@dataclass(frozen=True)
class _Choice:
    """A name out of a table, with the options that the table has for it."""

    kinds: ClassVar[Mapping[str, Options]] = {}

    name: str
    options: Mapping[str, Option] = field(default_factory=dict)

    def __post_init__(self) -> None:
        declared = self._declared(self.name)
        defaults = {option: default for option, (_, default) in declared.items() if default is not None}
        object.__setattr__(self, "options", {**defaults, **self.options})
        for option, value in self.options.items():
            what = f'Attribute "{option}"'
            if option not in declared:
                hint = did_you_mean(option, declared)
                raise ArgumentError(f"{what} is not available on this {type(self).__name__}{hint}")
            kind = declared[option][0]
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is str):
                other = _TYPE_NAMES.get(type(value), type(value).__name__)
                raise ArgumentError(f'{what} should have type "{_TYPE_NAMES[kind]}" but instead found "{other}"')

    @classmethod
    def of(cls, given: object, expected: str) -> Self:
        """Return what a program gives as a choice or by name; the first one in the table for None."""
        if isinstance(given, cls):
            return given
        if given is None or isinstance(given, str):
            return cls(next(iter(cls.kinds)) if given is None else given)
        raise ArgumentError(f"relay.build: {cls.__name__.lower()} must be {expected}, got {type(given).__name__}")

    @classmethod
    def _declared(cls, name: str) -> Options:
        if name not in cls.kinds:
            raise ArgumentError(f'{cls.__name__} "{name}" is not defined{did_you_mean(name, cls.kinds)}')
        return cls.kinds[name]

    def __contains__(self, option: str) -> bool:
        return option in self.options

    def __getitem__(self, option: str) -> Option:
        if option not in self.options:
            raise KeyError(option)
        return self.options[option]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(other) == str(self) and other.attrs == self.attrs

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted(self.options.items()))))

    def __str__(self) -> str:
        return self.name

    @property
    def attrs(self) -> Mapping[str, Option]:
        """The options that were given, and the defaults of others that have one."""
        return self.options

    @classmethod
    def list_registered(cls) -> list[str]:
        """Return all names."""
        return list(cls.kinds)

    @classmethod
    def list_registered_options(cls, name: _Choice | str) -> dict[str, str]:
        """Return the options that a name has."""
        return {option: _TYPE_NAMES[kind] for option, (kind, _) in cls._declared(str(name)).items()}


@dataclass(frozen=True, eq=False)
class Executor(_Choice):
    """How a built model is run: ``graph``, by a list of kernels, or ``aot``, by a function that calls them.

    An unknown executor or option, or a value of the wrong type, is an ArgumentError.
    """

    kinds = {
        "graph": {"link-params": (bool, False)},
        "aot": {
            "link-params": (bool, True),
            "unpacked-api": (bool, None),
            "interface-api": (str, None),
            "workspace-byte-alignment": (int, None),
            "constant-byte-alignment": (int, None),
        },
    }

    @staticmethod
    def list_executors() -> list[str]:
        """Return the names of all executors."""
        return Executor.list_registered()

    @staticmethod
    def list_executor_options(executor: Executor | str) -> dict[str, str]:
        """Return the options of an executor."""
        return Executor.list_registered_options(executor)


@dataclass(frozen=True, eq=False)
class Runtime(_Choice):
    """What a built model is linked with: ``cpp``, or ``crt`` (in older programs ``c``) for small devices.

    An unknown runtime or option, or a value of the wrong type, is an ArgumentError.
    """

    kinds = {
        "cpp": {"system-lib": (bool, None)},
        "crt": {"system-lib": (bool, None)},
        "c": {"system-lib": (bool, None)},
    }

    @staticmethod
    def list_runtimes() -> list[str]:
        """Return the names of all runtimes."""
        return Runtime.list_registered()

    @staticmethod
    def list_runtime_options(runtime: Runtime | str) -> dict[str, str]:
        """Return the options of a runtime."""
        return Runtime.list_registered_options(runtime)


def as_executor(executor: object) -> Executor:
    """Return how a model is to be run."""
    return Executor.of(executor, "an Executor")


def as_runtime(runtime: object) -> Runtime:
    """Return what a model is to be linked with."""
    return Runtime.of(runtime, "a Runtime")


def mangle_module_name(mod_name: str | None) -> str:
    """Return what the names of a module's functions begin with.

    Raises ArgumentError if the name has characters that are not ASCII.
    """
    if not mod_name:
        return _PREFIX
    if not mod_name.isascii():
        raise ArgumentError(f"mangle_module_name: mod_name contains invalid characters: {show(mod_name)}")
    return f"{_PREFIX}_{mod_name}"
