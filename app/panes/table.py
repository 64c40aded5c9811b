"""The table of panes, the single list of all of them.

The page, the fragments of answers, the timeline, the keys, the menus and the page's scripts derive their lists from it.
The order is that of keys (Alt and a digit), tabs and menus, and of the panes in a dock.  To add a pane, write its
template and its producer, and add a row; ``app/README.md`` shows how.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from app.artifacts import Answer, Unit
from app.panes.buttons import by_change, by_effect, by_phase, by_primitive, by_step
from app.panes.gpu import produce_gpu
from app.panes.kernels import produce_kernels
from app.panes.listing_pane import produce_listing
from app.panes.model_changes import produce_changes
from app.panes.pane import LISTING_TEMPLATE, Arrangement, Dock, Group, Pane
from app.panes.results import produce_benchmark, produce_console
from app.panes.schedule import produce_schedule
from app.panes.selection import Selection

DOCKS = (
    Dock(name="left", direction="vertical", minimum=60),
    Dock(name="graph-upper", level="graph", size=72),
    Dock(name="graph-lower", level="graph", size=28),
    Dock(name="upper", level="code", size=68, minimum=90),
    Dock(name="lower", level="code", size=32),
    Dock(name="stage", level="code", size=70),
)
"""Where panes can stand: beside the script, and in the rows of each level."""


def _answer(pane: Pane, selection: Selection) -> Answer:
    return selection.answer


def _graph(pane: Pane, selection: Selection) -> Unit | None:
    return selection.graph


def _nothing(pane: Pane, selection: Selection) -> None:
    return None


_KERNEL_DECLARED = "This line does not come from the loop IR: it declares the kernel, its memory or what it needs"
_ADDED = "This line does not come from the script: it is boilerplate, or a pass added it"

COPIES = 2
"""Of a pane whose texts are worth seeing side by side."""

_ORIGINALS = (
    Pane(
        name="source",
        title="Source",
        dock="left",
        size=78,
        template="panes/_source.html",
        producer=_answer,
        redrawn=False,
        unlinked="No code comes from this line alone: it names something, or sets up or runs what other lines define",
    ),
    Pane(
        name="loops",
        title="Loop IR",
        dock="upper",
        size=37,
        template="panes/_loops.html",
        producer=produce_listing,
        empty="Nothing lowered yet. Create a schedule with te.create_schedule or tir.Schedule, or call tvm.lower.",
        copies=COPIES,
        listing=True,
        unlinked=_ADDED,
        group="lowering",
        also="schedule",
        stepped=True,
        against="against",
        strip="Lowering",
        fold=by_phase,
    ),
    Pane(
        name="llvm",
        title="LLVM IR",
        dock="upper",
        size=33,
        template="panes/_llvm.html",
        producer=produce_listing,
        empty="No LLVM IR: no function was built for a CPU.",
        machine="cpu",
        copies=COPIES,
        listing=True,
        unlinked="This line does not come from the loop IR: it is a declaration, an attribute or a blank line",
        flows=True,
        group="llvm",
        stepped=True,
        changes_only=True,
        against="llvm_against",
        strip="LLVM",
        fold=by_effect,
    ),
    Pane(
        name="asm",
        title="Assembly",
        dock="upper",
        size=30,
        template="panes/_assembly.html",
        producer=produce_listing,
        empty="No assembly: no function was built for a CPU.",
        machine="cpu",
        copies=COPIES,
        copy_template="panes/_assembly_copy.html",
        listing=True,
        unlinked="This line does not come from the loop IR: it enters or leaves the function, saves registers, or holds"
        " a constant",
        flows=True,
        group="assembly",
        against="assembly_against",
    ),
    Pane(
        name="flow",
        title="Control flow",
        dock="upper",
        size=30,
        template="panes/_control_flow.html",
        producer=_nothing,
        redrawn=False,
        machine="cpu",
        open=False,
        wanted=(360, 420),
    ),
    Pane(
        name="bench",
        title="Benchmark",
        dock="lower",
        size=66,
        template="panes/_benchmark.html",
        producer=produce_benchmark,
        live=True,
        on_demand=True,
    ),
    Pane(
        name="gpu",
        title="On a GPU",
        dock="lower",
        size=66,
        template="panes/_gpu.html",
        producer=produce_gpu,
        empty="What can be said about GPU kernels without running them on a GPU appears here.",
        machine="device",
    ),
    Pane(
        name="schedule",
        title="Schedule",
        dock="lower",
        size=34,
        template="panes/_schedule.html",
        producer=produce_schedule,
        empty="The stages and loops of your schedule appear here.",
        group="schedule",
        strip="Schedule",
        fold=by_primitive,
    ),
    Pane(
        name="search",
        title="Search",
        dock="lower",
        size=66,
        template="panes/_search.html",
        producer=_nothing,
        redrawn=False,
        open=False,
        leaves=False,
        on_demand=True,
        wanted=(480, 320),
    ),
    Pane(
        name="console",
        title="Console",
        dock="left",
        size=22,
        template="panes/_console.html",
        producer=produce_console,
        empty="What the script prints appears here.",
        live=True,
    ),
    Pane(
        name="graph",
        title="Graph IR",
        dock="graph-upper",
        size=50,
        template=LISTING_TEMPLATE,
        producer=produce_listing,
        empty="No graph yet. Make one with relay.Function, or import a model, as relay.frontend.from_onnx does.",
        copies=COPIES,
        listing=True,
        unlinked=_ADDED,
        group="graph",
        stepped=True,
        against="graph_against",
        strip="Graph",
        fold=by_change,
    ),
    Pane(
        name="drawing",
        title="Graph",
        dock="graph-upper",
        size=50,
        template="panes/_drawing.html",
        producer=_graph,
        redrawn=False,
    ),
    Pane(
        name="kernels",
        title="Kernels",
        dock="graph-lower",
        size=100,
        template="panes/_kernels.html",
        producer=produce_kernels,
        live=True,
        empty="The kernels of a graph appear here when relay.build makes them. Run measures each.",
    ),
    Pane(
        name="changes",
        title="Compared models",
        dock="graph-lower",
        size=100,
        template="panes/_changes.html",
        producer=produce_changes,
        empty="Choose “with another model …” under “compare” of the graph, or compare with one of the graphs that the"
        " script makes: what differs between the two appears here.",
        open=False,
        wanted=(520, 200),
    ),
    Pane(
        name="kernel",
        title="Kernel code",
        dock="upper",
        size=33,
        template="panes/_kernel_code.html",
        producer=produce_listing,
        empty="No kernel: no loop is bound to blockIdx or threadIdx.",
        listing=True,
        unlinked=_KERNEL_DECLARED,
        group="kernel",
        against="kernel_against",
        strip="Kernel",
        fold=by_step,
        machine="device",
    ),
    Pane(
        name="ptx",
        title="PTX",
        dock="upper",
        size=30,
        template="panes/_ptx.html",
        producer=produce_listing,
        empty="PTX appears here for CUDA C, compiled by NVIDIA’s tools (pip install 'strata-explorer[cuda]') or,"
        " without them, by LLVM; where LLVM cannot, the console says why.",
        listing=True,
        unlinked=_KERNEL_DECLARED,
        group="ptx",
        against="ptx_against",
        machine="device",
    ),
    Pane(
        name="sass",
        title="SASS",
        dock="upper",
        size=30,
        template=LISTING_TEMPLATE,
        producer=produce_listing,
        empty="SASS appears here for CUDA C, where the server has NVIDIA’s tools (pip install 'strata-explorer[cuda]')"
        " and they know the architecture that the PTX pane names.",
        listing=True,
        unlinked=_KERNEL_DECLARED,
        group="sass",
        against="sass_against",
        option="sass",
        machine="device",
        open=False,
    ),
    Pane(
        name="tvm",
        title="Today’s TVM",
        dock="upper",
        size=40,
        template=LISTING_TEMPLATE,
        producer=produce_listing,
        empty="A function appears here as a program for TVM 0.27: its definition, and its schedule call by call.",
        listing=True,
        unlinked="This line does not come from the script: it looks up blocks and loops, builds or checks",
        group="tvm",
        against="tvm_against",
        option="todays_tvm",
        open=False,
    ),
    Pane(
        name="player",
        title="Player",
        dock="stage",
        size=100,
        template="panes/_player.html",
        producer=_nothing,
        empty="The loops of the last function run here step by step, at a small size: the elements they read and"
        " write, and how simulated caches respond.",
        redrawn=False,
        on_demand=True,
        open=False,
    ),
    Pane(
        name="conformance",
        title="Conformance",
        dock="lower",
        size=66,
        template="panes/_conformance.html",
        producer=_nothing,
        empty="Each row is the whole script, compiled for one machine at one level of LLVM’s optimisation. Click"
        " a machine to see its assembly; links preserve the rows.",
        redrawn=False,
        on_demand=True,
        open=False,
        wanted=(860, 200),
    ),
    Pane(
        name="adapter",
        title="Your GPU",
        dock="lower",
        size=66,
        template="panes/_webgpu.html",
        producer=_nothing,
        empty="A schedule that is bound to blockIdx and threadIdx runs here on your own GPU: your browser compiles its"
        " WGSL, compares the result with the server’s, and times it.",
        redrawn=False,
        on_demand=True,
        open=False,
        wanted=(620, 220),
    ),
)


def _copies(pane: Pane) -> list[Pane]:
    """Return further panes of a kind, which are closed until a visitor opens one, and draw nothing until then."""
    return [
        replace(
            pane,
            name=f"{pane.name}-{number}",
            title=f"{pane.title} {number}",
            template=pane.copy_template,
            against=f"{pane.against}-{number}",
            open=False,
            copies=0,
            copy_of=pane.name,
            flows=False,
            strip="",
            fold=None,
        )
        for number in range(2, pane.copies + 2)
    ]


PANES: tuple[Pane, ...] = (*_ORIGINALS, *(copy for pane in _ORIGINALS for copy in _copies(pane)))


_FIGURES = Group(panes=("gpu", "bench", "conformance", "adapter"), front="gpu")

ARRANGEMENTS = (
    Arrangement(name="cpu", title="Schedule", shares={"upper": 55, "lower": 45}),
    Arrangement(name="model", title="Model", shares={"graph-upper": 64, "graph-lower": 36, "upper": 55, "lower": 45}),
    Arrangement(
        name="device",
        title="GPU",
        groups=(Group(panes=("ptx", "sass"), front="ptx"), _FIGURES),
        shares={"upper": 52, "lower": 48},
    ),
)
"""For the code of a CPU, for graphs, and for kernels."""

SMALL_GROUPS = (Group(panes=("llvm", "asm", "flow", "kernel", "ptx", "sass"), front="asm"), _FIGURES)
"""The groups of every arrangement on pages without room for three texts beside the script."""


def find(name: str) -> Pane | None:
    """Return the pane of that name, or None."""
    return next((pane for pane in PANES if pane.name == name), None)


def panes_of(dock: Dock) -> list[Pane]:
    """Return the panes of a dock, in their order."""
    return [pane for pane in PANES if pane.dock == dock.name]


def level_of(pane: Pane) -> str:
    """Return the level at which a pane shows: ``"graph"``, ``"code"``, or empty for both."""
    return next(dock.level for dock in DOCKS if dock.name == pane.dock)


def compiled(pane: Pane) -> bool:
    """Return whether a pane shows what compilation made, which is stale when a newer compilation is refused."""
    return bool(level_of(pane)) and not pane.on_demand


_SERVED = (
    "name", "title", "dock", "size", "open", "wanted", "copies", "copy_of", "option", "listing", "flows", "unlinked",
    "group", "also", "stepped", "against", "on_demand", "machine",
)  # fmt: skip
"""What the page's scripts read of a row."""


def served() -> dict[str, object]:
    """Return what the page's scripts read of the table, as plain data."""
    return {
        "panes": [
            {name: getattr(pane, name) for name in _SERVED} | {"level": level_of(pane), "compiled": compiled(pane)}
            for pane in PANES
        ],
        "arrangements": {
            made.name: {"title": made.title, "groups": [asdict(group) for group in made.groups], "shares": made.shares}
            for made in ARRANGEMENTS
        },
        "small_groups": [asdict(group) for group in SMALL_GROUPS],
        "docks": [asdict(dock) for dock in DOCKS],
    }
