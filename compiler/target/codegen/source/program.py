"""The state that the functions of a program share: definitions and declarations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Var
from compiler.ir.origin import Span, user_place
from compiler.runtime.modules.signature import Signature
from compiler.target.codegen.source.language import KEYWORDS, Language
from compiler.target.codegen.source.names import Names
from compiler.tir.statements.function import PrimFunc


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A declared function of the program; its shape variables (``sizes``) are passed after the arguments.

    ``head`` is its result, name and parameters, once generated.
    """

    func: PrimFunc
    signature: Signature
    sizes: tuple[Var, ...]
    head: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Program:
    """A program under construction."""

    language: Language
    functions: dict[str, DeclaredFunction] = field(default_factory=dict)
    """The functions by their names in the module and by their symbols."""
    messages: list[str] = field(default_factory=list)
    """Messages of assertions; a function that returns ``n > 0`` failed with message ``n - 1``."""
    definitions: dict[str, list[str]] = field(default_factory=dict)
    """The lines of definitions before the functions, by name."""
    globals: set[str] = field(default_factory=set)
    is_static: bool = False
    """Whether allocations of constant size are static instead of per call: the program then needs neither stack nor
    heap, but is not re-entrant.
    """

    def names(self) -> Names:
        """Return the names for a new function, excluding those of globals."""
        return Names(self.language.reserved | self.globals | {d.signature.symbol for d in self.functions.values()})

    def message(self, text: str) -> int:
        """Return the status code of a failure with ``text``."""
        if text not in self.messages:
            self.messages.append(text)
        return self.messages.index(text) + 1

    def helper(self, name: str, dtype: str) -> str:
        """Return the name of a helper function for a data type, adding it to the program."""
        full = f"{name}_{dtype}"
        if full not in self.definitions:
            self.definitions[full] = self.language.helper(name, dtype)
        return full

    def reinterpretation(self, source: str, target: str) -> str:
        """Return the name of a helper function that bit-casts to another data type."""
        full = f"{target}_from_{source}"
        old, new = self.language.type(source), self.language.type(target)
        self.definitions[full] = [
            f"static inline {new} {full}({old} x) {{",
            f"    {new} bits;",
            "    memcpy(&bits, &x, sizeof bits);",
            "    return bits;",
            "}",
        ]
        return full

    def extern(self, name: str, result: str, arguments: Sequence[str], span: Span) -> str:
        """Declare an external function and return its name."""
        if not (name.isascii() and name.isidentifier()) or name in KEYWORDS:
            raise BuildError(
                f"call_extern: {name!r}{user_place(span)} is not a function name: letters, digits and"
                f" underscores, and not a keyword of the language"
            )
        built_in = self.language.built_in
        if built_in is not None and not built_in.fullmatch(name):
            raise BuildError(
                f"call_extern: {name!r}{user_place(span)} is not a function of target {self.language.name!r},"
                f" whose programs cannot call external functions; compute it with operators, or call one of the"
                f" language's own, such as fma, clamp or smoothstep"
            )
        if name in self.language.reserved:
            return name  # declared by the headers
        template = self.language.spelling.extern
        if not template:
            return name
        kinds = ", ".join(self.language.type(a) if a else "const char*" for a in arguments)
        line = template.format(type=self.language.type(result), name=name, parameters=kinds or "void")
        if self.definitions.setdefault(f"extern {name}", [line]) != [line]:
            raise BuildError(
                f"call_extern: {name!r} is called{user_place(span)} with arguments of other types than before; "
                "cast them"
            )
        return name
