"""Options of single passes, as ``PassContext(config={"tir.UnrollLoop": {…}})`` gives them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.transform import PassContext, register_config_option

for _key in (
    "tir.disable_assert",
    "tir.disable_cse_tir",
    "tir.disable_storage_rewrite",
    "tir.disable_vectorize",
    "tir.enable_equiv_terms_in_cse_tir",
    "tir.instrument_bound_checkers",
    "tir.noalias",
):
    register_config_option(_key, (bool, int))


def read_options(ctx: PassContext, key: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a pass: the defaults, overridden by what the context says.

    Raises
    ------
    ArgumentError
        If the context names an option that the pass does not have, or gives a value of another type.
    """
    given: Mapping[str, Any] = ctx.config.get(key, {})
    for name, value in given.items():
        if name not in defaults:
            near = difflib.get_close_matches(str(name), defaults, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ArgumentError(f"{key}: there is no option {name!r}{hint}")
        if not isinstance(value, (int, bool)):
            kind = type(defaults[name]).__name__
            raise ArgumentError(f"{key}: option {name!r} must be of type {kind}, got {show(value)}")
    return {**defaults, **given}
