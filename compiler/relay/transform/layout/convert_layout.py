"""ConvertLayout: converts operators to given layouts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.ir.types import Type
from compiler.relay.expr import Call
from compiler.relay.function import Function
from compiler.relay.named_layouts import NamedLayouts
from compiler.relay.operator import operator_of, relay_ops
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.layout.layout_config import LayoutConfig
from compiler.relay.transform.layout.layout_rewriter import LayoutRewriter, placeholders
from compiler.relay.transform.rewriter import op_name
from compiler.relay.ty import TensorType
from compiler.tir.layout.data_layout import Layout, layout

_DEFAULT = "default"
_BLOCKED = re.compile(r"NCHW\d+c")


class ConvertLayout(FunctionPass, opt_level=3, required=("InferType", "CanonicalizeOps")):
    """Bring operators into given layouts, and the rest of the graph with them.

    Level 3; requires InferType and CanonicalizeOps.  ``desired_layouts`` gives for each operator the layout of its data
    and, if it has them, of its weights: ``{"nn.conv2d": ["NHWC", "default"], "nn.max_pool2d": ["NHWC"]}``, where
    ``default`` is the usual one for the other.  Operators without layouts, or without this one, stay as they are; names
    of operators and layouts that do not exist are refused.

    Examples
    --------
    ``ConvertLayout(desired_layouts={'nn.conv2d': ['NHWC', 'default']})``::

        def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
          nn.relu(nn.conv2d(%x, %w))
        }
        ->
        def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
          %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");
          %1 = layout_transform(%w, src_layout="OIHW", dst_layout="HWIO");
          %2 = nn.conv2d(%0, %1, padding=[0, 0, 0, 0], data_layout="NHWC", kernel_layout="HWIO");
          layout_transform(nn.relu(%2), src_layout="NHWC", dst_layout="NCHW")
        }
    """

    desired_layouts: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        for name, layouts in dict(self.desired_layouts).items():
            _check(name, layouts)
        super().__post_init__()

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        def choose(call: Call, types: Sequence[Type], out_type: Type) -> RelayExpr | None:
            layouts = self.desired_layouts.get(op_name(call))
            if layouts is None:
                return None
            set_rule = operator_of(call).get_attr("FTVMConvertOpLayout")
            if set_rule is not None:
                made: RelayExpr | None = set_rule(call.attrs, call.args, placeholders(types), layouts)
                return made
            return _converted(call, layouts, types)

        return LayoutRewriter(choose).rewrite_function(func)


def _check(name: str, layouts: object) -> None:
    if name not in relay_ops():
        raise ArgumentError(f"ConvertLayout: no operator is named {show(name)}")
    if not isinstance(layouts, (list, tuple)) or not layouts:
        raise ArgumentError(f"ConvertLayout: {name}: expected a list of layouts, got {show(layouts)}")
    for each in layouts:
        if each != _DEFAULT:
            layout(each)


def _converted(call: Call, names: Sequence[str], types: Sequence[Type]) -> Call | None:
    op = operator_of(call)
    named = NamedLayouts.of(op)
    if named is None or _is_skipped(call):
        return None
    attrs, changes = call.attrs, _changes(call, named, names, types)
    if op.name == "nn.conv2d" and _BLOCKED.fullmatch(changes["data_layout"]):
        op = relay_ops()["nn.contrib_conv2d_NCHWc"]
        named, attrs = NamedLayouts.of(op), op.complete_attrs(attrs)
    made = None if named is None else named.accepted(attrs, changes, tuple(types))
    return None if made is None or made == call.attrs else rebuild(call, op=op, attrs=made)


def _is_skipped(call: Call) -> bool:
    """Count a layer, and return whether it keeps its layout; layers are what has weights."""
    config = LayoutConfig.current()
    return config is not None and "data_layout" in call.attrs and config.check_skip()


def _changes(call: Call, named: NamedLayouts, names: Sequence[str], types: Sequence[Type]) -> dict[str, str]:
    """Return the attributes that name layouts, as they are to be."""
    data = call.attrs.get_str(named.images) if names[0] == _DEFAULT else names[0]
    changes = dict.fromkeys(named.of_images, data)
    if named.weight:
        given = len(names) > 1 and names[1] != _DEFAULT
        changes[named.weight] = names[1] if given else _weight_layout(call, data, types)
        if len(names) > 2 and "out_layout" in call.attrs:
            changes["out_layout"] = names[2]
    elif call.attrs.get("out_layout"):
        changes["out_layout"] = data
    return changes


def _weight_layout(call: Call, data: str, types: Sequence[Type]) -> str:
    given = call.attrs.get_str("kernel_layout")
    plain = layout(given)
    if plain.ndim != len(plain.letters) or layout(data).ndim != len(layout(data).letters):
        return given
    spatial = "".join(letter for letter in layout(data).letters if letter not in "NC")
    inner, outer = ("I", "O") if "transpose" not in op_name(call) else ("O", "I")
    if data.startswith("N") and data.endswith("C"):
        if op_name(call).endswith("conv2d_transpose"):  # only in two dimensions does TVM put the input channels first
            order = f"{spatial}IO"
        else:
            order = spatial + (outer + inner if _is_depthwise(call, plain, types) else inner + outer)
    else:
        order = outer + inner + spatial if data.startswith("NC") else spatial + outer + inner
    return "".join(letter for letter in order if letter in plain.letters)


def _is_depthwise(call: Call, plain: Layout, types: Sequence[Type]) -> bool:
    names = list(operator_of(call).inputs)
    weight = next((t for t, name in zip(types, names, strict=True) if name in ("weight", "kernel")), None)
    inputs = plain.extents(weight.dims)["I"] if isinstance(weight, TensorType) else 0
    return "groups" in call.attrs and call.attrs.get_int("groups") > 1 and isinstance(inputs, int) and inputs == 1
