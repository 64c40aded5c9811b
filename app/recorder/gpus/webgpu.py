"""Prepares a recorded program for the visitor's GPU: WGSL for every prefix of its schedule, and expected results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from app.artifacts import Problem
from app.protocol import Failed, Message, Request
from app.recorder.gpus.gpu_program import gpu_result, gpu_step
from app.recorder.gpus.webgpu_graph import prepared_graph
from app.recorder.measuring.measure import Array
from app.recorder.measuring.measured_program import MeasuredProgram, only_function
from app.recorder.measuring.program_measurement import read_recorded
from app.recorder.measuring.random_inputs import random_arrays
from app.recorder.measuring.recorded_graph import BEGINNING
from app.webgpu import GPUArgument, GPUPrepared, GPUProgram, GPUResult, GPUStep
from compiler.driver.build import build
from compiler.driver.emulate import emulate
from compiler.driver.launch_plan import launch_plan
from compiler.ir.error import LoweringError, TVMError
from compiler.ir.module import IRModule
from compiler.ir.structural import structural_equal
from compiler.runtime.arrays.ndarray import array
from compiler.target.target import Target
from compiler.te.definition.numpy_reference import NoNumPyProgram
from compiler.tir.analysis.thread_axes import thread_axes

GENEROUS = Target("webgpu -max_threads_per_block=1024 -max_shared_memory_per_block=65536")
"""A device of which the page checks the limits itself: every adapter has its own."""
PORTABLE = Target("webgpu")
"""A device with the limits that all of them have: the kernels of models are scheduled to keep them."""


def prepare_for_webgpu(request: Request, send: Callable[[Message], None]) -> None:
    """Make a program of its text, and send its kernels and what they should compute.

    Parameters
    ----------
    request : Request
        With the text, which anybody may have written.
    send : callable
        Takes each message.
    """
    try:
        if request.program.startswith(BEGINNING):
            send(GPUPrepared(program=prepared_graph(request.program, request.seed, PORTABLE)))
            return
        program, _, name = read_recorded(request.program)
        send(GPUPrepared(program=_prepared(program, name, request)))
    except TVMError as error:
        send(Failed(label="webgpu", problem=Problem(kind=type(error).__name__, message=str(error))))


def _prepared(program: MeasuredProgram, name: str, request: Request) -> GPUProgram:
    steps = list(_steps(program, request.prefixes))
    runnable = any(step.launches for step in steps)
    results, reference = _results(program, request.seed) if runnable else ([], "")
    return GPUProgram(
        name=name,
        seed=request.seed,
        arguments=[GPUArgument(name=p.name, dtype=p.dtype, shape=list(p.shape)) for p in program.parameters],
        steps=steps,
        results=results,
        reference=reference,
        flops=program.flops,
    )


def _steps(program: MeasuredProgram, prefixes: bool) -> Iterator[GPUStep]:
    """Yield the function after each primitive, or after all of them."""
    labels = ["default", *program.primitives]
    before: tuple[int, IRModule] | None = None
    for step in range(len(labels)) if prefixes else [len(labels) - 1]:
        line = program.lines[step - 1] if step else None
        try:
            module = program.lowered(step)
            if before is not None and structural_equal(module, before[1]):
                yield GPUStep(step=step, label=labels[step], line=line, same_as=before[0])
                continue
            if not _launches_threads(module):
                raise LoweringError("no loop is bound to blockIdx or threadIdx yet, so nothing runs on a GPU")
            yield gpu_step(step, labels[step], line, launch_plan(module, GENEROUS))
            before = step, module
        except TVMError as error:
            yield GPUStep(step=step, label=labels[step], line=line, problem=str(error)[:10_000])


def _results(program: MeasuredProgram, seed: int) -> tuple[list[GPUResult], str]:
    """Return what the outputs should be, and what computed them."""
    parameters = program.parameters
    inputs = random_arrays([p.shape for p in parameters], [p.dtype for p in parameters], seed)
    outputs, reference = _computed(program, inputs)
    compared = sum(output.size for output in outputs)
    return [
        gpu_result(position, output, compared, seed) for position, output in zip(program.outputs, outputs, strict=True)
    ], reference


def _computed(program: MeasuredProgram, inputs: Sequence[Array]) -> tuple[list[Array], str]:
    try:
        return program.reference(inputs)[0], "NumPy"
    except NoNumPyProgram:
        definition = program.lowered(0)
    threads = _launches_threads(definition)
    function = emulate(definition, target=GENEROUS) if threads else build(definition, target="llvm")
    arrays = [array(a) for a in inputs]
    function.get_function("main")(*arrays)
    by = "the same threads in turns on the server's CPU" if threads else "the unscheduled definition on the server"
    return [arrays[position].view().copy() for position in program.outputs], by


def _launches_threads(module: IRModule) -> bool:
    return bool(thread_axes(only_function(module).body))
