"""Kernels in TVMScript: a launch, and a loop whose copies run ahead of their use; emulated."""

import numpy as np
import tvm
from tvm import tir
from tvm.script import tir as T

from compiler.driver.emulate import emulate


@T.prim_func
def neighbours(A: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("own"):
                vb, vt = T.axis.remap("SS", [b, t])
                C[vb * 32 + vt] = A[vb * 32 + vt] * 2


print("-- a launch in TVMScript")
print(tvm.build(neighbours, target="cuda").imported_modules[0].get_source())
a, c = np.arange(64, dtype="int32"), np.zeros(64, "int32")
emulate(tvm.IRModule({"main": neighbours}), target="cuda")(a, c)
print("emulated:", np.array_equal(c, 2 * a))

print("-- pipelined copies and double buffers")


@T.prim_func
def scaled(A: T.Buffer((16, 128), "float32"), C: T.Buffer((16, 128), "float32")):
    for t in T.thread_binding(128, thread="threadIdx.x"):
        for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
            with T.block("tile"):
                T.reads(A[i, t])
                T.writes(C[i, t])
                S = T.alloc_buffer((1, 128), scope="shared")
                with T.block("copy"):
                    T.reads(A[i, t])
                    T.writes(S[0, t])
                    S[0, t] = A[i, t]
                with T.block("use"):
                    T.reads(S[0, t])
                    T.writes(C[i, t])
                    C[i, t] = S[0, t] * T.float32(2)


pipelined = tir.transform.InjectSoftwarePipeline()(tvm.IRModule({"main": scaled}))
print(pipelined["main"].body)
x, y = np.random.default_rng(0).random((16, 128), "float32"), np.zeros((16, 128), "float32")
emulate(tvm.IRModule({"main": scaled}), target="cuda")(x, y)
print("emulated:", np.allclose(y, 2 * x))
