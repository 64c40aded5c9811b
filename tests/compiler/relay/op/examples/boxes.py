"""Examples of anchor boxes, of choices among boxes, and of windows that are moved."""

from __future__ import annotations

from functools import partial

import numpy as np

from compiler import relay
from tests.compiler.relay.op.example import Example, floats, ints

vision = relay.vision

_DETECTIONS = np.array(
    [
        [
            [0, 0.8, 1, 20, 25, 45],
            [1, 0.7, 30, 60, 50, 80],
            [0, 0.4, 4, 21, 19, 40],
            [2, 0.9, 35, 61, 52, 79],
            [0, 0.5, 100, 60, 70, 110],
        ]
    ],
    "float32",
)
_NAMES = np.array([[0, 1, 3, 4, 2]], "int32")


def _random_boxes(batch: int, count: int) -> np.ndarray:
    """Return boxes of three classes, some of them with a negative class or score, that often overlap."""
    corners = floats(batch, count, 4, low=0, high=1)
    classes = ints(batch, count, 1, low=-1, high=3).astype("float32")
    return np.concatenate([classes, floats(batch, count, 1, low=-0.5, high=1), corners], -1)


def _suppress(data: np.ndarray, counts: list[int], limit: int = -1, overlap: float = 0.5, **attrs: object) -> Example:
    names = np.stack([np.random.default_rng(b).permutation(data.shape[1]) for b in range(len(data))]).astype("int32")
    return Example(
        lambda d, c, n: vision.non_max_suppression(d, c, n, limit, overlap, **attrs),
        [data, np.array(counts, "int32"), names],
    )


def _anchors(count: int) -> np.ndarray:
    low = floats(1, count, 2, low=-0.2, high=0.6)
    return np.concatenate([low, low + floats(1, count, 2, low=0.1, high=0.7)], -1)


_ONE_OBJECT = np.zeros((1, 6, 2, 3), "float32")
_ONE_OBJECT[0, 4, 0, 0] = 0.9


EXAMPLES: dict[str, list[Example]] = {
    "vision.multibox_prior": [
        Example(vision.multibox_prior, [floats(1, 3, 4, 5)]),
        Example(
            lambda x: vision.multibox_prior(x, (0.3, 1.5, 0.7), (1.3, 2.4), (2.0, 1.5), (0.2, 0.3), True),
            [floats(1, 3, 5, 4)],
        ),
    ],
    "vision.multibox_transform_loc": [
        Example(
            partial(vision.multibox_transform_loc, clip=clip, threshold=threshold, keep_background=background),
            [floats(2, 4, 7, low=0, high=1), floats(2, 28), _anchors(7)],
        )
        for clip, threshold, background in ((True, 0.01, False), (False, 0.75, False), (True, 0.75, True))
    ],
    "vision.get_valid_counts": [
        Example(lambda x: vision.get_valid_counts(x, relay.const(0.1)), [_random_boxes(2, 9)]),
        Example(
            lambda x, least: vision.get_valid_counts(x, least, -1, 1), [_random_boxes(1, 5), np.array(-0.1, "float32")]
        ),
    ],
    "vision.non_max_suppression": [
        Example(
            lambda d, c, n: vision.non_max_suppression(d, c, n, return_indices=False),
            [_DETECTIONS, np.array([4], "int32"), _NAMES],
            [
                [
                    [2, 0.9, 35, 61, 52, 79],
                    [0, 0.8, 1, 20, 25, 45],
                    [1, 0.7, 30, 60, 50, 80],
                    [0, 0.4, 4, 21, 19, 40],
                    [-1, -1, -1, -1, -1, -1],
                ]
            ],
        ),
        Example(
            lambda d, c, n: vision.non_max_suppression(d, c, n, force_suppress=True, top_k=3),
            [_DETECTIONS, np.array([5], "int32"), _NAMES],
            [[[4, 0, -1, -1, -1]], [[2]]],
        ),
        Example(
            lambda d, c, n: vision.non_max_suppression(d, c, n, force_suppress=True, return_indices=False),
            [_DETECTIONS, np.array([4], "int32"), _NAMES],
            [
                [
                    [2, 0.9, 35, 61, 52, 79],
                    [0, 0.8, 1, 20, 25, 45],
                    [-1, -1, -1, -1, -1, -1],
                    [0, 0.4, 4, 21, 19, 40],
                    [-1, -1, -1, -1, -1, -1],
                ]
            ],
        ),
        _suppress(_random_boxes(3, 12), [12, 5, 0], overlap=0.3, return_indices=False),
        _suppress(_random_boxes(2, 12), [12, 12], 4, 0.6, id_index=-1, return_indices=False, invalid_to_bottom=True),
        _suppress(_random_boxes(2, 12), [12, 7], 3, 0.2),
    ],
    "nn.correlation": [
        Example(partial(relay.nn.correlation, **attrs), [floats(1, 3, 8, 9), floats(1, 3, 8, 9, seed=1)])
        for attrs in (
            {"kernel_size": 1, "max_displacement": 2, "padding": 2},
            {"kernel_size": 3, "max_displacement": 3, "stride1": 2, "stride2": 2, "padding": 4, "is_multiply": False},
        )
    ],
    "nn.deformable_conv2d": [
        Example(
            lambda x, m, w: relay.nn.deformable_conv2d(x, m, w, padding=1, deformable_groups=2, groups=2),
            [floats(2, 4, 5, 6), floats(2, 36, 5, 6), floats(6, 2, 3, 3)],
            tolerance=1e-4,
        ),
        Example(
            lambda x, m, w: relay.nn.deformable_conv2d(
                x, m, w, strides=(1, 2), dilation=(2, 1), data_layout="NHWC", kernel_layout="HWIO"
            ),
            [floats(1, 6, 7, 3), floats(1, 4, 3, 12), floats(2, 3, 3, 5)],
            tolerance=1e-4,
        ),
    ],
    "vision.regular_non_max_suppression": [
        Example(
            partial(
                vision.regular_non_max_suppression,
                max_detections_per_class=per_class,
                max_detections=6,
                num_classes=2,
                iou_threshold=0.4,
                score_threshold=0.2,
            ),
            [_anchors(7), floats(1, 7, 3, low=0, high=1)],
        )
        for per_class in (2, 5)
    ],
    "vision.proposal": [
        Example(
            lambda c, b, i: vision.proposal(c, b, i, (8,), (0.5, 1, 2), 16, 0.7, 6, 4, 16, False),
            [_ONE_OBJECT, np.zeros((1, 12, 2, 3), "float32"), np.array([[32, 48, 1]], "float32")],
            # The anchors of the second and the third ratio around (7, 7) are cut to the image, which is what all is.
            [[0, 0, 0, 47, 31], [0, 0, 0, 47, 31], [0, 0, 0, 47, 31], [0, 0, 0, 47, 31]],
        )
    ],
}
