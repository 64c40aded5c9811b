"""Definitions that ``topi`` exports although they stand elsewhere: beside the operator that they define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_EXPORTS: dict[str, Callable[..., Any]] = {}


def export(name: str, definition: Callable[..., Any]) -> None:
    """Export the definition of an operator.

    Parameters
    ----------
    name : str
        The operator's name, e.g. ``nn.relu``: ``topi.nn.relu`` will be the definition.
    definition : callable
        Takes te.Tensors and attributes, returns a te.Tensor.
    """
    _EXPORTS[name] = definition


def exported(namespace: str = "") -> dict[str, Callable[..., Any]]:
    """Return what is exported below a namespace such as ``nn``, by name."""
    prefix = f"{namespace}." if namespace else ""
    return {
        name[len(prefix) :]: definition
        for name, definition in _EXPORTS.items()
        if name.startswith(prefix) and "." not in name[len(prefix) :]
    }
