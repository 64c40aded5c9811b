"""Calls of every operator whose attributes name layouts, in any layout, of operands whose extents all differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

import compiler.relay
from compiler.relay.named_layouts import NamedLayouts
from compiler.relay.operator import RelayOp, relay_ops
from compiler.tir.layout.data_layout import layout

relay: Any = compiler.relay
Extents = Mapping[str, int]

IMAGES = {"N": 3, "C": 16, "D": 5, "H": 6, "W": 7}
WINDOW = {"D": 1, "H": 2, "W": 3}
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


@dataclass
class Recipe:
    """What a call takes, whatever layouts it is in.

    Attributes
    ----------
    operands : list
        Of each the extents by their letters, or an array where no layout is named; whole numbers in ``dtype``.
    attrs : dict
        Those that name no layout.
    dtype : str
    """

    operands: list[Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float32"


def images(rank: int, **extents: int) -> dict[str, int]:
    """Return extents of images of some spatial dimensions."""
    return {letter: extents.get(letter, IMAGES[letter]) for letter in "NC" + SPATIAL[rank]}


def _window(rank: int) -> tuple[int, ...]:
    return tuple(WINDOW[letter] for letter in SPATIAL[rank])


def _pool(rank: int, **more: Any) -> Recipe:
    around = (0, 1, 1)[-rank:] * 2
    steps = {"strides": (1, 1, 2)[-rank:], "dilation": (1, 2, 1)[-rank:]}
    return Recipe([images(rank)], {"pool_size": _window(rank), **steps, "padding": around, **more})


def _pool_grad(rank: int) -> Recipe:
    out = {letter: IMAGES[letter] - WINDOW[letter] + 1 for letter in SPATIAL[rank]}
    ones = (1,) * rank
    attrs = {"pool_size": _window(rank), "strides": ones, "dilation": ones, "padding": (0,) * rank * 2}
    return Recipe([images(rank, **out), images(rank)], attrs)


def _conv(rank: int, dtype: str = "float32", groups: int = 1, **more: Any) -> Recipe:
    weight = {"O": 32, "I": 16 // groups} | {letter: WINDOW[letter] for letter in SPATIAL[rank]}
    attrs = {"channels": 32, "kernel_size": _window(rank), "padding": (0, 1, 1)[-rank:], "strides": (1, 1, 2)[-rank:]}
    return Recipe([images(rank), weight], {**attrs, **({"groups": groups} if groups > 1 else {}), **more}, dtype)


def _transposed(rank: int, dtype: str = "float32") -> Recipe:
    made = _conv(rank, dtype)
    made.operands[1] = {"I": 16, "O": 32} | {letter: WINDOW[letter] for letter in SPATIAL[rank]}
    return made


def _with_parameters(made: Recipe, *values: Any) -> Recipe:
    """Add scales and zero points, which are constants."""
    made.operands += [relay.const(v, "int32" if isinstance(v, int) else "float32") for v in values]
    return made


def _deformable() -> Recipe:
    made = _conv(2)
    made.operands.insert(1, images(2, C=2 * 2 * 3, H=7, W=4))
    return made


def _backward_weight() -> Recipe:
    grad = images(2, C=32, H=5, W=5)
    return Recipe([grad, images(2)], {"kernel_size": (2, 3), "channels": 32})


def _sampled(*operands: Any, **attrs: Any) -> Recipe:
    return Recipe([images(2), *operands], attrs)


_BOXES = np.array([[0.1, 0.2, 0.9, 0.8], [0.0, 0.3, 1.0, 0.7]], "float32")
_REGIONS = np.array([[0, 0, 0, 4, 5], [2, 1, 2, 5, 4]], "float32")
_SIZE = {1: (9,), 2: (8, 4), 3: (2, 8, 4)}

RECIPES: dict[str, Callable[[int], list[Recipe]]] = {
    r"nn\.(max|avg)_pool(\d)d": lambda rank: [_pool(rank)],
    r"nn\.(max|avg)_pool(\d)d_grad": lambda rank: [_pool_grad(rank)],
    r"nn\.global_(max|avg)_pool(\d)d": lambda rank: [Recipe([images(rank)])],
    r"nn\.adaptive_(max|avg)_pool(\d)d": lambda rank: [Recipe([images(rank)], {"output_size": (2, 4, 3)[-rank:]})],
    r"nn\.conv(\d)d": lambda rank: [_conv(rank), _conv(rank, groups=16), _conv(rank, groups=4)],
    r"nn\.conv(\d)d_transpose": lambda rank: [_transposed(rank)],
    r"nn\.bitserial_conv2d": lambda rank: [_conv(2, "int16", activation_bits=2, weight_bits=2)],
    r"nn\.contrib_conv2d_NCHWc": lambda rank: [_conv(2)],
    r"nn\.contrib_depthwise_conv2d_NCHWc": lambda rank: [_conv(2, groups=16)],
    r"nn\.conv2d_backward_weight": lambda rank: [_backward_weight()],
    r"nn\.deformable_conv2d": lambda rank: [_deformable()],
    r"nn\.correlation": lambda rank: [_sampled(images(2), max_displacement=1)],
    r"nn\.depth_to_space": lambda rank: [_sampled(block_size=2)],
    r"nn\.space_to_depth": lambda rank: [Recipe([images(2, W=8)], {"block_size": 2})],
    r"nn\.upsampling": lambda rank: [_sampled(scale_h=2, scale_w=3)],
    r"nn\.upsampling3d": lambda rank: [Recipe([images(3)], {"scale_d": 1, "scale_h": 2, "scale_w": 3})],
    r"image\.resize(\d)d": lambda rank: [Recipe([images(rank)], {"size": _SIZE[rank]})],
    r"dyn\.nn\.upsampling": lambda rank: [_sampled(relay.const(2.0), relay.const(3.0))],
    r"dyn\.nn\.upsampling3d": lambda rank: [Recipe([images(3), *(relay.const(v) for v in (1.0, 2.0, 3.0))])],
    r"dyn\.image\.resize(\d)d": lambda rank: [
        Recipe([images(rank), relay.const(np.array(_SIZE[rank], "int64")), relay.const(np.zeros(2 * rank, "float32"))])
    ],
    r"image\.crop_and_resize": lambda rank: [_sampled(_BOXES, np.array([0, 2], "int32"), crop_size=(4, 3))],
    r"image\.dilation2d": lambda rank: [_sampled({"I": 16, "H": 2, "W": 3}, strides=(1, 2), padding=(0, 1))],
    r"image\.grid_sample": lambda rank: [_sampled(np.linspace(-1, 1, 120, dtype="float32").reshape(3, 2, 4, 5))],
    r"qnn\.conv2d": lambda rank: [
        _with_parameters(_conv(2, "int8", groups=groups, out_dtype="int32"), 1, 2, 0.5, 0.25) for groups in (1, 16)
    ],
    r"qnn\.conv2d_transpose": lambda rank: [_with_parameters(_transposed(2, "int8"), 1, 2, 0.5, 0.25)],
    r"qnn\.avg_pool2d": lambda rank: [
        _with_parameters(Recipe(_pool(2).operands, _pool(2).attrs, "int8"), 0.5, 1, 0.25, -1)
    ],
    r"vision\.roi_(align|pool)": lambda rank: [_sampled(_REGIONS, pooled_size=(2, 3), spatial_scale=1.0)],
}
"""By the whole name of the operator; the digit in it is the number of spatial dimensions."""


def operators() -> list[RelayOp]:
    """Return the operators whose attributes name layouts that can be converted."""
    return [op for op in relay_ops().values() if NamedLayouts.of(op) is not None]


def recipes(op: RelayOp) -> list[Recipe]:
    """Return the recipes of an operator, of which there must be one."""
    for pattern, made in RECIPES.items():
        if found := re.fullmatch(pattern, op.name):
            rank = next((int(part) for part in found.groups() if part.isdigit()), 2)
            return made(rank)
    raise AssertionError(f"{op.name} has attributes that name layouts, and no recipe in {__name__}")


def image_layouts(letters: str) -> Iterator[str]:
    """Yield layouts of images: all orders of the dimensions, and channels in blocks."""
    for order in permutations(letters):
        yield "".join(order)
    for block in (4, 8, 16):
        yield f"{letters}{block}c"
        yield f"N{letters[2:]}C{block}c"


def call_of(op: RelayOp, recipe: Recipe, layouts: Mapping[str, str]) -> tuple[Any, list[Any]]:
    """Return a call in some layouts, with its variables; ``layouts`` are of attributes, others have their defaults."""
    named = NamedLayouts.of(op)
    assert named is not None
    spelt = {name: layouts.get(name, op.attributes[name].default) for name in named.inputs if name}
    attrs: dict[str, Any] = {**recipe.attrs, **layouts}
    args, variables = [], []
    for name, operand in zip(named.inputs, recipe.operands, strict=True):
        if isinstance(operand, dict):
            shape, dtype = layout(spelt[name]).shape(operand), recipe.dtype
        elif isinstance(operand, np.ndarray):
            shape, dtype = operand.shape, str(operand.dtype)
        else:
            args.append(operand)
            continue
        args.append(relay.var(f"x{len(args)}", shape=shape, dtype=dtype))
        variables.append((args[-1], operand))
    return op(*args, **attrs), variables


def values_of(variables: list[Any], seed: int = 0) -> list[Any]:
    """Return small whole numbers for variables, and their arrays for those that have one."""
    rng = np.random.default_rng(seed)
    return [
        operand
        if isinstance(operand, np.ndarray)
        else rng.integers(-4, 5, v.type_annotation.concrete_shape).astype(v.type_annotation.dtype)
        for v, operand in variables
    ]
