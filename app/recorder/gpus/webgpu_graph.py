"""Models for the visitor's GPU: the graph as text, and kernels in execution order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from app.artifacts import MAX_PROGRAM
from app.recorder.gpus.gpu_program import gpu_result, gpu_step, packed
from app.recorder.gpus.graph_launch_plan import GraphLaunchPlan, GraphValue, graph_launch_plan
from app.recorder.measuring.measure import Array
from app.recorder.measuring.random_inputs import in_range, random_arrays
from app.recorder.measuring.seeded_weights import SeededWeights
from app.recorder.units.subjects import GraphSubject
from app.webgpu import GPUArgument, GPUProgram, Range
from compiler.driver.relay.build import BuiltGraph, build_graph
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.runtime.device import cpu
from compiler.runtime.graph.graph_module import GraphModule
from compiler.target.target import Target

BEGINNING = "graph\n"
"""What the text of a graph begins with."""
MAX_WEIGHT_BYTES = MAX_PROGRAM // 2
"""Of large weights that are sent; more of them are made of the seed."""
REFERENCE = "the model on the server's CPU"
SEEDED = ", {count} large weights being random numbers in the range of its own"
LABEL = "the kernels of the model, in the order of the graph executor"


def write_graph(graph: GraphSubject) -> str:
    """Return a model as text: the earliest form of its graph that has the weights.

    Parameters
    ----------
    graph : GraphSubject
        Built.

    Raises
    ------
    TVMError
        It was not built by the graph executor, or is too large.
    """
    if not isinstance(graph.built, BuiltGraph):
        raise TVMError("only models built by relay.build for the graph executor can run on your GPU")
    inputs = len(graph.built.program.inputs)
    modules = [graph.first, *(record.module for record in graph.passes)]
    bound = next((module for module in modules if len(module["main"].params) == inputs), modules[-1])
    seeded = SeededWeights()
    inputs_only = seeded.module(bound)
    large = seeded.bytes > MAX_WEIGHT_BYTES
    text = _text(inputs_only, seeded.ranges) if large else _text(bound, {})
    if len(text) > MAX_PROGRAM:
        raise TVMError(f"the model has {len(text):,} characters as text; at most {MAX_PROGRAM:,} are taken")
    return text


def prepared_graph(text: str, seed: int, target: Target) -> GPUProgram:
    """Return a model as a program of one step.

    Parameters
    ----------
    text : str
        Of :func:`write_graph`, which anybody may have written.
    seed : int
        Of the random inputs.
    target : Target
        The GPU.

    Raises
    ------
    TVMError
        It is not a graph, or one that cannot run on the device.
    """
    module, ranges = _read(text)
    recorded = graph_launch_plan(build_graph(module, target, None))
    values = [*recorded.inputs, *recorded.outputs]
    arrays = random_arrays([v.shape for v in values], [v.dtype for v in values], seed)
    given = [ranges.get(value.name) for value in values]
    arrays = [in_range(a, *r) if r is not None else a for a, r in zip(arrays, given, strict=True)]
    outputs = _computed(module, recorded, arrays)
    compared = sum(output.size for output in outputs)
    return GPUProgram(
        name="main",
        seed=seed,
        arguments=[_argument(value, r) for value, r in zip(values, given, strict=True)],
        steps=[gpu_step(0, LABEL, None, recorded.plan, {at: packed(v) for at, v in recorded.constants.items()})],
        results=[
            gpu_result(len(recorded.inputs) + place, output, compared, seed) for place, output in enumerate(outputs)
        ],
        reference=REFERENCE + (SEEDED.format(count=len(ranges)) if ranges else ""),
    )


def _text(module: IRModule, ranges: Mapping[str, Range]) -> str:
    return f"{BEGINNING}{msgspec.json.encode(ranges).decode()}\n{save_json(module)}"


def _read(text: str) -> tuple[IRModule, dict[str, Range]]:
    """Return a graph, and the ranges of the weights that the seed makes."""
    first, _, graph = text.removeprefix(BEGINNING).partition("\n")
    try:
        ranges = msgspec.json.decode(first, type=dict[str, Range])
    except msgspec.DecodeError as error:
        raise TVMError(f"the ranges of the weights cannot be read: {error}") from None
    module = load_json(graph)
    if not isinstance(module, IRModule):
        raise TVMError("the text is not that of a graph")
    return module, ranges


def _argument(value: GraphValue, given: Range | None) -> GPUArgument:
    return GPUArgument(name=value.name, dtype=value.dtype, shape=list(value.shape), range=given)


def _computed(module: IRModule, recorded: GraphLaunchPlan, arrays: Sequence[Array]) -> list[Array]:
    """Return the outputs as the model computes them on the CPU."""
    executor = GraphModule(build_graph(module, Target("llvm"), None)["default"](cpu(0)))
    executor.run(**{value.name: array for value, array in zip(recorded.inputs, arrays, strict=False)})
    return [executor.get_output(place).view().copy() for place in range(len(recorded.outputs))]
