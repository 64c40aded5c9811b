"""Completions of the editor, from the public API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import ModuleType
from typing import Literal

import msgspec

from app.editor.documentation import call_text
from app.editor.public_api import public_names, resolve

MAX_DETAIL = 70
"""Maximum length of a signature in the list of completions."""
MAX_OWNERS = 256
MAX_BOOST = 50
"""Maximum boost, small enough that the match with the typed text has priority."""


class Completion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A completion in CodeMirror's format, without documentation."""

    label: str
    type: Literal["namespace", "class", "function", "constant"]
    detail: str = ""
    """Parameters, possibly truncated."""
    boost: int = 0
    """Rank among equal matches, by the number of examples that use the name; internal names are last."""


@lru_cache(MAX_OWNERS)
def completions(path: str) -> list[Completion] | None:
    """Return the completions after a public name and a dot.

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
    return [_complete(name, value) for name, value in _values(owner) if not _is_empty(value)]


def _values(owner: object) -> Iterator[tuple[str, object]]:
    """Yield public names with what they stand for, without those that need a library that is not installed."""
    for name in public_names(owner):
        try:
            value = getattr(owner, name)
        except ModuleNotFoundError:
            continue
        yield name, value


def _is_empty(value: object) -> bool:
    """Return whether a value is a module without public names, such as a placeholder for a missing one."""
    return isinstance(value, ModuleType) and not public_names(value)


def _complete(name: str, value: object) -> Completion:
    detail = call_text(value) or ""
    if len(detail) > MAX_DETAIL:
        detail = detail[: MAX_DETAIL - 1] + "…"
    return Completion(label=name, type=_kind_of(value), detail=detail)


def ranked(names: Iterable[Completion], uses: Mapping[str, int]) -> list[Completion]:
    """Rank completions by usage.

    Parameters
    ----------
    uses : mapping of str to int
        Number of examples that use each name.
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
