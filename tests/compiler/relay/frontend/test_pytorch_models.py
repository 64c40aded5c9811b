"""Whole models of PyTorch, compiled, beside PyTorch itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compiler.relay.frontend.pytorch_models import compare, traced

torch = pytest.importorskip("torch")
nn = torch.nn


def _block(inputs: int, outputs: int, stride: int) -> Any:
    class Block(nn.Module):
        """A residual block, as ResNet-18 has it."""

        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.short = nn.Conv2d(inputs, outputs, 1, stride) if inputs != outputs else nn.Identity()

        def forward(self, x: Any) -> Any:
            y = torch.relu_(self.bn1(self.conv1(x)))
            y = self.bn2(self.conv2(y))
            y += self.short(x)
            return y.relu_()

    return Block()


def resnet() -> Any:
    """Return a residual network of two blocks."""
    head = [nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    tail = [nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(16, 10)]
    return nn.Sequential(*head, _block(8, 8, 1), _block(8, 16, 2), *tail)


def inverted() -> Any:
    """Return an inverted residual, as MobileNetV2 has it."""
    expand = [nn.Conv2d(4, 24, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU6(True)]
    depthwise = [nn.Conv2d(24, 24, 3, 1, 1, groups=24, bias=False), nn.BatchNorm2d(24), nn.ReLU6(True)]
    return nn.Sequential(*expand, *depthwise, nn.Conv2d(24, 4, 1, bias=False), nn.BatchNorm2d(4))


class Tagger(nn.Module):
    """An LSTM in both directions, and attention over its outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 8, bidirectional=True, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.layer(self.lstm(x)[0]).mean(1)


class Whole(nn.Module):
    """A convolution whose padding is computed from its stride, a tensor, so that it divides the length."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv1d(2, 3, 4, 3)
        self.register_buffer("stride", torch.tensor(3), persistent=False)

    def forward(self, x: Any) -> Any:
        frames = torch.ceil((x.shape[-1] - 4) / self.stride + 1).to(torch.int64) - 1
        return self.layer(nn.functional.pad(x, (0, frames * self.stride + 4 - x.shape[-1]), "reflect"))


def test_extents_may_be_computed_from_a_number_among_the_buffers() -> None:
    inputs = [torch.randn(1, 2, 12)]
    compare(traced(Whole(), inputs), inputs, kind="graph")


CASES = {
    "tagger": (Tagger, [(2, 5, 8)]),
    "resnet": (resnet, [(1, 3, 32, 32)]),
    "mobilenet": (inverted, [(2, 4, 8, 8)]),
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3)), [(5, 6)]),
}


@pytest.mark.parametrize("name", CASES)
def test_model_computes_what_pytorch_does(name: str) -> None:
    make, shapes = CASES[name]
    torch.manual_seed(0)
    inputs = [torch.randn(shape) for shape in shapes]
    model = make().eval()
    compare(traced(model, inputs), inputs, kind="graph")
    compare(torch.export.export(model, tuple(inputs)), inputs, kind="graph")
