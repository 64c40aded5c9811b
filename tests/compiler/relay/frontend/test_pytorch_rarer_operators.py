"""Operators of PyTorch that few models have: places in pools, losses, powers of matrices, forms of indexing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compiler import relay
from compiler.relay.frontend.shared.errors import ConversionError
from tests.compiler.relay.frontend.pytorch_models import compare, traced

torch = pytest.importorskip("torch")
F = torch.nn.functional

Function = Callable[..., Any]


def numbers(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


IMAGE, MATRIX, ROW = numbers(2, 3, 7, 6), numbers(4, 6), numbers(9)
PLACES = torch.tensor([[0, 0], [2, 2], [1, 0], [5, 4]])
CLASSES = torch.tensor([0, 1, 2, 3])

CASES: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "max_pool_places": (lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True, ceil_mode=True), (IMAGE,)),
    "max_pool1d_places": (lambda x: F.max_pool1d(x, 2, 1, dilation=2, return_indices=True), (numbers(2, 3, 7),)),
    "max_pool3d_places": (lambda x: F.max_pool3d(x, 2, return_indices=True), (numbers(1, 2, 4, 4, 5),)),
    "adaptive_max_places": (lambda x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True), (IMAGE,)),
    "unique": (lambda x: torch.unique(x, return_inverse=True, return_counts=True), (torch.tensor([4, 1, 3, 1, 4, 0]),)),
    "msort": (torch.msort, (MATRIX,)),
    "float_power": (lambda x: torch.float_power(x, 2), (MATRIX,)),
    "where_places": (lambda x: torch.where(x > 0), (MATRIX,)),
    "nearest_exact": (lambda x: F.interpolate(x, size=(15, 4), mode="nearest-exact"), (IMAGE,)),
    "nearest_exact_scale": (lambda x: F.interpolate(x, scale_factor=(1.5, 0.7), mode="nearest-exact"), (IMAGE,)),
    "affine_grid": (lambda t: F.affine_grid(t, [2, 3, 4, 5], align_corners=False), (numbers(2, 2, 3),)),
    "affine_grid_volume": (lambda t: F.affine_grid(t, [2, 3, 4, 5, 3], align_corners=True), (numbers(2, 3, 4),)),
    **{
        f"scatter_{how}": (
            lambda x, i, s, how=how: x.scatter_reduce(1, i, s, how, include_self=False),
            (MATRIX, PLACES, numbers(4, 2)),
        )
        for how in ("sum", "prod", "amax", "amin")
    },
    "column_stack": (lambda a, b: torch.column_stack([a, b]), (ROW, ROW)),
    "dstack": (lambda a, b: torch.dstack([a, b]), (MATRIX, MATRIX)),
    "hsplit": (lambda x: torch.hsplit(x, [1, 4]), (MATRIX,)),
    "as_strided": (lambda x: torch.as_strided(x, (3, 4), (2, 1), 1), (ROW,)),
    "diff": (lambda x: torch.diff(x, n=2), (MATRIX,)),
    "diff_between_others": (lambda x, y: torch.diff(x, 2, 0, prepend=y, append=y), (MATRIX, numbers(1, 6))),
    "diff_of_truth_values": (lambda x: torch.diff(x > 0, dim=1), (MATRIX,)),
    "fold": (lambda x: F.fold(x, (7, 6), (3, 2), dilation=(1, 2), padding=(1, 2), stride=2), (numbers(2, 18, 16),)),
    "fold_of_one_image": (lambda x: F.fold(x, (5, 5), 3, padding=1), (numbers(18, 25),)),
    "cross_entropy": (lambda x: F.cross_entropy(x, CLASSES), (MATRIX,)),
    "cross_entropy_of_shares": (lambda x, y: F.cross_entropy(x, F.softmax(y, 1)), (MATRIX, MATRIX * 2)),
    "entropy_of_logits": (
        lambda x, w: F.binary_cross_entropy_with_logits(x, (x > 0).float(), pos_weight=w.abs()),
        (MATRIX, numbers(6)),
    ),
    "kl_div": (lambda x: F.kl_div(x, F.relu(x), reduction="sum"), (MATRIX,)),
    "cross": (lambda a, b: torch.cross(a, b, dim=1), (numbers(4, 3), numbers(4, 3) + 1)),
    "matrix_power": (lambda x: torch.matrix_power(x, 3), (numbers(2, 4, 4),)),
    "matrix_norm": (lambda x: torch.linalg.matrix_norm(x, keepdim=True), (IMAGE,)),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), (MATRIX,)),
    "trapezoid": (lambda x: torch.trapezoid(x, dx=0.5, dim=0), (MATRIX,)),
    "embedding_bag": (lambda w: F.embedding_bag(torch.tensor([[0, 2], [3, 1]]), w), (MATRIX,)),
    "isin": (lambda x: torch.isin(x, torch.tensor([1, 4])), (PLACES,)),
    "quantile": (lambda x: torch.quantile(x, 0.3, dim=1, keepdim=True), (MATRIX,)),
    "fill_diagonal": (lambda x: x.clone().fill_diagonal_(3.0), (MATRIX,)),
    "put": (lambda x: x.put(torch.tensor([1, -3]), torch.tensor([9.0, 8.0])), (MATRIX,)),
    "sinc": (lambda x: torch.sinc(F.relu(x)), (MATRIX,)),
}


@pytest.mark.parametrize("name", CASES)
def test_operator_computes_what_pytorch_does(name: str) -> None:
    function, inputs = CASES[name]
    compare(traced(function, inputs), inputs, kind="vm" if name in ("unique", "where_places") else "debug")


def test_elements_are_put_back_where_a_pool_took_them() -> None:
    class Back(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y, places = F.max_pool2d(x, 2, return_indices=True)
            return torch.nn.functional.max_unpool2d(y, places, 2)

    compare(torch.export.export(Back(), (IMAGE[:, :, :6],)), (IMAGE[:, :, :6],))


@pytest.mark.parametrize("track", [False, True])
def test_norms_of_an_exported_program_that_is_decomposed(track: bool) -> None:
    """What is done in place makes PyTorch decompose a program; the statistics are the batch's, or those of training."""
    norm = torch.nn.BatchNorm1d(3, track_running_stats=track)
    model, x = torch.nn.Sequential(norm, torch.nn.ReLU(inplace=True)).eval(), numbers(2, 3, 7)
    compare(torch.export.export(model, (x,)), (x,))


@pytest.mark.parametrize("export", [False, True])
def test_strides_are_those_of_memory(export: bool) -> None:
    def chunks(x: Any) -> Any:
        turned = (x * 2).transpose(0, 1)[:, None]
        return turned.as_strided((3, 2, 4), (6, 1, 3))

    class Chunks(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return chunks(x)

    compare(torch.export.export(Chunks(), (MATRIX,)) if export else traced(chunks, (MATRIX,)), (MATRIX,))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: torch.linalg.matrix_norm(x, ord="nuc"), "norms of order 'nuc' are not supported"),
        (lambda x: torch.linalg.matrix_power(x[:4, :4], 100), "powers from 0 to 64 are supported, got 100"),
        (lambda x: torch.quantile(x, 0.3, interpolation="nearest"), "interpolation 'nearest' is not supported"),
        (lambda x: x[:, ::2].as_strided((4,), (6,)), r"its elements, \(4, 3\) of strides \(6, 2\), do not lie side by"),
        (lambda x: F.cross_entropy(x, CLASSES, label_smoothing=0.1), "label_smoothing=0.1 is not supported"),
    ],
)
def test_what_is_beyond_an_operator_is_named(function: Function, message: str) -> None:
    with pytest.raises(ConversionError, match=f"node .*{message}"):
        relay.frontend.from_pytorch(traced(function, (MATRIX,)), [("x", (4, 6))])
