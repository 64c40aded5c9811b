"""Tensor core operators of GPU schedules."""

from __future__ import annotations

from compiler.ir.op import CallEffect, register_op

_MATRIX_OPS = {
    "tvm_fill_fragment": "Fills a fragment of a matrix with a value.",
    "tvm_load_matrix_sync": "Loads a fragment of a matrix.",
    "tvm_mma_sync": "Multiplies two fragments and adds the product to a third one.",
    "tvm_bmma_sync": "Multiplies two fragments of bits and adds the product to a third one.",
    "tvm_store_matrix_sync": "Stores a fragment of a matrix.",
    "ptx_mma": "Multiplies matrices by an instruction of PTX.",
    "ptx_ldmatrix": "Loads matrices by an instruction of PTX.",
    "mma_fill": "Fills the fragment of an accumulator with zeros.",
    "mma_store": "Stores the fragment of an accumulator.",
}
MATRIX_OPS = frozenset(f"tir.{name}" for name in _MATRIX_OPS)
"""What a warp does with matrices in its registers."""
REGISTER_OPERANDS = {
    "tir.ptx_mma": ((6, 7), (8, 9), (10, 11)),
    "tir.ptx_ldmatrix": ((3, 4),),
    "tir.mma_fill": ((1, 2),),
    "tir.mma_store": ((3, 4),),
}
"""By operator: the arguments that are a pointer to elements of a thread, and which element is the first."""

_TYPED = ("ptx_mma", "ptx_ldmatrix", "mma_fill", "mma_store")

for _name, _doc in {
    **_MATRIX_OPS,
    "create_barriers": "Makes barriers that threads of a block wait at.",
    "ptx_init_barrier_thread_count": "Says how many threads arrive at a barrier.",
    "ptx_arrive_barrier": "Arrives at a barrier.",
    "ptx_arrive_barrier_expect_tx": "Arrives at a barrier, which waits for some bytes as well.",
    "ptx_wait_barrier": "Waits at a barrier.",
    "ptx_commit_group": "Ends a group of asynchronous copies.",
    "ptx_wait_group": "Waits until at most some groups of asynchronous copies are under way.",
    "ptx_cp_async_barrier": "Lets a barrier wait for asynchronous copies.",
    "tvm_thread_invariant": "A value that is the same in all threads.",
    "tvm_check_return": "Fails unless a call returns what is expected.",
    "lookup_param": "A parameter of the linked model, by its name.",
    "start_profile_intrinsic": "Begins a measured part.",
    "end_profile_intrinsic": "Ends a measured part.",
    "anylist_getitem": "An item of a list of any values.",
    "anylist_resetitem": "Clears an item of a list of any values.",
}.items():
    register_op(f"tir.{_name}", effect=CallEffect.UPDATE_STATE, prints_dtype=_name in _TYPED, doc=_doc)

for _name, _doc in {
    "ptx_cp_async": "Copies from global to shared memory, asynchronously.",
    "ptx_cp_async_bulk": "Copies many bytes from global to shared memory, asynchronously.",
    "ptx_mma_sp": "Multiplies matrices, one of them sparse, by an instruction of PTX.",
}.items():
    register_op(f"tir.{_name}", effect=CallEffect.UPDATE_STATE, prints_dtype=True, doc=_doc)
