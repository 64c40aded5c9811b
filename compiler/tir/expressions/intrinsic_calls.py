"""Builders of calls of lowered and device operators, from a table.

A parameter called ``dtype`` is the data type of the result and no operand; the type of the others is the operator's.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Broadcast, Call, IntImm, Max, PrimExpr, cast, const, convert
from compiler.ir.op import CallEffect, Op, register_op
from compiler.tir.expressions import (
    device_ops,  # noqa: F401  (register their operators)
    tensor_core_ops,  # noqa: F401
)
from compiler.tir.expressions.arithmetic import shift_left, shift_right
from compiler.tir.expressions.call_types import call_dtype
from compiler.tir.expressions.evaluation import Value

_FRAGMENTS = "fragment_d, index_d, fragment_a, index_a, fragment_b, index_b, fragment_c, index_c"
_MATRICES = "multiplicand_a, a_index, multiplicand_b, b_index, accumulator, c_index"
_MMA_TYPES = "dtype, shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype"

_WARP = "width, warp_size"

_SIGNATURES = {
    "TVMBackendAllocWorkspace": "device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint",
    "TVMBackendFreeWorkspace": "device_type, device_id, ptr",
    "anylist_getitem": "list_handle, index",
    "anylist_resetitem": "list_handle, index",
    "anylist_setitem_call_cpacked": "list_handle, index, func_name, *args",
    "anylist_setitem_call_packed": "list_handle, index, func_name, *args",
    "create_barriers": "barrier_count",
    "dp4a": "vec1, vec2, acc=0",
    "end_profile_intrinsic": "id",
    "get_active_lane_mask": "dtype, base, limit",
    "lookup_param": "param_name",
    "make_filled_simdgroup_matrix": "d, index, value, col=8, row=8",
    "mma_fill": "dtype, local_size, local_ptr, offset",
    "mma_store": "dtype, m, n, dst_ptr, src_ptr, src_offset, dst_stride",
    "ptx_arrive_barrier": "barrier_id",
    "ptx_arrive_barrier_expect_tx": "barrier_id, byte_count",
    "ptx_commit_group": "",
    "ptx_cp_async": "dtype, shared_ptr, shared_offset, global_ptr, global_offset, bytes",
    "ptx_cp_async_barrier": "barrier_id",
    "ptx_cp_async_bulk": "dtype, shared_ptr, shared_offset, global_ptr, global_offset, bytes, barrier_id",
    "ptx_init_barrier_thread_count": "barrier_id, thread_count",
    "ptx_ldmatrix": "dtype, trans, num, type, local_ptr, local_offset, smem_ptr, smem_offset",
    "ptx_mma": f"{_MMA_TYPES}, {_MATRICES}, saturate, operator=None",
    "ptx_mma_sp": f"{_MMA_TYPES}, {_MATRICES}, metadata, meta_index, sparse_selector, saturate",
    "ptx_wait_barrier": "barrier_id",
    "ptx_wait_group": "num",
    "q_multiply_shift": "x, y, q, s",
    "q_multiply_shift_per_axis": "x, y, ls, rs, q, is_lshift_required, is_rshift_required",
    "simdgroup_load": "d, index, ptr, stride, col=8, row=8, transpose_matrix=False",
    "simdgroup_multiply_accumulate": "d, index_d, a, index_a, b, index_b, c, index_c",
    "simdgroup_store": "d, index, ptr, stride, col=8, row=8, transpose_matrix=False",
    "start_profile_intrinsic": "id",
    "tile_configuration": "*rows_and_bytes",
    "tvm_bmma_sync": _FRAGMENTS,
    "tvm_check_return": "expected, return_unexpected, nested_call",
    "tvm_fill_fragment": "fragment, m, n, k, index, value",
    "tvm_load_matrix_sync": "fragment, m, n, k, index, buffer_ptr, stride, layout",
    "tvm_mma_sync": _FRAGMENTS,
    "tvm_stack_alloca": "dtype_str, num",
    "tvm_stack_make_array": "data, shape, strides, ndim, arr_dtype, elem_offset",
    "tvm_stack_make_shape": "*args",
    "tvm_store_matrix_sync": "fragment, m, n, k, index, buffer_ptr, stride, layout",
    "tvm_storage_sync": "storage_scope",
    "tvm_struct_get": "arr, index, field, dtype",
    "tvm_struct_set": "arr, index, field, value",
    "tvm_thread_allreduce": "*freduce_args",
    "tvm_thread_invariant": "cond",
    "tvm_throw_last_error": "",
    "tvm_warp_activemask": "",
    "tvm_warp_shuffle": f"mask, value, warp_id, {_WARP}",
    "tvm_warp_shuffle_down": f"mask, value, offset, {_WARP}",
    "tvm_warp_shuffle_up": f"mask, value, offset, {_WARP}",
    "call_cpacked": "*args",
    "call_cpacked_lowered": "*args",
    "call_packed_lowered": "*args",
}
"""Parameters by the name of the builder, in TVM's order."""

_OPERATORS = {name: f"tir.tvm_{name}" for name in ("call_cpacked", "call_cpacked_lowered", "call_packed_lowered")}
"""The operators of builders that are not called as theirs."""

_MEANINGS = {
    "dtype": "The data type of the result.",
    "device_type, device_id": "The device, by TVM's numbers.",
    "nbytes": "How many bytes of memory.",
    "dtype_code_hint, dtype_bits_hint": "The data type that the memory will hold.",
    "ptr, buffer_ptr, dst_ptr, src_ptr, local_ptr, smem_ptr, shared_ptr, global_ptr": "A pointer to the elements.",
    "offset, src_offset, local_offset, smem_offset, shared_offset, global_offset, elem_offset": (
        "How far behind the pointer, or the thread, in elements."
    ),
    "stride, dst_stride": "Elements from one row to the next.",
    "barrier_count, thread_count": "How many.",
    "barrier_id, id": "Which one, by its number.",
    "byte_count, bytes": "How many bytes are copied.",
    "vec1, vec2": "Four integers of 8 bits each.",
    "acc": "What the product is added to.",
    "base, limit": "The first lane is ``base``; lanes before ``limit`` are active.",
    "param_name": "The name.",
    "d, a, b, c": "Pointers to matrices in registers.",
    "fragment, fragment_a, fragment_b, fragment_c, fragment_d": "Pointers to fragments of matrices.",
    "index, index_a, index_b, index_c, index_d, a_index, b_index, c_index, meta_index": "Which element.",
    "value": "The value that is written, or handed to another thread.",
    "mask": "Which threads of the warp take part.",
    "warp_id": "The thread whose value it is.",
    "width, warp_size": "How many threads exchange values, and how many a warp has.",
    "storage_scope": "The memory that all threads then see, e.g. ``shared``.",
    "cond": "A value that is the same in all threads.",
    "list_handle": "The list.",
    "func_name": "The function whose result becomes the item.",
    "col, row, m, n, k": "Extents of the matrices.",
    "shape": "The extents, as the instruction or the array takes them.",
    "local_size, num": "How many.",
    "trans, transpose_matrix": "Whether the matrix is transposed.",
    "type": "The data type of the elements, as the instruction names it.",
    "A_layout, B_layout, layout": "``row`` or ``col``.",
    "A_dtype, B_dtype, C_dtype": "The data types of the operands, as the instruction names them.",
    "multiplicand_a, multiplicand_b, accumulator": "Pointers to the operands.",
    "saturate": "Whether sums stay within the range of their type.",
    "operator": "Of bits, ``xor`` or ``and``; left out for numbers.",
    "metadata, sparse_selector": "Which elements of the sparse operand there are.",
    "x, y": "Fixed-point numbers of 32 bits.",
    "q": "How many bits of the factor are behind the point.",
    "s": "By how many bits the product is shifted to the left; to the right where negative.",
    "ls, rs": "By how many bits ``x`` is shifted to the left, and the product to the right.",
    "is_lshift_required, is_rshift_required": "Whether it is shifted at all.",
    "expected": "What the call returns where it succeeds.",
    "return_unexpected": "What is returned where it does not.",
    "nested_call": "The call.",
    "dtype_str": "What the room is for: ``shape``, ``arg_value``, ``arg_tcode`` or ``array``.",
    "data": "A pointer to the elements.",
    "strides": "Elements from one index of each dimension to the next.",
    "ndim": "How many dimensions.",
    "arr_dtype": "A value of the data type of the elements.",
    "arr": "A pointer to structures.",
    "field": "Which field, by TVM's number.",
    "rows_and_bytes": "The rows of each register, each followed by the bytes of one of its rows.",
    "args, freduce_args": "The operands, in order.",
}
_MEANING_OF = {name: meaning for names, meaning in _MEANINGS.items() for name in names.split(", ")}


def _product(x: Value, y: Value, left: Value, right: Value) -> Value:
    """Return ``x * 2**left * y / 2**right`` rounded half up, of NumPy integers."""
    wide = np.left_shift(np.asarray(x, "int64"), left) * np.asarray(y, "int64")
    right = np.asarray(right, "int64")
    return np.right_shift(wide + np.left_shift(np.int64(1), right - 1), right).astype(np.asarray(x).dtype)


def _shift_reference(x: Value, y: Value, q: Value, s: Value) -> Value:
    return _product(x, y, np.maximum(s, 0), q + np.maximum(-np.asarray(s), 0))


def _per_axis_reference(
    x: Value, y: Value, ls: Value, rs: Value, q: Value, shifted_left: Value, shifted_right: Value
) -> Value:
    return _product(x, y, np.where(shifted_left, ls, 0), q + np.where(shifted_right, rs, 0))


_REFERENCES: dict[str, Callable[..., Value]] = {
    "q_multiply_shift": _shift_reference,
    "q_multiply_shift_per_axis": _per_axis_reference,
}
_NAMES_DTYPE = ("dp4a", "get_active_lane_mask")
_REGISTERED_HERE = {
    "anylist_setitem_call_cpacked": ("Sets an item of a list to what a C function returns.", CallEffect.UPDATE_STATE),
    "anylist_setitem_call_packed": ("Sets an item of a list to what a function returns.", CallEffect.UPDATE_STATE),
    "dp4a": ("Dot product of four integers of 8 bits each, and a sum.", CallEffect.PURE),
    "get_active_lane_mask": ("Which lanes of a vector are before a limit.", CallEffect.PURE),
    "make_filled_simdgroup_matrix": ("Fills a matrix in the registers of a SIMD group.", CallEffect.UPDATE_STATE),
    "q_multiply_shift": ("Product of fixed-point numbers, shifted and rounded.", CallEffect.PURE),
    "q_multiply_shift_per_axis": ("Product of fixed-point numbers, shifted and rounded.", CallEffect.PURE),
    "simdgroup_load": ("Loads a matrix into the registers of a SIMD group.", CallEffect.UPDATE_STATE),
    "simdgroup_multiply_accumulate": ("Multiplies matrices in the registers of a SIMD group.", CallEffect.UPDATE_STATE),
    "simdgroup_store": ("Stores a matrix from the registers of a SIMD group.", CallEffect.UPDATE_STATE),
}
for _name, (_doc, _effect) in _REGISTERED_HERE.items():
    _reference = _REFERENCES.get(_name)
    register_op(f"tir.{_name}", effect=_effect, doc=_doc, prints_dtype=_name in _NAMES_DTYPE, reference=_reference)


def _signature(parameters: str) -> inspect.Signature:
    made = []
    for text in filter(None, parameters.split(", ")):
        name, equals, value = text.partition("=")
        kind = inspect.Parameter.VAR_POSITIONAL if name.startswith("*") else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = ast.literal_eval(value) if equals else inspect.Parameter.empty
        made.append(inspect.Parameter(name.lstrip("*"), kind, default=default))
    return inspect.Signature(made)


def _builder(name: str, parameters: str) -> Callable[..., PrimExpr]:
    op = Op.get(_OPERATORS.get(name, f"tir.{name}"))
    signature = _signature(parameters)

    def build(*args: object, **options: object) -> PrimExpr:
        options.pop("span", None)
        given = signature.bind(*args, **options)
        given.apply_defaults()
        named = dict(given.arguments)
        dtype = named.pop("dtype", None)
        values = [v for value in named.values() for v in (value if isinstance(value, tuple) else (value,))]
        operands = tuple(convert(v) for v in values if v is not None)
        return Call(call_dtype(op, operands) if dtype is None else str(dtype), op, operands)

    build.__name__ = build.__qualname__ = name
    build.__module__ = __name__
    build.__signature__ = signature  # type: ignore[attr-defined]
    build.__doc__ = _documentation(op, signature)
    return build


def _documentation(op: Op, signature: inspect.Signature) -> str:
    lines = [op.doc]
    if signature.parameters:
        lines += ["", "Parameters", "----------"]
    for parameter in signature.parameters.values():
        kind = "str" if parameter.name == "dtype" else "PrimExpr, number or str"
        optional = "" if parameter.default is parameter.empty else ", optional"
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        lines += [f"{stars}{parameter.name} : {kind}{optional}", f"    {_MEANING_OF[parameter.name]}"]
    return "\n".join([*lines, ""])


globals().update({name: _builder(name, parameters) for name, parameters in _SIGNATURES.items()})

__all__ = list(_SIGNATURES)


def _number(e: PrimExpr) -> int | None:
    """Return the value of a constant, or of a vector of equal ones."""
    value = e.value if isinstance(e, Broadcast) else e
    return value.value if isinstance(value, IntImm) else None


def _shifted_product(call: Call) -> PrimExpr:
    """Lower ``q_multiply_shift``: multiplied in 64 bits, rounded half up."""
    x, y, q, s = call.args
    wide = _wide(call)
    bits, shift = cast(wide, q), cast(wide, s)
    number = _number(s)
    left: PrimExpr
    right: PrimExpr
    if number is None:
        left, right = Max(shift, const(0, wide)), Max(const(0, wide) - shift, const(0, wide))
    else:
        left, right = const(max(number, 0), wide), const(max(-number, 0), wide)
    return _rounded_product(x, y, left, bits + right, call.dtype)


def _shifted_product_per_axis(call: Call) -> PrimExpr:
    """Lower ``q_multiply_shift_per_axis``, whose shifts are known at run time."""
    x, y, left, right, q, shifted_left, shifted_right = call.args
    wide = _wide(call)
    total = cast(wide, q)
    if _number(shifted_right) != 0:
        total = total + cast(wide, right)
    return _rounded_product(x, y, const(0, wide) if _number(shifted_left) == 0 else cast(wide, left), total, call.dtype)


def _wide(call: Call) -> str:
    return dt.with_lanes("int64", dt.lanes(call.dtype))


def _rounded_product(x: PrimExpr, y: PrimExpr, left: PrimExpr, right: PrimExpr, dtype: str) -> PrimExpr:
    wide = left.dtype
    product = shift_left(cast(wide, x), left) * cast(wide, y)
    half = shift_left(const(1, wide), right - 1)
    return cast(dtype, shift_right(product + half, right))


Op.get("tir.q_multiply_shift").set_attr("default.FLowerIntrinsic", _shifted_product)
Op.get("tir.q_multiply_shift_per_axis").set_attr("default.FLowerIntrinsic", _shifted_product_per_axis)
