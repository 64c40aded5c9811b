"""Operators of lowered functions: arguments, calls and device primitives."""

from __future__ import annotations

from compiler.ir.op import CallEffect, Op, register_op


def _acting(name: str, doc: str, prints_dtype: bool = False) -> Op:
    """Register an operator whose calls do more than return a value."""
    return register_op(f"tir.{name}", effect=CallEffect.UPDATE_STATE, prints_dtype=prints_dtype, doc=doc)


STACK_ALLOCA = _acting("tvm_stack_alloca", "Room for arguments on the stack.")
STRUCT_GET = register_op(
    "tir.tvm_struct_get",
    effect=CallEffect.READ_STATE,
    prints_dtype=True,
    dtype_is_last=True,
    doc="A field of an argument's structure.",
)
STRUCT_SET = _acting("tvm_struct_set", "Sets a field of a structure.")
CALL_PACKED_LOWERED = _acting(
    "tvm_call_packed_lowered", "Calls a registered function with arguments that lie on the stack."
)
CALL_CPACKED = _acting("tvm_call_cpacked", "Calls a C function as a registered one is called.")
CALL_CPACKED_LOWERED = _acting("tvm_call_cpacked_lowered", "Calls a C function with arguments that lie on the stack.")
CALL_TRACE_PACKED_LOWERED = _acting(
    "tvm_call_trace_packed_lowered",
    "Calls a registered function that looks at values that lie on the stack.",
    prints_dtype=True,
)
THROW_LAST_ERROR = _acting("tvm_throw_last_error", "Fails with the last error.")
STATIC_HANDLE = _acting("tvm_static_handle", "Address of a pointer that is kept between calls.")
ND_MEM_ALLOC_WITH_SCOPE = _acting(
    "nd_mem_alloc_with_scope", "Allocates memory of several dimensions in a scope, such as a texture."
)
TEXTURE_STORE = _acting("texture2d_store", "Stores a value at a column and row of a texture.")
TEXTURE_LOAD = register_op(
    "tir.texture2d_load", effect=CallEffect.READ_STATE, doc="A channel of the element at a column and row of a texture."
)
THREAD_CONTEXT = _acting("tvm_thread_context", "A value that is the same as long as a thread runs.")
CONTEXT_ID = _acting("tvm_context_id", "The context of a virtual thread.")
ATOMIC_ADD = _acting("atomic_add", "Adds to the element at an address in one step; its old value.")
WARP_SHUFFLE = _acting("tvm_warp_shuffle", "A value of another thread of the warp.")
WARP_SHUFFLE_DOWN = _acting("tvm_warp_shuffle_down", "A value of a later thread of the warp.")
WARP_SHUFFLE_UP = _acting("tvm_warp_shuffle_up", "A value of an earlier thread of the warp.")
WARP_ACTIVEMASK = _acting("tvm_warp_activemask", "Which threads of the warp run.")
TILE_CONFIGURATION = _acting(
    "tile_configuration",
    "Makes tile registers, each of some rows and some bytes of a row, all zeros; code for -mcpu=sapphirerapids or"
    " another x86-64 processor with AMX has them.",
)
ALLOC_WORKSPACE = _acting("TVMBackendAllocWorkspace", "Memory while a function runs.")
FREE_WORKSPACE = _acting("TVMBackendFreeWorkspace", "Gives memory back.")
