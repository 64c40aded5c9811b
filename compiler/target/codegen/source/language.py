"""What the printer of source code asks a language for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.target.codegen.cures import cure
from compiler.target.codegen.source.device import DeviceRules

__all__ = ["KEYWORDS", "Language", "Spelling"]

_KEYWORDS = (
    "asm __asm __asm__ _Asm _Pragma __pragma alignas alignof break case catch const continue decltype default defer "
    "defined delete discard do else enum extern for goto if inline let loop namespace new operator return sizeof "
    "static static_assert struct switch template throw try typedef typeid union using var volatile while"
)
KEYWORDS = frozenset(_KEYWORDS.split())
"""Words that stand before parentheses or statements in some language, and are not functions anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """The phrases of a language, as templates; the defaults are those of C.

    Attributes
    ----------
    declaration : str
        A variable with its first value.
    cast : str
        A conversion; ``value`` binds as tightly as a prefix operator's operand.
    choice : str
        One of two values.
    loop : str
        The head of a loop that counts up.
    unrolled : str
        The line before a loop that the compiler is to unroll; empty for none.
    function : str
        The head of a helper function.
    reinterpret : str
        The same bits as another type; empty if a helper function copies them.
    extern : str
        The declaration of a function that is elsewhere; empty if calls need none.
    line : str
        Tells a compiler that the next line is one of another file; empty if there is no such directive.
    parenthesized : bool
        Whether operands of comparisons and of logical operators have parentheses wherever they are operators.
    """

    declaration: str = "{type} {name} = {value};"
    cast: str = "({type}){value}"
    choice: str = "{condition} ? {then} : {other}"
    loop: str = "for ({type} {name} = {min}; {name} < {end}; ++{name}) {{"
    unrolled: str = ""
    function: str = "static inline {type} {name}({parameters}) {{"
    reinterpret: str = ""
    extern: str = "extern {type} {name}({parameters});"
    line: str = "#line {line} {file}"
    parenthesized: bool = False


_C_SPELLING = Spelling()


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
    requirements : mapping of str to str
        The line that a program begins with where it contains a word.
    missing : mapping of str to str
        For a data type that the language lacks, what to use in its place.
    suffixes : mapping of str to str
        What literals of a data type end with.
    literals : mapping of str to str
        Values that are not literals: infinities, what is not a number, the smallest integers.
    functions : mapping of str to str
        What an operator on single-precision numbers calls; ``{0}``, ``{1}``, … are its arguments.
    double_functions : mapping of str to str
        The same for double precision.
    intrinsics : mapping of str to str
        What an operator on values of any type calls.
    operators : mapping of str to str
        Operators that have a sign between their arguments.
    helpers : mapping of str to tuple of str
        Functions that a program defines where it calls them, without their name and types: parameters, then lines.
        ``{t}`` is their data type, and ``{u}`` the unsigned one of this width.
    parameter : str
        A pointer among the parameters that shares memory with no other.
    reserved : frozenset of str
        Words that no variable may be named.
    spelling : Spelling
    built_in : re.Pattern, optional
        The names of functions that programs can call; None if others can be linked with them.
    device : DeviceRules, optional
        How kernels are written; None for a language of CPUs.
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
    reserved: frozenset[str]
    parameter: str = "{type}* {name}"
    requirements: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    intrinsics: Mapping[str, str] = field(default_factory=dict)
    spelling: Spelling = _C_SPELLING
    built_in: re.Pattern[str] | None = None
    device: DeviceRules | None = None

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
            If the language has no such type; the message says what to use in its place.
        """
        spelled = self.types.get(dtype)
        if spelled is None:
            raise BuildError(f"build: target {self.name!r} has no values of type {dtype}{cure(dtype, self.missing)}")
        return spelled

    def needed(self, text: str) -> list[str]:
        """Return the lines that a program begins with for the sake of words in its text.

        Parameters
        ----------
        text : str

        Returns
        -------
        list of str
        """
        return [line for word, line in self.requirements.items() if re.search(rf"\b{word}\d?\b", text)]

    def cast(self, dtype: str, value: str) -> str:
        """Return a conversion of what is written already.

        Parameters
        ----------
        dtype : str
            The new type.
        value : str
            A name, a literal or what is in parentheses.

        Returns
        -------
        str
        """
        return self.spelling.cast.format(type=self.type(dtype), value=value)

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
        head = self.spelling.function.format(type=t, name=f"{name}_{dtype}", parameters=parameters)
        return [line.replace("{t}", t).replace("{u}", u) for line in (head, *(f"    {line}" for line in lines), "}")]
