"""Models in ONNX, built with fixed seeds: small ones for the tests, full ones for measurements.

``python -m tests.models resnet18 model.onnx`` writes a full one to a file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.models.control import routing, shrinking, suppressing
from tests.models.networks import bottlenecks, convolutional, gated, mobile, recurrent, residual, segmenting, video
from tests.models.transformers import decoder, encoder

MODELS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "resnet18": (residual, {"image": 32, "width": 8, "classes": 10}),
    "resnet50": (bottlenecks, {"image": 32, "width": 8, "classes": 10}),
    "mobilenetv2": (mobile, {"image": 32, "width": 0.25, "classes": 10}),
    "r3d18": (video, {"frames": 4, "image": 16, "width": 8, "classes": 10}),
    "unet1d": (segmenting, {"samples": 64, "width": 4, "levels": 2}),
    "bert": (encoder, {"layers": 2, "width": 32, "heads": 4, "length": 16, "vocabulary": 100}),
    "gpt": (decoder, {"layers": 1, "width": 32, "heads": 4, "length": 12, "vocabulary": 100}),
    "lstm": (recurrent, {"length": 6, "inputs": 8, "hidden": 16}),
    "gru": (gated, {"length": 5, "inputs": 8, "hidden": 16}),
    "loop": (shrinking, {"size": 4, "factor": 0.5}),
    "boxes": (suppressing, {"boxes": 20, "classes": 2, "limit": 5}),
    "experts": (routing, {"tokens": 5, "width": 8, "hidden": 12, "experts": 3}),
    "lenet": (convolutional, {}),
}
"""Builders by name, with the sizes of the small variant."""
BY_MACHINE = ("loop", "boxes", "experts")
"""The models whose control flow or shapes need the virtual machine."""


def build(name: str, small: bool = False, **sizes: Any) -> Any:
    """Return a model; ``sizes`` are arguments of its builder."""
    make, reduced = MODELS[name]
    return make(**{**(reduced if small else {}), **sizes})


def inputs_of(model: Any, seed: int = 0) -> dict[str, Any]:
    """Return random values for a model's inputs; whole numbers are below 100, and symbolic extents 2."""
    import numpy as np
    from onnx import helper

    random = np.random.default_rng(seed)
    known = {tensor.name for tensor in model.graph.initializer}
    found = {}
    for item in model.graph.input:
        if item.name in known:
            continue
        shape = [d.dim_value or 2 for d in item.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(item.type.tensor_type.elem_type)
        value = random.integers(0, 100, shape) if dtype.kind in "iu" else random.standard_normal(shape)
        found[item.name] = value.astype(dtype)
    return found
