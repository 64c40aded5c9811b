"""``recast``: computing some operators of a program in another data type."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.relay.analysis.layers import count_layers
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.relay.analysis import bottom_up, operands, post_order
from compiler.relay.expr import Call, GraphExpr, Tuple
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.inference import infer_expr
from compiler.relay.operator import call_op, op_name
from compiler.relay.ty import TensorType

__all__ = ["RecastMutator", "recast"]


def recast(
    expr: RelayExpr | IRModule,
    dtype: str,
    out_dtype: str,
    ops: Sequence[str] | None = None,
    skip_layers: Sequence[int] | None = None,
) -> RelayExpr | IRModule:
    """Return a program in which some operators compute in another data type, between casts.

    Parameters
    ----------
    expr : Expr or IRModule
        Of a module, its function ``main`` is rewritten.
    dtype, out_dtype : str
        What the arguments of these operators are cast to, and what those operators return that let their data type be
        chosen, e.g. the ``int32`` of a convolution of ``int8``.  Each result is cast back to the type that it had.
    ops : sequence of str, optional
        The operators; ``nn.conv2d`` by default.
    skip_layers : sequence of int, optional
        Layers that stay: their numbers among these operators, from the inputs on, or negative from the result on.

    Examples
    --------
    ::

        nn.relu(%x)  ->  cast(nn.relu(cast(%x, dtype="float16")), dtype="float32")
    """
    names = tuple(ops or ("nn.conv2d",))
    if isinstance(expr, IRModule):
        return IRModule.from_expr(recast_expr(expr["main"], dtype, out_dtype, names, skip_layers or ()))
    return recast_expr(expr, dtype, out_dtype, names, skip_layers or ())


def recast_expr(
    expr: RelayExpr, dtype: str, out_dtype: str, names: Sequence[str], skip_layers: Sequence[int]
) -> RelayExpr:
    """Return an expression with some operators in another data type, as :func:`recast` says."""
    mutator = RecastMutator(dtype, out_dtype, names, count_layers(expr, names), skip_layers)
    mutator.choose(expr)
    return bottom_up(mutator, expr)


def _layers(expr: GraphExpr, names: Sequence[str], count: int) -> dict[Call, int]:
    """Return the number of each call's layer: the last one is that behind which there is no other."""
    behind: dict[GraphExpr, int] = {}
    layers: dict[Call, int] = {}
    for part in reversed(post_order(expr)):
        level = behind.get(part, 0)
        if isinstance(part, Call) and op_name(part) in names:
            layers[part] = count - 1 - level
            level += 1
        for operand in operands(part):
            behind[operand] = max(behind.get(operand, 0), level)
    return layers


class RecastMutator(ExprMutator):
    """Lets ``valid_op_count`` operators of an expression, one after the other, compute in another data type."""

    def __init__(
        self, dtype: str, out_dtype: str, valid_ops: Sequence[str], valid_op_count: int, skip_layers: Sequence[int]
    ) -> None:
        super().__init__()
        self._dtype = dtype
        self._out_dtype = out_dtype
        self._names = valid_ops
        self._count = valid_op_count
        self._skipped = {layer % valid_op_count for layer in skip_layers} if valid_op_count else set()
        self._chosen: set[Call] | None = None

    def choose(self, expr: RelayExpr) -> None:
        """Choose the calls of an expression that is rewritten from its operands on, not visited as a whole."""
        infer_expr(expr)
        layers = _layers(expr, self._names, self._count)
        self._chosen = {call for call, layer in layers.items() if layer not in self._skipped}

    def visit(self, expr: GraphExpr) -> RelayExpr:
        """Return an expression rewritten; the first one that is visited is the whole."""
        if self._chosen is None and isinstance(expr, RelayExpr):
            self.choose(expr)
        return super().visit(expr)

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        if self._chosen is None or call not in self._chosen:
            return new
        attrs = new.attrs.with_values(out_dtype=self._out_dtype) if "out_dtype" in new.attrs else new.attrs
        t = call.checked_type
        made = rebuild(new, args=tuple(self._cast(arg) for arg in new.args), attrs=attrs)
        return call_op("cast", made, dtype=t.dtype) if isinstance(t, TensorType) else made

    def _cast(self, arg: RelayExpr) -> RelayExpr:
        if isinstance(arg, Tuple):
            return Tuple(tuple(call_op("cast", field, dtype=self._dtype) for field in arg.fields))
        return call_op("cast", arg, dtype=self._dtype)
