"""Data types: codes of TorchScript, and type promotion."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

import numpy as np
import torch

from compiler.ir.context_stack import setting
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.values import DType, Scalar, TorchValue
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops, rank_of, scalar

_CODES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64", 11: "bool",
    15: "bfloat16",
}  # fmt: skip
"""The codes of ``c10::ScalarType``, without complex and quantized types."""

_DEFAULT_FLOAT: ContextVar[str] = ContextVar("_DEFAULT_FLOAT", default="float32")


def using_float(dtype: str) -> AbstractContextManager[None]:
    """Set the default floating-point type within the context."""
    return setting(_DEFAULT_FLOAT, dtype)


def default_float() -> str:
    """Return the default floating-point type."""
    return _DEFAULT_FLOAT.get()


def dtype_name(value: DType) -> str:
    """Return the name of a data type, given as PyTorch does."""
    name = _CODES.get(value, "") if isinstance(value, int) else str(value).removeprefix("torch.")
    name = {"float": "float32", "int": "int32", "double": "float64", "half": "float16", "long": "int64"}.get(name, name)
    if name not in _CODES.values():
        raise ConversionError(f"data type {value!r} is not supported; expected one of {', '.join(_CODES.values())}")
    return name


def dtype_code(name: str) -> int:
    """Return TorchScript's code of a data type."""
    return next(code for code, own in _CODES.items() if own == name)


def cast(x: RelayExpr, dtype: str) -> RelayExpr:
    """Cast a tensor; floats are converted to bool by comparison with zero."""
    return x if dtype_of(x) == dtype else ops.cast(x, dtype)


def truth(x: RelayExpr) -> RelayExpr:
    """Convert a tensor to bool: whether its elements are nonzero."""
    return x if dtype_of(x) == "bool" else ops.not_equal(x, scalar(0, x))


def tensor(value: TorchValue, dtype: str | None = None) -> RelayExpr:
    """Convert a value to an expression."""
    if isinstance(value, RelayExpr):
        return value if dtype is None else cast(value, dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(v, RelayExpr) for v in value):
        return ops.stack([tensor(v, dtype or "int64") for v in value], 0)
    array = np.asarray(value)
    return constant(array, dtype or (default_float() if array.dtype.kind == "f" else str(array.dtype)))


def result_dtype(*values: Scalar) -> str:
    """Promote the data types of values by PyTorch's rules.

    Tensors with dimensions take precedence over scalar tensors and numbers of the same category.

    References
    ----------
    https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
    """
    groups: list[list[str]] = [[], [], []]
    for value in values:
        if isinstance(value, RelayExpr):
            groups[0 if rank_of(value) else 1].append(dtype_of(value))
        else:
            groups[2].append(_dtype_of_number(value))
    result = ""
    for group in groups:
        if group:
            own = _joined(group)
            if not result or _category(own) > _category(result):
                result = own
    return result


def _dtype_of_number(value: float) -> str:
    return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else default_float()


def _joined(names: list[str]) -> str:
    joined = getattr(torch, names[0])
    for name in names[1:]:
        joined = torch.promote_types(joined, getattr(torch, name))
    return dtype_name(joined)


def _category(dtype: str) -> int:
    return 0 if dtype == "bool" else 2 if "float" in dtype else 1


def promoted(*values: Scalar, floating: bool = False) -> list[RelayExpr]:
    """Promote values to expressions of a common data type."""
    dtype = result_dtype(*values)
    if floating and _category(dtype) < 2:
        dtype = default_float()
    return [tensor(value, dtype) for value in values]
