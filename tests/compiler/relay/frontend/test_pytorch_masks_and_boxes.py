"""Masks of fused encoder layers and nested tensors; operators of torchvision on boxes and offsets."""

from __future__ import annotations

import pytest

from compiler import relay
from compiler.relay.frontend.pytorch import ConversionError
from tests.compiler.relay.frontend.pytorch_models import compare, traced

torch = pytest.importorskip("torch")


class _Encoder(torch.nn.Module):
    def __init__(self, norm_first, kind):
        super().__init__()
        torch.manual_seed(3)
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=norm_first)
        self.encoder = torch.nn.TransformerEncoder(layer, 2)
        self.kind = kind

    def forward(self, x, mask):
        return self.encoder(x, **{self.kind: mask})


def _encoded(norm_first, kind, mask, example):
    x = torch.rand(2, 6, 16, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():  # only then PyTorch takes the fused form
        script = traced(_Encoder(norm_first, kind), (x, example))
    assert "_transformer_encoder_layer_fwd" in str(script.inlined_graph)
    compare(script, (x, mask))


_PADDED = torch.arange(6)[None] >= torch.tensor([[6], [4]])
_SHORTER = torch.arange(6)[None] >= torch.tensor([[2], [6]])


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("mask", [_PADDED, _SHORTER])
def test_an_encoder_takes_a_padding_mask(norm_first, mask):
    _encoded(norm_first, "src_key_padding_mask", mask, _PADDED)


@pytest.mark.parametrize("norm_first", [True, False])
def test_an_encoder_takes_a_mask_of_positions(norm_first):
    causal = torch.ones(6, 6, dtype=torch.bool).triu(1)
    _encoded(norm_first, "mask", causal, causal)


def test_a_nested_tensor_is_padded_to_its_own_size_alone():
    def padded(x, mask):
        return torch._nested_tensor_from_mask(x, mask).to_padded_tensor(2.0, [2, 7, 16])

    x, kept = torch.rand(2, 6, 16), ~_PADDED
    script = traced(padded, (x, kept))
    with pytest.raises(ConversionError, match="padded to its own size alone"):
        relay.frontend.from_pytorch(script, [("x", (2, 6, 16)), ("mask", ((2, 6), "bool"))])


def _boxes(count, seed):
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(count, 2, generator=generator) * 10
    return torch.cat([corners, corners + torch.rand(count, 2, generator=generator) * 6], 1), torch.rand(
        count, generator=generator
    )


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("overlap", [0.1, 0.5, 0.9])
def test_boxes_that_overlap_better_ones_are_left_out(overlap, kind):
    ops = pytest.importorskip("torchvision").ops
    boxes, scores = _boxes(20, 5)
    compare(traced(lambda b, s: ops.nms(b, s, overlap), (boxes, scores)), (boxes, scores), kind=kind)


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_boxes_of_each_class_are_suppressed_apart(kind):
    ops = pytest.importorskip("torchvision").ops
    boxes, scores = _boxes(24, 6)
    classes = torch.arange(24) % 3
    script = traced(lambda b, s, c: ops.batched_nms(b, s, c, 0.3), (boxes, scores, classes))
    compare(script, (boxes, scores, classes), kind=kind)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize(
    ("groups", "parts", "options"),
    [(1, 1, {"padding": 1}), (2, 2, {"stride": (2, 1), "padding": (0, 2)}), (1, 2, {"dilation": (1, 2)})],
)
def test_deformable_convolutions(groups, parts, options, masked):
    ops = pytest.importorskip("torchvision").ops
    generator = torch.Generator().manual_seed(7)
    x, bias = torch.rand(2, 4, 8, 9, generator=generator), torch.rand(6, generator=generator)
    weight = torch.rand(6, 4 // groups, 3, 3, generator=generator)
    plain = torch.nn.functional.conv2d(x, weight, groups=groups, **options)
    offset = torch.randn(2, 2 * parts * 9, *plain.shape[2:], generator=generator) * 2
    mask = torch.rand(2, parts * 9, *plain.shape[2:], generator=generator)

    def model(x, offset, mask):
        return ops.deform_conv2d(x, offset, weight, bias, mask=mask if masked else None, **options) + mask.sum() * 0

    compare(traced(model, (x, offset, mask)), (x, offset, mask))
