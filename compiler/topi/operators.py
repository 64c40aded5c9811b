"""Python operators on whole tensors: ``+``, ``-``, ``*``, ``/`` and ``astype``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from compiler.ir.extension import extension_point
from compiler.te.definition.tensor import Tensor
from compiler.topi.broadcast import add, divide, multiply, subtract
from compiler.topi.elementwise import cast, negative

__all__: list[str] = []

_FUNCTIONS: tuple[Callable[..., Tensor], ...] = (add, subtract, multiply, divide, negative, cast)


def _itself(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return function


for _function in _FUNCTIONS:
    extension_point("tensor functions").add(_function.__name__, partial(_itself, _function))
