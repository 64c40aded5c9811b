"""Questions about TensorIR: effects, memory, blocks, well-formedness, and what passes over loops make of a program."""

import tvm
from tvm import tir
from tvm.script import ir as I
from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
        T.func_attr({"tir.noalias": True})
        B = T.alloc_buffer((32, 32))
        for i, j in T.grid(32, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.exp(A[vi, vj]) + T.float32(1)
        for i, j in T.grid(32, 32):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj, vi] * T.float32(2)


func = Module["main"]
sch = tir.Schedule(Module)
print("-- analyses")
print("well formed:", tir.analysis.verify_well_formed(func), "pure:", tir.analysis.is_pure_function(func))
print("floating-point operations:", tir.analysis.estimate_tir_flops(Module))
print("bytes allocated:", tir.analysis.calculate_allocated_bytes(tvm.lower(Module)["main"]))
buffers = [*func.buffer_map.values(), *func.body.block.alloc_buffers]
for name in "BC":
    block = sch.get(sch.get_block(name))
    reads, writes, opaque = tir.analysis.get_block_access_region(block, {b.data: b for b in buffers})
    print(f"block {name} reads {list(map(str, reads))}, writes {list(map(str, writes))}")
print("variables of a store:", [v.name for v in tir.analysis.undefined_vars(sch.get(sch.get_block("C")).body, [])])

print("-- passes")
SEQUENCE = [
    tir.transform.LowerInitBlock(), tir.transform.PlanAndUpdateBufferAllocationLocation(),
    tir.transform.ConvertBlocksToOpaque(), tir.transform.CompactBufferAllocation(), tir.transform.LowerMatchBuffer(),
    tir.transform.LowerOpaqueBlock(), tir.transform.FlattenBuffer(), tir.transform.NarrowDataType(32),
    tir.transform.Simplify(), tir.transform.StorageRewrite(), tir.transform.CommonSubexprElimTIR(),
    tir.transform.HoistIfThenElse(), tir.transform.UnrollLoop(), tir.transform.RemoveNoOp(),
    tir.transform.ConvertForLoopsToSerial(),
]  # fmt: skip
mod, before = Module, str(Module)
for step in SEQUENCE:
    mod = step(mod)
    print(f"{step.info.name:50} {'changed' if str(mod) != before else 'the same'}")
    before = str(mod)
print(mod)


@T.prim_func
def guarded(A: T.Buffer((30,), "float32"), n: T.int32):
    for i in range(4):
        for j in range(8):
            if T.likely(i * 8 + j < 30):
                A[i * 8 + j] = T.if_then_else(n > 3, A[i * 8 + j] * T.float32(2), T.float32(0))


mod = tvm.IRModule({"main": guarded})
with tvm.transform.PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
    for step in (tir.transform.LoopPartition(), tir.transform.HoistExpression(), tir.transform.Simplify()):
        mod = step(mod)
print(mod["main"].body)


@T.prim_func
def vectors(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "int8")):
    for i in range(16):
        for j in T.vectorized(4):
            A[i * 4 + j] = T.Cast("float32", B[i * 4 + j]) + A[i * 4 + j]


print(tir.transform.VectorizeLoop()(tvm.IRModule({"main": vectors}))["main"].body)


@T.prim_func
def swapped(A: T.Buffer((8,), "float32"), x: T.float32):
    for i in T.unroll(2):
        A[i] = x
    if A[0] > x and A[1] > x:
        A[2] = T.max(A[3], x)
    while A[4] < x:
        A[4] = A[4] + T.float32(1)


names = []
tir.stmt_functor.post_order_visit(swapped.body, lambda node: names.append(type(node).__name__))
print("nodes:", {name: names.count(name) for name in sorted(set(names))})
print(tir.stmt_functor.ir_transform(swapped.body, None, lambda one: tir.FloatImm("float32", 2), ["tir.FloatImm"]))
print(tir.stmt_functor.substitute(swapped.body, {swapped.params[1]: tir.FloatImm("float32", 5)}))
print(swapped.specialize({swapped.params[1]: tir.FloatImm("float32", 3)}))
