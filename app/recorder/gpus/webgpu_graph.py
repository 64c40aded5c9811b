"""Models for the visitor's GPU: kernels in execution order."""

from __future__ import annotations

from collections.abc import Sequence

from app.recorder.gpus.gpu_program import gpu_result, gpu_step, packed
from app.recorder.gpus.graph_launch_plan import GraphLaunchPlan, GraphValue, graph_launch_plan
from app.recorder.measuring.measure import Array
from app.recorder.measuring.random_inputs import in_range, random_arrays
from app.recorder.measuring.recorded_graph import read_graph
from app.webgpu import GPUArgument, GPUProgram, Range
from compiler.driver.relay.build import build_graph
from compiler.ir.module import IRModule
from compiler.runtime.device import cpu
from compiler.runtime.graph.graph_module import GraphModule
from compiler.target.target import Target

REFERENCE = "the model on the server's CPU"
SEEDED = ", {count} large weights being random numbers in the range of its own"
LABEL = "the kernels of the model, in the order of the graph executor"


def prepared_graph(text: str, seed: int, target: Target) -> GPUProgram:
    """Return a model as a program of one step.

    Parameters
    ----------
    text : str
        Of :func:`~app.recorder.measuring.recorded_graph.write_graph`, which anybody may have written.
    seed : int
        Of the random inputs.
    target : Target
        The GPU.

    Raises
    ------
    TVMError
        It is not a graph, or one that cannot run on the device.
    """
    graph = read_graph(text)
    module, ranges = graph.module, graph.head.ranges
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


def _argument(value: GraphValue, given: Range | None) -> GPUArgument:
    return GPUArgument(name=value.name, dtype=value.dtype, shape=list(value.shape), range=given)


def _computed(module: IRModule, recorded: GraphLaunchPlan, arrays: Sequence[Array]) -> list[Array]:
    """Return the outputs as the model computes them on the CPU."""
    executor = GraphModule(build_graph(module, Target("llvm"), None)["default"](cpu(0)))
    executor.run(**{value.name: array for value, array in zip(recorded.inputs, arrays, strict=False)})
    return [executor.get_output(place).view().copy() for place in range(len(recorded.outputs))]
