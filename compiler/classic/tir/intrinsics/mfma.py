"""AMD matrix core intrinsics on the registers of a wavefront: ``mfma``.

A matrix is seen as memory of the wave: a row for each of its 64 threads, with the elements that the thread has.

References
----------
AMD, "AMD Instinct MI200 Instruction Set Architecture", chapter "Matrix Arithmetic Instructions": which element of an
operand and of the result each thread of a wave has.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from compiler.classic.tir.intrinsics.fragment_layouts import MFMA_LAYOUTS, shared_16x16_to_local_64x4_layout_C
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
from compiler.tir.statements.function import PrimFunc

Pair = tuple[PrimFunc, PrimFunc]
WARP_SIZE = 64
"""Threads of a wave."""
M_DIM = N_DIM = 16
"""Rows and columns of a product."""
_OF_RESULT = 4
"""Elements of the result that a thread has."""


class _Product(NamedTuple):
    """What an instruction multiplies."""

    # the data types of the operands and of the result
    dtype: str
    result: str
    # the same as names of intrinsics say them
    short: str
    short_result: str
    depth: int  # how many products an element of the result is the sum of
    instruction: str

    @property
    def elements(self) -> int:
        """How many elements of an operand a thread has."""
        return M_DIM * self.depth // WARP_SIZE

    @property
    def operand(self) -> str:
        """How the instruction takes an operand, ``{matrix}``: numbers of 8 bits as the bits of an integer."""
        part = "{matrix}[tx, 0:4]" if self.elements > 1 else "{matrix}[tx, 0]"
        return f'T.reinterpret("int32", {part})' if self.dtype == "int8" else part

    def shape(self, is_b: bool) -> tuple[int, int]:
        """Return rows and columns of an operand."""
        return (self.depth, N_DIM) if is_b else (M_DIM, self.depth)

    def layout(self, is_b: bool) -> str:
        """Return the name of the function that says where the elements of an operand lie."""
        rows, columns = self.shape(is_b)
        return f"shared_{rows}x{columns}_to_local_64x{self.elements}_layout_{'B' if is_b else 'A'}"


_PRODUCTS = (
    _Product("float32", "float32", "f32", "f32", 4, "llvm.amdgcn.mfma.f32.16x16x4f32"),
    _Product("float16", "float32", "f16", "f32", 16, "llvm.amdgcn.mfma.f32.16x16x16f16"),
    _Product("int8", "int32", "s8", "s32", 16, "llvm.amdgcn.mfma.i32.16x16x16i8"),
)
_RESULTS = {product.result: product.short_result for product in _PRODUCTS}
_RESULT_LAYOUT = shared_16x16_to_local_64x4_layout_C.__name__
_EACH_THREAD = thread_loop(WARP_SIZE)


def _function(source: str) -> PrimFunc:
    return parse_function(source, MFMA_LAYOUTS)


def _warp(name: str, elements: int, dtype: str) -> str:
    return match_buffer(name, (WARP_SIZE, elements), dtype, "warp")


def _product(name: str, k_dim: int, dtype: str, result: str | None = None) -> _Product:
    """Return the instruction of a depth and data types."""
    for each in _PRODUCTS:
        if (each.depth, each.dtype) == (k_dim, dtype) and result in (None, each.result):
            return each
    had = ", ".join(f"{each.depth} of {each.dtype} to {each.result}" for each in _PRODUCTS)
    wanted = f"{k_dim} of {dtype}" + (f" to {result}" if result else "")
    raise ArgumentError(f"{name}: there is no instruction for products of {wanted}, only of {had}")


def _require_result(name: str, dtype: str, local_size: int) -> None:
    if dtype not in _RESULTS or local_size != _OF_RESULT:
        raise ArgumentError(
            f"{name}: results are {_OF_RESULT} elements a thread of {' or '.join(_RESULTS)}, "
            f"got {local_size} of {dtype}"
        )


def _require_as_it_lies(name: str, transposed: bool) -> None:
    if transposed:
        raise ArgumentError(f"{name}: operands must not be transposed; copy them to shared memory transposed instead")


def get_mfma_load_intrin(
    k_dim: int = 4, dtype: str = "float32", scope: str = "shared", is_b: bool = False, transposed: bool = False
) -> Pair:
    """Return the copy of an operand to the registers of a wave, and what each thread does of it.

    Raises ArgumentError if there is no such instruction, or the operand lies transposed.

    Parameters
    ----------
    k_dim : int
        How many products an element is the sum of: 4 of ``float32``, 16 of ``float16`` and ``int8``.
    scope : str
        Where the operand lies: ``shared``, ``shared.dyn`` or ``global``.
    """
    operand = _product("get_mfma_load_intrin", k_dim, dtype)
    _require_as_it_lies("get_mfma_load_intrin", transposed)
    (rows, columns), elements = operand.shape(is_b), operand.elements
    warp = _warp("Reg", elements, dtype)
    root = root_block(whole("Memory", rows, columns), whole("Reg", WARP_SIZE, elements))
    description = f"""        for ax0, ax1 in T.grid({rows}, {columns}):
            with T.block("memory_reg"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                thread, local = T.meta_var({operand.layout(is_b)}(v0, v1))
                T.reads(Memory[v0, v1])
                T.writes(Reg[thread, local])
                Reg[thread, local] = Memory[v0, v1]
"""
    along = f"tx // 16 * {elements} + local_id"
    place = f"{along}, tx % 16" if is_b else f"tx % 16, {along}"
    load = f"            for local_id in range({elements}):\n                Reg[tx, local_id] = Memory[{place}]\n"
    head, shape = function_head("Reg", "Memory") + warp, (rows, columns)
    return (
        _function(head + match_buffer("Memory", shape, dtype, scope) + root + description),
        _function(head + match_buffer("Memory", shape, dtype, scope, strides=True) + root + _EACH_THREAD + load),
    )


def get_mfma_intrin(
    k_dim: int, in_dtype: str = "float32", out_dtype: str = "float32", b_transposed: bool = False
) -> Pair:
    """Return the product of two matrices in the registers of a wave, added to a third one, and the call for it.

    The result is of ``float32``, and of ``int32`` for ``int8``; each element sums 4 products of ``float32``, or 16 of
    ``float16`` and ``int8``. Raises ArgumentError if there is no such instruction, or the second operand lies
    transposed.
    """
    made = _product("get_mfma_intrin", k_dim, in_dtype, out_dtype)
    _require_as_it_lies("get_mfma_intrin", b_transposed)
    operands = [whole(matrix, WARP_SIZE, made.elements) for matrix in "AB"]
    result = whole("C", WARP_SIZE, _OF_RESULT)
    head = (
        function_head("A", "B", "C")
        + "".join(_warp(matrix, made.elements, in_dtype) for matrix in "AB")
        + _warp("C", _OF_RESULT, out_dtype)
        + root_block(", ".join([result, *operands]), result)
    )
    terms = [f"{matrix}[{matrix.lower()}_thread, {matrix.lower()}_local]" for matrix in "AB"]
    factors = terms if in_dtype == out_dtype else [f'T.cast({term}, "{out_dtype}")' for term in terms]
    description = f"""        for i_0, j_0, k_0 in T.grid({M_DIM}, {N_DIM}, {made.depth}):
            with T.block("C"):
                i, j, k = T.axis.remap("SSR", [i_0, j_0, k_0])
                a_thread, a_local = T.meta_var({made.layout(False)}(i, k))
                b_thread, b_local = T.meta_var({made.layout(True)}(k, j))
                thread, local = T.meta_var({_RESULT_LAYOUT}(i, j))
                T.reads(C[thread, local], {", ".join(terms)})
                T.writes(C[thread, local])
                C[thread, local] = C[thread, local] + {" * ".join(factors)}
"""
    a, b = (made.operand.format(matrix=matrix) for matrix in "AB")
    call = f"""            C[tx, 0:4] = T.call_llvm_pure_intrin("{out_dtype}x4", "{made.instruction}",
                {a}, {b}, C[tx, 0:4], T.int32(0), T.int32(0), T.int32(0))
"""
    return _function(head + description), _function(head + _EACH_THREAD + call)


def get_mma_fill_intrin(dtype: str, local_size: int) -> Pair:
    """Return the filling of a result with zeros, and what each thread does of it.

    A thread has ``local_size`` elements, 4, of ``float32`` or ``int32``. Raises ArgumentError if no instruction has
    such a result.
    """
    _require_result("get_mma_fill_intrin", dtype, local_size)
    head = function_head("C") + _warp("C", local_size, dtype) + root_block("", whole("C", WARP_SIZE, local_size))
    description = f"""        for i_0, j_0 in T.grid({M_DIM}, {N_DIM}):
            with T.block("C_warp"):
                i, j = T.axis.remap("SS", [i_0, j_0])
                thread, local = T.meta_var({_RESULT_LAYOUT}(i, j))
                T.reads()
                T.writes(C[thread, local])
                C[thread, local] = T.{dtype}(0)
"""
    fill = f"            for local_id in range({local_size}):\n                C[tx, local_id] = T.{dtype}(0)\n"
    return _function(head + description), _function(head + _EACH_THREAD + fill)


def get_mfma_store_intrin(local_size: int = 4, dtype: str = "float32", scope: str = "global") -> Pair:
    """Return the copy of a result from the registers of a wave to other memory, and what each thread does of it.

    A thread has ``local_size`` elements, 4, of ``float32`` or ``int32``; they go to ``global``, ``shared`` or
    ``shared.dyn`` memory. Raises ArgumentError if no instruction has such a result.
    """
    _require_result("get_mfma_store_intrin", dtype, local_size)
    head, shape = function_head("W", "C") + _warp("W", local_size, dtype), (M_DIM, N_DIM)
    root = root_block(whole("W", WARP_SIZE, local_size), whole("C", *shape))
    description = f"""        for i_0, j_0 in T.grid({M_DIM}, {N_DIM}):
            with T.block("C_warp"):
                v0, v1 = T.axis.remap("SS", [i_0, j_0])
                thread, local = T.meta_var({_RESULT_LAYOUT}(v0, v1))
                T.reads(W[thread, local])
                T.writes(C[v0, v1])
                C[v0, v1] = W[thread, local]
"""
    store = f"            for i in range({local_size}):\n                C[tx // 16 * 4 + i, tx % 16] = W[tx, i]\n"
    return (
        _function(head + match_buffer("C", shape, dtype, scope) + root + description),
        _function(head + match_buffer("C", shape, dtype, scope, strides=True) + root + _EACH_THREAD + store),
    )


def _register() -> dict[str, str]:
    """Register the intrinsics; return the names of the constants that name them."""
    names: dict[str, str] = {}
    for each in _PRODUCTS:
        for is_b in (False, True):
            tile = f"16x{each.depth}"
            constant = f"ROCM_MFMA_LOAD_{tile}_{'B' if is_b else 'A'}_SHARED_{each.short}_INTRIN"
            place = f"b_{tile}" if is_b else f"{tile}_a"
            make = partial(get_mfma_load_intrin, each.depth, each.dtype, is_b=is_b)
            names[constant] = register_intrinsic(f"rocm_mfma_load_{place}_shared_{each.short}", make)
        types = f"{each.short}{each.short}{each.short_result}"
        product = (get_mfma_intrin, each.depth, each.dtype, each.result)
        names[f"ROCM_MFMA_{types}_INTRIN"] = register_intrinsic(f"rocm_mfma_{types}", *product)
    for dtype, short in _RESULTS.items():
        store = partial(get_mfma_store_intrin, dtype=dtype)
        names[f"ROCM_MFMA_STORE_16x16_{short}_INTRIN"] = register_intrinsic(f"rocm_mfma_store_16x16_{short}", store)
        filled = short.replace("s", "i")
        fill = (get_mma_fill_intrin, dtype, _OF_RESULT)
        names[f"ROCM_MFMA_fill_16x16_{filled}_INTRIN"] = register_intrinsic(f"ROCM_mfma_fill_16x16_{filled}", *fill)
    return names


CONSTANTS = _register()
