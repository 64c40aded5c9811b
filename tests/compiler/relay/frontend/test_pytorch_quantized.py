"""Models that PyTorch has quantized: each layer's bytes are PyTorch's, but for one step where it rounds otherwise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.relay.frontend.shared.errors import ConversionError

torch = pytest.importorskip("torch")
quantization = pytest.importorskip("torch.ao.quantization")
nn = torch.nn


class Network(nn.Module):
    """Layers between a quantization and its inverse."""

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        self.before, self.after = quantization.QuantStub(), quantization.DeQuantStub()
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        return self.after(self.layers(self.before(x)))


class Joined(nn.Module):
    """A sum, a product and a concatenation of what two convolutions give."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, 1)
        self.add, self.mul, self.cat = (nn.quantized.FloatFunctional() for _ in range(3))

    def forward(self, x: Any) -> Any:
        a, b = self.left(x), self.right(x)
        return self.cat.cat([self.add.add_relu(a, b), self.mul.mul(a, b)], dim=1)


class Scaled(nn.Module):
    """A product with a number, and a sum with one."""

    def __init__(self) -> None:
        super().__init__()
        self.mul, self.add = nn.quantized.FloatFunctional(), nn.quantized.FloatFunctional()

    def forward(self, x: Any) -> Any:
        return self.add.add_scalar(self.mul.mul_scalar(x, 0.5), 0.25)


torch.manual_seed(0)  # the same weights in every run
LAYERS = {
    "convolution": [nn.Conv2d(3, 4, 3, padding=1, stride=2)],
    "with relu": [nn.Conv2d(3, 4, (3, 2), padding=(1, 0), dilation=2), nn.ReLU()],
    "groups": [nn.Conv2d(3, 6, 3, groups=3, bias=False)],
    "linear": [nn.Flatten(), nn.Linear(192, 5)],
    "linear with relu": [nn.Linear(8, 5), nn.ReLU()],
    "pools": [nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten()],
    "activations": [nn.ReLU6(), nn.Hardtanh(-0.5, 0.5)],
    "sigmoid": [nn.Sigmoid()],
    "hardswish": [nn.Hardswish()],
    "leaky": [nn.LeakyReLU(0.1)],
    "joined": [Joined()],
    "scaled": [Scaled()],
    "elu": [nn.ELU()],
    "layer norm": [nn.LayerNorm(8)],
    "group norm": [nn.Conv2d(3, 4, 1), nn.GroupNorm(2, 4)],
    "instance norm": [nn.InstanceNorm2d(3, affine=True)],
    "batch norm": [nn.MaxPool2d(2), nn.BatchNorm2d(3)],
}


def quantized(*layers: Any, fused: bool) -> tuple[Any, Any]:
    """Return a traced model that was calibrated and quantized, and an input."""
    torch.manual_seed(0)
    torch.backends.quantized.engine = "fbgemm"
    x = torch.randn(1, 3, 8, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Network(*layers).eval()
        model.qconfig = quantization.get_default_qconfig("fbgemm")
        if fused:
            quantization.fuse_modules(model.layers, [["0", "1"]], inplace=True)
        quantization.prepare(model, inplace=True)
        model(x)
        quantization.convert(model, inplace=True)
        return torch.jit.trace(model, x), x


def here(model: Any, x: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
    mod, params = relay.frontend.from_pytorch(model, [("x", tuple(x.shape))], **options)
    return relay.create_executor("debug", mod=mod).evaluate()(x.numpy(), **params).numpy(), params


@pytest.mark.parametrize("name", LAYERS)
def test_layers_give_the_bytes_that_pytorch_gives(name: str) -> None:
    model, x = quantized(*LAYERS[name], fused=name.endswith("with relu"))
    expected = model(x).numpy()
    result, _ = here(model, x)
    levels = np.unique(expected)
    assert levels.size > 2
    step = np.diff(levels).min()
    off = np.abs(result - expected) / step
    assert off.max() < 1.01
    assert (off > 0.01).mean() <= 0.05


def test_graphs_that_keep_scales_as_buffers() -> None:
    """So ``torch.ao.quantization.quantize_fx`` writes the quantization of an input."""
    fx = pytest.importorskip("torch.ao.quantization.quantize_fx")
    torch.manual_seed(0)
    x = torch.randn(1, 3, 8, 8)
    layers = (nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.backends.quantized.engine = "fbgemm"
        model = fx.prepare_fx(nn.Sequential(*layers).eval(), quantization.get_default_qconfig_mapping("fbgemm"), (x,))
        model(x)
        model = fx.convert_fx(model)
        traced = torch.jit.trace(model, x)
    np.testing.assert_allclose(here(traced, x)[0], model(x).numpy(), rtol=1e-5, atol=1e-5)


def test_weights_stay_bytes_where_that_is_asked_for() -> None:
    model, x = quantized(nn.Conv2d(3, 4, 3), fused=False)
    plain, params = here(model, x)
    kept, packed = here(model, x, keep_quantized_weight=True)
    np.testing.assert_array_equal(kept, plain)
    assert {str(value.dtype) for value in params.values()} == {"float32"}
    assert {str(value.dtype) for value in packed.values()} == {"int8"}


def test_layers_that_quantize_their_input_as_they_run() -> None:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 5), nn.ReLU()), {nn.Linear})
        x = torch.randn(3, 8)
        traced = torch.jit.trace(model.eval(), x)
    np.testing.assert_allclose(here(traced, x)[0], model(x).numpy(), rtol=1e-4, atol=1e-4)


def test_what_is_not_quantized_is_said_with_the_node() -> None:
    class Wrong(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.dequantize(x)

    with pytest.raises(ConversionError, match=r"node 'aten::dequantize_0'.*: its input must be quantized"):
        relay.frontend.from_pytorch(torch.jit.trace(Wrong(), torch.ones(3)), [("x", (3,))])
