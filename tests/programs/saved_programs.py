"""Programs as data: JSON, structural equality, paths to a difference, layouts, attributes, targets, and instruments."""

import numpy as np
import tvm
from tvm import relay, te, tir
from tvm.script import tir as T

A = te.placeholder((8, 8), name="A")
B = te.compute((8, 8), lambda i, j: A[j, i] + 1.0, name="B")
s = te.create_schedule(B.op)
s[B].tile(*B.op.axis, 4, 4)
mod = tvm.lower(s, [A, B])
again = tvm.ir.load_json(tvm.ir.save_json(mod))
print("read again:", tvm.ir.structural_equal(mod, again), tvm.ir.structural_hash(mod) == tvm.ir.structural_hash(again))
print(again)


def scaled(factor):
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] * T.float32(factor)

    return main


where = tvm.ir.base.get_first_structural_mismatch(scaled(2), scaled(3))
print("differs at:", where[0])
try:
    tvm.ir.assert_structural_equal(scaled(2), scaled(3))
except ValueError as error:
    print(error)
print(tvm.script.from_source(scaled(2).script()).body)

print("-- functions in a module")
pair = tvm.IRModule({"one": scaled(1), "two": scaled(2)})
pair.update(tvm.IRModule({"three": scaled(3)}))
print([var.name_hint for var in pair.get_global_vars()], pair["three"].with_attr("noted", 1).attrs["noted"])
clone = tvm.IRModule({name: pair[name] for name in ("one", "two")}, attrs={"made": "here"})
print(clone.get_attr("made"), len(clone.functions), clone.with_attr("again", 2).attrs.keys())

print("-- layouts and index maps")
layout = tir.layout("NCHW8c")
print(layout.name, len(layout), layout.index_of("C"), layout.factor_of("C"))
change = tir.bijective_layout("NCHW", "NCHW8c")
print(change.forward_shape((1, 32, 7, 7)), change.forward_index([0, 11, 2, 3]), change.backward_index([0, 1, 2, 3, 3]))
tiles = tir.IndexMap.from_func(lambda i, j: [i // 4, j // 4, i % 4, j % 4])
print(tiles, tiles.map_shape([8, 8]), tiles.map_indices([5, 6]), tiles.inverse([8, 8]))
print(tiles.map_ndarray(tvm.nd.array(np.arange(64).reshape(8, 8))).numpy()[0, 1].tolist())
print(tir.IndexMap.from_func(lambda i: [i // 4, i % 4]).non_surjective_inverse([10])[1])

print("-- targets")
target = tvm.target.Target("cuda -arch=sm_80", host="llvm -mcpu=skylake-avx512")
print(target.kind.name, sorted(target.keys), target.arch, target.max_num_threads, target.thread_warp_size)
print(target.host.mcpu, target.host.export()["mcpu"], tvm.target.Target(target.export()) == target)
with tvm.target.Target("llvm -mcpu=apple-m1"):
    print(tvm.target.Target.current().mcpu, tvm.target.Target.current().features is not None)


@tvm.target.generic_func
def tile_of(size):
    return min(size, 8)


@tile_of.register("cuda")
def tile_of_cuda(size):
    return min(size, 32)


with tvm.target.Target("cuda"):
    print("a generic function for cuda:", tile_of(64))

print("-- instruments")


@tvm.instrument.pass_instrument
class Counts:
    """Counts the passes that run, and those of graphs alone."""

    def __init__(self):
        self.names = []

    def run_after_pass(self, mod, info):
        self.names.append(info.name)


counts, timing = Counts(), tvm.instrument.PassTimingInstrument()
text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { %x + 1f + 2f }'
with tvm.transform.PassContext(opt_level=3, instruments=[counts, timing], disabled_pass=["FoldConstant"]):
    passes = [relay.transform.SimplifyExpr(), relay.transform.FoldConstant(), relay.transform.FuseOps()]
    result = tvm.transform.Sequential(passes)(relay.fromtext(text))
    print("timed passes:", len(timing.render().splitlines()) > 2)
print([name for name in counts.names if name in ("SimplifyExpr", "FoldConstant", "FuseOps")])
print(result["main"])

print("-- arrays")
array = tvm.nd.array(np.arange(6, dtype="int32").reshape(2, 3))
shared = np.from_dlpack(array)
array.copyfrom(np.full((2, 3), 7, "int32"))
print(shared.tolist(), array.shape, array.dtype, array.device, tvm.nd.from_dlpack(np.ones(2)).numpy().tolist())
print(tvm.nd.empty((2, 2), "float16").numpy().nbytes, array.copyto(tvm.cpu(0)).numpy().sum())
print(tvm.DataType("float32x4").lanes, tvm.runtime.convert([1, "two", 3.0]))
