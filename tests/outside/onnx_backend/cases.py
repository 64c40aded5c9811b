"""The cases of ``onnx.backend.test`` and the tier that each belongs to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
NEWEST_COMPARED = 26
"""Operator sets up to this one are in the published comparison."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON = _words(
    """
    Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast Ceil Clip Concat Constant ConstantOfShape Conv
    ConvTranspose Cos CumSum DepthToSpace Div Dropout Einsum Elu Equal Erf Exp Expand Flatten Floor Gather
    GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual GroupNormalization
    HardSigmoid HardSwish Identity InstanceNormalization LRN LayerNormalization LeakyRelu Less LessOrEqual Log
    LogSoftmax LpNormalization MatMul Max MaxPool Mean Min Mod Mul Neg Not Or PRelu Pad Pow Range Reciprocal ReduceL1
    ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize
    Round ScatterND Selu Shape Sigmoid Sign Sin Slice Softmax Softplus SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh
    Tile TopK Transpose Trilu Unsqueeze Upsample Where
    """
)
"""What most models are made of."""
FUSED = _words("Attention RotaryEmbedding RMSNormalization Swish Mish")
RECURRENT = _words("LSTM GRU RNN")
QUANTISED = _words(
    """
    ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul QuantizeLinear
    """
)
FLOW = _words("If Loop Scan SequenceMap")
DATA_DEPENDENT = _words("NonZero Unique Compress NonMaxSuppression")
NOT_TENSORS = _words(
    """
    SequenceInsert SequenceMap SplitToSequence SequenceConstruct SequenceAt SequenceEmpty SequenceErase SequenceLength
    ConcatFromSequence Optional OptionalGetElement OptionalHasElement StringConcat StringNormalizer StringSplit
    RegexFullMatch TfIdfVectorizer ImageDecoder
    """
)
RANDOM = _words("Bernoulli RandomNormal RandomNormalLike RandomUniform RandomUniformLike Multinomial")
LOSSES = _words("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss")
USUAL_TYPES = frozenset(("float", "int32", "int64", "bool"))
DENSE_TYPES = USUAL_TYPES | frozenset(("double", "int8", "int16", "uint8", "uint16", "uint32", "uint64"))
SMALL_TYPES = ("float16", "bfloat16", "float8", "float4", "int4", "uint4", "int2", "uint2", "complex")

DECIDES_SHAPES: dict[str, tuple[int, ...]] = {
    "Reshape": (1,),
    "Expand": (1,),
    "Tile": (1,),
    "Slice": (1, 2, 3, 4),
    "Pad": (1, 3),
    "Squeeze": (1,),
    "Unsqueeze": (1,),
    "Split": (1,),
    "Resize": (1, 2, 3),
    "Upsample": (1,),
    "ConstantOfShape": (0,),
    "Range": (0, 1, 2),
    "TopK": (1,),
    "OneHot": (1,),
    "CumSum": (1,),
    "CumProd": (1,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "AffineGrid": (1,),
    "MaxUnpool": (2,),
    "DFT": (1, 2),
    "STFT": (1, 3),
    "BlackmanWindow": (0,),
    "HannWindow": (0,),
    "HammingWindow": (0,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "SplitToSequence": (1,),
    "Loop": (0,),
    "Dropout": (2,),
    "If": (0,),
    **{
        f"Reduce{name}": (1,)
        for name in ("Mean", "Sum", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")
    },
}
"""Inputs whose values fix an extent or the structure of the result."""


@dataclass(frozen=True)
class Case:
    """One test: a model, its inputs, and what must come out."""

    kind: str
    name: str
    operator: str
    model: Any
    inputs: list[Any]
    outputs: list[Any]
    rtol: float
    atol: float
    tier: str
    opset: int

    @property
    def direct(self) -> bool:
        """Whether an operator's test uses the operator and not the function that defines it."""
        return "_expanded" not in self.name

    @property
    def compared(self) -> bool:
        """Whether it belongs to a published denominator."""
        return self.tier[0] in "AB" and self.opset <= NEWEST_COMPARED


def load(kinds: tuple[str, ...] = KINDS, every: int = 1) -> list[Case]:
    """Return all cases, or those of every nth operator; onnx itself makes those of single operators in this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [case for kind in kinds for case in (_node_cases(every) if kind == "node" else _stored_cases(kind))]


def _node_cases(every: int) -> Iterator[Case]:
    from onnx.backend.test.case import node

    # A module of onnx makes the cases of its operator, with their results, when it is imported: half a minute for all.
    for module in sorted(found.name for found in iter_modules(node.__path__))[::every]:
        import_module(f"{node.__name__}.{module}")
    operators: dict[str, str] = {}
    for test in node._NodeTestCases:
        first = test.model.graph.node[0]
        base = test.name.split("_expanded")[0]
        named = (first.domain + "::" if first.domain else "") + first.op_type
        operator = operators[base] if "_expanded" in test.name else operators.setdefault(test.name, named)
        inputs, outputs = ([_array(value) for value in values] for values in test.data_sets[0])
        yield _case("node", test.name, operator, test.model, inputs, outputs, test)


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def _stored_cases(kind: str) -> Iterator[Case]:
    from onnx.backend.test.loader import DATA_DIR, load_model_tests

    for test in load_model_tests(kind=kind):
        if kind == "real":
            path = Path(DATA_DIR) / "light" / f"light_{test.model_name}.onnx"
            model = onnx.load(str(path))
            output = onnx.load_tensor(str(path.with_name(f"{path.stem}_output_0.pb")))
            yield _case(kind, test.name, "", model, _ramps(model), [numpy_helper.to_array(output)], test)
        else:
            folder = Path(test.model_dir)
            model = onnx.load(str(folder / "model.onnx"))
            inputs = _stored(folder, "input", model.graph.input)
            outputs = _stored(folder, "output", model.graph.output)
            yield _case(kind, test.name, "", model, inputs, outputs, test)


def _ramps(model: Any) -> list[Any]:
    """Return the inputs that the light models' outputs were computed from."""
    known = {tensor.name for tensor in model.graph.initializer}
    found = []
    for item in model.graph.input:
        if item.name not in known:
            shape = tuple(d.dim_value or 1 for d in item.type.tensor_type.shape.dim)
            count = int(np.prod(shape))
            found.append((np.arange(count).reshape(shape) / count).astype(np.float32))
    return found


def _stored(folder: Path, prefix: str, declared: Any) -> list[Any]:
    found = []
    for i in range(len(list((folder / "test_data_set_0").glob(f"{prefix}_*.pb")))):
        data = (folder / "test_data_set_0" / f"{prefix}_{i}.pb").read_bytes()
        kind = declared[i].type.WhichOneof("value")
        proto = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(kind, TensorProto)()
        proto.ParseFromString(data)
        found.append(_array(proto))
    return found


def _case(kind: str, name: str, operator: str, model: Any, inputs: list[Any], outputs: list[Any], test: Any) -> Case:
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    tier = tier_of(name, operator, model)
    return Case(kind, name, operator, model, inputs, outputs, test.rtol, test.atol, tier, opset)


def tier_of(name: str, operator: str, model: Any) -> str:
    """Return the tier: A is inference on the usual types, B other dense operators and types, C all else."""
    nodes = list(_nodes(model.graph))
    operators = {(n.domain + "::" if n.domain else "") + n.op_type for n in nodes}
    special = _special(name, operator, operators, _types(model.graph, nodes))
    if special:
        return special
    plain = {o for o in operators if "::" not in o}
    types = _types(model.graph, nodes)
    if plain & QUANTISED:
        return "B.quant"
    if not types <= USUAL_TYPES:
        if plain <= COMMON | FUSED | RECURRENT:
            return "B.dtype"
        return "B.dense" if types <= DENSE_TYPES else "C.dtype"
    if plain <= COMMON:
        return "A.core" if operator in COMMON or not operator else "A.fused" if operator in FUSED else "B.dense"
    if plain <= COMMON | FUSED:
        return "A.fused"
    return "A.rnn" if plain <= COMMON | RECURRENT else "B.dense"


def _special(name: str, operator: str, operators: set[str], types: set[str]) -> str | None:
    every = operators | {operator}
    domains = {"ai.onnx.preview.training": "C.train", "ai.onnx.ml": "C.ml", "ai.onnx.preview::": "C.preview"}
    for domain, tier in domains.items():
        if any(o.startswith(domain) for o in every):
            return tier
    if any("::" in o for o in operators):
        return "C.customdomain"
    if operators & NOT_TENSORS or any(t == "string" or t.startswith(("seq(", "opt(")) for t in types):
        return "C.seqstr"
    if operators & RANDOM or operator in RANDOM or "training_dropout" in name or "training_mode" in name:
        return "C.random_train"
    if operators & LOSSES or operator in LOSSES:
        return "C.train"
    if any(t.startswith(SMALL_TYPES) for t in types):
        return "C.dtype"
    if operators & FLOW:
        return "C.controlflow"
    return "C.datadep" if operators & DATA_DEPENDENT else None


def _nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attr in node.attribute:
            if attr.type == AttributeProto.GRAPH:
                yield from _nodes(attr.g)
            for inner in attr.graphs:
                yield from _nodes(inner)


def _types(graph: Any, nodes: list[Any]) -> set[str]:
    known = {tensor.name for tensor in graph.initializer}
    found = {_type_name(item.type) for item in (*graph.input, *graph.output) if item.name not in known}
    found |= {_element(tensor.data_type) for tensor in graph.initializer}
    for node in nodes:
        for attr in node.attribute:
            if attr.name in ("to", "dtype", "output_dtype") and attr.type == AttributeProto.INT and attr.i:
                found.add(_element(attr.i))
            if attr.type == AttributeProto.TENSOR:
                found.add(_element(attr.t.data_type))
    return found


def _element(number: int) -> str:
    return TensorProto.DataType.Name(number).lower()


def _type_name(t: Any) -> str:
    kind = t.WhichOneof("value")
    if kind == "tensor_type":
        return _element(t.tensor_type.elem_type)
    if kind == "sequence_type":
        return f"seq({_type_name(t.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"opt({_type_name(t.optional_type.elem_type)})"
    return str(kind)


def frozen_names(graph: Any) -> list[str]:
    """Return the graph's inputs on whose values shapes depend; what only asks for a shape does not count."""
    needed = {
        node.input[i]
        for node in graph.node
        for i in DECIDES_SHAPES.get(node.op_type, ())
        if i < len(node.input) and node.input[i]
    }
    for node in reversed(graph.node):
        if node.op_type not in ("Shape", "Size") and needed & set(node.output):
            needed.update(filter(None, node.input))
    known = {tensor.name for tensor in graph.initializer}
    return [item.name for item in graph.input if item.name in needed and item.name not in known]


def feeds_of(case: Case) -> dict[str, Any]:
    """Return the inputs of a case by name."""
    known = {tensor.name for tensor in case.model.graph.initializer}
    names = [item.name for item in case.model.graph.input if item.name not in known]
    return dict(zip(names, case.inputs, strict=False))


def freeze(case: Case) -> tuple[Any, dict[str, Any]]:
    """Return the model with inputs that decide about shapes as constants, and the values of the other inputs."""
    feeds = feeds_of(case)
    frozen = frozen_names(case.model.graph)
    if not frozen:
        return case.model, feeds
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(feeds[name]), name) for name in frozen)
    kept = [item for item in model.graph.input if item.name not in frozen]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return model, {name: value for name, value in feeds.items() if name not in frozen}
