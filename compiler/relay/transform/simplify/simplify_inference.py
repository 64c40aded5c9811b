"""SimplifyInference: expands normalisations and removes dropout."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.relay.expr import Call, Tuple, TupleGetItem
from compiler.relay.op.nn.conv import multiplies_depth
from compiler.relay.op.nn.conv_attrs import ConvAttrs
from compiler.relay.op.nn.norm import BatchNormAttrs, GroupNormAttrs, L2NormalizeAttrs, NormAttrs
from compiler.relay.operator import call_op, reshaped
from compiler.relay.transform.rewriter import (
    ElementMutator,
    GraphMutator,
    RewritePass,
    along_axis,
    const_like,
    dims_of,
    op_name,
    tensor_type,
)
from compiler.target.target import Target
from compiler.tir.layout.data_layout import layout

_Normalized = Callable[[RelayExpr, Sequence[int], float, str], RelayExpr]
"""``(data, axes, epsilon, dtype)``: returns ``(data - mean) / sqrt(variance + epsilon)`` over some axes."""


class SimplifyInference(RewritePass, required=("InferType",)):
    """Replace normalisations by arithmetic that other passes understand, and drop dropout.

    Level 0; requires InferType.  The statistics of a batch normalisation are known when a model runs, so it is one
    multiplication and one addition, whose factors other passes fold.  Normalisations by the data's own statistics
    divide by the root of the ``variance``, as in TVM, or with ``in_build`` take the form that builds compute fastest:
    distances from the mean times ``1 / sqrt(...)``, or where a CPU passes over the rows one by one, the operator.

    Examples
    --------
    ``SimplifyInference()``::

        def @main(%x: Tensor[(1, 4, 8, 8), float32], %gamma: Tensor[(4), float32], %beta: Tensor[(4), float32],
                  %mean: Tensor[(4), float32], %var: Tensor[(4), float32]) {
          nn.batch_norm(%x, %gamma, %beta, %mean, %var).0
        }
        ->
        def @main(%x: Tensor[(1, 4, 8, 8), float32], %gamma: Tensor[(4), float32], %beta: Tensor[(4), float32],
                  %mean: Tensor[(4), float32], %var: Tensor[(4), float32]) {
          %scale = multiply(divide(1f, sqrt(add(%var, 1e-05f))), %gamma);
          %shift = add(multiply(negative(%mean), %scale), %beta);
          add(multiply(%x, expand_dims(%scale, axis=1, num_newaxis=2)), expand_dims(%shift, axis=1, num_newaxis=2))
        }

    ``SimplifyInference()``::

        def @main(%x: Tensor[(3), float32]) { nn.dropout(%x).0 }
        ->
        def @main(%x: Tensor[(3), float32]) { %x }
    """

    in_build: bool = False

    def mutator(self) -> GraphMutator:
        return _Simplifier(self.in_build)


class _Simplifier(ElementMutator):
    def __init__(self, in_build: bool) -> None:
        super().__init__()
        self._in_build, self._normalized = in_build, _fastest if in_build else _as_in_tvm

    def visit_tuple_getitem(self, op: TupleGetItem) -> RelayExpr:
        if isinstance(op.tuple_value, Tuple):  # the program's own, not what an operator became
            return GraphMutator.visit_tuple_getitem(self, op)
        return super().visit_tuple_getitem(op)

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        name = op_name(new)
        if name in _BY_STATISTICS and not (self._in_build and _is_of_rows(new, call.args[0])):
            return _BY_STATISTICS[name](new, call.args[0], self._normalized)
        rule = _RULES.get(name)
        return new if rule is None else rule(new, call.args[0])


def _batch_norm(call: Call, data_before: RelayExpr) -> RelayExpr:
    data, gamma, beta, mean, variance = call.args
    attrs, t = BatchNormAttrs.of(call), tensor_type(data_before)
    assert t is not None
    scale = _inverse_deviation(variance, attrs.epsilon, t.dtype)
    if attrs.scale:
        scale = call_op("multiply", scale, gamma)
    shift = call_op("multiply", call_op("negative", mean), scale)
    if attrs.center:
        shift = call_op("add", shift, beta)
    rank, axis = len(t.dims), attrs.axis % len(t.dims)
    scaled = call_op("multiply", data, along_axis(scale, axis, rank))
    return Tuple((call_op("add", scaled, along_axis(shift, axis, rank)), mean, variance))


def _is_of_rows(call: Call, data_before: RelayExpr) -> bool:
    """Return whether a CPU normalises rows one by one, each while it is in the first cache."""
    t, target = tensor_type(data_before), Target.current()
    if t is None or t.dtype != "float32" or target is None or target.kind != "llvm":
        return False
    rank, axis = len(t.dims), call.attrs["axis"]
    return axis % rank == (rank - 1 if op_name(call) == "nn.layer_norm" else 1) and not (
        op_name(call) == "nn.instance_norm" and rank > 3  # whose parts take the layouts of convolutions
    )


def _layer_norm(call: Call, data_before: RelayExpr, normalized: _Normalized) -> RelayExpr:
    return _over(call, data_before, (NormAttrs.of(call).axis,), normalized)


def _instance_norm(call: Call, data_before: RelayExpr, normalized: _Normalized) -> RelayExpr:
    dims = dims_of(data_before)
    assert dims is not None
    axis = NormAttrs.of(call).axis % len(dims)
    return _over(call, data_before, tuple(d for d in range(1, len(dims)) if d != axis), normalized)


def _over(call: Call, data_before: RelayExpr, axes: Sequence[int], normalized: _Normalized) -> RelayExpr:
    t = tensor_type(data_before)
    assert t is not None
    attrs = NormAttrs.of(call)
    return _affine(call, attrs, normalized(call.args[0], axes, attrs.epsilon, t.dtype), len(t.dims))


def _group_norm(call: Call, data_before: RelayExpr, normalized: _Normalized) -> RelayExpr:
    """Split the channels into (groups, channels of one), normalise, and join them again."""
    t = tensor_type(data_before)
    assert t is not None
    attrs = GroupNormAttrs.of(call)
    dims, groups = t.dims, attrs.num_groups
    axis = attrs.axis % len(dims)
    if not all(isinstance(d, int) for d in dims):
        return call
    split = (*dims[:axis], groups, dims[axis] // groups, *dims[axis + 1 :])
    over = tuple(d for d in range(1, len(split)) if d != axis)
    parts = reshaped(call.args[0], split)
    joined = reshaped(normalized(parts, over, attrs.epsilon, t.dtype), dims)
    return _affine(call, attrs, joined, len(dims))


def _l2_normalize(call: Call, data_before: RelayExpr) -> RelayExpr:
    data, t, attrs = call.args[0], tensor_type(data_before), L2NormalizeAttrs.of(call)
    assert t is not None
    squares = call_op("sum", call_op("multiply", data, data), axis=attrs.axis, keepdims=True)
    norm = call_op("sqrt", call_op("maximum", squares, const_like(attrs.eps, t.dtype)))
    return call_op("divide", data, norm)


def _conv(call: Call, data_before: RelayExpr) -> RelayExpr:
    """Put several kernels of each channel one after the other, as kernels of groups of one channel."""
    attrs, data, weight = ConvAttrs.of(call), tensor_type(data_before), tensor_type(call.args[1])
    letters = layout(attrs.kernel_layout).letters
    if data is None or weight is None or not attrs.kernel_layout.isalpha() or not attrs.data_layout.isalpha():
        return call
    channels, extents = data.dims[attrs.data_layout.index("C")], dict(zip(letters, weight.dims, strict=True))
    if not multiplies_depth(channels, extents["O"], extents["I"], attrs):
        return call
    order = letters.replace("I", "").replace("O", "OI")
    moved = call_op("transpose", call.args[1], axes=[letters.index(letter) for letter in order])
    shape = [{"O": -1, "I": 1}.get(letter, extents[letter]) for letter in order]
    weights = call_op("reshape", moved, newshape=shape)
    return rebuild(call, args=(call.args[0], weights), attrs=call.attrs.with_values(kernel_layout=order))


def _dropout(call: Call, data_before: RelayExpr) -> RelayExpr:
    return Tuple((call.args[0], call_op("ones_like", call.args[0])))


_RULES: dict[str, Callable[[Call, RelayExpr], RelayExpr]] = {
    "nn.batch_norm": _batch_norm,
    **{f"nn.conv{rank}d": _conv for rank in (1, 2, 3)},
    "nn.l2_normalize": _l2_normalize,
    "nn.dropout": _dropout,
}
"""By operator: ``rule(call, data before rewriting)`` returns what replaces a call whose operands are rewritten."""

_BY_STATISTICS: dict[str, Callable[[Call, RelayExpr, _Normalized], RelayExpr]] = {
    "nn.layer_norm": _layer_norm,
    "nn.instance_norm": _instance_norm,
    "nn.group_norm": _group_norm,
}
"""As above, for operators that normalise by the statistics of their data."""


def _as_in_tvm(data: RelayExpr, axes: Sequence[int], epsilon: float, dtype: str) -> RelayExpr:
    mean = call_op("mean", data, axis=tuple(axes), keepdims=True)
    variance = call_op("variance", data, mean, axis=tuple(axes), keepdims=True)
    spread = call_op("add", variance, const_like(epsilon, dtype))
    return call_op("divide", call_op("subtract", data, mean), call_op("sqrt", spread))


def _fastest(data: RelayExpr, axes: Sequence[int], epsilon: float, dtype: str) -> RelayExpr:
    mean = call_op("mean", data, axis=tuple(axes), keepdims=True)
    centred = call_op("subtract", data, mean)
    variance = call_op("mean", call_op("multiply", centred, centred), axis=tuple(axes), keepdims=True)
    return call_op("multiply", centred, _inverse_deviation(variance, epsilon, dtype))


def _inverse_deviation(variance: RelayExpr, epsilon: float, dtype: str) -> RelayExpr:
    deviation = call_op("sqrt", call_op("add", variance, const_like(epsilon, dtype)))
    return call_op("divide", const_like(1.0, dtype), deviation)


def _affine(call: Call, attrs: NormAttrs | GroupNormAttrs, value: RelayExpr, rank: int) -> RelayExpr:
    """Return a value times gamma plus beta, as far as the call wants them."""
    _, gamma, beta = call.args
    axis = attrs.axis % rank
    if attrs.scale:
        value = call_op("multiply", value, along_axis(gamma, axis, rank))
    if attrs.center:
        value = call_op("add", value, along_axis(beta, axis, rank))
    return value
