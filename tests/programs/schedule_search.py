"""A search of schedules: what the rules derive, what the cost model sees of it, and a few candidates measured."""

import random

import numpy as np
import tvm
from tvm import te, tir

from compiler.search import Database, Evolution, LearnedModel, Machine, ScheduleSpace, tune
from compiler.search.features import features
from compiler.target.target import Target
from compiler.tir.schedule.writing import write_script


def layer(rows, columns, depth):
    """A dense layer with a bias and a rectifier."""
    A, B = te.placeholder((rows, depth), name="A"), te.placeholder((columns, depth), name="B")
    bias, k = te.placeholder((columns,), name="bias"), te.reduce_axis((0, depth), name="k")
    C = te.compute((rows, columns), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    D = te.compute((rows, columns), lambda i, j: tir.max(C[i, j] + bias[j], 0.0), name="D")
    return te.create_prim_func([A, B, bias, D])


machine = Machine.of(Target("llvm -mcpu=skylake-avx512"), 1)
space = ScheduleSpace(layer(16, 32, 24), machine)
rng = random.Random(0)
first, second = space.sample(rng), space.sample(rng)
script = write_script(layer(16, 32, 24), space.schedule(first), "llvm -mcpu=skylake-avx512", "One candidate")
print("a candidate as a script of primitives:", script.splitlines()[0], "sch.split" in script, "tvm.build" in script)
print("another is different:", str(space.program(second)) != str(space.program(first)))
children = space.crossed(first, second, rng), space.mutated(first, rng)
print("their children are sound:", [space.is_sound(child) for child in children])

candidates = [space.sample(rng) for _ in range(4)]
rows = [features(space.program(candidate)["main"], machine) for candidate in candidates]
print("each candidate has as many features:", len({len(row) for row in rows}) == 1)
model = LearnedModel()
model.update("layer", rows, [4e-6, 3e-6, 2e-6, 1e-6])
print("a prediction for each candidate:", len(model.predict(rows)) == len(rows))

log = Database()
found = tune(layer(4, 8, 6), "llvm", trials=2, seed=0, evolution=Evolution(2), log=log, is_apart=False)
print("trials:", len(found.trials), " records:", len(log) > 2, " not slower:", found.seconds <= found.default_seconds)
kernel = found.schedule.mod if found.schedule else tvm.IRModule({"main": layer(4, 8, 6)})
draw = np.random.default_rng(0)
a, b, bias = (draw.random(shape, "float32") - 0.5 for shape in ((4, 6), (8, 6), (8,)))
a, b, bias = a.astype("float32"), b.astype("float32"), bias.astype("float32")
out = tvm.nd.array(np.zeros((4, 8), "float32"))
tvm.build(kernel, target="llvm")(*map(tvm.nd.array, (a, b, bias)), out)
print("as NumPy:", np.allclose(out.numpy(), np.maximum(a @ b.T + bias, 0), rtol=1e-4, atol=1e-5))
