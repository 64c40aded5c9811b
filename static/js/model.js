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
weights = {weight.name for weight in model.graph.initializer}
inputs = [value for value in model.graph.input if value.name not in weights]
# A dimension that the file leaves open, such as the batch, is 1 here.
shape = {value.name: tuple(d.dim_value or 1 for d in value.type.tensor_type.shape.dim) for value in inputs}
mod, params = relay.frontend.from_onnx(model, shape)

with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm -mcpu=native", params=params)

device = tvm.cpu(0)
executor = graph_executor.GraphModule(lib["default"](device))
random = np.random.default_rng(0)
for value in inputs:
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    executor.set_input(value.name, random.random(shape[value.name]).astype(dtype))
executor.run()
for index in range(executor.get_num_outputs()):
    print("output", index, executor.get_output(index).shape)
print(executor.benchmark(device, number=1, repeat=5))
`;
}
