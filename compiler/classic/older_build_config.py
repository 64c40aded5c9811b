"""Pass contexts as in TVM before 0.7."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.deprecation import deprecated
from compiler.ir.passes.base import Pass
from compiler.ir.passes.context import PassContext
from compiler.tir.statements.stmt import Stmt
from compiler.tir.transform import prim_func_pass

_UNROLL = {"auto_unroll_max_step": "auto_max_step", "auto_unroll_max_depth": "auto_max_depth",
           "auto_unroll_max_extent": "auto_max_extent", "unroll_explicit": "explicit_unroll"}  # fmt: skip
_PREFIXED = ("instrument_bound_checkers", "disable_vectorize", "disable_assert", "add_lower_pass", "noalias")


def relay_build_config(
    opt_level: int = 2,
    required_pass: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | None = None,
    trace: Callable[..., object] | None = None,
) -> PassContext:
    """Return what passes over graphs run in, as ``tvm.transform.PassContext`` does."""
    deprecated("tvm.relay.build_config", "tvm.transform.PassContext")
    return PassContext(opt_level, list(required_pass or ()), list(disabled_pass or ()))


def _of_functions(added: Pass | Callable[[Stmt], Stmt]) -> Pass:
    if isinstance(added, Pass):
        return added
    of_functions: Pass = prim_func_pass(
        lambda func, mod, ctx: func.with_body(added(func.body)), opt_level=0, name=added.__name__
    )
    return of_functions


def build_config(
    *, add_lower_pass: Sequence[tuple[int, Pass | Callable[[Stmt], Stmt]]] = (), **options: object
) -> PassContext:
    """Return what passes over loops run in, as ``tvm.transform.PassContext`` does, by options of 0.6.

    ``add_lower_pass`` are passes of the program's own, or functions over statements, each with the phase after which it
    is carried out; other options are ``auto_unroll_max_step``, ``disable_vectorize`` and so on.
    """
    deprecated("tvm.build_config", "tvm.transform.PassContext")
    if add_lower_pass:
        options["add_lower_pass"] = [(phase, _of_functions(added)) for phase, added in add_lower_pass]
    unroll = {_UNROLL[name]: value for name, value in options.items() if name in _UNROLL}
    config = {f"tir.{name}" if name in _PREFIXED else name: v for name, v in options.items() if name not in _UNROLL}
    return PassContext(config={**config, **({"tir.UnrollLoop": unroll} if unroll else {})})
