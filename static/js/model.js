// The script that a model starts with: visible, ordinary, to be edited.

const keras = (name) => `# A dimension that the file leaves open is 1 here; give shape={"input": (1, 3, 224, 224)} where it is another.
# Images have their channels first; give layout="NHWC" to keep them last, as Keras has them.
mod, params = relay.frontend.from_keras(${name})`;

/** How a model of each kind of file is imported: what to import for it, and the lines that give `mod`, `params`, `inputs`. */
const FORMATS = {
  onnx: {
    library: "import onnx\n",
    lines: (name) => `model = onnx.load(${name})
weights = {weight.name for weight in model.graph.initializer}
inputs = [value for value in model.graph.input if value.name not in weights]
# A dimension that the file leaves open, such as the batch, is 1 here.
shape = {value.name: tuple(max(d.dim_value, 1) for d in value.type.tensor_type.shape.dim) for value in inputs}
mod, params = relay.frontend.from_onnx(model, shape)`,
  },
  pt: {
    lines: (name) => `# The shapes are those that the model was traced with. One that was scripted does not know them; give them then:
# relay.frontend.from_pytorch(${name}, [("input", (1, 3, 224, 224))])
mod, params = relay.frontend.from_pytorch(${name})`,
  },
  pt2: { lines: (name) => `mod, params = relay.frontend.from_pytorch(${name})` },
  tflite: { lines: (name) => `mod, params = relay.frontend.from_tflite(${name})` },
  keras: { lines: keras },
  h5: { lines: keras },
  pb: {
    lines: (name) => `# A dimension that the file leaves open is 1 here; give shape={"input": (1, 224, 224, 3)} where it is another.
mod, params = relay.frontend.from_tensorflow(${name})`,
  },
  zip: {
    lines: (name) => `# The directory of a SavedModel, packed. A dimension that it leaves open is 1 here.
mod, params = relay.frontend.from_tensorflow(${name})`,
  },
};

const ending = (file) => file.slice(file.lastIndexOf(".") + 1).toLowerCase();

/** Whether a file is a model, by its name. */
export const isModel = (file) => Object.hasOwn(FORMATS, ending(file));

/** Return a program that imports, builds and runs the model in that file. */
export function modelScript(file) {
  const { library = "", lines } = FORMATS[ending(file)];
  return `"""${file.replaceAll('"', "'").replaceAll("\\", "/")}: from the file to a running model."""
import numpy as np
${library}import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.runtime import vm

${lines(JSON.stringify(file))}

target, device = "llvm -mcpu=native", tvm.cpu(0)
random = np.random.default_rng(0)
free = [variable for variable in mod["main"].params if variable.name_hint not in params]
values = {
    v.name_hint: random.random([int(extent) for extent in v.checked_type.shape]).astype(v.checked_type.dtype)
    for v in free
}
with tvm.transform.PassContext(opt_level=3):
    try:
        lib = relay.build(mod, target, params=params)
        executor = graph_executor.GraphModule(lib["default"](device))
        executor.set_input(**values)
        executor.run()
        outputs = [executor.get_output(index) for index in range(executor.get_num_outputs())]
    except tvm.TVMError as error:
        # Branches, loops and shapes that only the running program knows need the virtual machine.
        if "needs the virtual machine" not in str(error):
            raise
        executor = vm.VirtualMachine(relay.vm.compile(mod, target, params=params), device)
        executor.set_input("main", **values)
        executor.run()
        outputs = executor.get_outputs()
for index, output in enumerate(outputs):
    print("output", index, output.shape)
print(executor.benchmark(device, number=1, repeat=5))
`;
}
