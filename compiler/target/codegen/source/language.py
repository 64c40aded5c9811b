"""What the printer of source code asks a language for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError

__all__ = ["Language"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language of source code, as tables.

    Attributes
    ----------
    name : str
        The kind of targets that it is for.
    prologue : tuple of str
        The first lines of a program.
    types : mapping of str to str
        How a data type of scalars is spelled.
    suffixes : mapping of str to str
        What literals of a data type end with.
    literals : mapping of str to str
        Values that are no literals: infinities, what is no number, the smallest integers.
    functions : mapping of str to str
        What an operator on single-precision numbers calls; ``{0}``, ``{1}``, … are its arguments.
    double_functions : mapping of str to str
        The same for double precision.
    operators : mapping of str to str
        Operators that have a sign between their arguments.
    helpers : mapping of str to tuple of str
        Functions that a program defines where it calls them, without their name and types: parameters, then lines.
        ``{t}`` is their data type, and ``{u}`` the unsigned one of this width.
    parameter : str
        A pointer among the parameters that shares memory with no other.
    reserved : frozenset of str
        Words that no variable may be named.
    """

    name: str
    prologue: tuple[str, ...]
    types: Mapping[str, str]
    suffixes: Mapping[str, str]
    literals: Mapping[str, str]
    functions: Mapping[str, str]
    double_functions: Mapping[str, str]
    operators: Mapping[str, str]
    helpers: Mapping[str, tuple[str, ...]]
    parameter: str
    reserved: frozenset[str]

    def type(self, dtype: str) -> str:
        """Return how a data type of scalars is spelled.

        Parameters
        ----------
        dtype : str

        Returns
        -------
        str

        Raises
        ------
        BuildError
            If the language has no such type.
        """
        spelled = self.types.get(dtype)
        if spelled is None:
            raise BuildError(f"build: target {self.name!r} has no values of type {dtype}")
        return spelled

    def helper(self, name: str, dtype: str) -> list[str]:
        """Return the definition of a helper function.

        Parameters
        ----------
        name : str
        dtype : str
            The type of its parameters and result.

        Returns
        -------
        list of str
            Lines.
        """
        parameters, *lines = self.helpers[name]
        t = self.type(dtype)
        u = self.type(f"uint{dt.bits(dtype)}") if dt.is_int(dtype) else t
        head = f"static inline {t} {name}_{dtype}({parameters}) {{"
        return [line.replace("{t}", t).replace("{u}", u) for line in (head, *(f"    {line}" for line in lines), "}")]
