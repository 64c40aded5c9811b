"""The names that the editor completes, read off the public API."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Literal

import msgspec

from app.editor.documentation import call_text
from app.editor.public_api import public_names, resolve

MAX_DETAIL = 70
"""Characters of a signature in the list of completions."""
MAX_OWNERS = 256


class Completion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A name, in the form that CodeMirror reads; its documentation is asked for separately."""

    label: str
    type: Literal["namespace", "class", "function", "constant"]
    detail: str = ""
    """Its parameters, as much of them as fits."""


@lru_cache(MAX_OWNERS)
def completions(path: str) -> list[Completion] | None:
    """Return the names that may follow a public name and a dot.

    Parameters
    ----------
    path : str
        Name of a module or class, e.g. ``tvm.relay.nn``.

    Returns
    -------
    completions : list of Completion or None
        None where the name does not exist.
    """
    owner = resolve(path)
    if owner is None:
        return None
    names = ((name, getattr(owner, name)) for name in public_names(owner))
    return [_complete(name, value) for name, value in names if not _is_empty(value)]


def _is_empty(value: object) -> bool:
    """Whether a value is a module without a name that scripts can use, such as one that only says why it is missing."""
    return isinstance(value, ModuleType) and not public_names(value)


def _complete(name: str, value: object) -> Completion:
    detail = call_text(value) or ""
    if len(detail) > MAX_DETAIL:
        detail = detail[: MAX_DETAIL - 1] + "…"
    return Completion(label=name, type=_kind_of(value), detail=detail)


def _kind_of(value: object) -> Literal["namespace", "class", "function", "constant"]:
    if isinstance(value, ModuleType):
        return "namespace"
    if isinstance(value, type):
        return "class"
    return "function" if callable(value) else "constant"
