"""Models as text: the graph with its weights, and how it is built."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from app.artifacts import MAX_PROGRAM
from app.recorder.measuring.random_inputs import Array, in_range, random_arrays
from app.recorder.measuring.seeded_weights import SeededWeights
from app.recorder.units.subjects import GraphSubject
from app.webgpu import Range
from compiler.driver.relay.build import BuiltGraph
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.relay.function import Function
from compiler.target.target import Target

BEGINNING = "graph\n"
"""What the text of a graph begins with."""
MAX_WEIGHT_BYTES = MAX_PROGRAM // 2
"""Of large weights that are sent; more of them are made of the seed."""


class Head(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a model is built, and which of its weights a seed makes, in which ranges."""

    ranges: dict[str, Range] = {}
    target: str = "llvm"
    opt_level: int = 2
    required_pass: list[str] = []
    disabled_pass: list[str] = []


@dataclass(frozen=True)
class RecordedGraph:
    """A model that was read."""

    module: IRModule
    head: Head

    @property
    def target(self) -> Target:
        """What it is built for."""
        return Target(self.head.target)

    def context(self) -> PassContext:
        """Return a context like the one that it was built in."""
        head = self.head
        return PassContext(head.opt_level, required_pass=head.required_pass, disabled_pass=head.disabled_pass)

    def weights(self, seed: int) -> dict[str, Array]:
        """Return the weights that a seed makes, which are parameters of the module."""
        types = {var.name_hint: var.type_annotation for var in self.module["main"].params}
        shapes = [tuple(map(int, types[name].shape)) for name in self.head.ranges]
        arrays = random_arrays(shapes, ["float32"] * len(shapes), seed)
        return {name: in_range(a, *r) for (name, r), a in zip(self.head.ranges.items(), arrays, strict=True)}


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
        raise TVMError("only models built by relay.build for the graph executor can be searched or run on your GPU")
    inputs = len(graph.built.program.inputs)
    modules = [graph.first, *(record.module for record in graph.passes)]
    bound = next((module for module in modules if len(module["main"].params) == inputs), modules[-1])
    seeded = SeededWeights()
    inputs_only = seeded.module(bound)
    large = seeded.bytes > MAX_WEIGHT_BYTES
    context = graph.context or PassContext.current()
    head = Head(
        ranges=seeded.ranges if large else {}, target=str(graph.target or "llvm"), opt_level=context.opt_level,
        required_pass=context.required_pass, disabled_pass=context.disabled_pass,
    )  # fmt: skip
    text = f"{BEGINNING}{msgspec.json.encode(head).decode()}\n{save_json(inputs_only if large else bound)}"
    if len(text) > MAX_PROGRAM:
        raise TVMError(f"the model has {len(text):,} characters as text; at most {MAX_PROGRAM:,} are taken")
    return text


def read_graph(text: str) -> RecordedGraph:
    """Return the model of a text of :func:`write_graph`, which anybody may have written.

    Raises
    ------
    TVMError
        It is none.
    """
    if not text.startswith(BEGINNING):
        raise TVMError("the script builds no model now")
    first, _, graph = text.removeprefix(BEGINNING).partition("\n")
    try:
        head = msgspec.json.decode(first, type=Head)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise TVMError(f"the ranges of the weights cannot be read: {error}") from None
    module = load_json(graph)
    if not isinstance(module, IRModule) or not all(isinstance(f, Function) for f in module.functions.values()):
        raise TVMError("the text is not that of a graph")
    return RecordedGraph(module, head)
