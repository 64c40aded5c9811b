"""Tensor core intrinsics on the registers of a warp: ``ldmatrix`` and ``mma``.

A matrix is seen as memory of the warp: a row for each of its 32 threads, with the elements that the thread has.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from compiler.classic.tir.intrinsics.fragment_layouts import MMA_LAYOUTS, shared_16x16_to_ldmatrix_32x8_layout
from compiler.classic.tir.intrinsics.products import register_intrinsic
from compiler.classic.tir.intrinsics.program_text import (
    function_head,
    match_buffer,
    parse_function,
    root_block,
    thread_loop,
    whole,
)
from compiler.ir.error import ArgumentError
from compiler.tir.layout.matrix_fragments import WARP
from compiler.tir.statements.function import PrimFunc

Pair = tuple[PrimFunc, PrimFunc]
_TILE = 16
"""Rows and columns of a product."""


class _Operand(NamedTuple):
    """Numbers that tensor cores multiply."""

    dtype: str
    short: str
    word: str
    depth: int  # how many products an element of the result is the sum of

    @property
    def elements(self) -> int:
        """How many elements of a matrix a thread has."""
        return _TILE * self.depth // WARP

    def shape(self, matrix: str, transposed: bool) -> tuple[int, int]:
        """Return rows and columns of an operand as it lies in memory."""
        is_wide = (matrix == "A") != transposed
        return (_TILE, self.depth) if is_wide else (self.depth, _TILE)

    def layout(self, matrix: str, transposed: bool) -> str:
        """Return the name of the function that says where its elements lie."""
        rows, columns = self.shape(matrix, transposed)
        return f"shared_{rows}x{columns}_to_ldmatrix_32x{self.elements}_layout"


_HALF = _Operand("float16", "f16", "fp16", 16)
_OPERANDS = {operand.depth: operand for operand in (_HALF, _Operand("int8", "i8", "int8", 32))}
_BY_TYPE = {operand.dtype: operand for operand in _OPERANDS.values()}
_ACCUMULATORS = {"float16": ("f16", "fp16"), "float32": ("f32", "fp32"), "int32": ("i32", "int32")}
"""By data type: as names of intrinsics and as ``ptx_mma`` say it."""
_RESULTS = {"float16": ("float16", "float32"), "int8": ("int32",)}
_OF_RESULT = shared_16x16_to_ldmatrix_32x8_layout.__name__


def _function(source: str) -> PrimFunc:
    return parse_function(source, MMA_LAYOUTS)


def _warp(name: str, elements: int, dtype: str, factor: int) -> str:
    return match_buffer(name, (WARP, elements), dtype, "warp", factor)


_EACH_THREAD = thread_loop(WARP)


def get_ldmatrix_intrin(
    k_dim: int, dtype: str, matrix_name: str, transposed: bool, shared_scope: str = "shared"
) -> Pair:
    """Return the copy of an operand from shared memory to the registers of a warp, and the call for it.

    Numbers of 8 bits whose columns have to become rows are copied one by one, which ``ldmatrix`` cannot do. The operand
    is matrix ``A`` or ``B``, and ``k_dim`` is how many products an element sums: 16 of ``float16``, 32 of ``int8``. It
    lies, perhaps transposed, in ``shared`` or ``shared.dyn`` memory. Raises ArgumentError if there is no such
    instruction.
    """
    operand = _OPERANDS.get(k_dim)
    if operand is None or operand.dtype != dtype or matrix_name not in ("A", "B"):
        raise ArgumentError(f"get_ldmatrix_intrin: no matrix {matrix_name} of {dtype} has products of {k_dim}")
    if dtype == "int8" and matrix_name == "A" and transposed:
        raise ArgumentError("get_ldmatrix_intrin: the first operand of int8 cannot be transposed in memory")
    rows, columns = operand.shape(matrix_name, transposed)
    layout, factor = operand.layout(matrix_name, transposed), columns
    root = root_block(whole("Shared", rows, columns), whole("Warp", WARP, operand.elements))
    warp = _warp("Warp", operand.elements, dtype, factor)
    description = (
        function_head("Warp", "Shared")
        + warp
        + match_buffer("Shared", (rows, columns), dtype, shared_scope, factor)
        + root
        + f"""        for ax0, ax1 in T.grid({rows}, {columns}):
            with T.block("shared_warp"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(Shared[v0, v1])
                thread, local = T.meta_var({layout}(v0, v1))
                T.writes(Warp[thread, local])
                Warp[thread, local] = Shared[v0, v1]
"""
    )
    implementation = (
        function_head("Warp", "Shared")
        + warp
        + match_buffer("Shared", (rows, columns), dtype, shared_scope, factor, strides=True)
        + root
        + _EACH_THREAD
        + _load(operand, matrix_name, transposed)
    )
    return _function(description), _function(implementation)


def _load(operand: _Operand, matrix: str, transposed: bool) -> str:
    needs_transposition = (matrix == "A") == transposed
    if needs_transposition and operand is not _HALF:
        return f"""            for local_id in range({operand.elements}):
                Warp[tx, local_id] = Shared[
                    local_id % 8 // 4 * 16 + tx % 4 * 4 + local_id % 4, local_id // 8 * 8 + tx // 4]
"""
    rows, _ = operand.shape(matrix, transposed)
    width, stride = operand.elements, "Shared.strides[0]"
    address = f"{stride} * (tx % 16) + {width} * (tx // 16)"
    if transposed:
        address = f"{stride} * 8 * (tx // 16) + {stride} * (tx % 8) + {width} * (tx % 16 // 8)"
    return f"""            T.evaluate(T.ptx_ldmatrix({needs_transposition}, 4, ".b16", Warp.data,
                Warp.elem_offset + {width} * tx, T.tvm_access_ptr(T.type_annotation("{operand.dtype}"), Shared.data,
                Shared.elem_offset, {stride} * {rows}, 1, dtype="handle"), {address}, dtype="{operand.dtype}"))
"""


def get_mma_intrin(k_dim: int, out_dtype: str, a_transposed: bool, b_transposed: bool) -> Pair:
    """Return the product of two matrices in the registers of a warp, added to a third one, and the calls for it.

    An element sums 16 products of ``float16``, to ``float16`` or ``float32``, or 32 of ``int8``, to ``int32``. Operands
    may have been loaded from shared memory where they lie transposed. Raises ArgumentError if there is no such
    instruction.
    """
    operand = _OPERANDS.get(k_dim)
    if operand is None or out_dtype not in _RESULTS[operand.dtype]:
        raise ArgumentError(f"get_mma_intrin: no product of depth {k_dim} has results of {out_dtype}")
    elements, transposed = operand.elements, {"A": a_transposed, "B": b_transposed}
    factors = {matrix: operand.shape(matrix, transposed[matrix])[1] for matrix in "AB"}
    head = (
        function_head("A", "B", "C")
        + "".join(_warp(matrix, elements, operand.dtype, factors[matrix]) for matrix in "AB")
        + _warp("C", 8, out_dtype, _TILE)
        + root_block(
            ", ".join((whole("C", WARP, 8), whole("A", WARP, elements), whole("B", WARP, elements))),
            whole("C", WARP, 8),
        )
    )
    places = {"A": "k, i" if a_transposed else "i, k", "B": "j, k" if b_transposed else "k, j"}
    terms = {
        matrix: f'T.cast({matrix}[{matrix.lower()}_thread, {matrix.lower()}_local], "{out_dtype}")' for matrix in "AB"
    }
    if out_dtype == operand.dtype:
        terms = {matrix: f"{matrix}[{matrix.lower()}_thread, {matrix.lower()}_local]" for matrix in "AB"}
    description = f"""        for i_0, j_0, k_0 in T.grid({_TILE}, {_TILE}, {k_dim}):
            with T.block("C"):
                i, j, k = T.axis.remap("SSR", [i_0, j_0, k_0])
                a_thread, a_local = T.meta_var({operand.layout("A", a_transposed)}({places["A"]}))
                b_thread, b_local = T.meta_var({operand.layout("B", b_transposed)}({places["B"]}))
                thread, local = T.meta_var({_OF_RESULT}(i, j))
                T.reads(C[thread, local], A[a_thread, a_local], B[b_thread, b_local])
                T.writes(C[thread, local])
                C[thread, local] = C[thread, local] + {terms["A"]} * {terms["B"]}
"""
    word, (_, result) = operand.word, _ACCUMULATORS[out_dtype]
    calls = "".join(
        f"""            T.evaluate(T.ptx_mma("m16n8k{k_dim}", "row", "col", "{word}", "{word}", "{result}",
                A.data, A.elem_offset + tx * {elements}, B.data, B.elem_offset + tx * {elements}{shift_b},
                C.data, C.elem_offset + tx * 8{shift_c}, False, dtype="{out_dtype}"))
"""
        for shift_b, shift_c in (("", ""), (f" + {elements // 2}", " + 4"))
    )
    return _function(head + description), _function(head + _EACH_THREAD + calls)


def get_mma_fill_intrin(dtype: str, local_size: int) -> Pair:
    """Return the filling of an accumulator with zeros, and the call for it.

    A thread has ``local_size`` elements: 8.
    """
    warp = f'    C = T.match_buffer(c_handle, ({WARP}, {local_size}), "{dtype}", scope="warp"'
    root = root_block("", whole("C", WARP, local_size))
    description = f"""        for i_0, j_0 in T.grid({_TILE}, {_TILE}):
            with T.block("C_warp"):
                i, j = T.axis.remap("SS", [i_0, j_0])
                thread, local = T.meta_var({_OF_RESULT}(i, j))
                T.reads()
                T.writes(C[thread, local])
                C[thread, local] = T.{dtype}(0)
"""
    call = f'            T.evaluate(T.mma_fill({local_size}, C.data, C.elem_offset, dtype="{dtype}"))\n'
    return (
        _function(f"{function_head('C')}{warp})\n{root}{description}"),
        _function(f"{function_head('C')}{warp}, offset_factor=1)\n{root}{_EACH_THREAD}{call}"),
    )


def get_mma_store_intrin(
    dtype: str, local_size: int, scope: str = "global", use_mma_store_intrinic: bool = True
) -> Pair:
    """Return the copy of an accumulator from the registers of a warp to other memory, and what does it.

    A thread has ``local_size`` elements, 8; they go to ``global``, ``shared`` or ``shared.dyn`` memory, by
    ``mma_store`` or else by a loop.
    """
    warp = f'    W = T.match_buffer(w_handle, ({WARP}, {local_size}), "{dtype}", scope="warp"'
    root = root_block(whole("W", WARP, local_size), whole("C", _TILE, _TILE))
    description = f"""    C = T.match_buffer(c_handle, ({_TILE}, {_TILE}), "{dtype}", scope="{scope}")
{root}        for i_0, j_0 in T.grid({_TILE}, {_TILE}):
            with T.block("C_warp"):
                v0, v1 = T.axis.remap("SS", [i_0, j_0])
                thread, local = T.meta_var({_OF_RESULT}(v0, v1))
                T.reads(W[thread, local])
                T.writes(C[v0, v1])
                C[v0, v1] = W[thread, local]
"""
    call = f"""            T.evaluate(T.mma_store({_TILE}, {_TILE}, C.access_ptr("w"), W.data, W.elem_offset,
                C.strides[0], dtype="{dtype}"))
"""
    loop = f"""            for local_id in range({local_size}):
                row, column = T.meta_var(ldmatrix_32x8_to_shared_16x16_layout(tx, local_id))
                C[row, column] = W[tx, local_id]
"""
    memory = match_buffer("C", (_TILE, _TILE), dtype, scope, 1, strides=True)
    body = call if use_mma_store_intrinic else loop
    return (
        _function(f"{function_head('W', 'C')}{warp})\n{description}"),
        _function(f"{function_head('W', 'C')}{warp}, offset_factor=1)\n{memory}{root}{_EACH_THREAD}{body}"),
    )


def get_mma_intrin_group(
    load_scope: str,
    store_scope: str,
    in_dtype: str,
    out_dtype: str,
    trans_a: bool,
    trans_b: bool,
    not_use_mma_store_intrinic: bool = True,
    store_to_smem_dtype: str | None = None,
) -> dict[str, str]:
    """Return the names of the intrinsics that one product of matrices needs.

    Operands lie in ``shared`` or ``shared.dyn`` memory; the result goes to ``global``, ``shared`` or ``shared.dyn``, as
    ``store_to_smem_dtype`` if that is given, by a loop instead of ``mma_store`` with ``not_use_mma_store_intrinic``.
    Raises ArgumentError if tensor cores do not multiply such operands.
    """
    operand = _BY_TYPE.get(in_dtype)
    if operand is None or out_dtype not in _RESULTS[in_dtype]:
        raise ArgumentError(f"get_mma_intrin_group: no instruction multiplies {in_dtype} and adds to {out_dtype}")
    in_short, (out_short, _) = operand.short, _ACCUMULATORS[out_dtype]
    store_short, _ = _ACCUMULATORS[store_to_smem_dtype or out_dtype]
    dynamic = "_dyn" if load_scope == "shared.dyn" else ""
    a, b = ("_trans" if trans_a else ""), ("_trans" if trans_b else "")
    by_loop = "simple_" if not_use_mma_store_intrinic else ""
    return {
        "init": f"mma_fill_16x16_{out_short}",
        "load_a": f"mma_ldmatrix_{in_short}_a{a}{dynamic}",
        "load_b": f"mma_ldmatrix_{in_short}_b{b}{dynamic}",
        "compute": f"mma_{in_short * 2}{out_short}{'_trans_a' if trans_a else ''}{'_trans_b' if trans_b else ''}",
        "store": f"mma_store_16x16_{store_short}_{store_scope.replace('.', '_')}_{by_loop}",
    }


CONSTANTS: dict[str, str] = {}
"""The names of the intrinsics, by the constants that have them as values: ``MMA_f16f16f32_INTRIN`` and the like."""


def _register_loads(operand: _Operand) -> None:
    for matrix, transposed, scope in product("AB", (False, True), ("shared", "shared.dyn")):
        if operand.short == "i8" and matrix == "A" and transposed:
            continue
        words = [operand.short, matrix, *["TRANS"] * transposed, *["DYN"] * (scope == "shared.dyn")]
        name = "_".join(["mma_ldmatrix", *words]).lower()
        CONSTANTS["_".join(["LDMATRIX", *words, "INTRIN"])] = register_intrinsic(
            name, get_ldmatrix_intrin, operand.depth, operand.dtype, matrix, transposed, scope
        )


def _register_products(operand: _Operand) -> None:
    for out_dtype, trans_a, trans_b in product(_RESULTS[operand.dtype], (False, True), (False, True)):
        if operand.short == "i8" and trans_a:
            continue
        short, _ = _ACCUMULATORS[out_dtype]
        words = [f"{operand.short * 2}{short}", *["TRANS_A"] * trans_a, *["TRANS_B"] * trans_b]
        name = "_".join(["mma", *words]).lower()
        CONSTANTS["_".join(["MMA", *words, "INTRIN"])] = register_intrinsic(
            name, get_mma_intrin, operand.depth, out_dtype, trans_a, trans_b
        )


def _register_accumulators() -> None:
    for dtype, (short, _) in _ACCUMULATORS.items():
        fill = register_intrinsic(f"mma_fill_16x16_{short}", get_mma_fill_intrin, dtype, 8)
        CONSTANTS[f"MMA_fill_16x16_{short}_INTRIN"] = fill
        for scope, is_loop in product(("global", "shared", "shared.dyn"), (False, True)):
            words = f"16x16_{short}_{scope.replace('.', '_')}"
            name = f"mma_store_{words}_{'simple_' if is_loop else ''}"
            register_intrinsic(name, get_mma_store_intrin, dtype, 8, scope, not is_loop)
            CONSTANTS[f"MMA_store_{words}_INTRIN{'_SIMPLE' if is_loop else ''}"] = name


for _operand in _OPERANDS.values():
    _register_loads(_operand)
    _register_products(_operand)
_register_accumulators()
