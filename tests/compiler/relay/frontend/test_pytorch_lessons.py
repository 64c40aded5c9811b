"""What courses on TVM say to models of torchvision: traced or exported, imported, built, compared with PyTorch.

The networks are written with ``torch.nn`` and have random weights: torchvision comes with one build of PyTorch alone,
and there may be no network to fetch weights from.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic import alias
from compiler.runtime.graph import graph_module

torch = pytest.importorskip("torch")
nn = torch.nn


class BasicBlock(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Any) -> Any:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


def resnet18(weights: str | None = None) -> Any:
    """Return ResNet-18, of He et al., 2015, "Deep Residual Learning for Image Recognition"."""
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    blocks, channels = [], 64
    for outputs in (64, 128, 256, 512):
        blocks += [BasicBlock(channels, outputs, 1 if outputs == 64 else 2), BasicBlock(outputs, outputs, 1)]
        channels = outputs
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(1), nn.Linear(512, 1000))


class InvertedResidual(nn.Module):
    """A depthwise convolution between two that change the number of channels."""

    def __init__(self, inputs: int, outputs: int, stride: int, expand: int) -> None:
        super().__init__()
        hidden = inputs * expand
        layers = (
            [nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(True)] if expand > 1 else []
        )
        layers += [
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(True),
            nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        ]  # fmt: skip
        self.conv = nn.Sequential(*layers)
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.is_residual else self.conv(x)


def mobilenet_v2(weights: str | None = None) -> Any:
    """Return MobileNetV2, of Sandler et al., 2018, "Inverted Residuals and Linear Bottlenecks"."""
    layers: list[Any] = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6(True)]
    channels = 32
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expand, outputs, count, stride in rows:
        for i in range(count):
            layers.append(InvertedResidual(channels, outputs, stride if i == 0 else 1, expand))
            channels = outputs
    layers += [nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(True), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*layers, nn.Flatten(1), nn.Dropout(0.2), nn.Linear(1280, 1000))


@pytest.fixture(autouse=True)
def torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    package, models = ModuleType("torchvision"), ModuleType("torchvision.models")
    models.resnet18, models.mobilenet_v2 = resnet18, mobilenet_v2  # type: ignore[attr-defined]
    package.models = models  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    torch.manual_seed(0)


THROUGH_ONNX = """\
import torch
import torchvision

model = torchvision.models.resnet18(weights="IMAGENET1K_V1")
model.eval()
dummy_input = torch.randn(1, 3, 224, 224)
torch.onnx.export(model, dummy_input, "resnet18.onnx",
                  input_names=["input"],
                  output_names=["output"],
                  dynamic_axes={"input": {0: "batch"}})

import onnx
import tvm
from tvm import relay

onnx_model = onnx.load("resnet18.onnx")
shape_dict = {"input": (1, 3, 224, 224)}
mod, params = relay.frontend.from_onnx(onnx_model, shape_dict)
print(type(mod))
print(mod["main"])
target = tvm.target.Target("llvm -mcpu=native")
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target=target, params=params)

from tvm.contrib import graph_executor
import numpy as np

dev = tvm.cpu(0)
executor = graph_executor.GraphModule(lib["default"](dev))
input_data = np.random.randn(1, 3, 224, 224).astype("float32")
executor.set_input("input", tvm.nd.array(input_data))
executor.run()
output = executor.get_output(0).numpy()
print(f"Output shape: {output.shape}")
print(f"Top-5 classes: {output[0].argsort()[-5:][::-1]}")

with torch.no_grad():
    expected = model(torch.from_numpy(input_data)).numpy()

with tvm.transform.PassContext(opt_level=3):
    mod_optimized = relay.transform.InferType()(mod)
    mod_optimized = relay.transform.FuseOps(fuse_opt_level=2)(mod_optimized)
print("After FuseOps:")
print(mod_optimized["main"])
"""

BOTH_WAYS = """\
import torchvision, torch, onnx
import tvm
from tvm import relay

model = torchvision.models.mobilenet_v2(weights="IMAGENET1K_V1").eval()
scripted = torch.jit.trace(model, torch.randn(1, 3, 224, 224))
mod_pt, _ = relay.frontend.from_pytorch(scripted, [("input", (1, 3, 224, 224))])
torch.onnx.export(model, torch.randn(1, 3, 224, 224), "mbv2.onnx", input_names=["input"])
mod_onnx, _ = relay.frontend.from_onnx(onnx.load("mbv2.onnx"), {"input": (1, 3, 224, 224)})
"""

TRACED = """\
import torch, torchvision
import tvm
from tvm import relay

model = torchvision.models.resnet18(weights="IMAGENET1K_V1").eval()
scripted = torch.jit.trace(model, torch.randn(1, 3, 224, 224))
input_infos = [("input", (1, 3, 224, 224))]
mod, params = relay.frontend.from_pytorch(scripted, input_infos)
"""


def run(program: str) -> dict[str, Any]:
    """Run a program that says ``import tvm``; returns its variables."""
    alias.install()
    variables: dict[str, Any] = {}
    exec(compile(program, "<lesson>", "exec"), variables)
    return variables


def operators(mod: Any) -> Counter[str]:
    calls: Counter[str] = Counter()

    def visit(node: Any) -> None:
        if isinstance(node, relay.Call):
            calls[node.op.name] += 1

    relay.analysis.post_order_visit(mod["main"], visit)
    return calls


def test_a_network_exported_to_onnx_computes_what_pytorch_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    variables = run(THROUGH_ONNX)
    assert variables["output"].shape == (1, 1000)
    np.testing.assert_allclose(variables["output"], variables["expected"], rtol=1e-3, atol=1e-4)


def test_both_ways_give_the_same_convolutions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    variables = run(BOTH_WAYS)
    traced, exported = operators(variables["mod_pt"]), operators(variables["mod_onnx"])
    assert traced["nn.conv2d"] == exported["nn.conv2d"] == 52
    assert traced["nn.dense"] == exported["nn.dense"] == 1
    assert traced["add"] >= 10


def test_a_traced_network_computes_what_pytorch_does() -> None:
    variables = run(TRACED)
    mod, params = variables["mod"], variables["params"]
    assert operators(mod)["nn.conv2d"] == 20
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm -mcpu=native", params=params)
    executor = graph_module.GraphModule(lib["default"](tvm.cpu(0)))
    image = np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype("float32")
    executor.run(input=image)
    with torch.no_grad():
        expected = variables["model"](torch.from_numpy(image)).numpy()
    np.testing.assert_allclose(executor.get_output(0).numpy(), expected, rtol=1e-3, atol=1e-4)
