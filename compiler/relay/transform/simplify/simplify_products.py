"""SimplifyExpr rules that write products of matrices as the operators that have schedules for them."""

from __future__ import annotations

from math import prod

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Constant, Tuple
from compiler.relay.op.einsum import EinsumAttrs
from compiler.relay.operator import call_of, call_op, reshaped
from compiler.relay.transform.simplify.simplify_rule import Rule, of_same_type, static_type
from compiler.topi.einstein import read_equation

_SUMMED_AS_THEY_ARE = ("float32", "float64")
"""Data types whose products are summed in the same type, and multiply rows of a weight as well as columns."""


def _untransposed_weight(call: Call) -> RelayExpr | None:
    data, weight = static_type(call.args[0]), call_of(call.args[1], "transpose")
    if weight is None or isinstance(weight.args[0], Constant) or data is None:
        return None
    if len(data.dims) < 2 or data.dtype not in _SUMMED_AS_THEY_ARE:
        return None
    return of_same_type(call, call_op("nn.matmul", call.args[0], weight.args[0], **call.attrs))


def _in_order(x: RelayExpr, labels: str, order: str) -> RelayExpr:
    axes = [labels.index(c) for c in order]
    return x if axes == sorted(axes) else call_op("transpose", x, axes=axes)


def _einsum_of_matrices(call: Call) -> RelayExpr | None:
    """Of two factors, what both have and the result lacks is summed; the rest are batches, rows and columns."""
    parts, t = call.args[0], static_type(call)
    factors = parts.fields if isinstance(parts, Tuple) else ()
    shapes = [known.concrete_shape for x in factors if (known := static_type(x)) is not None]
    if len(factors) != 2 or len(shapes) != 2 or t is None or t.dtype not in _SUMMED_AS_THEY_ARE:
        return None
    labels = read_equation(EinsumAttrs.of(call).equation, [len(shape) for shape in shapes])
    (a, b), result = labels.operands, labels.result
    sizes = dict(zip(a + b, (*shapes[0], *shapes[1]), strict=True))
    if [sizes[c] for c in a + b] != [*shapes[0], *shapes[1]] or any(len(set(own)) < len(own) for own in (a, b)):
        return None  # an axis is broadcast, or named twice
    depth = "".join(c for c in b if c in a and c not in result)
    batch = "".join(c for c in a if c in b and c in result)
    rows, columns = ("".join(c for c in own if c not in depth + batch) for own in (a, b))
    if not depth or sorted(batch + rows + columns) != sorted(result):
        return None

    def matrices(at: int, *groups: str) -> RelayExpr:
        ordered = _in_order(factors[at], labels.operands[at], "".join(groups))
        shape = [prod(sizes[c] for c in group) for group in groups]
        return ordered if all(len(group) == 1 for group in groups) else reshaped(ordered, shape)

    order = batch + rows + columns
    if batch:
        is_transposed = b[-1] in depth
        right = matrices(1, batch, columns, depth) if is_transposed else matrices(1, batch, depth, columns)
        product = call_op("nn.batch_matmul", matrices(0, batch, rows, depth), right, transpose_b=is_transposed)
    else:
        product = call_op("nn.dense", matrices(0, rows, depth), matrices(1, columns, depth))
    if max(map(len, (batch, rows, columns))) > 1 or not (rows and columns):
        product = reshaped(product, [sizes[c] for c in order])
    return of_same_type(call, _in_order(product, order, result))


PRODUCT_RULES: tuple[Rule, ...] = (
    Rule("nn.dense", "dense(x, transpose(w)) = matmul(x, w)", _untransposed_weight),
    Rule("einsum", "einsum(x, y, ij,kj->ik) = dense(x, y), with more axes batch_matmul", _einsum_of_matrices),
)
