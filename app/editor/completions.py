"""The names that the editor completes, with signature and first sentence, read off the compiler's own modules."""

from __future__ import annotations

import inspect
from functools import cache
from types import ModuleType
from typing import Any

import compiler
from compiler import te, tir

Completion = dict[str, str]
"""What CodeMirror wants of a completion: ``label``, ``type``, ``detail`` and ``info``."""
DETAIL_LENGTH = 70

OWNERS: dict[str, Any] = {"tvm": compiler, "te": te, "tir": tir, "Schedule": te.Schedule, "Stage": te.Stage}
"""What may stand before a dot; ``s[C].`` is a stage, and a variable named like a schedule is taken for one."""


def _names(owner: Any) -> list[str]:
    if owner is compiler:
        return dir(compiler)
    listed = getattr(owner, "__all__", None) if isinstance(owner, ModuleType) else None
    return sorted(name for name in listed or vars(owner) if not name.startswith("_"))


def _detail(value: Any) -> str:
    try:
        signature = str(inspect.signature(value, eval_str=False))
    except (TypeError, ValueError):  # not callable, or built in
        return ""
    text = signature.replace("(self, ", "(").replace("(self)", "()").split(" -> ")[0].replace("'", "")
    return text if len(text) <= DETAIL_LENGTH else text[: DETAIL_LENGTH - 1] + "…"


def _describe(owner: Any, name: str) -> Completion:
    value = getattr(owner, name, None)
    kind = "namespace" if isinstance(value, ModuleType) else "class" if isinstance(value, type) else "function"
    sentence = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return {"label": name, "type": kind, "detail": _detail(value), "info": sentence.replace("``", "")}


@cache
def completions() -> dict[str, list[Completion]]:
    """Return the completions of each owner by its name."""
    return {name: [_describe(owner, label) for label in _names(owner)] for name, owner in OWNERS.items()}
