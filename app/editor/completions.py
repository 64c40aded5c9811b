"""Completions of the editor, from the public API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import ModuleType
from typing import Literal

import msgspec

from app.editor.documentation import call_text
from app.editor.public_api import public_names, resolve

MAX_DETAIL = 70
"""Characters of a signature in the list of completions."""
MAX_OWNERS = 256
MAX_BOOST = 50
"""So that how a name fits what was typed decides first."""


class Completion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A name, in the form that CodeMirror reads; its documentation is asked for separately."""

    label: str
    type: Literal["namespace", "class", "function", "constant"]
    detail: str = ""
    """Its parameters, as much of them as fits."""
    boost: int = 0
    """How far it is listed before names that fit what was typed as well: the number of examples that use it; what is
    for the compiler's own use comes last."""


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
        None if the name does not exist.
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


def ranked(names: Iterable[Completion], uses: Mapping[str, int]) -> list[Completion]:
    """Return completions of which those come first that are used most.

    Parameters
    ----------
    names : iterable of Completion
    uses : mapping of str to int
        How many examples use each name.
    """
    return [msgspec.structs.replace(name, boost=_boost(name.label, uses)) for name in names]


def _boost(label: str, uses: Mapping[str, int]) -> int:
    return -1 if label.startswith("contrib_") else min(uses.get(label, 0), MAX_BOOST)


def _kind_of(value: object) -> Literal["namespace", "class", "function", "constant"]:
    if isinstance(value, ModuleType):
        return "namespace"
    if isinstance(value, type):
        return "class"
    return "function" if callable(value) else "constant"
