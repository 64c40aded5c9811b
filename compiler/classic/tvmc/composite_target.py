"""Composite targets: none are registered."""

from __future__ import annotations

from compiler.classic.tvmc.errors import TVMCException


def get_codegen_names() -> list[str]:
    """Return the names of the compilers that ``--target "NAME, llvm"`` gives parts of a model to."""
    return []


def get_codegen_by_target(name: str) -> dict[str, object]:
    """Return what is known about another compiler."""
    raise TVMCException(f"Composite target {name} is not defined in TVMC.")
