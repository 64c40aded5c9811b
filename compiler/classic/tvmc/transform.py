"""Graph transformations of the command line: layouts and mixed precision."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from compiler.classic.relay.transform.quantization.mixed_precision import (
    MIXED_PRECISION_ALWAYS,
    MIXED_PRECISION_RULE,
    Conversion,
)
from compiler.classic.relay.transform.quantization.to_mixed_precision import ToMixedPrecision
from compiler.classic.relay.transform.remove_unused_functions import RemoveUnusedFunctions
from compiler.classic.tvmc.errors import TVMCException
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.passes.context import PassContext
from compiler.ir.transform import Sequential
from compiler.relay.expr import Call
from compiler.relay.transform.fold.fold_constant import FoldConstant
from compiler.relay.transform.infer_type import InferType
from compiler.relay.transform.layout.convert_layout import ConvertLayout

__all__ = [
    "GRAPH_OPTIONS", "apply_graph_transforms", "convert_graph_layout", "convert_to_mixed_precision",
    "generate_transform_args", "parse_graph_transform_args",
]  # fmt: skip

_CONVOLUTIONS = ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d")
_PRODUCTS = ("nn.conv2d", "nn.dense")
GRAPH_OPTIONS = (
    "desired_layout", "desired_layout_ops", "mixed_precision", "mixed_precision_ops",
    "mixed_precision_calculation_type", "mixed_precision_acc_type",
)  # fmt: skip
"""What :func:`apply_graph_transforms` takes."""
_FLOATS = ("float16", "float32")


def convert_graph_layout(
    mod: IRModule, desired_layouts: str | Sequence[str], ops: Sequence[str] | None = None
) -> IRModule:
    """Return a module whose operators have a layout, ``NHWC``, or each one of its own, ``NHWC:HWIO``."""
    layouts = [desired_layouts] if isinstance(desired_layouts, str) else list(desired_layouts)
    names = list(ops or _CONVOLUTIONS)
    if len(layouts) not in (1, len(names)):
        raise TVMCException(f"Expected 1 or {len(names)} layouts but got {len(layouts)}")
    per_op = layouts if len(layouts) == len(names) else layouts * len(names)
    wanted = {name: _layouts(layout) for name, layout in zip(names, per_op, strict=True)}
    passes = (RemoveUnusedFunctions(), InferType(), ConvertLayout(wanted), FoldConstant())
    with PassContext(opt_level=3):
        return Sequential(passes)(mod)


def _layouts(text: str) -> tuple[str, str]:
    data, _, kernel = text.partition(":")
    return data, kernel or "default"


def convert_to_mixed_precision(
    mod: IRModule, ops: Sequence[str] | None = None, calculation_type: str = "float16", acc_type: str = "float16"
) -> IRModule:
    """Return a module whose operators, by default ``nn.conv2d`` and ``nn.dense``, compute in a lower precision."""
    for dtype in (calculation_type, acc_type):
        if dtype not in _FLOATS:
            raise TVMCException(f"mixed precision: the data types are {' and '.join(_FLOATS)}, got {dtype!r}")
    passes = (InferType(), ToMixedPrecision(calculation_type), InferType())
    config = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}
    with _sums_of(ops or _PRODUCTS, acc_type), PassContext(opt_level=3, config=config):
        return Sequential(passes)(mod)


@contextmanager
def _sums_of(ops: Sequence[str], dtype: str) -> Iterator[None]:
    """Let operators be computed in the lower precision, with sums of a data type."""

    def rule(call: Call, lower: str) -> Conversion:
        return MIXED_PRECISION_ALWAYS, dtype, lower

    before = {op: op.get_attr(MIXED_PRECISION_RULE) for op in map(Op.get, ops)}
    try:
        for op in before:
            op.reset_attr(MIXED_PRECISION_RULE)
            op.set_attr(MIXED_PRECISION_RULE, rule)
        yield
    finally:
        for op, earlier in before.items():
            op.reset_attr(MIXED_PRECISION_RULE)
            if earlier is not None:
                op.set_attr(MIXED_PRECISION_RULE, earlier)


def apply_graph_transforms(mod: IRModule, args: Mapping[str, Any] | None) -> IRModule:
    """Return a module after what its user asked for."""
    given = args or {}
    if given.get("desired_layout"):
        mod = convert_graph_layout(mod, given["desired_layout"], given.get("desired_layout_ops"))
    if given.get("mixed_precision"):
        calculation = given.get("mixed_precision_calculation_type") or "float16"
        sums = given.get("mixed_precision_acc_type") or "float16"
        mod = convert_to_mixed_precision(mod, given.get("mixed_precision_ops"), calculation, sums)
    return mod


def generate_transform_args(parser: argparse.ArgumentParser) -> None:
    """Add the options of layouts and precision to a parser."""
    parser.add_argument("--desired-layout", nargs="+", help="layouts, e.g. NCHW or NHWC:HWIO: one, or one an operator")
    parser.add_argument("--desired-layout-ops", nargs="+", default=list(_CONVOLUTIONS), help="operators with layouts")
    parser.add_argument("--mixed-precision", action="store_true", help="compute products in a lower precision")
    parser.add_argument("--mixed-precision-ops", nargs="+", default=list(_PRODUCTS), help="operators that do")
    parser.add_argument("--mixed-precision-calculation-type", choices=_FLOATS, default="float16", help="of inputs")
    parser.add_argument("--mixed-precision-acc-type", choices=_FLOATS, default="float16", help="of sums")


def parse_graph_transform_args(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the arguments say of layouts and precision."""
    return {name: getattr(args, name) for name in GRAPH_OPTIONS if hasattr(args, name)}
