"""Contexts of passes as releases before 0.7 made them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.deprecation import deprecated
from compiler.ir.pass_context import PassContext

__all__ = ["build_config", "relay_build_config"]

_UNROLL = {"auto_unroll_max_step": "auto_max_step", "auto_unroll_max_depth": "auto_max_depth",
           "auto_unroll_max_extent": "auto_max_extent", "unroll_explicit": "explicit_unroll"}  # fmt: skip
_PREFIXED = ("instrument_bound_checkers", "disable_vectorize", "disable_assert", "add_lower_pass", "noalias")


def relay_build_config(
    opt_level: int = 2,
    required_pass: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | None = None,
    trace: Callable[..., object] | None = None,
) -> PassContext:
    """Return what passes over graphs run in, as ``tvm.transform.PassContext`` does.

    Parameters
    ----------
    opt_level : int
        From 0 to 4.
    required_pass : sequence of str, optional
        Passes that run whatever their level is.
    disabled_pass : sequence of str, optional
        Passes that do not run.
    trace : callable, optional
        Taken for the older releases' sake: instruments see the passes.

    Returns
    -------
    PassContext
    """
    deprecated("tvm.relay.build_config", "tvm.transform.PassContext")
    return PassContext(opt_level, list(required_pass or ()), list(disabled_pass or ()))


def build_config(**options: object) -> PassContext:
    """Return what passes over loops run in, as ``tvm.transform.PassContext`` does.

    Parameters
    ----------
    **options : object
        Options of 0.6, such as ``auto_unroll_max_step`` and ``disable_vectorize``.

    Returns
    -------
    PassContext

    Raises
    ------
    AttrsError
        If there is no such option.
    """
    deprecated("tvm.build_config", "tvm.transform.PassContext")
    unroll = {_UNROLL[name]: value for name, value in options.items() if name in _UNROLL}
    config = {f"tir.{name}" if name in _PREFIXED else name: v for name, v in options.items() if name not in _UNROLL}
    return PassContext(config={**config, **({"tir.UnrollLoop": unroll} if unroll else {})})
