"""Random ONNX graphs against onnxruntime: ``python -m tests.properties.onnx_graphs FIRST COUNT`` runs so many seeds.

Each graph runs as it was imported, built for one of several processors in turn.  Inputs hold NaN and infinities in some
graphs; operators that leave open what they make of them do not read these.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, helper

from compiler.driver.relay.build import build
from compiler.ir.error import TVMError
from compiler.relay.frontend import from_onnx
from compiler.runtime.device import cpu
from compiler.runtime.graph.graph_module import GraphModule
from tests.machines import processors
from tests.properties.onnx_nodes import FLOATS, MAKERS, TYPES, Draft, numbers

Array = np.ndarray[Any, Any]

MCPUS = processors()
OPSET = 20
MOST = 4096
"""Elements of a value, and the magnitude beyond which rounding says little."""
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)
OF_NUMBERS = {
    "ReduceMax", "ReduceMin", "ReduceLogSumExp", "ArgMax", "ArgMin", "MaxPool", "GlobalMaxPool", "TopK", "Cast",
    "QuantizeLinear", "LpNormalization", "Resize", "ThresholdedRelu", "Shrink", "Conv", "ConvTranspose", "MatMul",
    "Gemm", "CumSum", "Softmax", "LogSoftmax", "BatchNormalization", "InstanceNormalization", "LayerNormalization",
    "LRN", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "GlobalAveragePool",
    "AveragePool", "Mod", "Sign", "Pow", "Mish", "Gelu", "Asinh", "Sinh", "Softplus", "Celu", "Erf",
}  # fmt: skip
"""What they make of a NaN or an infinity, ONNX leaves open, and onnxruntime to its order and its approximations."""
STEPS = {
    "Floor", "Ceil", "Round", "Sign", "Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual", "ArgMax", "ArgMin",
    "TopK", "Cast", "QuantizeLinear", "ThresholdedRelu", "Shrink", "Mod", "Reciprocal", "Div", "Log", "IsInf",
}  # fmt: skip
"""Results jump, or grow without bound: they read exact values only."""
EXACT = {
    "Relu", "Abs", "Neg", "Floor", "Ceil", "Round", "Sign", "IsNaN", "IsInf", "Identity", "Not", "And", "Or", "Xor",
    "Max", "Min", "Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual", "Where", "Clip", "ReduceMax",
    "ReduceMin", "ArgMax", "ArgMin", "TopK", "Reshape", "Transpose", "Flatten", "Unsqueeze", "Expand", "Tile", "Slice",
    "Concat", "Split", "Pad", "Gather", "GatherElements", "GatherND", "ScatterElements", "MaxPool", "GlobalMaxPool",
    "QuantizeLinear", "DequantizeLinear", "Cast", "ThresholdedRelu", "Shrink", "Add", "Sub",
}  # fmt: skip
"""Results are exact where the operands are, sums while the numbers are multiples of a quarter that are not large."""


@dataclass(frozen=True)
class Graph:
    """A model, what it is given, and what it returns."""

    model: ModelProto
    feeds: dict[str, Array]
    wanted: dict[str, Array]
    nodes: list[NodeProto]


def _model(nodes: list[NodeProto], feeds: dict[str, Array], constants: dict[str, Array], outputs: list[str]) -> Any:
    inputs = [helper.make_tensor_value_info(n, TYPES[str(v.dtype)], v.shape) for n, v in feeds.items()]
    weights = [helper.make_tensor(n, TYPES[str(v.dtype)], v.shape, v.tobytes(), raw=True) for n, v in constants.items()]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, "graph", inputs, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def _typed(model: ModelProto, values: dict[str, Array]) -> ModelProto:
    """Give outputs their types, as exporters do."""
    for output in model.graph.output:
        value = values[output.name]
        output.CopyFrom(helper.make_tensor_value_info(output.name, TYPES[str(value.dtype)], value.shape))
    return model


def _computed(node: NodeProto, draft: Draft) -> list[Array] | None:
    """Return the outputs of a node by onnxruntime, or by NumPy where that errs; None if a node is refused."""
    known = {**draft.values, **draft.constants}
    if node.op_type == "Where":  # onnxruntime makes 0.0 of a -0.0 that is chosen
        return [np.where(*[known[name] for name in node.input])]
    feeds = {name: known[name] for name in node.input if name in draft.values}
    constants = {name: known[name] for name in node.input if name in draft.constants}
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        data = _model([node], feeds, constants, list(node.output)).SerializeToString()
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return [np.asarray(v) for v in session.run(None, feeds)]
    except Exception as refusal:  # onnxruntime's exceptions have no common base
        if "onnxruntime" not in type(refusal).__module__:
            raise
        return None


def _is_defined(node: NodeProto, draft: Draft) -> bool:
    """Return whether every way of computing a node finds the same value."""
    read = [draft.values[name] for name in node.input if name in draft.values]
    given = set(node.input) & set(draft.values)
    if node.op_type in STEPS and not given <= draft.exact:
        return False
    if node.op_type == "LayerNormalization" and any(_is_even(v) for v in read):
        return False
    if node.op_type == "InstanceNormalization" and any(_is_even(v.reshape(*v.shape[:2], -1)) for v in read):
        return False
    special = any(v.dtype.kind == "f" and not np.isfinite(v).all() for v in read)
    return not (special and node.op_type in OF_NUMBERS)


def _is_even(rows: Array) -> bool:
    """Return whether one is nearly of a single value: a normalization divides what rounding leaves of it by nothing."""
    return bool((np.ptp(rows, axis=-1) <= 1e-3 * np.abs(rows).max(axis=-1)).any())


def _is_useful(found: list[Array]) -> bool:
    for v in found:
        if v.size > MOST or not v.size or v.ndim > 5:
            return False
        numbers_ = v[np.isfinite(v)] if v.dtype.kind == "f" else v
        if v.dtype.kind in "fi" and numbers_.size and np.abs(numbers_.astype("float64")).max() > MOST:
            return False
    return True


def _stays_exact(node: NodeProto, draft: Draft, found: list[Array]) -> bool:
    if node.op_type not in EXACT or not set(node.input) & set(draft.values) <= draft.exact:
        return False
    fine = 4 if any(v.dtype == "float16" for v in found) else 256
    return all(
        v.dtype.kind != "f" or bool(np.all(np.mod(v[np.isfinite(v)].astype("float64") * fine, 1) == 0)) for v in found
    )


def random_graph(seed: int) -> Graph:
    """Return a graph of up to twelve nodes; every value that no node reads is an output."""
    rng = np.random.default_rng(seed)
    draft, nodes, feeds = Draft(rng), [], {}
    for _ in range(int(rng.integers(1, 4))):
        dtype = str(rng.choice([*FLOATS, "int32", "int64"], p=[0.75, 0.08, 0.05, 0.06, 0.06]))
        shape = [int(e) for e in rng.integers(1, 8, int(rng.choice([1, 2, 3, 4], p=[0.15, 0.25, 0.2, 0.4])))]
        value = numbers(draft, shape, dtype)
        if rng.random() < 0.3 and value.dtype.kind == "f":
            chosen = rng.random(shape) < 0.15
            value[chosen] = rng.choice(SPECIAL, int(chosen.sum()))
        name = draft.fresh("x")
        draft.values[name] = feeds[name] = value
        draft.exact.add(name)
    makers, weights = list(MAKERS), np.array(list(MAKERS.values()))
    wanted_nodes = int(rng.integers(2, 13))
    for _ in range(60):
        if len(nodes) == wanted_nodes:
            break
        node = makers[int(rng.choice(len(makers), p=weights / weights.sum()))](draft)
        found = None if node is None or not _is_defined(node, draft) else _computed(node, draft)
        if node is None or found is None or not _is_useful(found):
            continue
        exact = _stays_exact(node, draft, found)
        nodes.append(node)
        draft.values.update(zip(node.output, found, strict=True))
        draft.exact |= set(node.output) if exact else set()
    read = {name for node in nodes for name in node.input}
    outputs = [name for node in nodes for name in node.output if name not in read]
    used = {n: v for n, v in feeds.items() if n in read}
    constants = {n: v for n, v in draft.constants.items() if n in read}
    model = _typed(_model(nodes, used, constants, outputs), draft.values)
    return Graph(model, used, {name: draft.values[name] for name in outputs}, nodes)


def _is_half(graph: Graph) -> bool:
    values = [*graph.feeds.values(), *graph.wanted.values()]
    casts = any(a.i == TYPES["float16"] for n in graph.nodes if n.op_type == "Cast" for a in n.attribute)
    return casts or any(v.dtype == "float16" for v in values)


def difference(graph: Graph, mcpu: str) -> str:
    """Return how a built graph's outputs differ from onnxruntime's; empty if they do not.

    Raises
    ------
    TVMError
        If the graph is refused.
    """
    mod, params = from_onnx(graph.model)
    module = GraphModule(build(mod, f"llvm -mcpu={mcpu}", params=params)["default"](cpu()))
    for name, value in graph.feeds.items():
        module.set_input(name, value)
    module.run()
    tolerance = 2e-2 if _is_half(graph) else 2e-4
    for i, (name, wanted) in enumerate(graph.wanted.items()):
        found = module.get_output(i).numpy()
        if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
            return f"{name} is {found.dtype}{found.shape} instead of {wanted.dtype}{wanted.shape}"
        if wanted.dtype.kind != "f":
            same = np.array_equal(found, wanted)
        else:
            same = np.allclose(found, wanted, tolerance, tolerance, equal_nan=True)
        if not same:
            wrong = found != wanted if wanted.dtype.kind != "f" else ~np.isclose(found, wanted, 1e-3, 1e-3, True)
            return f"{name}: {found[wrong][:4]} instead of {wanted[wrong][:4]}, {wrong.sum()} of {wrong.size}"
    return ""


def _run(seed: int) -> tuple[str, str]:
    """Return what became of a seed's graph: same, refused or wrong; and why."""
    graph, mcpu = random_graph(seed), MCPUS[seed % len(MCPUS)]
    if not graph.nodes:
        return "empty", ""
    try:
        reason = difference(graph, mcpu)
    except TVMError as refusal:
        return "refused", f"{type(refusal).__name__}: {refusal}"
    except Exception:  # what escapes is a fault like a wrong result
        return "wrong", traceback.format_exc()
    return ("wrong" if reason else "same"), f"{mcpu}: {reason}"


def main() -> None:
    """Run the seeds that are asked for, and print how many graphs are the same, refused and wrong."""
    first, count = (int(a) for a in sys.argv[1:])
    results: Counter[str] = Counter()
    for seed in range(first, first + count):
        kind, reason = _run(seed)
        results[kind] += 1
        if kind in ("wrong", "refused"):
            operators = " ".join(node.op_type for node in random_graph(seed).nodes)
            print(f"seed {seed} {kind} [{operators}] {reason[-700:]}", flush=True)
        if (seed + 1) % 100 == 0:
            print(f"up to seed {seed}: {dict(results)}", flush=True)
    print(dict(results), flush=True)


if __name__ == "__main__":
    main()
