"""Detectors of torchvision, and extents that only the running program knows."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, Let
from compiler.relay.function import Function
from compiler.runtime.vm import VirtualMachine
from tests.compiler.relay.frontend.pytorch_models import compare, infos, traced

torch = pytest.importorskip("torch")
F = torch.nn.functional

ROWS = torch.tensor([[1.0, 2.0, 3.0, 4.0], [-1.0, 5.0, 6.0, 7.0], [8.0, 9.5, 0.5, 2.5], [3.5, 1.5, 4.5, 6.5]])


def _chosen(x):
    """Return the rows that begin with a positive number: three of four, which no type says."""
    return x[torch.where(x[:, 0] > 0)[0]]


@torch.jit.script
def _parts(x):
    return x.split([x.size(0) - 1, 1])


def _sizes(x):
    return _chosen(x).shape


OPEN = {
    "shape_as_tensor": lambda x: torch._shape_as_tensor(_chosen(x)),
    "topk": lambda x: _chosen(x)[:, 1].topk(torch.min(torch._shape_as_tensor(_chosen(x))[:1]).reshape(()) - 1),
    "unbind": lambda x: torch.stack(_chosen(x).unbind(1)[:2], 1),
    "slice": lambda x: _chosen(x)[:, 0::2].clamp(max=3.0),
    "slice from the end": lambda x: _chosen(x)[-2:],
    "view": lambda x: _chosen(x).view(_sizes(x)[0], 2, 2).transpose(1, 2),
    "view of two": lambda x: _chosen(x).view(_sizes(x)[0], -1, 2),
    "view with another extent": lambda x: _chosen(x).t().reshape(2, -1, _sizes(x)[0]),
    "expand": lambda x: _chosen(x)[:, :1].expand(-1, _sizes(x)[0]),
    "expand_as": lambda x: _chosen(x)[:, :1].expand_as(_chosen(x)),
    "zeros": lambda x: torch.zeros((_sizes(x)[0], 2)) + _chosen(x)[:, :2],
    "full of two": lambda x: torch.full((_sizes(x)[0], _sizes(x)[0]), 2.5),
    "scatter": lambda x: torch.zeros_like(x).scatter(
        0, torch.where(x[:, :1] > 0)[0][:, None].expand(-1, 4), _chosen(x)
    ),
    "scatter of a number": lambda x: x.scatter(0, torch.where(x[:, :1] > 0)[0][:, None].expand(-1, 4), 2.0),
    "gather": lambda x: x.gather(0, torch.where(x[:, :1] > 0)[0][:, None].expand(-1, 4)),
    "gather of fewer": lambda x: _chosen(x).gather(1, torch.where(x[:2, :1] > 0)[0][:, None] + 1),
    "split": lambda x: _parts(_chosen(x)),
    "split into one": lambda x: _chosen(x).split([_sizes(x)[0]])[0],
    "resize": lambda x: F.interpolate(x[None, None], (_sizes(x)[0], 6), mode="bilinear", align_corners=False),
}


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("name", OPEN)
def test_extents_are_computed(name, kind):
    script = traced(OPEN[name], (ROWS,))
    for rows in (ROWS, ROWS * torch.tensor([[1.0], [1.0], [-1.0], [1.0]])):
        compare(script, (rows,), kind=kind)


@pytest.mark.parametrize("name", ["view", "zeros", "expand_as", "slice"])
def test_what_is_known_of_a_computed_shape_is_in_the_type(name):
    mod, _ = relay.frontend.from_pytorch(traced(OPEN[name], (ROWS,)), infos((ROWS,)))
    rows, *known = mod["main"].ret_type.shape
    assert not isinstance(rows, int)
    assert list(map(int, known)) == {"view": [2, 2], "zeros": [2], "expand_as": [4], "slice": [2]}[name]


def test_a_loop_computes_what_comes_from_outside_once():
    @torch.jit.script
    def repeated(x, times):
        rows = [torch.mm(x, x), x]
        result = torch.zeros_like(x)
        for i in range(int(times)):
            result = result + rows[0].relu() * float(i) + rows[1]
        return result, rows[0]

    inputs = (ROWS, torch.tensor(3))
    script = traced(lambda x, times: repeated(x, times), inputs)
    mod, _ = relay.frontend.from_pytorch(script, infos(inputs))
    (loop,) = (e for e in post_order(mod["main"].body) if isinstance(e, Let) and isinstance(e.value, Function))
    inside = {e.op.name for e in post_order(loop.value.body) if isinstance(e, Call) and hasattr(e.op, "name")}
    assert "nn.relu" in inside
    assert not inside & {"nn.dense", "nn.matmul", "nn.batch_matmul"}
    compare(script, inputs, kind="vm")


class _Levels(torch.nn.Module):
    """Two maps of features, one half as large as the other."""

    out_channels = 8

    def __init__(self):
        super().__init__()
        self.fine, self.coarse = torch.nn.Conv2d(3, 8, 4, 4), torch.nn.Conv2d(8, 8, 2, 2)

    def forward(self, x):
        fine = self.fine(x).relu()
        return OrderedDict([("0", fine), ("1", self.coarse(fine))])


class _First(torch.nn.Module):
    """What a detector finds in the first image, as a tuple."""

    def __init__(self, detector):
        super().__init__()
        self.detector = detector

    def forward(self, x):
        return tuple(self.detector(x)[0].values())


def _mask_rcnn():
    detection = pytest.importorskip("torchvision.models.detection")
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
    from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor
    from torchvision.ops import MultiScaleRoIAlign

    torch.manual_seed(1)
    detector = detection.MaskRCNN(
        _Levels(),
        min_size=32,
        max_size=48,
        rpn_anchor_generator=AnchorGenerator(((8,), (16,)), ((0.5, 1.0),) * 2),
        box_roi_pool=MultiScaleRoIAlign(["0", "1"], 3, 2),
        box_head=TwoMLPHead(72, 16),
        box_predictor=FastRCNNPredictor(16, 3),
        mask_roi_pool=MultiScaleRoIAlign(["0", "1"], 4, 2),
        mask_head=MaskRCNNHeads(8, (8,), 1),
        mask_predictor=MaskRCNNPredictor(8, 8, 3),
        box_score_thresh=0.0,
        box_detections_per_img=4,
        rpn_pre_nms_top_n_test=20,
        rpn_post_nms_top_n_test=8,
    ).eval()
    with torch.no_grad():
        for name, weight in detector.named_parameters():
            if "head" in name or "predictor" in name:
                weight.copy_(torch.randn(weight.shape) * 0.4)
    return _First(detector)


@pytest.mark.filterwarnings("ignore")
def test_a_detector_finds_what_it_finds_in_pytorch():
    model, x = _mask_rcnn(), torch.rand(1, 3, 24, 32, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        script, expected = torch.jit.trace(model, (x,), check_trace=False, strict=False), model(x)
    assert len(expected[0]) == 4  # boxes whose places, scores and masks are compared
    mod, params = relay.frontend.from_pytorch(script, [("x", tuple(x.shape))])
    with tvm.transform.PassContext(opt_level=3):
        executable = relay.vm.compile(mod, "llvm", params=params)
    for found, wanted in zip(VirtualMachine(executable, tvm.cpu()).run(x.numpy()), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-3, atol=1e-3)
