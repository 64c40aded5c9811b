"""A small network from ONNX

The script writes a model as an exporter would, imports it, builds it, and compares its outputs with those of the
interpreter. To start from a model of your own, drop its file on the page.
"""

import numpy as np
import onnx
import tvm
from onnx import TensorProto, helper, numpy_helper
from tvm import relay
from tvm.contrib import graph_executor

random = np.random.default_rng(7)
weights = {
    "first.weight": random.normal(size=(16, 3, 3, 3)) / 6,
    "first.bias": random.normal(size=(16,)) / 6,
    "second.weight": random.normal(size=(32, 16, 3, 3)) / 12,
    "second.bias": random.normal(size=(32,)) / 12,
    "head.weight": random.normal(size=(10, 32)) / 6,
    "head.bias": random.normal(size=(10,)) / 6,
}
nodes = [
    helper.make_node("Conv", ["image", "first.weight", "first.bias"], ["a"], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["a"], ["b"]),
    helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("Conv", ["c", "second.weight", "second.bias"], ["d"], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["d"], ["e"]),
    helper.make_node("GlobalAveragePool", ["e"], ["f"]),
    helper.make_node("Flatten", ["f"], ["g"]),
    helper.make_node("Gemm", ["g", "head.weight", "head.bias"], ["h"], transB=1),
    helper.make_node("Softmax", ["h"], ["classes"], axis=1),
]
graph = helper.make_graph(
    nodes,
    "small",
    [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 32, 32])],
    [helper.make_tensor_value_info("classes", TensorProto.FLOAT, [1, 10])],
    [numpy_helper.from_array(value.astype("float32"), name) for name, value in weights.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
onnx.checker.check_model(model)

mod, params = relay.frontend.from_onnx(model, {"image": (1, 3, 32, 32)})
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm -mcpu=native", params=params)

image = random.normal(size=(1, 3, 32, 32)).astype("float32")
executor = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
executor.set_input("image", image)
executor.run()
classes = executor.get_output(0).numpy()
print("classes:", np.round(classes[0], 3))

expected = relay.create_executor("debug", mod=mod).evaluate()(image)
np.testing.assert_allclose(classes, expected, rtol=1e-3, atol=1e-4)
print("agrees with the interpreter, which runs each operator with NumPy")
