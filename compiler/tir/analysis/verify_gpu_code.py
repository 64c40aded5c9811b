"""Verification of kernels against the limits of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Var
from compiler.ir.functor import Visitor, nodes_of
from compiler.ir.node import Node
from compiler.tir.analysis.memory import allocation_bytes
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, BufferStore, For, ForKind

_LIMITS = (
    "max_local_memory_per_block", "max_shared_memory_per_block", "max_dynamic_shared_memory_per_block",
    "max_threads_per_block", "max_thread_x", "max_thread_y", "max_thread_z", "max_vthread", "max_vector_bytes",
    "max_kernels",
)  # fmt: skip
_AXES = {"threadIdx.x": "max_thread_x", "threadIdx.y": "max_thread_y", "threadIdx.z": "max_thread_z"}


def verify_gpu_code(func: PrimFunc, constraints: Mapping[str, int]) -> bool:
    """Return whether the kernels of a function keep the limits of a GPU.

    Raises ArgumentError if there is no such limit.

    Parameters
    ----------
    constraints : mapping of str to int
        ``max_local_memory_per_block`` and ``max_shared_memory_per_block`` in bytes, and
        ``max_dynamic_shared_memory_per_block`` of both kinds of shared memory together; ``max_threads_per_block``,
        ``max_thread_x``, ``max_thread_y``, ``max_thread_z``, ``max_vthread``, ``max_kernels`` in numbers;
        ``max_vector_bytes`` in bytes of one access.  What is left out has no limit.
    """
    return not gpu_violations(func, constraints)


class Violation(NamedTuple):
    """A limit that a kernel does not keep."""

    limit: str  # its name; `one extent` for an axis that is launched with two
    # what the kernel needs, and what it may have
    value: int
    allowed: int
    node: Node | None


def gpu_violations(func: PrimFunc, constraints: Mapping[str, int]) -> list[Violation]:
    """Return the limits of a GPU that the kernels of a function do not keep."""
    for name in constraints:
        if name not in _LIMITS:
            raise ArgumentError(f"verify_gpu_code: there is no limit {name!r}, there are {', '.join(_LIMITS)}")
    kernels = _Kernels({name: int(value) for name, value in constraints.items()})
    kernels.visit(func.body)
    kernels.check("max_kernels", kernels.count, None)
    return kernels.violations


class _Kernels(Visitor):
    """Adds up what each kernel needs."""

    def __init__(self, limits: dict[str, int]) -> None:
        self._limits = limits
        self._depth = 0
        self._launch_node: Node | None = None
        self.violations: list[Violation] = []
        self.count = 0
        self._begin_kernel()

    def _begin_kernel(self) -> None:
        self._extents: dict[str, int] = {}
        self._bytes = {"local": 0, "shared": 0, "shared.dyn": 0}
        self._largest: dict[str, Allocate] = {}
        self._local: set[Var] = set()

    def check(self, limit: str, value: int, node: Node | None) -> None:
        """Note a limit that a value does not keep."""
        allowed = self._limits.get(limit, value)
        if value > allowed:
            self.violations.append(Violation(limit, value, allowed, node))

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key == "virtual_thread" and isinstance(n.value, IntImm):
            self.check("max_vthread", n.value.value, n)
            self.visit(n.body)
        elif n.attr_key == "thread_extent" and isinstance(n.node, IterVar):
            self._launch(n, n.node.thread_tag, n.value)
        else:
            self.visit_Node(n)

    def visit_For(self, n: For) -> None:
        if n.kind is ForKind.THREAD_BINDING and n.thread_binding is not None:
            self._launch(n, n.thread_binding.thread_tag, n.extent)
            return
        if n.kind is ForKind.VECTORIZED and isinstance(n.extent, IntImm):
            self._vector_loop(n, n.extent.value)
        self.visit_Node(n)

    def _vector_loop(self, n: For, extent: int) -> None:
        accessed = [
            a.dtype if isinstance(a, BufferLoad) else a.value.dtype for a in nodes_of(n.body, BufferLoad, BufferStore)
        ]
        self.check("max_vector_bytes", extent * max(map(_bytes, accessed), default=0), n)

    def _launch(self, n: AttrStmt | For, tag: str, extent: PrimExpr) -> None:
        if not self._depth:
            self.count += 1
            self._launch_node = n
            self._begin_kernel()
        self._depth += 1
        if isinstance(extent, IntImm):
            first = self._extents.setdefault(tag, extent.value)
            if first != extent.value:
                self.violations.append(Violation("one extent", extent.value, first, n))
            if tag in _AXES:
                self.check(_AXES[tag], extent.value, n)
        elif tag in _AXES and _AXES[tag] in self._limits:
            self.violations.append(Violation(_AXES[tag], 0, self._limits[_AXES[tag]], n))
        if tag.startswith("threadIdx"):
            self._launch_node = n
        self.visit(n.body)
        self._depth -= 1
        if not self._depth:
            self._end_kernel()

    def _end_kernel(self) -> None:
        threads = 1
        for tag, extent in self._extents.items():
            threads *= extent if tag.startswith("threadIdx") else 1
        self.check("max_threads_per_block", threads, self._launch_node)
        for scope in ("local", "shared"):
            self.check(f"max_{scope}_memory_per_block", self._bytes[scope], self._largest.get(scope))
        if dynamic := self._bytes["shared.dyn"]:
            both = dynamic + self._bytes["shared"]
            self.check("max_dynamic_shared_memory_per_block", both, self._largest.get("shared.dyn"))

    def visit_Allocate(self, n: Allocate) -> None:
        scope = pointer_scope(n.buffer_var)
        if scope in self._bytes:
            size = allocation_bytes(n)
            self._bytes[scope] += size
            if scope not in self._largest or size > allocation_bytes(self._largest[scope]):
                self._largest[scope] = n
        self._check_width(n, n.dtype)
        self.visit_Node(n)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._check_width(n, n.dtype)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._check_width(n, n.value.dtype)
        self.visit_Node(n)

    def _check_width(self, n: Node, dtype: str) -> None:
        if dt.lanes(dtype) > 1:
            self.check("max_vector_bytes", _bytes(dtype), n)


def _bytes(dtype: str) -> int:
    return dt.bits(dtype) * dt.lanes(dtype) // 8
