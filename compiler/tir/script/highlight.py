"""Highlighting of scripts on the console: ``tvm.script.highlight``."""

from __future__ import annotations

from compiler.ir.error import show


def cprint(printable: object, style: str | None = None, black_format: bool = False) -> None:
    """Print a script: a text, or anything with a method ``script``; texts have no colours here.

    Raises TypeError if ``printable`` is neither.
    """
    script = getattr(printable, "script", None)
    if isinstance(printable, str):
        print(printable)
    elif callable(script):
        print(script())
    else:
        raise TypeError(
            f"cprint: printable must be a string, or an object with a method `script`, got {show(printable)}"
        )
