"""The weights of a model: parameters of ``main``, and the arrays behind them."""

from __future__ import annotations

import re
from typing import Any

import torch

from compiler.relay.expr import Var
from compiler.relay.frontend.pytorch.dtypes import dtype_name
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant
from compiler.relay.inference import infer_expr
from compiler.relay.ty import TensorType
from compiler.runtime.ndarray import NDArray

__all__ = ["Weights", "friendly", "tensor_constant", "tensor_data"]


def friendly(name: str) -> str:
    """Return a name without the characters that the text format does not have in names."""
    return re.sub(r":|\.", "_", name)


def tensor_data(tensor: torch.Tensor) -> Any:
    """Return the elements of a tensor as a NumPy array.

    Raises
    ------
    ConversionError
        If its data type or layout is not supported.
    """
    if tensor.is_quantized or tensor.layout != torch.strided:
        raise ConversionError(f"a tensor of {tensor.dtype}, {tensor.layout} is not supported")
    dtype_name(tensor.dtype)
    plain = tensor.detach().cpu().contiguous()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()


def tensor_constant(tensor: torch.Tensor) -> Any:
    """Return a tensor of a model as a typed constant."""
    return constant(tensor_data(tensor), dtype_name(tensor.dtype))


class Weights:
    """The variables of a model's weights, made when they are first used.

    Parameters
    ----------
    use_friendly_names : bool
        Whether names have underscores instead of colons and dots.
    """

    def __init__(self, use_friendly_names: bool) -> None:
        self._use_friendly_names = use_friendly_names
        self._by_path: dict[str, Var] = {}
        self.params: dict[str, NDArray] = {}

    @property
    def variables(self) -> list[Var]:
        """The parameters of ``main`` in the order of their first use."""
        return list(self._by_path.values())

    def variable(self, path: str, name: str, tensor: torch.Tensor) -> Var:
        """Return the variable of a weight.

        Parameters
        ----------
        path : str
            Where the model has it: ``layer1.0.conv1.weight``.
        name : str
            What ``main`` calls it, if no other weight is called so.
        tensor : torch.Tensor
        """
        if path not in self._by_path:
            name = friendly(name) if self._use_friendly_names else name
            name = name if name not in self.params else f"{name}.{len(self.params)}"
            dtype = dtype_name(tensor.dtype)
            self.params[name] = tensor_constant(tensor).data
            self._by_path[path] = Var(name, TensorType(tuple(tensor.shape), dtype))
            infer_expr(self._by_path[path])
        return self._by_path[path]
