"""Examples of layers of neural networks, of images, of boxes, and of quantised operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import relay
from tests.compiler.relay.op.example import Example, floats, ints

nn, image = relay.nn, relay.image

_X = floats(2, 4, 5, 6)
_V = [floats(4, seed=s) for s in range(3)] + [floats(4, low=0.5, high=2, seed=3)]
_IMAGES: dict[int, Any] = {1: floats(2, 4, 7), 2: _X, 3: floats(1, 2, 4, 5, 4)}
_W: dict[int, Any] = {1: floats(3, 4, 3), 2: floats(3, 4, 3, 3), 3: floats(3, 2, 2, 2, 2)}
_TRANSPOSED: dict[int, Any] = {1: floats(4, 3, 3), 2: floats(4, 3, 3, 3), 3: floats(2, 3, 2, 2, 2)}
_BATCH = floats(2, 3, 4), floats(2, 5, 4)


def _call(function: Any, *arrays: Any, smooth: bool = True, tolerance: float = 1e-4, **attrs: Any) -> Example:
    return Example(lambda *x: function(*x, **attrs), list(arrays), tolerance=tolerance, smooth=smooth)


def _recurrent(cell: str, gates: int, time: int, batch: int, hidden: int, **attrs: Any) -> Example:
    """Return a layer over a sequence, with what its documentation says of its weights by gates."""
    blocks = -(-hidden // 16)
    own, weight = floats(gates, time * batch, hidden), floats(gates, hidden, hidden) / np.float32(np.sqrt(hidden))
    bias = floats(gates, 1, hidden)

    def stood(x: Any) -> Any:  # (gates, rows, hidden) -> (rows, blocks * gates * 16)
        padded = np.pad(x, ((0, 0), (0, 0), (0, blocks * 16 - hidden)))
        spread = padded.reshape(gates, -1, blocks, 16).transpose(1, 2, 0, 3)
        return spread.reshape(x.shape[1], blocks * gates * 16)

    panels = np.ascontiguousarray(stood(weight).reshape(hidden, blocks, gates * 16).transpose(1, 0, 2))
    states = [floats(batch, hidden, seed=s) for s in range(2 if cell == "lstm" else 1)]
    arrays = [stood(own).reshape(time, batch, -1), panels, stood(bias).reshape(-1), *states]
    return Example(lambda x, w, b, *s: nn.recurrent(x, w, b, list(s), cell=cell, **attrs), arrays, tolerance=1e-4)


EXAMPLES: dict[str, list[Example]] = {
    "nn.recurrent": [
        _recurrent("lstm", 4, 3, 2, 5),
        _recurrent("lstm", 4, 2, 7, 19, reverse=True),
        _recurrent("gru", 3, 3, 1, 16),
        _recurrent("gru", 3, 2, 3, 6, linear_before_reset=False),
        _recurrent("rnn", 1, 3, 2, 4),
        _recurrent("rnn", 1, 2, 5, 6, activation="relu", reverse=True),
    ],
    "nn.relu": [_call(nn.relu, _X)],
    "nn.softsign": [Example(nn.softsign, [_X], _X / (1 + np.abs(_X)))],
    "nn.leaky_relu": [_call(nn.leaky_relu, _X, alpha=0.1)],
    "nn.prelu": [_call(nn.prelu, _X, _V[0])],
    "nn.softmax": [_call(nn.softmax, _X, axis=1)],
    "nn.fast_softmax": [_call(nn.fast_softmax, _X)],
    "nn.log_softmax": [_call(nn.log_softmax, _X, axis=-1)],
    "nn.bias_add": [_call(nn.bias_add, _X, _V[0])],
    "nn.batch_flatten": [_call(nn.batch_flatten, _X)],
    "nn.dropout": [_call(nn.dropout_raw, _X)],
    "nn.dense": [_call(nn.dense, floats(3, 4), floats(5, 4)), _call(nn.dense, ints(3, 4), ints(5, 4))],
    "nn.contrib_dense_pack": [
        _call(nn.contrib_dense_pack, floats(2, 3), floats(2, 3, 8), weight_layout=stands) for stands in ("NC8n", "NK8n")
    ]
    + [_call(nn.contrib_dense_pack, floats(3, 4), floats(2, 2, 8, 2), weight_layout="NC8n2c")],
    "nn.conv2d_backward_weight": [
        # The windows end before the data does.
        _call(
            nn.conv2d_backward_weight,
            floats(2, 6, 2, 3),
            floats(2, 4, 6, 7),
            strides=(2, 2),
            padding=(0, 1),
            groups=2,
            kernel_size=(3, 2),
        ),
        _call(
            nn.conv2d_backward_weight,
            floats(2, 4, 3, 2),
            floats(2, 6, 7, 3),
            dilation=(1, 2),
            kernel_size=(3, 3),
            grad_layout="NHWC",
            data_layout="NHWC",
            kernel_layout="OHWI",
        ),
    ],
    "nn.matmul": [
        _call(nn.matmul, floats(3, 4), floats(4, 5)),
        _call(nn.matmul, floats(4, 3), floats(4, 5), transpose_a=True),
    ],
    "nn.batch_matmul": [_call(nn.batch_matmul, *_BATCH)],
    "nn.batch_norm": [_call(nn.batch_norm, _X, *_V)],
    "nn.layer_norm": [_call(nn.layer_norm, _X, floats(6), floats(6, seed=1))],
    "nn.instance_norm": [_call(nn.instance_norm, _X, *_V[:2])],
    "nn.group_norm": [_call(nn.group_norm, _X, *_V[:2], num_groups=2)],
    "nn.l2_normalize": [_call(nn.l2_normalize, _X, eps=1e-6, axis=[1])],
    "nn.lrn": [_call(nn.lrn, _X, size=3, alpha=0.1)],
    "nn.pad": [_call(nn.pad, _X, pad_width=((0, 0), (0, 0), (1, 2), (0, 1)))],
    "nn.mirror_pad": [_call(nn.mirror_pad, _X, pad_width=((0, 0), (0, 0), (1, 2), (0, 1)), mode="REFLECT")],
    "nn.depth_to_space": [_call(nn.depth_to_space, _X, block_size=2)],
    "nn.space_to_depth": [_call(nn.space_to_depth, floats(1, 2, 4, 6), block_size=2)],
    "nn.cross_entropy": [_call(nn.cross_entropy, floats(3, 4, low=0.1, high=1), floats(3, 4, low=0, high=1, seed=1))],
    "nn.cross_entropy_with_logits": [_call(nn.cross_entropy_with_logits, floats(3, 4), floats(3, 4, seed=1))],
    "nn.upsampling": [_call(nn.upsampling, _X, scale_h=2, scale_w=2)],
    "nn.upsampling3d": [_call(nn.upsampling3d, _IMAGES[3], scale_d=2, scale_h=1, scale_w=2)],
    "image.resize1d": [_call(image.resize1d, _IMAGES[1], size=(9,))],
    "image.resize2d": [_call(image.resize2d, _X, size=(8, 3)), _call(image.resize2d, _X, size=(7, 9), method="cubic")],
    "image.resize3d": [_call(image.resize3d, _IMAGES[3], size=(3, 6, 5))],
    "nn.contrib_conv2d_NCHWc": [
        _call(
            nn.contrib_conv2d_nchwc,
            floats(1, 2, 5, 6, 8),
            floats(2, 2, 3, 3, 8, 8),
            smooth=False,
            data_layout="NCHW8c",
            kernel_layout="OIHW8i8o",
            channels=16,
            kernel_size=(3, 3),
            padding=(1, 1),
        ),
        _call(
            nn.contrib_conv2d_nchwc,
            floats(1, 2, 5, 6, 4),
            floats(2, 2, 3, 3, 2, 8, 2),
            smooth=False,
            data_layout="NCHW4c",
            kernel_layout="OIHW2i8o2i",
            out_layout="NCHW8c",
            channels=16,
            kernel_size=(3, 3),
        ),
    ],
    "nn.contrib_depthwise_conv2d_NCHWc": [
        _call(
            nn.contrib_depthwise_conv2d_nchwc,
            floats(1, 2, 5, 6, 8),
            floats(2, 1, 3, 3, 1, 8),
            smooth=False,
            data_layout="NCHW8c",
            kernel_layout="OIHW1i8o",
            channels=16,
            kernel_size=(3, 3),
            groups=16,
        )
    ],
}

for rank in (1, 2, 3):
    x, sizes = _IMAGES[rank], (2,) * rank
    for name, w in (("conv", _W[rank]), ("transpose", _TRANSPOSED[rank])):
        name = f"conv{rank}d" + ("_transpose" if name == "transpose" else "")
        attrs = {"channels": 3, "kernel_size": w.shape[2:], "padding": (1,) * rank}
        EXAMPLES[f"nn.{name}"] = [_call(getattr(nn, name), x, w, **attrs)]
    for kind in ("max", "avg"):
        pool = getattr(nn, f"{kind}_pool{rank}d")
        EXAMPLES[f"nn.{kind}_pool{rank}d"] = [_call(pool, x, pool_size=sizes, strides=sizes, padding=(1,) * rank)]
        EXAMPLES[f"nn.global_{kind}_pool{rank}d"] = [_call(getattr(nn, f"global_{kind}_pool{rank}d"), x)]
        pooled = relay.op.get(f"nn.{kind}_pool{rank}d_grad")
        attrs = {"pool_size": sizes, "strides": sizes, "dilation": (1,) * rank, "padding": (0,) * (2 * rank)}
        out = floats(*x.shape[:2], *[e // 2 for e in x.shape[2:]], seed=5)
        EXAMPLES[f"nn.{kind}_pool{rank}d_grad"] = [_call(pooled, out, x, layout="NC" + "DHW"[-rank:], **attrs)]
        adaptive = getattr(nn, f"adaptive_{kind}_pool{rank}d")
        EXAMPLES[f"nn.adaptive_{kind}_pool{rank}d"] = [_call(adaptive, x, output_size=sizes if rank > 1 else 2)]


EXAMPLES["image.grid_sample"] = [_call(image.grid_sample, _X, floats(2, 2, 3, 4, low=-1, high=1))]
_BOXES = np.array([[0, 0, 3, 3], [0, 0, 3, 2.9], [1, 1, 4, 4]], "float32")
EXAMPLES["vision.roi_align"] = [
    _call(
        relay.vision.roi_align,
        _X,
        np.array([[0, 0, 0, 4, 4], [1, 1, 0.5, 3, 4.5]], "float32"),
        pooled_size=(2, 2),
        spatial_scale=1.0,
        sample_ratio=2,
    )
]
_ROIS = np.array([[0, 0, 0, 4, 4], [1, 1, 0.5, 3, 4.5], [1, -3, 2, 9, 2], [0, 30, 30, 31, 31]], "float32")
EXAMPLES |= {
    name: [_call(relay.op.get(name), floats(2, 3), **attrs)]
    for name, attrs in {
        "annotation.stop_fusion": {},
        "annotation.checkpoint": {},
        "annotation.bitpack_start": {},
        "annotation.bitpack_end": {},
        "annotation.cast_hint": {"dtype": "float16"},
        "annotation.compiler_begin": {"compiler": "dnnl"},
        "annotation.compiler_end": {"compiler": "dnnl"},
        "on_device": {"device_type": 1},
        "debug": {},
        "device_copy": {},
    }.items()
}
EXAMPLES["relay.op.annotation.simulated_quantize"] = [
    _call(
        relay.op.get("relay.op.annotation.simulated_quantize"),
        floats(2, 30, low=-3, high=3),
        *(np.array(v, "float32") for v in (0.0625, -31, 31)),
        kind=1,
    )
]
EXAMPLES["vision.roi_pool"] = [
    _call(relay.vision.roi_pool, _X, _ROIS, pooled_size=(2, 3), spatial_scale=1.0),
    _call(relay.vision.roi_pool, _X, _ROIS * np.array([1, 2, 2, 2, 2], "float32"), pooled_size=2, spatial_scale=0.5),
]
EXAMPLES["vision.yolo_reorg"] = [
    _call(relay.vision.yolo_reorg, floats(2, 8, 4, 6), stride=2),
    _call(relay.vision.yolo_reorg, floats(1, 9, 3, 6), stride=3),
]
EXAMPLES["image.affine_grid"] = [
    _call(image.affine_grid, floats(2, 2, 3), target_shape=(3, 4)),
    _call(image.affine_grid, floats(1, 2, 3), target_shape=(1, 2)),
]
EXAMPLES["image.crop_and_resize"] = [
    _call(
        image.crop_and_resize,
        floats(*shape),
        np.array([[0, 0, 1, 1], [0.2, 0.85, 0.7, 0.15], [-0.3, 0.5, 0.5, 1.4]], "float32"),
        np.array([0, 1, 0], "int32"),
        crop_size=(3, size),
        layout=layout,
        method=method,
        extrapolation_value=0.5,
    )
    for shape, layout, size, method in (
        ((2, 3, 5, 6), "NCHW", 4, "bilinear"),
        ((2, 5, 6, 3), "NHWC", 1, "bilinear"),
        ((2, 5, 6, 3), "NHWC", 5, "nearest_neighbor"),
    )
]
EXAMPLES["image.dilation2d"] = [
    _call(image.dilation2d, floats(2, 3, 5, 6), floats(3, 2, 3)),
    _call(image.dilation2d, floats(2, 3, 5, 6), floats(3, 2, 2), strides=2, padding=(1, 0, 2, 1), dilations=(2, 1)),
    _call(image.dilation2d, floats(1, 5, 6, 3), floats(2, 2, 3), padding=1, data_layout="NHWC", kernel_layout="HWI"),
]
EXAMPLES["nn.space_to_batch_nd"] = [
    _call(nn.space_to_batch_nd, floats(2, 4, 6, 3), block_shape=(2, 3), paddings=((0, 0), (0, 0))),
    _call(nn.space_to_batch_nd, floats(1, 3, 5), block_shape=2, paddings=((2, 1),)),
    Example(
        lambda x: nn.space_to_batch_nd(x, block_shape=(2, 2), paddings=((0, 1), (2, 0)), pad_value=3.0),
        [floats(2, 3, 4, 2)],
    ),
]
EXAMPLES["nn.batch_to_space_nd"] = [
    _call(nn.batch_to_space_nd, floats(12, 2, 3, 2), block_shape=(2, 3), crops=((0, 0), (0, 0))),
    _call(nn.batch_to_space_nd, floats(4, 3, 2), block_shape=(4,), crops=((2, 3),)),
]
EXAMPLES["vision.all_class_non_max_suppression"] = [
    Example(
        lambda boxes, scores: relay.vision.all_class_non_max_suppression(
            boxes, scores, relay.const(2, "int64"), _scale(0.5), _scale(0.0)
        ),
        [_BOXES[None], floats(1, 2, 3, low=0, high=1)],
    ),
    Example(
        lambda boxes, scores: relay.vision.all_class_non_max_suppression(
            boxes, scores, relay.const(2, "int64"), _scale(0.8), _scale(0.4), "tensorflow"
        ),
        [
            np.array([[[0, 0, 3, 3], [5, 5, 4, 4], [0, 0, 5, 5], [5, 5, 9, 9]]], "float32"),
            np.array([[[0.1, 0.2, 0.6, 0.3], [0.8, 0.2, 0.6, 0.9]]], "float32"),
        ],
        [
            [[[0, 2], [1, 3], [1, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]]],
            np.array([[0.6, 0.9, 0.8, 0, 0, 0, 0, 0]], "float32"),
            [3],
        ],
    ),
]


def _scale(value: float) -> Any:
    return relay.const(value, "float32")
