"""Every family of ATen operators in small functions, beside PyTorch itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.compiler.relay.frontend.pytorch_models import compare, traced

torch = pytest.importorskip("torch")
F = torch.nn.functional
nn = torch.nn

Function = Callable[..., Any]

_UNARY = [
    "abs",
    "neg",
    "sign",
    "square",
    "relu",
    "exp",
    "sin",
    "cos",
    "tan",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "erf",
    "erfc",
    "exp2",
    "expm1",
    "sigmoid",
    "floor",
    "ceil",
    "trunc",
    "frac",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "logical_not",
    "deg2rad",
    "rad2deg",
    "reciprocal",
    "isposinf",
    "isneginf",
    "nan_to_num",
]
_POSITIVE = ["sqrt", "rsqrt", "log", "log2", "log10", "log1p", "acosh"]
_WITHIN_ONE = ["asin", "acos", "atanh", "logit"]
_BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "logaddexp",
    "copysign",
    "remainder",
    "fmod",
    "floor_divide",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "rsub",
    "heaviside",
]
_ACTIVATIONS = [
    "relu6",
    "hardtanh",
    "hardsigmoid",
    "hardswish",
    "silu",
    "mish",
    "leaky_relu",
    "logsigmoid",
    "softsign",
    "tanhshrink",
    "hardshrink",
    "softshrink",
    "softplus",
    "elu",
    "selu",
    "celu",
    "gelu",
]


def _one(name: str) -> Function:
    return lambda x: getattr(torch, name)(x)


def _shaped(*shape: int) -> Any:
    return torch.randn(*shape)


def _ints(high: int, *shape: int) -> Any:
    return torch.randint(0, high, shape)


CASES: dict[str, tuple[Function, Callable[[], list[Any]]]] = {
    **{name: (_one(name), lambda: [_shaped(3, 4) * 3]) for name in _UNARY},
    **{name: (_one(name), lambda: [torch.rand(3, 4) + 1.01]) for name in _POSITIVE},
    **{name: (_one(name), lambda: [torch.rand(3, 4) * 0.9 + 0.05]) for name in _WITHIN_ONE},
    **{
        name: (lambda x, y, name=name: getattr(torch, name)(x, y), lambda: [_shaped(3, 4), _shaped(4)])
        for name in _BINARY
    },
    **{f"nn.{name}": (lambda x, name=name: getattr(F, name)(x), lambda: [_shaped(3, 4) * 4]) for name in _ACTIVATIONS},
    # arithmetic
    "round": (torch.round, lambda: [torch.tensor([0.5, 1.5, 2.5, -0.5, -1.2, 3.7])]),
    "round_decimals": (lambda x: torch.round(x, decimals=2), lambda: [_shaped(5)]),
    "int_true_div": (lambda x, y: x / y, lambda: [_ints(9, 4), _ints(9, 4) + 1]),
    "int_floor_div": (lambda x, y: (x - 5) // y, lambda: [_ints(9, 6), _ints(3, 6) + 1]),
    "div_trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), lambda: [_shaped(4), _shaped(4)]),
    "int_remainder": (lambda x, y: (x - 5) % y, lambda: [_ints(9, 6), _ints(3, 6) + 1]),
    "mixed_types": (lambda x, y: x + y * 2.5, lambda: [_ints(9, 4), _shaped(4).half()]),
    "int_and_float": (lambda x: x * 1.5 + 1, lambda: [_ints(9, 4)]),
    "zero_dim": (lambda x, y: x + y, lambda: [_shaped(3), torch.tensor(2.0, dtype=torch.float64)]),
    "pow": (lambda x: (x**2, x**0.5, x**3, 2**x, x**-1.5), lambda: [torch.rand(4) + 0.5]),
    "int_pow": (lambda x: x**3, lambda: [_ints(9, 4) - 4]),
    "clamp": (lambda x: (x.clamp(-1, 1), x.clamp(min=0), x.clamp_max(0.5)), lambda: [_shaped(9)]),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), lambda: [_shaped(4), _shaped(4)]),
    "addcmul": (lambda x, y: torch.addcmul(x, x, y, value=2), lambda: [_shaped(4), _shaped(4)]),
    "addcdiv": (lambda x, y: torch.addcdiv(x, x, y, value=2), lambda: [_shaped(4), torch.rand(4) + 1]),
    "alpha": (lambda x, y: (torch.add(x, y, alpha=3), torch.sub(x, y, alpha=2)), lambda: [_shaped(4), _shaped(4)]),
    "where": (lambda x, y: torch.where(x > 0, x, y), lambda: [_shaped(4), _shaped(4)]),
    "bits": (lambda x, y: (x & y, x | y, x ^ y, ~x, x << 2, x >> 1), lambda: [_ints(99, 5), _ints(99, 5)]),
    "truth": (lambda x, y: ((x > 0) & (y > 0), (x > 0) | (y > 0), ~(x > 0)), lambda: [_shaped(5), _shaped(5)]),
    "casts": (
        lambda x: (x.int(), x.long(), x.half(), x.double(), x.bool(), x.to(torch.uint8)),
        lambda: [_shaped(5).abs()],
    ),
    "type_as": (lambda x, y: x.type_as(y), lambda: [_shaped(3), _ints(3, 2)]),
    "xlogy": (torch.xlogy, lambda: [torch.rand(4), torch.rand(4) + 0.1]),
    "isclose": (torch.isclose, lambda: [torch.ones(3), torch.tensor([1.0, 1.1, 1 + 1e-7])]),
    # activations
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), lambda: [_shaped(9)]),
    "prelu": (nn.PReLU(3), lambda: [_shaped(2, 3, 4)]),
    "glu": (lambda x: F.glu(x, 1), lambda: [_shaped(2, 6)]),
    "threshold": (lambda x: F.threshold(x, 0.1, -2.0), lambda: [_shaped(6)]),
    "softmax": (lambda x: (x.softmax(1), x.log_softmax(-1), F.softmin(x, 0)), lambda: [_shaped(3, 5)]),
    "dropout": (nn.Dropout(0.5), lambda: [_shaped(3)]),
    # reductions
    "sum": (lambda x: (x.sum(), x.sum(1), x.sum((0, 2), keepdim=True)), lambda: [_shaped(2, 3, 4)]),
    "int_sum": (lambda x: (x.sum(), x.prod(), x.cumsum(0)), lambda: [_ints(4, 5).int()]),
    "mean": (lambda x: (x.mean(), x.mean(-1), x.mean((0, 1), keepdim=True)), lambda: [_shaped(2, 3, 4)]),
    "extremes": (lambda x: (x.max(), x.min(), *x.max(1), *x.min(0, keepdim=True)), lambda: [_shaped(3, 4)]),
    "amax": (lambda x: (x.amax(1), x.amin((0, 1)), *torch.aminmax(x, dim=1)), lambda: [_shaped(3, 4)]),
    "max_other": (lambda x, y: (torch.max(x, y), torch.min(x, y)), lambda: [_shaped(3), _shaped(3)]),
    "arg": (lambda x: (x.argmax(), x.argmax(1), x.argmin(0, keepdim=True)), lambda: [_shaped(3, 4)]),
    "all_any": (lambda x: ((x > 0).all(), (x > 0).any(1), (x > 0).all(0)), lambda: [_shaped(3, 4)]),
    "var": (lambda x: (x.var(), x.var(1), x.std(0, unbiased=False), *torch.var_mean(x, 1)), lambda: [_shaped(3, 4)]),
    "std_mean": (lambda x: torch.std_mean(x, 0), lambda: [_shaped(3, 4)]),
    "norm": (
        lambda x: (x.norm(), x.norm(1, 1), x.norm(3, 0), torch.linalg.vector_norm(x, float("inf"))),
        lambda: [_shaped(3, 4)],
    ),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), lambda: [_shaped(3, 4)]),
    "cumulative": (lambda x: (x.cumsum(1), x.cumprod(0), *x.cummax(1), *x.cummin(0)), lambda: [_shaped(3, 4)]),
    "count_nonzero": (lambda x: torch.count_nonzero(x), lambda: [_ints(2, 9)]),
    "distances": (
        lambda x, y: (F.cosine_similarity(x, y), F.pairwise_distance(x, y), torch.cdist(x, y)),
        lambda: [_shaped(3, 4), _shaped(3, 4)],
    ),
    "trace": (torch.trace, lambda: [_shaped(3, 4)]),
    "median": (lambda x: (x.median(), *x.median(1), *x.kthvalue(2, 1)), lambda: [_shaped(3, 5)]),
    "normalize": (lambda x: F.normalize(x, dim=1), lambda: [_shaped(3, 5)]),
    # products
    "matmul": (
        lambda x, y: (x @ y, x[0] @ y[0], x[0, 0] @ y[0], x[0] @ y[0, :, 0]),
        lambda: [_shaped(2, 3, 4), _shaped(2, 4, 5)],
    ),
    "matmul_broadcast": (torch.matmul, lambda: [_shaped(2, 1, 3, 4), _shaped(5, 4, 2)]),
    "bmm": (
        lambda x, y: (torch.bmm(x, y), torch.baddbmm(x @ y, x, y, beta=0.5)),
        lambda: [_shaped(2, 3, 4), _shaped(2, 4, 3)],
    ),
    "addmm": (
        lambda x, y, z: torch.addmm(x, y, z, beta=2, alpha=0.5),
        lambda: [_shaped(5), _shaped(3, 4), _shaped(4, 5)],
    ),
    "vectors": (lambda x, y: (x.dot(y), torch.outer(x, y), torch.kron(x, y)), lambda: [_shaped(4), _shaped(4)]),
    "mv": (lambda x, y: (torch.mv(x, y), torch.addmv(y[:3], x, y)), lambda: [_shaped(3, 4), _shaped(4)]),
    "einsum": (lambda x, y: torch.einsum("bij,bjk->bik", x, y), lambda: [_shaped(2, 3, 4), _shaped(2, 4, 5)]),
    "tensordot": (
        lambda x, y: torch.tensordot(x, y, dims=([1, 0], [0, 2])),
        lambda: [_shaped(2, 3, 4), _shaped(3, 5, 2)],
    ),
    "linear": (nn.Linear(4, 3), lambda: [_shaped(2, 5, 4)]),
    "bilinear": (nn.Bilinear(3, 4, 2), lambda: [_shaped(5, 3), _shaped(5, 4)]),
    # windows
    "conv1d": (nn.Conv1d(4, 6, 3, 2, 1, groups=2), lambda: [_shaped(2, 4, 9)]),
    "conv2d": (nn.Conv2d(3, 4, (3, 2), (2, 1), (1, 0), (1, 2)), lambda: [_shaped(2, 3, 8, 9)]),
    "conv2d_same": (nn.Conv2d(3, 4, 4, padding="same"), lambda: [_shaped(1, 3, 8, 9)]),
    "conv2d_single": (nn.Conv2d(3, 4, 3), lambda: [_shaped(3, 8, 9)]),
    "conv3d": (nn.Conv3d(2, 3, 2), lambda: [_shaped(1, 2, 4, 5, 4)]),
    "conv_transpose1d": (nn.ConvTranspose1d(3, 2, 3, 2, 1, 1), lambda: [_shaped(2, 3, 5)]),
    "conv_transpose2d": (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2), lambda: [_shaped(1, 4, 5, 4)]),
    "conv_transpose3d": (nn.ConvTranspose3d(2, 3, 2, 2), lambda: [_shaped(1, 2, 3, 3, 3)]),
    "max_pool": (
        lambda x: (F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, ceil_mode=True), F.max_pool1d(x[0], 2)),
        lambda: [_shaped(1, 2, 7, 7)],
    ),
    "avg_pool": (
        lambda x: (F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2, 2, 1, count_include_pad=False), F.avg_pool1d(x[0], 3)),
        lambda: [_shaped(1, 2, 7, 7)],
    ),
    "avg_pool_ceil": (lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True), lambda: [_shaped(1, 2, 8, 8)]),
    "avg_pool_divisor": (lambda x: F.avg_pool2d(x, 2, divisor_override=3), lambda: [_shaped(1, 2, 8, 8)]),
    "pool3d": (lambda x: (F.max_pool3d(x, 2), F.avg_pool3d(x, 2)), lambda: [_shaped(1, 2, 4, 4, 4)]),
    "adaptive": (
        lambda x: (F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, 2), F.adaptive_avg_pool1d(x[0], 2)),
        lambda: [_shaped(1, 2, 7, 7)],
    ),
    "pad": (
        lambda x: (F.pad(x, (1, 2, 0, 1), value=3.0), F.pad(x, (1, 2), "reflect"), F.pad(x, (-1, 2))),
        lambda: [_shaped(1, 3, 5)],
    ),
    "pad_modes": (
        lambda x: (
            F.pad(x, (1, 2, 2, 1), "replicate"),
            F.pad(x, (1, 2, 0, 1), "circular"),
            F.pad(x, (1, 1, 1, 1), "reflect"),
        ),
        lambda: [_shaped(1, 2, 4, 5)],
    ),
    "unfold": (lambda x: (F.unfold(x, 2, padding=1), x.unfold(2, 3, 2)), lambda: [_shaped(1, 2, 5, 6)]),
    # normalization
    "batch_norm": (nn.BatchNorm2d(3), lambda: [_shaped(2, 3, 4, 4)]),
    "batch_norm1d": (nn.BatchNorm1d(3, affine=False), lambda: [_shaped(2, 3)]),
    "instance_norm": (nn.InstanceNorm2d(3, affine=True), lambda: [_shaped(2, 3, 4, 4)]),
    "layer_norm": (nn.LayerNorm((3, 4)), lambda: [_shaped(2, 3, 4)]),
    "group_norm": (nn.GroupNorm(2, 4), lambda: [_shaped(2, 4, 3, 3)]),
    "rms_norm": (nn.RMSNorm(4), lambda: [_shaped(2, 4)]),
    "local_response_norm": (nn.LocalResponseNorm(2), lambda: [_shaped(1, 4, 3, 3)]),
    "losses": (
        lambda x, y: (F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y)),
        lambda: [_shaped(4), _shaped(4)],
    ),
    # shapes
    "view": (
        lambda x: (x.view(6, 4), x.reshape(-1), x.flatten(1), x.unflatten(2, (2, -1)), x.ravel()),
        lambda: [_shaped(2, 3, 4)],
    ),
    "permute": (
        lambda x: (x.permute(2, 0, 1), x.transpose(0, -1), x[0].t(), x.mT, x.movedim(0, 2)),
        lambda: [_shaped(2, 3, 4)],
    ),
    "squeeze": (lambda x: (x.squeeze(), x.squeeze(1), x.unsqueeze(-1)), lambda: [_shaped(1, 3, 1)]),
    "join": (
        lambda x, y: (torch.cat([x, y], 1), torch.stack([x, y], -1), torch.hstack([x, y]), torch.vstack([x, y])),
        lambda: [_shaped(2, 3), _shaped(2, 3)],
    ),
    "split": (
        lambda x: (*x.split(2, 1), *x.split([1, 4], 1), *x.chunk(2, 1), *x.unbind(0), *x.tensor_split(3, 1)),
        lambda: [_shaped(2, 5)],
    ),
    "expand": (
        lambda x: (x.expand(2, 3, 4), x.expand(-1, 4), x.repeat(2, 1, 3), x.tile(2), x.repeat_interleave(2, 0)),
        lambda: [_shaped(3, 1)],
    ),
    "expand_4": (
        lambda x, y: (x.expand_as(y), *torch.broadcast_tensors(x, y)),
        lambda: [_shaped(3, 1), _shaped(2, 3, 4)],
    ),
    "flip": (lambda x: (x.flip(0, 1), x.rot90(), x.roll(2, 1), x.roll(3), x.fliplr()), lambda: [_shaped(3, 4)]),
    "slices": (
        lambda x: (x[1:], x[:, ::2], x[-1], x[..., 1:-1], x[:, None], x.narrow(1, 1, 2), x.select(1, -2)),
        lambda: [_shaped(3, 5)],
    ),
    "diagonal": (
        lambda x: (x.diagonal(), torch.diag(x), torch.diag(x[0], 1), torch.diag_embed(x)),
        lambda: [_shaped(3, 4)],
    ),
    "triangles": (lambda x: (x.tril(), x.triu(1)), lambda: [_shaped(3, 4)]),
    "pixel_shuffle": (lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2)), lambda: [_shaped(1, 8, 4, 4)]),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), lambda: [_shaped(1, 4, 2, 2)]),
    # creation
    "filled": (
        lambda x: (
            torch.zeros(2, 3) + x,
            torch.ones_like(x),
            torch.full((2,), 3.5),
            x.new_zeros(2),
            torch.full_like(x, 2),
            torch.eye(3),
        ),
        lambda: [_shaped(2, 3)],
    ),
    "arange": (
        lambda x: (torch.arange(5) + x.sum(), torch.arange(1, 2, 0.25), torch.linspace(0, 1, 5)),
        lambda: [_shaped(3)],
    ),
    "meshgrid": (
        lambda x, y: (*torch.meshgrid(x, y, indexing="ij"), *torch.meshgrid(x, y, indexing="xy")),
        lambda: [_shaped(3), _shaped(2)],
    ),
    "one_hot": (lambda x: F.one_hot(x, 5), lambda: [_ints(5, 4)]),
    # indices
    "embedding": (nn.Embedding(10, 4), lambda: [_ints(10, 2, 3)]),
    "gather": (
        lambda x, i: (x.gather(1, i), x.index_select(1, i[0]), torch.take(x, i), x.take_along_dim(i, 1)),
        lambda: [_shaped(3, 4), _ints(4, 3, 2)],
    ),
    "index": (
        lambda x, i: (x[i], x[:, i], x[i, i], x[:, i, i - 1], x[i, :, i]),
        lambda: [_shaped(3, 3, 3), _ints(3, 2)],
    ),
    "index_put": (
        lambda x, i: (x.index_put((i,), x[0]), x.index_put((i, i), x[0, 0, 0], accumulate=True)),
        lambda: [_shaped(3, 3, 3), torch.tensor([0, 2])],
    ),
    "scatter": (
        lambda x, i, s: (x.scatter(1, i, s), x.scatter_add(0, i, s), x.scatter(1, i, 2.0)),
        lambda: [_shaped(3, 3), torch.tensor([[0, 1], [2, 0]]), _shaped(2, 2)],
    ),
    "index_write": (
        lambda x, i, s: (x.index_add(0, i, s), x.index_copy(0, i, s), x.index_fill(1, i, 1.0)),
        lambda: [_shaped(3, 3), torch.tensor([0, 2]), _shaped(2, 3)],
    ),
    "masked_fill": (lambda x: x.masked_fill(x > 0, -1.0), lambda: [_shaped(3, 3)]),
    "slice_scatter": (
        lambda x, y: (x.slice_scatter(y, 0, 1, 3), x.select_scatter(y[0], 0, 1)),
        lambda: [_shaped(4, 3), _shaped(2, 3)],
    ),
    # order
    "sort": (lambda x: (*x.sort(1), *x.sort(0, descending=True), x.argsort(1), *x.topk(2, 1)), lambda: [_shaped(3, 5)]),
    "searchsorted": (
        lambda x, y: (torch.searchsorted(x, y), torch.bucketize(y, x, right=True)),
        lambda: [torch.arange(5.0), torch.rand(4) * 5],
    ),
    # images
    "nearest": (lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, (7, 5))), lambda: [_shaped(1, 2, 4, 4)]),
    "bilinear_size": (lambda x: F.interpolate(x, (7, 9), mode="bilinear"), lambda: [_shaped(1, 2, 4, 4)]),
    "bilinear_corners": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
        lambda: [_shaped(1, 2, 4, 4)],
    ),
    "bicubic": (lambda x: F.interpolate(x, (7, 9), mode="bicubic"), lambda: [_shaped(1, 2, 5, 5)]),
    "linear1d": (lambda x: F.interpolate(x, 9, mode="linear"), lambda: [_shaped(1, 2, 5)]),
    "grid_sample": (
        lambda x, g: F.grid_sample(x, g, align_corners=True),
        lambda: [_shaped(1, 2, 4, 4), torch.rand(1, 3, 3, 2) * 2 - 1],
    ),
    # sequences and attention
    "attention": (
        lambda x: (F.scaled_dot_product_attention(x, x, x), F.scaled_dot_product_attention(x, x, x, is_causal=True)),
        lambda: [_shaped(1, 2, 3, 4)],
    ),
    "multi_head": (nn.MultiheadAttention(8, 2, batch_first=True), lambda: [_shaped(1, 3, 8)] * 3),
    "encoder_layer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), lambda: [_shaped(2, 3, 8)]),
    "encoder_norm_first": (
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu"),
        lambda: [_shaped(2, 3, 8)],
    ),
    "decoder_layer": (nn.TransformerDecoderLayer(8, 2, 16), lambda: [_shaped(3, 1, 8), _shaped(4, 1, 8)]),
    "lstm": (nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), lambda: [_shaped(2, 5, 3)]),
    "lstm_projected": (nn.LSTM(3, 4, proj_size=2), lambda: [_shaped(5, 2, 3)]),
    "gru": (nn.GRU(3, 4, 2, bias=False), lambda: [_shaped(5, 2, 3)]),
    "rnn": (nn.RNN(3, 4, nonlinearity="relu", bidirectional=True), lambda: [_shaped(5, 2, 3)]),
    "cells": (nn.LSTMCell(3, 4), lambda: [_shaped(2, 3)]),
    "gru_cell": (nn.GRUCell(3, 4), lambda: [_shaped(2, 3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_what_pytorch_does(name: str) -> None:
    function, make = CASES[name]
    torch.manual_seed(0)
    inputs = make()
    compare(traced(function, inputs), inputs)


def _written_through_views(x: Any) -> Any:
    y = x * 1
    row = y[0]
    y[:, 1:] = 2.0
    row.mul_(3)
    y[y > 2.5] = 0.5
    z = y.view(-1)
    z.add_(1)
    return y, row, z


def test_operators_in_place_write_into_what_their_target_is_a_view_of() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    compare(traced(_written_through_views, [x]), [x])
    compare(torch.jit.script(_Writer()), [x])


class _Writer(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x + 1
        part = y[1:]
        part += 10
        part[:, 0] = -1
        y.relu_()
        return y, part
