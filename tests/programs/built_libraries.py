"""What a build leaves: sources and objects, libraries that are loaded again, parameters, profiles and memory."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import tvm
from tvm import relay, te
from tvm.contrib import graph_executor
from tvm.contrib.debugger import debug_executor
from tvm.runtime import profiling
from tvm.runtime.profiler_vm import VirtualMachineProfiler
from tvm.runtime.vm import VirtualMachine

folder = Path(tempfile.mkdtemp())
A = te.placeholder((16,), name="A")
B = te.compute((16,), lambda i: te.exp(A[i]) * 2.0 + te.if_then_else(A[i] > 0.0, A[i], -A[i]), name="B")
s = te.create_schedule(B.op)
s[B].vectorize(s[B].split(B.op.axis[0], 4)[1])
values = np.linspace(-1, 1, 16, dtype="float32")
expected = np.exp(values) * 2 + np.abs(values)


def call(module):
    """Whether a module's function computes what it should."""
    out = tvm.nd.array(np.zeros(16, "float32"))
    module["kernel"](tvm.nd.array(values), out)
    return np.allclose(out.numpy(), expected, rtol=1e-5)


module = tvm.build(s, [A, B], target="llvm", name="kernel")
print("LLVM:", "define" in module.get_source("ll"), " assembly:", "kernel" in module.get_source("asm"), call(module))
module.save(str(folder / "kernel.o"))
module.export_library(str(folder / "kernel.so"))
print("loaded again:", call(tvm.runtime.load_module(str(folder / "kernel.so"))))
source = tvm.build(s, [A, B], target="c", name="kernel").get_source()
print("in C:\n" + source)

TEXT = """
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(8, 3, 3, 3), float32], %d: Tensor[(4, 8), float32]) {
  let %a = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]));
  nn.softmax(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%a)), %d))
}
"""
mod = relay.fromtext(TEXT)
random = np.random.default_rng(0)
params = {name: tvm.nd.array(random.random(shape, "float32")) for name, shape in (("w", (8, 3, 3, 3)), ("d", (4, 8)))}
x = random.random((1, 3, 8, 8), "float32")
reference = relay.create_executor("debug", mod=mod).evaluate()(x, params["w"], params["d"]).numpy()
for executor in ("graph", "aot"):
    kind = relay.backend.Executor(executor)
    with tvm.transform.PassContext(opt_level=3):
        factory = relay.build(mod, target="llvm", executor=kind, params=params)
    factory.export_library(str(folder / f"{executor}.so"))
    loaded = tvm.runtime.load_module(str(folder / f"{executor}.so"))["default"](tvm.cpu(0))
    runner = graph_executor.GraphModule(loaded) if executor == "graph" else tvm.runtime.executor.AotModule(loaded)
    runner.set_input("x", x)
    runner.run()
    print(f"{executor}: as interpreted: {np.allclose(runner.get_output(0).numpy(), reference, rtol=1e-4)}")
    if executor == "graph":
        graph = factory
saved = tvm.runtime.save_param_dict(params)
sizes = {name: value.numpy().size for name, value in sorted(graph.get_params().items())}  # shapes fit the processor
print("parameters:", sorted(tvm.runtime.load_param_dict(saved)), sizes)

debugged = debug_executor.create(graph.get_graph_json(), graph.get_lib(), tvm.cpu(0), dump_root=str(folder))
debugged.set_input("x", x, **graph.get_params())
report = debugged.profile(collectors=[])
print("profiled:", [call["Name"].strip() for call in report.calls], sorted(report.device_metrics))
again = profiling.Report.from_json(report.json())
print("as JSON:", [call["Name"] for call in again.calls] == [call["Name"] for call in report.calls])
print("as CSV:", "Name" in report.csv())
print("a node's result:", debugged.debug_get_output(3).shape)
timed = graph_executor.GraphModule(graph["default"](tvm.cpu(0))).benchmark(tvm.cpu(0), repeat=2, number=1)
print("timed:", timed.mean > 0, len(timed.results))

executable = relay.vm.compile(mod, target="llvm", params=params)
profiler = VirtualMachineProfiler(executable, tvm.cpu(0))
print("machine:", [call["Name"].strip() for call in profiler.profile(x, func_name="main").calls])
machine = VirtualMachine(executable, tvm.cpu(0))
machine.set_input("main", x=x)
machine.invoke_stateful("main")
print("outputs:", [out.shape for out in machine.get_outputs()])
shutil.rmtree(folder)
