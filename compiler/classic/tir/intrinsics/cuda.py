"""Tensor core intrinsics: fragments (``wmma``) and warp registers (``mma``)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from compiler.classic.tir.intrinsics.fragment_layouts import (
    fragment_number,
    ldmatrix_32x8_to_shared_16x16_layout,
    shared_16x16_to_ldmatrix_32x8_layout,
    shared_16x32_to_ldmatrix_32x16_layout,
    shared_32x16_to_ldmatrix_32x16_layout,
)
from compiler.classic.tir.intrinsics.mma import (
    CONSTANTS,
    get_ldmatrix_intrin,
    get_mma_fill_intrin,
    get_mma_intrin,
    get_mma_intrin_group,
    get_mma_store_intrin,
)
from compiler.classic.tir.intrinsics.mma_m16n8k8 import (
    get_index_A,
    get_index_B,
    get_index_C,
    get_mma_init_intrin,
    get_mma_load_intrin,
    get_mma_store_dummy_intrin,
    get_mma_sync_intrin,
    index_map_m16n8k8_matrixC,
    index_map_shared_16x16_to_ldmatrix_32x8_layout,
)
from compiler.classic.tir.intrinsics.products import register_intrinsic
from compiler.classic.tir.intrinsics.program_text import parse_function
from compiler.ir.expr.primexpr import PrimExpr
from compiler.tir.layout.matrix_fragments import WARP as WARP_SIZE
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc

__all__ = [
    "HALF_WARP", "M_DIM", "N_DIM", "WARP_SIZE", "get_index_A", "get_index_B", "get_index_C", "get_ldmatrix_intrin",
    "get_mma_fill_intrin", "get_mma_init_intrin", "get_mma_intrin", "get_mma_intrin_group", "get_mma_load_intrin",
    "get_mma_store_dummy_intrin", "get_mma_store_intrin", "get_mma_sync_intrin", "get_wmma_fill_intrin",
    "get_wmma_fragment_index", "get_wmma_intrin_group", "get_wmma_load_intrin", "get_wmma_store_intrin",
    "get_wmma_sync_intrin", "index_map_m16n8k8_matrixC", "index_map_shared_16x16_to_ldmatrix_32x8_layout",
    "ldmatrix_32x8_to_shared_16x16_layout", "shared_16x16_to_ldmatrix_32x8_layout",
    "shared_16x32_to_ldmatrix_32x16_layout", "shared_32x16_to_ldmatrix_32x16_layout",
]  # fmt: skip

Pair = tuple[PrimFunc, PrimFunc]
_SHORT = {"float16": "f16", "float32": "f32", "int8": "s8", "int4": "s4", "int32": "s32"}
_ACCUMULATOR = "wmma.accumulator"
M_DIM = N_DIM = 16
"""Rows and columns of a product."""
HALF_WARP = WARP_SIZE // 2


def _buffer(name: str, shape: tuple[int, int], dtype: str, scope: str, strides: bool = False) -> str:
    form = f"strides=[{name}_s0, {name}_s1], " if strides else ""
    memory = f'{form}align=64, offset_factor={shape[1]}, scope="{scope}"'
    return f'    {name} = T.match_buffer({name.lower()}, {shape}, "{dtype}", {memory})\n'


def _head(*names: str, strides: str = "") -> str:
    params = ", ".join(f"{name.lower()}: T.handle" for name in names)
    declared = "".join(f"    {name}_s{at} = T.int32()\n" for name in strides for at in (0, 1))
    return f"def main({params}):\n{declared}"


def _fragment(name: str, shape: tuple[int, int]) -> str:
    """Return the number of a fragment in its buffer: its offset in units of a fragment."""
    return f"{name}.elem_offset // {name}.strides[0] // {shape[0]} * ({name}.strides[0] // {shape[1]}) + " + (
        f"{name}.elem_offset % {name}.strides[0] // {shape[1]}"
    )


def get_wmma_fragment_index(buffer: Buffer, stride: PrimExpr, m_dim: int, n_dim: int) -> PrimExpr:
    """Return the number of the fragment that begins where a buffer does, whose rows are ``stride`` elements apart."""
    return fragment_number(buffer.elem_offset, stride, m_dim, n_dim)


def _copy(shape: tuple[int, int], dtype: str, source: str, target: str) -> str:
    rows, columns = shape
    return (
        _head("A", "C")
        + _buffer("A", shape, dtype, source)
        + _buffer("C", shape, dtype, target)
        + f"""
    with T.block("root"):
        T.reads(A[0:{rows}, 0:{columns}])
        T.writes(C[0:{rows}, 0:{columns}])
        for i, j in T.grid({rows}, {columns}):
            with T.block("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]
"""
    )


def _matrix(m: int, n: int, k: int, is_b: bool, is_col_major: bool) -> tuple[int, int]:
    """Return the shape of an operand as it lies in memory."""
    rows, columns = (k, n) if is_b else (m, k)
    return (columns, rows) if is_col_major else (rows, columns)


def get_wmma_load_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str, shared_scope: str, is_b: bool, is_col_major: bool
) -> Pair:
    """Return the copy of an operand from ``shared`` or ``shared.dyn`` memory to a fragment, and the call for it.

    The product is of an ``m × k`` and a ``k × n`` matrix, the second of which is ``is_b``. Columns are next to each
    other in memory if ``is_col_major``.
    """
    shape = _matrix(m_dim, n_dim, k_dim, is_b, is_col_major)
    scope = f"wmma.matrix_{'b' if is_b else 'a'}"
    layout = "col_major" if is_col_major else "row_major"
    implementation = (
        _head("A", "C", strides="AC")
        + _buffer("A", shape, dtype, shared_scope, strides=True)
        + _buffer("C", shape, dtype, scope, strides=True)
        + f"""
    with T.block("root"):
        T.reads(A[0:{shape[0]}, 0:{shape[1]}])
        T.writes(C[0:{shape[0]}, 0:{shape[1]}])
        T.evaluate(T.tvm_load_matrix_sync(C.data, {m_dim}, {n_dim}, {k_dim}, {_fragment("C", shape)},
            A.access_ptr("r"), A.strides[0], "{layout}", dtype="handle"))
"""
    )
    return parse_function(_copy(shape, dtype, shared_scope, scope)), parse_function(implementation)


def get_wmma_fill_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str) -> Pair:
    """Return the filling of the accumulator of an ``m × k`` by ``k × n`` product with zeros, and the call for it."""
    shape = (m_dim, n_dim)
    zero = f"T.{dtype}(0)"
    description = (
        _head("C")
        + _buffer("C", shape, dtype, _ACCUMULATOR)
        + f"""
    with T.block("root"):
        T.reads()
        T.writes(C[0:{m_dim}, 0:{n_dim}])
        for i, j in T.grid({m_dim}, {n_dim}):
            with T.block("init"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = {zero}
"""
    )
    implementation = (
        _head("C", strides="C")
        + _buffer("C", shape, dtype, _ACCUMULATOR, strides=True)
        + f"""
    with T.block("root"):
        T.reads()
        T.writes(C[0:{m_dim}, 0:{n_dim}])
        T.evaluate(T.tvm_fill_fragment(C.data, {m_dim}, {n_dim}, {k_dim}, {_fragment("C", shape)},
            T.float32(0), dtype="handle"))
"""
    )
    return parse_function(description), parse_function(implementation)


def get_wmma_store_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str, scope: str) -> Pair:
    """Return the copy of an accumulator to ``global``, ``shared`` or ``shared.dyn`` memory, and the call for it."""
    shape = (m_dim, n_dim)
    implementation = (
        _head("A", "C", strides="AC")
        + _buffer("A", shape, dtype, _ACCUMULATOR, strides=True)
        + _buffer("C", shape, dtype, scope, strides=True)
        + f"""
    with T.block("root"):
        T.reads(A[0:{m_dim}, 0:{n_dim}])
        T.writes(C[0:{m_dim}, 0:{n_dim}])
        T.evaluate(T.tvm_store_matrix_sync(A.data, {m_dim}, {n_dim}, {k_dim}, {_fragment("A", shape)},
            C.access_ptr("w"), C.strides[0], "row_major", dtype="handle"))
"""
    )
    return parse_function(_copy(shape, dtype, _ACCUMULATOR, scope)), parse_function(implementation)


def get_wmma_sync_intrin(m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool) -> Pair:
    """Return the product of an ``m × k`` and a ``k × n`` fragment added to an accumulator, and the call for it.

    ``b_transposed`` says whether the second operand lies transposed in memory.
    """
    shapes = {
        "A": (m_dim, k_dim),
        "B": _matrix(m_dim, n_dim, k_dim, is_b=True, is_col_major=b_transposed),
        "C": (m_dim, n_dim),
    }
    memory = {"A": (in_dtype, "wmma.matrix_a"), "B": (in_dtype, "wmma.matrix_b"), "C": (out_dtype, _ACCUMULATOR)}
    access = {name: f"{name}[0:{rows}, 0:{columns}]" for name, (rows, columns) in shapes.items()}
    place = "vj, vk" if b_transposed else "vk, vj"
    signature = f"""
    with T.block("root"):
        T.reads({access["C"]}, {access["A"]}, {access["B"]})
        T.writes({access["C"]})
"""
    buffers = "".join(_buffer(name, shapes[name], *memory[name]) for name in "ABC")
    loops = f"""
        for i, j, k in T.grid({m_dim}, {n_dim}, {k_dim}):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "{out_dtype}") * T.cast(B[{place}], "{out_dtype}")
"""
    parts = {name: f"{name}.data, {_fragment(name, shapes[name])}" for name in "ABC"}
    call = (
        f"        T.evaluate(T.tvm_mma_sync({parts['C']}, {parts['A']}, {parts['B']}, {parts['C']}, dtype='handle'))\n"
    )
    views = "".join(_buffer(name, shapes[name], *memory[name], strides=True) for name in "ABC")
    description = _head("A", "B", "C") + buffers + signature + loops
    return parse_function(description), parse_function(_head("A", "B", "C", strides="ABC") + views + signature + call)


def get_wmma_intrin_group(
    load_scope: str, store_scope: str, in_dtype: str, out_dtype: str, trans_b: bool
) -> dict[str, str]:
    """Return the names of the intrinsics that one product of matrices needs.

    Operands lie in ``shared`` or ``shared.dyn`` memory, the second one transposed with ``trans_b``; the result goes to
    ``global``, ``shared`` or ``shared.dyn`` memory.
    """
    in_short, out_short = _SHORT[in_dtype], _SHORT[out_dtype]
    trans = "_trans" if trans_b else ""
    load, store = (scope.replace(".", "_") for scope in (load_scope, store_scope))
    shape = "8x8x32" if in_dtype == "int4" else "16x16x16"
    return {
        "init": f"wmma_fill_{shape}_{out_short}",
        "load_a": f"wmma_load_{shape}_{in_short}_a_{load}",
        "load_b": f"wmma_load_{shape}_{in_short}_b{trans}_{load}",
        "compute": f"wmma_sync_{shape}_{in_short}{in_short}{out_short}{trans}",
        "store": f"wmma_store_{shape}_{out_short}_{store}",
    }


_CONSTANTS = dict(CONSTANTS)
"""The names of the intrinsics, by the constants of this module that have them as values."""


def __getattr__(name: str) -> str:
    if name not in _CONSTANTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _CONSTANTS[name]


def _register(name: str, make: Callable[..., Pair], *args: object) -> None:
    """Register an intrinsic, whose name is the value of a constant: ``WMMA_FILL_16x16x16_F32_INTRIN`` and the like."""
    register_intrinsic(name, make, *args)
    family, kind, shape, *rest = name.split("_")
    if kind == "sync":
        rest = [rest[0], *(part.upper() for part in rest[1:])]
    else:
        rest = [part.upper() for part in rest if (kind, part) != ("load", "shared")]
    _CONSTANTS["_".join([family.upper(), kind.upper(), shape, *rest, "INTRIN"])] = name


def _register_four_bits() -> None:
    """Register the products of numbers of four bits, whose second operand lies transposed in memory."""
    shape = (8, 8, 32)
    for operand, is_b in (("a", False), ("b_trans", True)):
        for scope in ("shared", "shared.dyn"):
            name = f"wmma_load_8x8x32_s4_{operand}_{scope.replace('.', '_')}"
            _register(name, get_wmma_load_intrin, *shape, "int4", scope, is_b, is_b)
    _register("wmma_fill_8x8x32_s32", get_wmma_fill_intrin, *shape, "int32")
    for scope in ("shared", "shared.dyn", "global"):
        name = f"wmma_store_8x8x32_s32_{scope.replace('.', '_')}"
        _register(name, get_wmma_store_intrin, *shape, "int32", scope)
    _register("wmma_sync_8x8x32_s4s4s32_trans", get_wmma_sync_intrin, *shape, "int4", "int32", True)


def _register_all() -> None:
    cube = (16, 16, 16)
    for dtype, scope, is_b, trans in product(
        ("float16", "int8"), ("shared", "shared.dyn"), (False, True), (False, True)
    ):
        operand = f"{'b' if is_b else 'a'}{'_trans' if trans else ''}_{scope.replace('.', '_')}"
        _register(
            f"wmma_load_16x16x16_{_SHORT[dtype]}_{operand}", get_wmma_load_intrin, *cube, dtype, scope, is_b, trans
        )
    _register_four_bits()
    for dtype in ("float32", "float16", "int32"):
        _register(f"wmma_fill_16x16x16_{_SHORT[dtype]}", get_wmma_fill_intrin, *cube, dtype)
        for scope in ("shared", "shared.dyn", "global"):
            name = f"wmma_store_16x16x16_{_SHORT[dtype]}_{scope.replace('.', '_')}"
            _register(name, get_wmma_store_intrin, *cube, dtype, scope)
    for (in_dtype, out_dtype), trans in product(
        (("float16", "float32"), ("float16", "float16"), ("int8", "int32")), (False, True)
    ):
        types = f"{_SHORT[in_dtype] * 2}{_SHORT[out_dtype]}"
        name = f"wmma_sync_16x16x16_{types}{'_trans' if trans else ''}"
        _register(name, get_wmma_sync_intrin, *cube, in_dtype, out_dtype, trans)


_register_all()
__all__ += _CONSTANTS
