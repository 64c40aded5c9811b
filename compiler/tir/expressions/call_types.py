"""Inference of the data types of printed calls: ``T.exp(x)`` has the type of ``x``, ``T.clz(x)`` is int32."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.op import Op

# fmt: off
_OF_TYPE = {
    "handle":
        "address_of anylist_getitem end_profile_intrinsic lookup_param make_filled_simdgroup_matrix "
        "simdgroup_load simdgroup_multiply_accumulate simdgroup_store start_profile_intrinsic "
        "tvm_access_ptr tvm_bmma_sync tvm_fill_fragment tvm_load_matrix_sync tvm_mma_sync tvm_stack_alloca "
        "tvm_stack_make_array tvm_stack_make_shape tvm_store_matrix_sync tvm_thread_allreduce "
        "tvm_throw_last_error tvm_tuple TVMBackendAllocWorkspace",
    "int32":
        "anylist_resetitem anylist_setitem_call_cpacked anylist_setitem_call_packed clz dp4a "
        "tvm_call_cpacked tvm_call_cpacked_lowered tvm_call_packed tvm_call_packed_lowered tvm_check_return "
        "tvm_storage_sync tvm_struct_set TVMBackendFreeWorkspace undef vscale",
    "bool": "assume isnullptr",
    "void":
        "create_barriers prefetch ptx_arrive_barrier ptx_arrive_barrier_expect_tx ptx_commit_group "
        "ptx_cp_async_barrier ptx_init_barrier_thread_count ptx_wait_barrier ptx_wait_group",
    "uint32": "tvm_warp_activemask",
}
# fmt: on
_DTYPES = {f"tir.{name}": dtype for dtype, names in _OF_TYPE.items() for name in names.split()}
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
