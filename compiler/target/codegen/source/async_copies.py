"""Asynchronous copies from global to shared memory in CUDA C, as inline PTX.

References
----------
NVIDIA, "Parallel Thread Execution ISA", section "Data Movement and Conversion Instructions: Asynchronous copy".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr
from compiler.ir.origin import user_place
from compiler.target.codegen.source.device import CallRule

if TYPE_CHECKING:
    from compiler.target.codegen.source.expressions import Expressions

_CACHES = {4: "ca", 8: "ca", 16: "cg"}
"""Cache operators by copy size: ``ca`` caches at all levels, ``cg`` only in L2."""


def _copy(e: Expressions, n: Call, level: int) -> None:
    """Emit ``cp.async``, which stores zeros without reading if its condition is false."""
    shared, shared_at, source, source_at, size, *condition = n.args
    count = _constant(n, size, "copies 4, 8 or 16 bytes")
    if count not in _CACHES:
        raise BuildError(f"build: cp.async copies 4, 8 or 16 bytes, got {size}{user_place(n.span)}")
    read = ", %2" if condition else ""
    e.write(f'asm volatile("cp.async.{_CACHES[count]}.shared.global [%0], [%1], {count}{read};" : : ')
    e.write('"r"((unsigned)__cvta_generic_to_shared(', shared, " + (", shared_at, "))), ")
    e.write('"l"(', source, " + (", source_at, "))")
    if condition:
        e.write(', "r"((', condition[0], f") ? {count} : 0)")
    e.write(' : "memory")')


def _commit(e: Expressions, n: Call, level: int) -> None:
    e.write('asm volatile("cp.async.commit_group;" : : : "memory")')


def _wait(e: Expressions, n: Call, level: int) -> None:
    count = _constant(n, n.args[0], "waits for a constant number of groups")
    e.write(f'asm volatile("cp.async.wait_group {count};" : : : "memory")')


def _constant(n: Call, value: PrimExpr, does: str) -> int:
    if isinstance(value, IntImm):
        return value.value
    raise BuildError(f"build: cp.async {does}, got {value}{user_place(n.span)}")


ASYNC_COPIES: dict[str, CallRule] = {
    "tir.ptx_cp_async": _copy,
    "tir.ptx_commit_group": _commit,
    "tir.ptx_wait_group": _wait,
}
"""The emitters of asynchronous copies, by operator."""
