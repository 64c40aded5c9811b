"""The limits of a GPU that a kernel must keep."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.functor import Visitor
from compiler.ir.primexpr import IntImm, IterVar, PrimExpr, Var
from compiler.tir.analysis.memory import allocation_bytes
from compiler.tir.buffer import BufferLoad
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import Allocate, AttrStmt, BufferStore, For, ForKind, Stmt

__all__ = ["verify_gpu_code"]

_LIMITS = (
    "max_local_memory_per_block",
    "max_shared_memory_per_block",
    "max_threads_per_block",
    "max_thread_x",
    "max_thread_y",
    "max_thread_z",
    "max_vthread",
    "max_vector_bytes",
    "max_kernels",
)
_AXES = {"threadIdx.x": "max_thread_x", "threadIdx.y": "max_thread_y", "threadIdx.z": "max_thread_z"}


def verify_gpu_code(func: PrimFunc, constraints: Mapping[str, int]) -> bool:
    """Return whether the kernels of a function keep the limits of a GPU.

    Parameters
    ----------
    func : PrimFunc
        The function, with its loops bound to thread axes.
    constraints : mapping of str to int
        ``max_local_memory_per_block`` and ``max_shared_memory_per_block`` in bytes; ``max_threads_per_block``,
        ``max_thread_x``, ``max_thread_y``, ``max_thread_z``, ``max_vthread``, ``max_kernels`` in numbers;
        ``max_vector_bytes`` in bytes of one access.  What is left out has no limit.

    Returns
    -------
    bool

    Raises
    ------
    ArgumentError
        If there is no such limit.
    """
    for name in constraints:
        if name not in _LIMITS:
            raise ArgumentError(f"verify_gpu_code: there is no limit {name!r}, there are {', '.join(_LIMITS)}")
    kernels = _Kernels({name: int(value) for name, value in constraints.items()})
    kernels.visit(func.body)
    return kernels.holds and kernels.within("max_kernels", kernels.count)


class _Kernels(Visitor):
    """Adds up what each kernel needs."""

    def __init__(self, limits: dict[str, int]) -> None:
        self._limits = limits
        self._depth = 0
        self.holds = True
        self.count = 0
        self._begin_kernel()

    def _begin_kernel(self) -> None:
        self._extents: dict[str, int] = {}
        self._bytes = {"local": 0, "shared": 0}
        self._local: set[Var] = set()

    def within(self, limit: str, value: int) -> bool:
        """Return whether a value keeps a limit."""
        return value <= self._limits.get(limit, value)

    def _check(self, limit: str, value: int) -> None:
        self.holds &= self.within(limit, value)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key == "virtual_thread" and isinstance(n.value, IntImm):
            self._check("max_vthread", n.value.value)
            self.visit(n.body)
        elif n.attr_key == "thread_extent" and isinstance(n.node, IterVar):
            self._launch(n.node.thread_tag, n.value, n.body)
        else:
            self.visit_Node(n)

    def visit_For(self, n: For) -> None:
        if n.kind is ForKind.THREAD_BINDING and n.thread_binding is not None:
            self._launch(n.thread_binding.thread_tag, n.extent, n.body)
            return
        if n.kind is ForKind.VECTORIZED and isinstance(n.extent, IntImm):
            self._vector_loop(n, n.extent.value)
        self.visit_Node(n)

    def _vector_loop(self, n: For, extent: int) -> None:
        widths = _Widths()
        widths.visit(n.body)
        self._check("max_vector_bytes", extent * widths.widest)

    def _launch(self, tag: str, extent: PrimExpr, body: Stmt) -> None:
        if not self._depth:
            self.count += 1
            self._begin_kernel()
        self._depth += 1
        if isinstance(extent, IntImm):
            self.holds &= self._extents.setdefault(tag, extent.value) == extent.value
            if tag in _AXES:
                self._check(_AXES[tag], extent.value)
        else:
            self.holds &= tag not in _AXES or _AXES[tag] not in self._limits
        self.visit(body)
        self._depth -= 1
        if not self._depth:
            self._end_kernel()

    def _end_kernel(self) -> None:
        threads = 1
        for tag, extent in self._extents.items():
            threads *= extent if tag.startswith("threadIdx") else 1
        self._check("max_threads_per_block", threads)
        for scope, size in self._bytes.items():
            self._check(f"max_{scope}_memory_per_block", size)

    def visit_Allocate(self, n: Allocate) -> None:
        scope = getattr(n.buffer_var.type_annotation, "storage_scope", "")
        if scope in self._bytes:
            self._bytes[scope] += allocation_bytes(n)
        self._check_width(n.dtype)
        self.visit_Node(n)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._check_width(n.dtype)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._check_width(n.value.dtype)
        self.visit_Node(n)

    def _check_width(self, dtype: str) -> None:
        if dt.lanes(dtype) > 1:
            self._check("max_vector_bytes", _bytes(dtype))


class _Widths(Visitor):
    """Finds the widest access."""

    def __init__(self) -> None:
        self.widest = 0

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self.widest = max(self.widest, _bytes(n.dtype))
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.widest = max(self.widest, _bytes(n.value.dtype))
        self.visit_Node(n)


def _bytes(dtype: str) -> int:
    return dt.bits(dtype) * dt.lanes(dtype) // 8
