// The script that a model starts with: visible, ordinary, to be edited.

/** Return a program that imports, builds and runs the model in that file. */
export function modelScript(file) {
  const name = JSON.stringify(file);
  return `"""${file.replaceAll('"', "'").replaceAll("\\", "/")}: from the file to a running model."""
import numpy as np
import onnx
import tvm
from tvm import relay
from tvm.contrib import graph_executor

model = onnx.load(${name})
known = {weight.name for weight in model.graph.initializer}
inputs = [given for given in model.graph.input if given.name not in known]
# A dimension that the file leaves open, such as the batch, is 1 here.
shape = {given.name: tuple(d.dim_value or 1 for d in given.type.tensor_type.shape.dim) for given in inputs}
mod, params = relay.frontend.from_onnx(model, shape)

with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm -mcpu=native", params=params)

device = tvm.cpu(0)
executor = graph_executor.GraphModule(lib["default"](device))
random = np.random.default_rng(0)
for given in inputs:
    kind = onnx.helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
    executor.set_input(given.name, random.random(shape[given.name]).astype(kind))
executor.run()
for index in range(executor.get_num_outputs()):
    print("output", index, executor.get_output(index).shape)
print(executor.benchmark(device, number=1, repeat=5))
`;
}
