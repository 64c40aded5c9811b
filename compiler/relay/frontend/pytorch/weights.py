"""The weights of a model, as parameters of ``main`` with their arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import torch

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Constant, Var
from compiler.relay.frontend.pytorch.dtypes import dtype_name
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Array, constant, ops
from compiler.relay.inference import infer_expr
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import NDArray


def friendly(name: str) -> str:
    """Replace the characters of a name that the text format does not allow."""
    return re.sub(r":|\.", "_", name)


def tensor_data(tensor: torch.Tensor) -> Array:
    """Convert a tensor to a NumPy array."""
    if tensor.is_quantized or tensor.layout != torch.strided:
        raise ConversionError(f"a tensor of {tensor.dtype}, {tensor.layout} is not supported")
    dtype_name(tensor.dtype)
    plain = tensor.detach().cpu().contiguous()
    return np.asarray((plain.float() if plain.dtype == torch.bfloat16 else plain).numpy())


def tensor_constant(tensor: torch.Tensor) -> Constant:
    """Convert a tensor of a model to a typed constant."""
    return constant(tensor_data(tensor), dtype_name(tensor.dtype))


def is_count(tensor: torch.Tensor) -> bool:
    """Return whether a tensor of a model is one integer, a constant: models compute extents from it."""
    return tensor.dim() == 0 and not tensor.is_floating_point()


@dataclass(frozen=True, slots=True)
class PackedWeight:
    """The packed weight and bias of a quantized layer, with strides, padding, dilation and groups of a convolution."""

    variable: Var
    scales: Array
    bias: Array | None
    windows: dict[str, list[int] | int]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the weight."""
        return tuple(int(extent) for extent in self.variable.checked_type.concrete_shape)

    def integers(self) -> RelayExpr:
        """Return the quantized weight."""
        if self.variable.checked_type.dtype == "int8":
            return self.variable
        return ops.qnn.quantize(self.variable, constant(self.scales), constant(0, "int32"), axis=0, out_dtype="int8")

    def real(self) -> RelayExpr:
        """Return the dequantized weight."""
        if self.variable.checked_type.dtype == "float32":
            return self.variable
        return ops.qnn.dequantize(self.variable, constant(self.scales), constant(0, "int32"), axis=0)

    def bias_constant(self) -> RelayExpr | None:
        """Return the bias as a constant, None if there is none."""
        return None if self.bias is None else constant(self.bias)


def _scales(weight: torch.Tensor) -> Array:
    """Return the scales of a quantized weight, one per output."""
    if weight.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        scales, zeros = torch.full(weight.shape[:1], weight.q_scale()), torch.tensor(weight.q_zero_point())
    else:
        scales, zeros = weight.q_per_channel_scales(), weight.q_per_channel_zero_points()
    if weight.dtype != torch.qint8 or zeros.any():
        raise ConversionError(f"quantized weights must be qint8 without zero points, got {weight.dtype}")
    return np.asarray(scales.float().numpy())


class Weights:
    """The variables of a model's weights, created on first use."""

    def __init__(self, use_friendly_names: bool, keep_quantized: bool = False) -> None:
        self._use_friendly_names = use_friendly_names
        self._keep_quantized = keep_quantized
        self._by_path: dict[str, Var] = {}
        self.params: dict[str, NDArray] = {}

    @property
    def variables(self) -> list[Var]:
        """The parameters of ``main`` in the order of their first use."""
        return list(self._by_path.values())

    def variable(self, path: str, name: str, tensor: torch.Tensor) -> Var:
        """Return the variable of a weight at a path in the model: ``layer1.0.conv1.weight``."""
        if path not in self._by_path:
            name = friendly(name) if self._use_friendly_names else name
            name = name if name not in self.params else f"{name}.{len(self.params)}"
            dtype = dtype_name(tensor.dtype)
            self.params[name] = tensor_constant(tensor).data
            self._by_path[path] = Var(name, TensorType(tuple(tensor.shape), dtype))
            infer_expr(self._by_path[path])
        return self._by_path[path]

    def by_path(self) -> dict[str, NDArray]:
        """Return the arrays by the paths of the weights in the model."""
        return {path: self.params[variable.name_hint] for path, variable in self._by_path.items()}

    def packed(self, path: str, name: str, packed: torch.ScriptObject) -> PackedWeight:
        """Unpack the weight of a quantized layer."""
        kind = str(packed._type()).rpartition(".")[2]
        unpack = _UNPACK.get(kind)
        if unpack is None:
            raise ConversionError(f"an object of {kind} is not supported")
        weight, bias = getattr(torch.ops.quantized, unpack)(packed)
        scales = _scales(weight)
        windows = {name: getattr(packed, name)() for name in _WINDOWS} if unpack.startswith("conv") else {}
        stored = weight.int_repr() if self._keep_quantized else weight.dequantize()
        bias = None if bias is None else bias.detach().numpy()
        return PackedWeight(self.variable(f"{path}.weight", name, stored), scales, bias, windows)


_UNPACK = {
    "Conv2dPackedParamsBase": "conv2d_unpack",
    "Conv3dPackedParamsBase": "conv3d_unpack",
    "LinearPackedParamsBase": "linear_unpack",
}
_WINDOWS = ("stride", "padding", "dilation", "groups")
