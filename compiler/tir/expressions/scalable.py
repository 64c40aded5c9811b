"""Scalable vectors: ``vscale``, and lengths derived from it."""

from compiler.ir import dtype as dt
from compiler.ir.expr.lanes import VSCALE
from compiler.ir.expr.primexpr import Call, ExprLike, PrimExpr, convert
from compiler.ir.function import GlobalVar


def vscale() -> PrimExpr:
    """Return how many times 128 bits the scalable vectors of the processor have, which it says while it runs.

    Examples
    --------
    >>> tir.Ramp(0, 1, 4 * tir.vscale()).dtype
    'int32xvscalex4'
    """
    return Call("int32", VSCALE, ())


def get_vscale_expr(dtype: str, min_size: int = 128) -> PrimExpr:
    """Return how many elements of a type a scalable vector has: a multiple of ``vscale()``.

    A vector has ``min_size`` bits where ``vscale`` is 1.
    """
    return min_size // dt.bits(dtype) * vscale()


def call_tir(global_var: GlobalVar, *args: ExprLike) -> PrimExpr:
    """Call a function of the same module: an expression of type ``void``, to be evaluated as a statement."""
    return Call("void", global_var, tuple(map(convert, args)))
