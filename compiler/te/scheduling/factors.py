"""The factors of primitives that split: where they stand among the arguments, and the same call with others.

::

    split(i, factor=32)   →   split(i, factor=64)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from compiler.ir.expr.primexpr import IntImm, IterVar
from compiler.te.scheduling.primitives import Primitive, primitives_of
from compiler.te.scheduling.stage import Stage

_FACTORS = {"factor": 0, "nparts": 0, "x_factor": 0, "y_factor": 1}
"""Arguments of ``split`` and ``tile`` that are factors, and which of the axes that they split each is for."""


def factors_of(p: Primitive) -> dict[str, tuple[IterVar, object]]:
    """Return the axis and the value of each argument that is a factor; none for primitives that do not split."""
    if p.index is None or p.index < 0 or p.name not in ("split", "tile"):
        return {}
    bound = _arguments(p)
    axes = [value for value in bound.values() if isinstance(value, IterVar)]
    given = {name: bound.get(name) for name in _FACTORS}
    return {
        name: (axes[_FACTORS[name]], value.value if isinstance(value, IntImm) else value)
        for name, value in given.items()
        if value is not None
    }


def with_factors(p: Primitive, changed: Mapping[str, int]) -> Primitive:
    """Return a call with other factors."""
    _, *passed = {**_arguments(p), **changed}.items()
    return replace(p, args=(), kwargs=dict(passed))


def _arguments(p: Primitive) -> Mapping[str, Any]:
    return inspect.signature(primitives_of(Stage)[p.name]).bind(None, *p.args, **p.kwargs).arguments
