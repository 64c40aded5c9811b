"""The registry of printers, by class.

Nodes are in low layers and printers in high ones, so ``str(node)`` asks here for the format that a printer registered
for the class of the node, or for the nearest of its bases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from compiler.ir.extension import extension_point

if TYPE_CHECKING:
    from compiler.ir.scriptable import ScriptOptions

Annotation: TypeAlias = Callable[[object], str]
"""The text after an expression, by the expression."""


class TextFormat:
    """How one level of IR is written; a module of several levels by the format of the largest ``abstraction``."""

    abstraction = 0

    def text(self, thing: Any) -> str:
        """Return what ``str`` shows."""
        return f"<{type(thing).__name__}>"

    def script(self, thing: Any, options: ScriptOptions) -> str:
        """Return what the method ``script`` of nodes and modules does: a text that can be read back."""
        return self.text(thing)

    def astext(self, thing: Any, show_meta_data: bool, annotate: Annotation | None = None) -> str:
        """Return what the method ``astext`` does."""
        return self.text(thing)


_FORMATS: dict[type, TextFormat] = {}
_UNREGISTERED = TextFormat()


def register(kind: type, text_format: TextFormat) -> None:
    """Let a format write everything of a class for which no closer base has one."""
    if kind in _FORMATS:
        raise ValueError(f"register: {kind.__name__} has a text format already")
    _FORMATS[kind] = text_format


def registered_format(kind: type) -> TextFormat | None:
    """Return the format that is registered for the nearest base of a class, None if no printer is loaded."""
    return next((_FORMATS[base] for base in kind.__mro__ if base in _FORMATS), None)


def format_of(thing: object) -> TextFormat:
    """Return the format that writes something; printers are loaded when the first of them is needed."""
    text_format = registered_format(type(thing))
    if text_format is None and extension_point("text formats").load_modules():
        text_format = registered_format(type(thing))
    return text_format or _UNREGISTERED


def text_of(thing: object) -> str:
    """Return what ``str`` shows for something that an IR is made of."""
    return format_of(thing).text(thing)
