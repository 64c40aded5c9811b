"""Inference of the data types of printed calls: ``T.exp(x)`` has the type of ``x``, ``T.clz(x)`` is int32."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.op import Op

_DTYPES = {
    "tir.TVMBackendAllocWorkspace": "handle",
    "tir.TVMBackendFreeWorkspace": "int32",
    "tir.address_of": "handle",
    "tir.anylist_getitem": "handle",
    "tir.anylist_resetitem": "int32",
    "tir.anylist_setitem_call_cpacked": "int32",
    "tir.anylist_setitem_call_packed": "int32",
    "tir.assume": "bool",
    "tir.clz": "int32",
    "tir.create_barriers": "void",
    "tir.end_profile_intrinsic": "handle",
    "tir.dp4a": "int32",
    "tir.isnullptr": "bool",
    "tir.lookup_param": "handle",
    "tir.make_filled_simdgroup_matrix": "handle",
    "tir.prefetch": "void",
    "tir.ptx_arrive_barrier": "void",
    "tir.ptx_arrive_barrier_expect_tx": "void",
    "tir.ptx_commit_group": "void",
    "tir.ptx_cp_async_barrier": "void",
    "tir.ptx_init_barrier_thread_count": "void",
    "tir.ptx_wait_barrier": "void",
    "tir.ptx_wait_group": "void",
    "tir.simdgroup_load": "handle",
    "tir.simdgroup_multiply_accumulate": "handle",
    "tir.simdgroup_store": "handle",
    "tir.start_profile_intrinsic": "handle",
    "tir.tvm_access_ptr": "handle",
    "tir.tvm_call_cpacked": "int32",
    "tir.tvm_check_return": "int32",
    "tir.tvm_call_cpacked_lowered": "int32",
    "tir.tvm_call_packed": "int32",
    "tir.tvm_call_packed_lowered": "int32",
    "tir.tvm_stack_alloca": "handle",
    "tir.tvm_stack_make_array": "handle",
    "tir.tvm_stack_make_shape": "handle",
    "tir.tvm_bmma_sync": "handle",
    "tir.tvm_fill_fragment": "handle",
    "tir.tvm_load_matrix_sync": "handle",
    "tir.tvm_mma_sync": "handle",
    "tir.tvm_store_matrix_sync": "handle",
    "tir.tvm_storage_sync": "int32",
    "tir.tvm_struct_set": "int32",
    "tir.tvm_thread_allreduce": "handle",
    "tir.tvm_throw_last_error": "handle",
    "tir.tvm_tuple": "handle",
    "tir.tvm_warp_activemask": "uint32",
    "tir.undef": "int32",
    "tir.vscale": "int32",
}
_SECOND_OPERAND = ("tir.if_then_else", "tir.tvm_warp_shuffle", "tir.tvm_warp_shuffle_down", "tir.tvm_warp_shuffle_up")


def call_dtype(op: Op, operands: tuple[PrimExpr, ...]) -> str:
    """Return the data type of a call that its text does not name."""
    if op.name in _DTYPES:
        return _DTYPES[op.name]
    position = int(op.name in _SECOND_OPERAND)
    if len(operands) <= position:
        raise ArgumentError(f"T.{op.name.removeprefix('tir.')}: expected operands")
    if op.name.startswith("tir.is"):
        return dt.with_lanes("bool", dt.lanes(operands[0].dtype))
    return operands[position].dtype
