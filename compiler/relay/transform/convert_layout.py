"""ConvertLayout: changes the layouts of operators to given ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.ir.types import Type
from compiler.relay.expr import Call, Function
from compiler.relay.op.nn.conv_attrs import ConvolutionAttrs
from compiler.relay.operator import operator_of, relay_ops
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.layout_rewriter import LayoutRewriter, chosen_by_rule
from compiler.relay.transform.rewriter import op_name
from compiler.relay.ty import TensorType
from compiler.topi.layout import layout

__all__ = [
    "ConvertLayout",
]

_DEFAULT = "default"


class ConvertLayout(FunctionPass, opt_level=3, required=("InferType", "CanonicalizeOps")):
    """Bring operators into given layouts, and the rest of the graph with them.

    Level 3; requires InferType and CanonicalizeOps.

    Parameters
    ----------
    desired_layouts : mapping of str to sequence of str
        For each operator the layout of its data and, if it has them, of its weights: ``{"nn.conv2d": ["NHWC",
        "default"], "nn.max_pool2d": ["NHWC"]}``.  ``default`` is the usual one for the other.

    Raises
    ------
    ArgumentError
        If an operator or a layout does not exist, or an operator has no layouts.

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
        def choose(call: Call, types: Sequence[Type]) -> Call | None:
            layouts = self.desired_layouts.get(op_name(call))
            set_rule = None if layouts is None else operator_of(call).get_attr("FTVMConvertOpLayout")
            if set_rule is not None:
                return chosen_by_rule("FTVMConvertOpLayout", set_rule(call.attrs, call.args, types, layouts), call)
            return None if layouts is None else _converted(call, layouts, types)

        result: Function = LayoutRewriter(choose).rewrite(func)
        return result


def _check(name: str, layouts: object) -> None:
    op = relay_ops().get(name)
    if op is None or not {"data_layout", "layout"} & op.attributes.keys():
        raise ArgumentError(f"ConvertLayout: {show(name)} is no operator that has layouts")
    if not isinstance(layouts, (list, tuple)) or not layouts:
        raise ArgumentError(f"ConvertLayout: {name}: expected a list of layouts, got {show(layouts)}")
    for each in layouts:
        if each != _DEFAULT:
            layout(each)


def _converted(call: Call, names: Sequence[str], types: Sequence[Type]) -> Call | None:
    data = names[0]
    if not isinstance(call.attrs, ConvolutionAttrs):
        changes = {} if data == _DEFAULT else {"layout": data}
    else:
        data = call.attrs.data_layout if data == _DEFAULT else data
        weight = names[1] if len(names) > 1 and names[1] != _DEFAULT else _weight_layout(call, data, types[1])
        changes = {"data_layout": data, "kernel_layout": weight, "out_layout": names[2] if len(names) > 2 else ""}
    made = call.attrs.with_values(**changes)
    return None if made == call.attrs else rebuild(call, attrs=made)


def _weight_layout(call: Call, data: str, weight: Type) -> str:
    """Return the usual layout of weights for a layout of data."""
    attrs = ConvolutionAttrs.of(call)
    given = attrs.kernel_layout
    plain = layout(given)
    if plain.ndim != len(plain.letters) or layout(data).ndim != len(layout(data).letters):
        return given
    spatial = "".join(letter for letter in plain.letters if letter not in "OI")
    inner, outer = ("I", "O") if "transpose" not in operator_of(call).name else ("O", "I")
    if data.endswith("C") and isinstance(weight, TensorType):
        extents = plain.extents(weight.dims)
        depthwise = attrs.groups > 1 and extents["I"] == 1
        return spatial + (outer + inner if depthwise else inner + outer)
    return outer + inner + spatial
