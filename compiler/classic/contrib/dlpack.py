"""``tvm.contrib.dlpack``: compiled functions over the tensors of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from compiler.runtime.arrays.ndarray import from_dlpack


def convert_func(
    tvm_func: Callable[..., Any], tensor_type: type, to_dlpack_func: Callable[[Any], Any]
) -> Callable[..., Any]:
    """Return a function over the tensors of another library, whose memory it reads and writes in place."""

    @wraps(tvm_func, updated=())
    def converted(*args: object) -> Any:
        return tvm_func(*(from_dlpack(to_dlpack_func(a)) if isinstance(a, tensor_type) else a for a in args))

    return converted


def to_pytorch_func(tvm_func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function over tensors of PyTorch, see :func:`convert_func`."""
    import torch
    from torch.utils.dlpack import to_dlpack

    return convert_func(tvm_func, torch.Tensor, to_dlpack)
