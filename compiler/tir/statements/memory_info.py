"""Tagged storage scopes: user-defined memories, and the information a program registers about them."""

from __future__ import annotations

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike
from compiler.ir.node import Node, node
from compiler.runtime.modules.packed_func import get_global_func

_RANKS = (
    *("global", "shared", "warp", "local", "texture", "amx.tmm", "metal.simdgroup", ""),
    *(f"wmma.{part}" for part in ("matrix_a", "matrix_b", "accumulator")),
    *(f"m16n8k8.matrix{part}" for part in "ABC"),
)
_ORDINARY_TAGS = (".dyn", ".workspace", ".vtcm")


@node
class MemoryInfo(Node):
    """What a user-defined memory can hold; ``register_func("tvm.info.mem.<scope>")`` names a function that says it."""

    unit_bits: int
    max_num_bits: int
    max_simd_bits: int  # the size of the largest vector; what is allocated begins at multiples of it
    head_address: ExprLike = None


def is_storage_scope(scope: str) -> bool:
    """Return whether a text names a kind of memory, with a tag as in ``shared.dyn`` or without.

    A buffer that says nothing, ``""``, is in global memory.
    """
    return not scope or any(rank and scope.startswith(rank) for rank in _RANKS)


def is_tagged(scope: str) -> bool:
    """Return whether a storage scope names a user-defined memory, e.g. ``local.L0A`` or ``global:tag``."""
    rank = max([rank for rank in _RANKS if scope.startswith(rank)], key=len)
    tag = scope.removeprefix(rank)
    return bool(tag) and tag not in _ORDINARY_TAGS and bool(rank)


def memory_info(scope: str) -> MemoryInfo | None:
    """Return what a program says about the memory of a scope; None if it says nothing."""
    function = get_global_func(f"tvm.info.mem.{scope}", allow_missing=True)
    if function is None:
        return None
    info = function()
    if not isinstance(info, MemoryInfo):
        raise ArgumentError(f"tvm.info.mem.{scope}: expected a function that returns a MemoryInfo, got {show(info)}")
    return info
