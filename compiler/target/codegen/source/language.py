"""Definitions of source languages, as used by the printer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.target.codegen.cures import cure
from compiler.target.codegen.source.device import DeviceRules

_KEYWORDS = (
    "asm __asm __asm__ _Asm _Pragma __pragma alignas alignof break case catch const continue decltype default defer "
    "defined delete discard do else enum extern for goto if inline let loop namespace new operator return sizeof "
    "static static_assert struct switch template throw try typedef typeid union using var volatile while"
)
KEYWORDS = frozenset(_KEYWORDS.split())
"""Keywords that precede parentheses or statements in some language, and never name functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """Templates of the syntax of a language, by default that of C."""

    declaration: str = "{type} {name} = {value};"
    cast: str = "({type}){value}"
    """A cast; ``value`` has the precedence of a unary operand."""
    choice: str = "{condition} ? {then} : {other}"
    loop: str = "for ({type} {name} = {min}; {name} < {end}; ++{name}) {{"
    unrolled: str = ""
    """The pragma before an unrolled loop; empty for none."""
    function: str = "static inline {type} {name}({parameters}) {{"
    """The head of a helper function."""
    reinterpret: str = ""
    """A bit cast; empty if a helper function copies the bits."""
    extern: str = "extern {type} {name}({parameters});"
    """The declaration of an external function; empty if none is needed."""
    line: str = "#line {line} {file}"
    """The line directive; empty if there is none."""
    parenthesized: bool = False
    """Whether operator expressions are parenthesised as operands of comparisons and logical operators."""


_C_SPELLING = Spelling()


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The definition of a source language."""

    name: str
    prologue: tuple[str, ...]
    types: Mapping[str, str]
    suffixes: Mapping[str, str]
    """The suffixes of literals, by data type."""
    literals: Mapping[str, str]
    """Constants that have no literal: infinities, NaN, the smallest integers."""
    functions: Mapping[str, str]
    """Call templates of operators in single precision; ``{0}``, ``{1}``, … are the arguments."""
    double_functions: Mapping[str, str]
    operators: Mapping[str, str]
    helpers: Mapping[str, tuple[str, ...]]
    """Helper functions that a program defines on demand, without their names and types: parameters, followed by lines.
    ``{t}`` is the data type, and ``{u}`` the unsigned type of the same width.
    """
    reserved: frozenset[str]
    parameter: str = "{type}* {name}"
    """A pointer parameter that aliases no other."""
    requirements: Mapping[str, str] = field(default_factory=dict)
    """Lines to add to the prologue of programs that contain a word."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Suggestions for data types that the language lacks."""
    intrinsics: Mapping[str, str] = field(default_factory=dict)
    """Call templates of operators on any type."""
    spelling: Spelling = _C_SPELLING
    built_in: re.Pattern[str] | None = None
    """A pattern of the names of built-in functions; None if external functions can be linked."""
    device: DeviceRules | None = None
    """The device-specific parts; None for CPU languages."""

    def type(self, dtype: str) -> str:
        """Return the spelling of a scalar data type."""
        spelled = self.types.get(dtype)
        if spelled is None:
            raise BuildError(f"build: target {self.name!r} has no values of type {dtype}{cure(dtype, self.missing)}")
        return spelled

    def needed(self, text: str) -> list[str]:
        """Return the prologue lines that the words of a program require."""
        return [line for word, line in self.requirements.items() if re.search(rf"\b{word}\d?\b", text)]

    def cast(self, dtype: str, value: str) -> str:
        """Format a cast of an expression that is already formatted."""
        return self.spelling.cast.format(type=self.type(dtype), value=value)

    def helper(self, name: str, dtype: str) -> list[str]:
        """Return the definition of a helper function."""
        parameters, *lines = self.helpers[name]
        t = self.type(dtype)
        u = self.type(f"uint{dt.bits(dtype)}") if dt.is_int(dtype) else t
        head = self.spelling.function.format(type=t, name=f"{name}_{dtype}", parameters=parameters)
        return [line.replace("{t}", t).replace("{u}", u) for line in (head, *(f"    {line}" for line in lines), "}")]
