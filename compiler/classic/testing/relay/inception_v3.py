"""A network whose blocks are several towers side by side: ``tvm.relay.testing.inception_v3``.

References
----------
C. Szegedy et al., "Rethinking the Inception architecture for computer vision", CVPR 2016, arXiv:1512.00567.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.classic.testing.relay import layers
from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload, closed, network_input
from compiler.relay.expr import Expr, Tuple, var
from compiler.relay.function import Function
from compiler.relay.operator import call_op

__all__ = ["get_net", "get_workload"]


@dataclass(frozen=True, slots=True)
class _Conv:
    """A convolution of a tower, with its normalisation and activation; padded to keep the extents unless it strides."""

    channels: int
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    padded: bool = True

    def __call__(self, data: Expr, name: str) -> Expr:
        padding = tuple(extent // 2 if self.padded else 0 for extent in self.kernel)
        body = layers.conv2d(
            data,
            channels=self.channels,
            kernel_size=self.kernel,
            strides=(self.stride, self.stride),
            padding=padding,
            name=f"{name}_conv1",
        )
        return call_op("nn.relu", layers.batch_norm_infer(body, epsilon=2e-5, scale=False, name=f"{name}_bn"))


@dataclass(frozen=True, slots=True)
class _Fork:
    """The end of a tower: convolutions side by side."""

    branches: tuple[_Conv, ...]


Tower = tuple[_Conv | _Fork, ...]

_ROW, _COLUMN = (1, 7), (7, 1)
_HALVES = _Fork((_Conv(384, (1, 3)), _Conv(384, (3, 1))))


def _strided(channels: int) -> _Conv:
    return _Conv(channels, (3, 3), 2, padded=False)


def _fives(projected: int) -> tuple[str, tuple[Tower, ...]]:
    """A block of figure 5: a tower of 1×1, one of 5×5, one of two 3×3, and pooling that is projected."""
    threes = (_Conv(64), _Conv(96, (3, 3)), _Conv(96, (3, 3)))
    return "avg", ((_Conv(64),), (_Conv(48), _Conv(64, (5, 5))), threes, (_Conv(projected),))


def _sevens(inner: int) -> tuple[str, tuple[Tower, ...]]:
    """A block of figure 6: convolutions of 7×7 as rows and columns."""
    once = (_Conv(inner), _Conv(inner, _ROW), _Conv(192, _COLUMN))
    twice = (_Conv(inner), _Conv(inner, _COLUMN), _Conv(inner, _ROW), _Conv(inner, _COLUMN), _Conv(192, _ROW))
    return "avg", ((_Conv(192),), once, twice, (_Conv(192),))


def _wide(pool: str) -> tuple[str, tuple[Tower, ...]]:
    """A block of figure 7: towers that end in two halves."""
    return pool, ((_Conv(320),), (_Conv(384), _HALVES), (_Conv(448), _Conv(384, (3, 3)), _HALVES), (_Conv(192),))


_STEM: tuple[_Conv | None, ...] = (
    _strided(32),
    _Conv(32, (3, 3), padded=False),
    _Conv(64, (3, 3)),
    None,
    _Conv(80),
    _Conv(192, (3, 3), padded=False),
    None,
)
"""What comes before the blocks; None is pooling."""
_BLOCKS: tuple[tuple[str, tuple[Tower, ...]], ...] = (
    _fives(32),
    _fives(64),
    _fives(64),
    ("", ((_strided(384),), (_Conv(64), _Conv(96, (3, 3)), _strided(96)))),
    _sevens(128),
    _sevens(160),
    _sevens(160),
    _sevens(192),
    ("", ((_Conv(192), _strided(320)), (_Conv(192), _Conv(192, _ROW), _Conv(192, _COLUMN), _strided(192)))),
    _wide("avg"),
    _wide("max"),
)
"""Of each block the pooling before the last tower's projection, and the towers; where none is given, pooling that
halves the extents is a tower itself."""


def _halved(data: Expr) -> Expr:
    return call_op("nn.max_pool2d", data, pool_size=(3, 3), strides=(2, 2))


def _pooled(data: Expr, kind: str) -> Expr:
    counted = {"count_include_pad": True} if kind == "avg" else {}
    return call_op(f"nn.{kind}_pool2d", data, pool_size=(3, 3), strides=(1, 1), padding=(1, 1), **counted)


def _numbered(name: str, index: int) -> str:
    return f"{name}_{index}" if index else name


def _tower(data: Expr, tower: Tower, name: str) -> list[Expr]:
    outputs = [data]
    for index, part in enumerate(tower):
        if isinstance(part, _Fork):
            (data,) = outputs
            outputs = [c(data, _numbered(f"{name}_mixed_conv", at)) for at, c in enumerate(part.branches)]
        else:
            outputs = [part(outputs[0], _numbered(f"{name}_conv", index))]
    return outputs


def _block(data: Expr, pool: str, towers: Sequence[Tower], name: str) -> Expr:
    outputs: list[Expr] = []
    numbered = 0
    for index, tower in enumerate(towers):
        source = _pooled(data, pool) if pool and index == len(towers) - 1 else data
        if len(tower) == 1 and index == 0:
            outputs += _tower(source, tower, name)
        else:
            outputs += _tower(source, tower, _numbered(f"{name}_tower", numbered))
            numbered += 1
    if not pool:
        outputs.append(_halved(data))
    return call_op("concatenate", Tuple(tuple(outputs)), axis=1)


def get_net(batch_size: int, num_classes: int, image_shape: Sequence[int], dtype: str) -> Function:
    """Return the network."""
    body: Expr = network_input(batch_size, image_shape, dtype)
    index = 0
    for conv in _STEM:
        body = _halved(body) if conv is None else conv(body, _numbered("conv", index))
        index += conv is not None
    for at, (pool, towers) in enumerate(_BLOCKS):
        body = _block(body, pool, towers, _numbered("mixed", at))
    body = call_op("nn.avg_pool2d", body, pool_size=(8, 8), strides=(1, 1), count_include_pad=True)
    scores = call_op("nn.dense", call_op("nn.batch_flatten", body), var("fc1_weight"), units=num_classes)
    result = call_op("nn.softmax", call_op("nn.bias_add", scores, var("fc2_bias"), axis=-1))
    return closed(result)


def get_workload(
    batch_size: int = 1, num_classes: int = 1000, image_shape: Sequence[int] = (3, 299, 299), dtype: str = "float32"
) -> Workload:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
