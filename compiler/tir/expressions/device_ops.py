"""Operators of lowered functions: arguments, calls and device primitives."""

from __future__ import annotations

from compiler.ir.op import CallEffect, register_op

STACK_ALLOCA = register_op(
    "tir.tvm_stack_alloca", effect=CallEffect.UPDATE_STATE, doc="Room for arguments on the stack."
)
STRUCT_GET = register_op(
    "tir.tvm_struct_get",
    effect=CallEffect.READ_STATE,
    prints_dtype=True,
    dtype_is_last=True,
    doc="A field of an argument's structure.",
)
STRUCT_SET = register_op("tir.tvm_struct_set", effect=CallEffect.UPDATE_STATE, doc="Sets a field of a structure.")
CALL_PACKED_LOWERED = register_op(
    "tir.tvm_call_packed_lowered",
    effect=CallEffect.UPDATE_STATE,
    doc="Calls a registered function with arguments that lie on the stack.",
)
CALL_CPACKED = register_op(
    "tir.tvm_call_cpacked", effect=CallEffect.UPDATE_STATE, doc="Calls a C function as a registered one is called."
)
CALL_CPACKED_LOWERED = register_op(
    "tir.tvm_call_cpacked_lowered",
    effect=CallEffect.UPDATE_STATE,
    doc="Calls a C function with arguments that lie on the stack.",
)
CALL_TRACE_PACKED_LOWERED = register_op(
    "tir.tvm_call_trace_packed_lowered",
    effect=CallEffect.UPDATE_STATE,
    prints_dtype=True,
    doc="Calls a registered function that looks at values that lie on the stack.",
)
THROW_LAST_ERROR = register_op(
    "tir.tvm_throw_last_error", effect=CallEffect.UPDATE_STATE, doc="Fails with the last error."
)
STATIC_HANDLE = register_op(
    "tir.tvm_static_handle", effect=CallEffect.UPDATE_STATE, doc="Address of a pointer that is kept between calls."
)
ND_MEM_ALLOC_WITH_SCOPE = register_op(
    "tir.nd_mem_alloc_with_scope",
    effect=CallEffect.UPDATE_STATE,
    doc="Allocates memory of several dimensions in a scope, such as a texture.",
)
TEXTURE_STORE = register_op(
    "tir.texture2d_store", effect=CallEffect.UPDATE_STATE, doc="Stores a value at a column and row of a texture."
)
TEXTURE_LOAD = register_op(
    "tir.texture2d_load",
    effect=CallEffect.READ_STATE,
    doc="A channel of the element at a column and row of a texture.",
)
THREAD_CONTEXT = register_op(
    "tir.tvm_thread_context", effect=CallEffect.UPDATE_STATE, doc="A value that is the same as long as a thread runs."
)
CONTEXT_ID = register_op("tir.tvm_context_id", effect=CallEffect.UPDATE_STATE, doc="The context of a virtual thread.")
ATOMIC_ADD = register_op(
    "tir.atomic_add",
    effect=CallEffect.UPDATE_STATE,
    doc="Adds to the element at an address in one step; its old value.",
)
WARP_SHUFFLE = register_op(
    "tir.tvm_warp_shuffle", effect=CallEffect.UPDATE_STATE, doc="A value of another thread of the warp."
)
WARP_SHUFFLE_DOWN = register_op(
    "tir.tvm_warp_shuffle_down", effect=CallEffect.UPDATE_STATE, doc="A value of a later thread of the warp."
)
WARP_SHUFFLE_UP = register_op(
    "tir.tvm_warp_shuffle_up", effect=CallEffect.UPDATE_STATE, doc="A value of an earlier thread of the warp."
)
WARP_ACTIVEMASK = register_op(
    "tir.tvm_warp_activemask", effect=CallEffect.UPDATE_STATE, doc="Which threads of the warp run."
)
ALLOC_WORKSPACE = register_op(
    "tir.TVMBackendAllocWorkspace",
    effect=CallEffect.UPDATE_STATE,
    doc="Memory while a function runs.",
)
FREE_WORKSPACE = register_op("tir.TVMBackendFreeWorkspace", effect=CallEffect.UPDATE_STATE, doc="Gives memory back.")
