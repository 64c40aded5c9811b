"""Instructions of tensor cores: which lane has which element of a matrix, and what they access in memory.

References
----------
NVIDIA, "Parallel Thread Execution ISA", sections "mma", "ldmatrix" and "wmma".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import msgspec

from app.kernel_reports import MAX_CELLS, MatrixMap
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, StringImm, Var, const
from compiler.ir.op import Op
from compiler.ir.types import PointerType
from compiler.tir.expressions.builtin import ACCESS_PTR
from compiler.tir.layout.matrix_fragments import GROUP, NIBBLES, WARP, fragment_element, matrix_product
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.warp_access import AccessSite, KernelAccesses, StmtContext, WarpAccess, samples
from compiler.tir.warp_access.index_values import DataDependentError
from compiler.tir.warp_access.site import Axis

_ROW_BYTES = 16
"""Bytes of a row that ``ldmatrix`` loads."""
_REGISTER = 4
"""Bytes."""


_OPAQUE = (
    "CUDA promises no layout of wmma's fragments, and x[i] of CUDA C may be numbered otherwise. Drawn is what NVIDIA's"
    " compilers make of these operands for sm_75 and later: ldmatrix, and products whose layout PTX defines."
)
_UNKNOWN = (
    "CUDA promises no layout of wmma's fragments, and nothing is known of this one: only where its elements are in"
    " memory, with the bank of each."
)
_FILLS = ("tir.tvm_fill_fragment", "tir.tvm_load_matrix_sync")
_Shapes = dict[Var, tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class MatrixUse:
    """An instruction in a kernel."""

    instruction: str
    node: Call
    executions: int
    matrices: Sequence[MatrixMap] = ()
    access: WarpAccess | None = None
    before: int = 0  # how many of the kernel's other accesses come before


def matrix_uses(kernel: KernelAccesses) -> list[MatrixUse]:
    """Describe the instructions of tensor cores of a kernel, in the order of the program."""
    made = []
    shapes: _Shapes = {}  # of the fragments of ``wmma``, by the calls that fill them
    for call, around, before in kernel.matrix_calls:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name in _FILLS and isinstance(call.args[0], Var):
            extents = [extent.value for extent in call.args[1:4] if isinstance(extent, IntImm)]
            shapes[call.args[0]] = (extents[0], extents[1], extents[2]) if len(extents) == 3 else (0, 0, 0)
        rule = _RULES.get(name)
        use = rule(call, around, shapes) if rule is not None else None
        if use is not None:
            made.append(replace(use, before=before))
    return made


def element_map(
    rows: int, columns: int, elements: int, place: Callable[[int, int], tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """Return the lane and the number of each element of a matrix, row by row.

    ``place`` returns the row and column of an element of a lane, of which it has ``elements``.
    """
    lanes, numbers = [0] * (rows * columns), [0] * (rows * columns)
    for lane, number in product(range(WARP), range(elements)):
        row, column = place(lane, number)
        lanes[row * columns + column], numbers[row * columns + column] = lane, number
    return lanes, numbers


def operand_maps(form: str, a: str, b: str, c: str) -> list[MatrixMap]:
    """Return the maps of ``mma`` by its words, such as ``m16n8k16`` and ``fp16``; none where they are not known."""
    words = matrix_product(form, a, b, c)
    if words is None or max(words.m, words.n) * words.k > MAX_CELLS:
        return []
    m, n, k = words.m, words.n, words.k
    sides = (
        ("A", m, k, a, words.a, words.a_row, lambda lane, i: fragment_element(lane, i, m, words.a_row)),
        ("B", k, n, b, words.b, words.b_row, lambda lane, i: fragment_element(lane, i, n, words.b_row)[::-1]),
        ("C and D", m, n, c, words.c, 1, lambda lane, i: fragment_element(lane, i, m, 2)),
    )
    made = []
    for name, rows, columns, word, dtype, row, place in sides:
        lanes, numbers = element_map(rows, columns, rows * columns // WARP, place)
        per_register = max(row if name != "C and D" else _REGISTER // dt.storage_bytes(dtype), 1)
        named = word if word in (*NIBBLES, "tf32") else dtype
        made.append(
            MatrixMap(
                name=name, rows=rows, columns=columns, dtype=named, letter=name[0].lower(),
                lanes=lanes, numbers=numbers, per_register=per_register,
            )
        )  # fmt: skip
    return made


def row_maps(count: int, dtype: str, transposed: bool) -> list[MatrixMap]:
    """Return the maps of ``ldmatrix``: so many matrices of eight rows of 16 bytes, as they lie in memory."""
    size = dt.storage_bytes(dtype)
    columns = _ROW_BYTES // size
    own = columns * GROUP // WARP

    def place(lane: int, number: int) -> tuple[int, int]:
        row, column = fragment_element(lane, number, GROUP, own)
        return (column, row) if transposed else (row, column)

    made = []
    for matrix in range(count):
        lanes, numbers = element_map(GROUP, columns, own, place)
        numbers = [number + matrix * own for number in numbers]
        made.append(
            MatrixMap(
                name=f"matrix {matrix}", rows=GROUP, columns=columns, dtype=dtype, letter="r",
                lanes=lanes, numbers=numbers, per_register=own, address_lane=matrix * GROUP,
            )
        )  # fmt: skip
    return made


# The calls


def _executions(around: StmtContext) -> int:
    return prod(around.extents)


def _lane(around: StmtContext) -> PrimExpr:
    """Return the lane of a thread."""
    position: PrimExpr = const(0)
    inner = 1
    for var, extent in around.threads:
        position = position + var * inner
        inner *= extent
    return position % WARP


def _access(
    call: Call, pointer: PrimExpr, around: StmtContext, index: Callable[[PrimExpr], PrimExpr], size: int, writes: bool
) -> WarpAccess | None:
    """Return the access of memory that ``tvm_access_ptr`` leads to; ``size`` is that of a lane's in bytes, or 0."""
    if not isinstance(pointer, Call) or pointer.op is not ACCESS_PTR or not isinstance(pointer.args[1], Var):
        return None
    kind, data, offset = pointer.args[:3]
    assert isinstance(data, Var)
    element = dt.storage_bytes(dt.element(kind.dtype))
    site = AccessSite(around, index(offset), element)
    try:
        addresses = site.addresses(samples(around))
    except DataDependentError:
        addresses = None
    executions = _executions(around)
    return WarpAccess(
        node=call,
        writes=writes,
        buffer=data.name,
        scope=pointer_scope(data) or "global",
        size=size or element,
        executions=executions,
        addresses=addresses,
        exact=addresses is not None and executions <= len(addresses),
        site=site,
    )


def _load_rows(call: Call, around: StmtContext, _: _Shapes) -> MatrixUse | None:
    transposed, count, *_registers, pointer, more = call.args
    if not isinstance(count, IntImm) or count.value not in (1, 2, 4):
        return None
    is_transposed = bool(getattr(transposed, "value", 0))
    named = replace(around, conditions=(*around.conditions, (_lane(around) < GROUP * count.value, True)))
    access = _access(call, pointer, named, lambda offset: offset + more, _ROW_BYTES, writes=False)
    maps = row_maps(count.value, call.dtype, is_transposed) if dt.storage_bytes(call.dtype) in (1, 2, 4) else []
    name = f"ldmatrix.x{count.value}{'.trans' if is_transposed else ''}"
    return MatrixUse(name, call, _executions(around), maps, access)


def _store_registers(call: Call, around: StmtContext, _: _Shapes) -> MatrixUse | None:
    rows, columns, pointer, *_registers, stride = call.args
    if not isinstance(rows, IntImm) or not isinstance(columns, IntImm):
        return None
    extents, elements = (rows.value, columns.value), rows.value * columns.value // WARP
    number: Axis = (Var("element", "int32"), elements)
    each = replace(around, loops=(*around.loops, number))
    row, column = fragment_element(_lane(around), number[0], extents[0], 2)
    access = _access(call, pointer, each, lambda offset: offset + row * stride + column, 0, writes=True)
    lanes, numbers = element_map(*extents, elements, lambda lane, i: fragment_element(lane, i, extents[0], 2))
    map_ = MatrixMap(
        name="C and D", rows=extents[0], columns=extents[1], dtype=call.dtype, letter="c",
        lanes=lanes, numbers=numbers, per_register=max(_REGISTER // dt.storage_bytes(call.dtype), 1),
    )  # fmt: skip
    return MatrixUse("mma_store", call, _executions(around), [map_], access)


def _multiply_registers(call: Call, around: StmtContext, _: _Shapes) -> MatrixUse | None:
    words = [word.value if isinstance(word, StringImm) else "" for word in call.args[:6]]
    maps = operand_maps(words[0], *words[3:]) if words[1:3] == ["row", "col"] else []
    name = f"mma.{words[0]}.{words[1]}.{words[2]} {words[3]} × {words[4]} + {words[5]}"
    return MatrixUse(name, call, _executions(around), maps)


# Fragments of wmma


def fragment_map(scope: str, shape: tuple[int, int, int], dtype: str) -> MatrixMap:
    """Return the map of a fragment of ``wmma``, by its storage scope and the product's ``m, n, k``.

    It has no lanes where none are known.
    """
    m, n, k = shape
    name, rows, columns = {"matrix_a": ("A", m, k), "matrix_b": ("B", k, n)}.get(
        scope.removeprefix("wmma."), ("C and D", m, n)
    )
    size = dt.storage_bytes(dtype)
    known = shape == (16, 16, 16) and (size == 2 or (name == "C and D" and dtype == "float32"))
    lanes, numbers = element_map(rows, columns, 8, _PLACES[name[0]]) if known else ([], [])
    return MatrixMap(
        name=name, rows=rows, columns=columns, dtype=dtype, letter=name[0].lower(),
        lanes=lanes, numbers=numbers, per_register=max(_REGISTER // size, 1), note=_OPAQUE if known else _UNKNOWN,
    )  # fmt: skip


def _right(lane: int, number: int) -> tuple[int, int]:
    """Return the element of a second operand of 16 columns: that of two products of 8 columns."""
    column, row = fragment_element(lane, number % 4, GROUP, 2)
    return row, column + number // 4 * GROUP


_PLACES: Mapping[str, Callable[[int, int], tuple[int, int]]] = {
    "A": lambda lane, number: fragment_element(lane, number, 16, 2),
    "B": _right,
    "C": lambda lane, number: fragment_element(lane, number, 16, 2),
}


def _element_of(pointer: Var) -> str:
    annotation = pointer.type_annotation
    return str(annotation.element_type.dtype) if isinstance(annotation, PointerType) else ""


def _move_fragment(call: Call, around: StmtContext, shapes: _Shapes) -> MatrixUse | None:
    fragment, *_extents, _index, pointer, stride, layout = call.args
    dtype = _element_of(fragment) if isinstance(fragment, Var) else ""
    shape = shapes.get(fragment, (0, 0, 0)) if isinstance(fragment, Var) else (0, 0, 0)
    if not isinstance(fragment, Var) or not dtype or not all(shape) or not isinstance(layout, StringImm):
        return None
    map_ = fragment_map(pointer_scope(fragment), shape, dtype)
    loads = isinstance(call.op, Op) and call.op.name == "tir.tvm_load_matrix_sync"
    letter = map_.letter if loads else "d"
    name = f"wmma.{'load' if loads else 'store'}.{letter}.m{shape[0]}n{shape[1]}k{shape[2]}.{layout.value}"
    access = None
    if map_.lanes and (layout.value == "row_major" or map_.letter != "c"):
        access = _fragment_access(call, around, map_, pointer, stride, writes=not loads)
    if isinstance(stride, IntImm) and (access is None or map_.letter != "c"):
        size = dt.storage_bytes(dtype)
        steps = (stride.value * size, size)
        map_ = msgspec.structs.replace(map_, strides=steps if layout.value == "row_major" else steps[::-1])
    if access is None:  # the whole tile, from where it begins
        access = _access(call, pointer, around, lambda offset: offset, 0, writes=not loads)
        access = replace(access, addresses=None) if access is not None else None
    return MatrixUse(name, call, _executions(around), [map_], access)


def _fragment_access(
    call: Call, around: StmtContext, map_: MatrixMap, pointer: PrimExpr, stride: PrimExpr, writes: bool
) -> WarpAccess | None:
    """Return the access of a fragment of 16 x 16 in shared memory, as it is compiled for sm_75 and later.

    Operands are read as rows by ``ldmatrix``, results in pairs of neighbours by ordinary loads and stores.
    """
    lane = _lane(around)
    if map_.letter != "c":
        piece = _ROW_BYTES // dt.storage_bytes(map_.dtype)
        access = _access(
            call, pointer, around, lambda offset: offset + lane % 16 * stride + lane // 16 * piece, _ROW_BYTES, writes
        )
    else:
        pair: Axis = (Var("pair", "int32"), 4)
        row, column = fragment_element(lane, pair[0] * 2, 16, 2)
        each = replace(around, loops=(*around.loops, pair))
        size = 2 * dt.storage_bytes(map_.dtype)
        access = _access(call, pointer, each, lambda offset: offset + row * stride + column, size, writes)
    return access if access is not None and access.scope != "global" else None


def _multiply_fragments(call: Call, around: StmtContext, shapes: _Shapes) -> MatrixUse | None:
    target, left, right = (call.args[at] for at in (0, 2, 4))
    if not isinstance(target, Var) or not isinstance(left, Var) or not isinstance(right, Var):
        return None
    shape = shapes.get(target) or shapes.get(left) or (0, 0, 0)
    if not all(shape):
        return None
    maps = [fragment_map(pointer_scope(each), shape, _element_of(each)) for each in (left, right, target)]
    name = "wmma.mma.m{}n{}k{} {} × {} + {}".format(*shape, *(map_.dtype for map_ in maps))
    return MatrixUse(name, call, _executions(around), maps if all(map_.lanes for map_ in maps) else ())


_RULES: Mapping[str, Callable[[Call, StmtContext, _Shapes], MatrixUse | None]] = {
    "tir.ptx_ldmatrix": _load_rows,
    "tir.mma_store": _store_registers,
    "tir.ptx_mma": _multiply_registers,
    "tir.tvm_load_matrix_sync": _move_fragment,
    "tir.tvm_store_matrix_sync": _move_fragment,
    "tir.tvm_mma_sync": _multiply_fragments,
}
