"""``tvm.tir.generic``: arithmetic that user-defined types can overload."""

from compiler.ir.expr.coercion import cast as _cast
from compiler.ir.expr.primexpr import ExprLike, PrimExpr
from compiler.tir.expressions.arithmetic import add, div, floordiv, multiply, subtract

__all__ = ["add", "cast", "divide", "floordiv", "multiply", "subtract"]

divide = div


def cast(src: ExprLike, dtype: str, span: object = None) -> PrimExpr:
    """Return an expression as another data type."""
    return _cast(dtype, src)
