"""Signatures of functions, independent of the back end: parameters, shape variables and results."""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call, Var
from compiler.ir.function import GlobalVar
from compiler.ir.functor import Visitor
from compiler.ir.memory import ALIGNMENT
from compiler.runtime.modules.signature import Parameter, Signature, SizeNames
from compiler.tir.expressions import builtin
from compiler.tir.statements.buffer import AUTO_BROADCAST, Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import BufferStore, For, ForKind


def signatures_of(functions: Sequence[tuple[str, PrimFunc]], parallel: bool) -> list[tuple[Signature, tuple[Var, ...]]]:
    """Return the signatures of the functions of a module.

    Where parallel loops are multi-threaded, the number of threads is an argument.
    """
    facts = {name: Facts() for name, _ in functions}
    for name, func in functions:
        facts[name].visit(func.body)
    _propagate_threads(facts)
    made = [_signature(name, func, facts[name], parallel) for name, func in functions]
    symbols = distinct([signature.symbol for signature, _ in made])
    return [
        (msgspec.structs.replace(signature, symbol=symbol), sizes)
        for (signature, sizes), symbol in zip(made, symbols, strict=True)
    ]


def distinct(names: Sequence[str]) -> list[str]:
    """Make names unique by appending numbers to repeated ones."""
    made: dict[str, None] = {}
    for name in names:
        numbered = (f"{name}_{number}" for number in itertools.count(1))
        made[name if name not in made else next(n for n in numbered if n not in made and n not in names)] = None
    return list(made)


def _propagate_threads(facts: Mapping[str, Facts]) -> None:
    """Pass the number of threads to the callers of functions with parallel loops, too."""
    changed = True
    while changed:
        changed = False
        for fact in facts.values():
            if not fact.parallel and any(facts[name].parallel for name in fact.callees if name in facts):
                fact.parallel = changed = True


def _signature(name: str, func: PrimFunc, facts: Facts, parallel: bool) -> tuple[Signature, tuple[Var, ...]]:
    public = str(func.attrs.get("global_symbol", name))
    sizes = SizeNames()
    for param in func.params:
        sizes.name(param)
    parameters = [_parameter(p, func.buffer_map.get(p), sizes, facts) for p in func.params]
    hidden = {v: text for v, text in sizes.variables().items() if v not in func.params}
    signature = Signature(
        name=public,
        symbol=symbol_name(public),
        parameters=parameters,
        sizes={text: v.dtype for v, text in hidden.items()},
        noalias=bool(func.attrs.get("tir.noalias", False)),
        threads=facts.parallel and parallel,
        returns=facts.returns,
    )
    return signature, tuple(hidden)


def passed_type(dtype: str) -> str:
    """Return the data type as which an argument is passed, as C has no half precision."""
    return "float32" if dtype == "float16" else dtype


def returned_type(dtype: str) -> str:
    """Return the data type as which a value is returned: a 64-bit type or bool."""
    if dt.lanes(dtype) != 1:
        raise BuildError(f"code generation: a function returns one number or pointer, got a value of type {dtype}")
    if dt.is_bool(dtype) or dtype == "handle":
        return dtype
    return "float64" if dt.is_float(dtype) else "uint64" if dt.is_uint(dtype) else "int64"


def _parameter(param: Var, buffer: Buffer | None, sizes: SizeNames, facts: Facts) -> Parameter:
    if buffer is None:
        if param.dtype == "handle":
            return Parameter(name=param.name, dtype="handle", shape=[], written=param in facts.written)
        return Parameter(name=param.name, dtype=param.dtype)
    lanes = [dt.lanes(buffer.dtype)] if dt.lanes(buffer.dtype) > 1 else []  # arrays have the lanes as another dimension
    if isinstance(buffer.elem_offset, Var):
        sizes.name(buffer.elem_offset)
    return Parameter(
        name=buffer.name,
        dtype=buffer.dtype,
        shape=[*(sizes.size(e) for e in buffer.shape), *lanes],
        strides=[sizes.size(e * lanes[0] if lanes else e) for e in buffer.strides]
        + [1] * bool(buffer.strides and lanes),
        alignment=_alignment(buffer),
        written=buffer.data in facts.written,
        broadcast=buffer.buffer_type == AUTO_BROADCAST,
    )


def _alignment(buffer: Buffer) -> int:
    """Return the required alignment of an argument in bytes: that of its elements, unless the buffer asks for more.

    Arrays from elsewhere may have any address, so the default alignment of buffers is not required.
    """
    element = dt.storage_bytes(dt.element(buffer.dtype))
    return element if buffer.data_alignment == ALIGNMENT else max(buffer.data_alignment, element)


@cache
def symbol_name(name: str) -> str:
    """Return a symbol that differs from functions of the C library, for which LLVM would mistake it."""
    clean = re.sub(r"[^A-Za-z0-9_.]", "_", name) or "_"
    if not clean[0].isalpha() and clean[0] != "_":
        clean = "_" + clean
    process = ctypes.CDLL(None)
    taken = clean.startswith("llvm.") or (clean.isidentifier() and hasattr(process, clean))
    return f"{clean}.kernel" if taken else clean


class Facts(Visitor):
    """Collects the memory that a function writes, its parallel loops, return type (empty without one) and callees."""

    def __init__(self) -> None:
        self.written: set[Var] = set()
        self.parallel = False
        self.returns = ""
        self.callees: set[str] = set()

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.written.add(n.buffer.data)
        self.visit_Node(n)

    def visit_For(self, n: For) -> None:
        self.parallel |= n.kind is ForKind.PARALLEL
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        """Assume that a callee writes through its pointer arguments."""
        if n.op is builtin.RET and n.args and not dt.is_void(n.args[0].dtype):
            self.returns = self.returns or returned_type(n.args[0].dtype)
        if isinstance(n.op, GlobalVar):
            self.callees.add(n.op.name_hint)
        for arg in n.args:
            if isinstance(arg, Var):
                self.written.add(arg)
            elif n.op is builtin.ADDRESS_OF and isinstance(arg, BufferLoad):
                self.written.add(arg.buffer.data)
        self.visit_Node(n)
