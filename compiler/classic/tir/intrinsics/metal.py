"""Products of 8 x 8 matrices by the SIMD groups of Metal: ``tvm.tir.tensor_intrin.metal``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from compiler.classic.tir.intrinsics.fragment_layouts import fragment_number
from compiler.classic.tir.intrinsics.products import register_intrinsic
from compiler.classic.tir.intrinsics.program_text import function_head, match_buffer, parse_function, root_block, whole
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc

__all__ = [
    "get_make_filled_simdgroup_matrix_intrin", "get_simdgroup_index", "get_simdgroup_intrin_group",
    "get_simdgroup_load_intrin", "get_simdgroup_multiply_accumulate_intrin", "get_simdgroup_store_intrin",
]  # fmt: skip

Pair = tuple[PrimFunc, PrimFunc]
_SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}
_GROUP = "metal.simdgroup"


def get_simdgroup_index(buffer: Buffer, stride: PrimExpr, col: int, row: int) -> PrimExpr:
    """Return the number of the ``col × row`` matrix in its buffer that begins where the buffer does."""
    return fragment_number(buffer.elem_offset, stride, col, row)


def _parse(source: str) -> PrimFunc:
    return parse_function(source, {"number": get_simdgroup_index})


def _copy(
    dtype: str, scopes: tuple[str, str], shape: tuple[int, int], is_load: bool, transpose: bool, call: str
) -> Pair:
    """Return the copy of a matrix between two memories, and the call for it."""
    (col, row), target = shape, "vjj, vii" if transpose else "vii, vjj"
    shapes = {"A": (col, row), "C": (row, col) if transpose else (col, row)}
    head = function_head("A", "C")
    block = root_block(whole("A", *shapes["A"]), whole("C", *shapes["C"]))
    declared = [
        "".join(
            match_buffer(n, shapes[n], dtype, scope, strides=strides) for n, scope in zip("AC", scopes, strict=True)
        )
        for strides in (False, True)
    ]
    loops = f"""        for i, j in T.grid({col}, {row}):
            with T.block("{"load" if is_load else "store"}"):
                vii, vjj = T.axis.remap("SS", [i, j])
                C[{target}] = A[vii, vjj]
"""
    return _parse(head + declared[0] + block + loops), _parse(head + declared[1] + block + f"        {call}\n")


def get_make_filled_simdgroup_matrix_intrin(dtype: str, col: int = 8, row: int = 8) -> Pair:
    """Return the filling of a matrix with zeros, and the call for it."""
    head, block = function_head("A"), root_block("", whole("A", col, row))
    loops = f"""        for i, j in T.grid({col}, {row}):
            with T.block("init"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = T.{dtype}(0)
"""
    index = f"number(A, A.strides[0], {col}, {row})"
    call = f"        T.make_filled_simdgroup_matrix(A.data, {index}, T.float32(0), {col}, {row})\n"
    shape = (col, row)
    return (
        _parse(head + match_buffer("A", shape, dtype, _GROUP) + block + loops),
        _parse(head + match_buffer("A", shape, dtype, _GROUP, strides=True) + block + call),
    )


def get_simdgroup_load_intrin(
    dtype: str, scope: str, col: int = 8, row: int = 8, transpose_matrix: bool = False
) -> Pair:
    """Return the copy of a matrix from ``global`` or ``shared`` memory to a SIMD group's registers, and its call."""
    call = (
        f'T.simdgroup_load(C.data, number(C, C.strides[0], {col}, {row}), A.access_ptr("r"), A.strides[0],'
        f" {col}, {row}, T.bool({transpose_matrix}))"
    )
    return _copy(dtype, (scope, _GROUP), (col, row), True, transpose_matrix, call)


def get_simdgroup_store_intrin(
    dtype: str, scope: str, col: int = 8, row: int = 8, transpose_matrix: bool = False
) -> Pair:
    """Return the copy of a matrix from a SIMD group's registers to ``global`` or ``shared`` memory, and its call."""
    call = (
        f'T.simdgroup_store(A.data, number(A, A.strides[0], {col}, {row}), C.access_ptr("w"), C.strides[0],'
        f" {col}, {row}, T.bool({transpose_matrix}))"
    )
    return _copy(dtype, (_GROUP, scope), (col, row), False, transpose_matrix, call)


def get_simdgroup_multiply_accumulate_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str) -> Pair:
    """Return the product of an ``m × k`` and a ``k × n`` matrix added to a third, and the call for it."""
    shapes = {"A": (m_dim, k_dim), "B": (k_dim, n_dim), "C": (m_dim, n_dim)}
    head = function_head(*shapes)
    regions = {name: whole(name, *shape) for name, shape in shapes.items()}
    block = root_block(", ".join(regions[name] for name in "CAB"), regions["C"])
    plain, views = (
        "".join(match_buffer(name, shape, dtype, _GROUP, strides=strides) for name, shape in shapes.items())
        for strides in (False, True)
    )
    loops = f"""        for i, j, k in T.grid({m_dim}, {n_dim}, {k_dim}):
            with T.block(""):
                vii, vjj, vkk = T.axis.remap("SSR", [i, j, k])
                C[vii, vjj] += A[vii, vkk] * B[vkk, vjj]
"""
    parts = {name: f"{name}.data, number({name}, {name}.strides[0], {c}, {r})" for name, (c, r) in shapes.items()}
    call = f"        T.simdgroup_multiply_accumulate({', '.join(parts[name] for name in 'CABC')})\n"
    return _parse(head + plain + block + loops), _parse(head + views + block + call)


def get_simdgroup_intrin_group(
    load_scope: str, store_scope: str, dtype: str, trans_a: bool = False, trans_b: bool = False
) -> dict[str, str]:
    """Return the names of the intrinsics that a product of matrices consists of.

    Operands lie in ``shared`` memory, transposed where ``trans_a`` and ``trans_b`` say so, and are of ``float16``,
    ``bfloat16`` or ``float32``; the result goes to ``global`` or ``shared`` memory. Raises ArgumentError if SIMD groups
    have no matrices of that type, or not from or to that memory.
    """
    if dtype not in _SHORT or load_scope != "shared" or store_scope not in ("global", "shared"):
        raise ArgumentError(f"get_simdgroup_intrin_group: no products of {dtype} from {load_scope} to {store_scope}")
    short, trans = _SHORT[dtype], ("", "_trans")
    return {
        "init": f"simdgroup_make_filled_8x8x8_{short}",
        "load_a": f"simdgroup_load_8x8x8_{short}_{load_scope}{trans[trans_a]}",
        "load_b": f"simdgroup_load_8x8x8_{short}_{load_scope}{trans[trans_b]}",
        "compute": f"simdgroup_multiply_accumulate_8x8x8_{short}",
        "store": f"simdgroup_store_8x8x8_{short}_{store_scope}",
    }


def _register(dtype: str) -> dict[str, str]:
    """Register the intrinsics of a data type, and return their names."""
    group = get_simdgroup_intrin_group("shared", "global", dtype)
    turned = get_simdgroup_intrin_group("shared", "shared", dtype, trans_a=True)
    made: dict[str, Callable[[], Pair]] = {
        group["init"]: partial(get_make_filled_simdgroup_matrix_intrin, dtype),
        group["load_a"]: partial(get_simdgroup_load_intrin, dtype, "shared"),
        turned["load_a"]: partial(get_simdgroup_load_intrin, dtype, "shared", transpose_matrix=True),
        group["compute"]: partial(get_simdgroup_multiply_accumulate_intrin, 8, 8, 8, dtype),
        group["store"]: partial(get_simdgroup_store_intrin, dtype, "global"),
        turned["store"]: partial(get_simdgroup_store_intrin, dtype, "shared"),
    }
    names = list(map(register_intrinsic, made, made.values()))
    return dict(zip(("filled", "load", "load_trans", "compute", "store_global", "store_shared"), names, strict=True))


_HALF, _BRAIN, _SINGLE = map(_register, ("float16", "bfloat16", "float32"))
SIMDGROUP_MAKE_FILLED_8x8x8_f16_INTRIN = _HALF["filled"]
SIMDGROUP_LOAD_8x8x8_f16_SHARED_INTRIN = _HALF["load"]
SIMDGROUP_LOAD_8x8x8_f16_SHARED_TRANS_INTRIN = _HALF["load_trans"]
SIMDGROUP_MULTI_ACC_8x8x8_f16_INTRIN = _HALF["compute"]
SIMDGROUP_STORE_8x8x8_f16_GLOBAL_INTRIN = _HALF["store_global"]
SIMDGROUP_STORE_8x8x8_f16_SHARED_INTRIN = _HALF["store_shared"]
SIMDGROUP_FILLED_8x8x8_bf16_INTRIN = register_intrinsic(
    "simdgroup_fill_8x8x8_bf16", get_make_filled_simdgroup_matrix_intrin, "bfloat16"
)
SIMDGROUP_FILLED_8x8x8_f32_INTRIN = register_intrinsic(
    "simdgroup_fill_8x8x8_f32", get_make_filled_simdgroup_matrix_intrin, "float32"
)
