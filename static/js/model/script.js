// The script that a model starts with: visible, ordinary, to be edited.
import { ending } from "../model.js";
import { guess, kerasInputs, onnxInputs, savedModelInputs, tensorflowInputs } from "./inputs.js";
import { written } from "./shapes.js";

/** How a model of each kind of file is imported: what to import for it, its inputs where they can be read here, and the
 * lines that give `mod` and `params`, with the shapes of inputs that the file leaves open. */
const FORMATS = {
  onnx: {
    library: "import onnx\n",
    inputs: onnxInputs,
    lines: (name, shape) => `model = onnx.load(${name})
${shape}mod, params = relay.frontend.from_onnx(model${shape && ", shape"})`,
  },
  pt: {
    lines: (name) => `# The shapes are those that the model was traced with. One that was scripted does not know them; give them then:
# relay.frontend.from_pytorch(${name}, [("input", (1, 3, 224, 224))])
mod, params = relay.frontend.from_pytorch(${name})`,
  },
  pt2: { lines: (name) => `mod, params = relay.frontend.from_pytorch(${name})` },
  tflite: { lines: (name) => `mod, params = relay.frontend.from_tflite(${name})` },
  keras: { inputs: kerasInputs, lines: keras },
  h5: { inputs: kerasInputs, lines: keras },
  pb: { inputs: tensorflowInputs, lines: tensorflow },
  zip: { inputs: savedModelInputs, lines: tensorflow },
};

function tensorflow(name, shape) {
  return `${shape}mod, params = relay.frontend.from_tensorflow(${name}${shape && ", shape=shape"})`;
}

function keras(name, shape) {
  return `# Images have their channels first; give layout="NHWC" to keep them last, as Keras has them.
${shape}mod, params = relay.frontend.from_keras(${name}${shape && ", shape"})`;
}

/** The lines that give the shapes of what a file leaves open; none where it leaves nothing open, or cannot be read here. */
async function shapeLines(file, read) {
  const inputs = (await read?.(file).catch(() => [])) ?? [];
  const open = inputs.filter(({ dims }) => dims.some((dim) => typeof dim === "string"));
  return open.length ? `${written(open, (input, index) => guess(input, index)).join("\n")}\n` : "";
}

/** Return a program that imports, builds and runs the model of a file.
 * @param {File} file
 * @returns {Promise<string>} */
export async function modelScript(file) {
  const { library = "", inputs, lines } = FORMATS[ending(file.name)];
  const shape = await shapeLines(file, inputs);
  return `"""${file.name.replaceAll('"', "'").replaceAll("\\", "/")}: from the file to a running model."""
import numpy as np
${library}import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.runtime import vm

${lines(JSON.stringify(file.name), shape)}

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
