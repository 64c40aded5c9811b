"""What the recorder tells of the graphs of a script: passes, drawings, kernels, and one kernel down to its code."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec
import onnx.parser
import pytest

from app.artifacts import Answer, Mode, Options
from app.gallery import load_gallery
from app.jobs.assembly import assemble
from app.panes.kernels import KernelTable
from app.panes.page import Page, page
from app.panes.selection import View
from app.protocol import Request, Snapshot
from app.recorder.units import kernels
from app.sandbox import Limits, Sandbox
from compiler.driver.relay.build import build_graph
from compiler.relay.frontend import from_onnx
from compiler.target.target import Target
from tests.app.recorder.models import HOSTILE, equal_layers

NETWORK = """\
import tvm
from tvm import relay

x = relay.var("x", shape=(1, 8, 16, 16))
w = relay.var("w", shape=(8, 8, 3, 3))
y = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1)))
y = relay.nn.softmax(relay.nn.batch_flatten(y + x))
mod = tvm.IRModule.from_expr(relay.Function([x, w], y))
mod = relay.transform.InferType()(mod)
mod = relay.transform.SimplifyInference()(mod)
with tvm.transform.PassContext(opt_level=1):
    lib = relay.build(mod, target="llvm")
"""
BUILD_LINE = NETWORK.count("\n")
IMPORT = (
    'import onnx\nfrom tvm import relay\nmodel = onnx.load("m.onnx")\nrelay.frontend.from_onnx(model, {"x": (1, 4)})\n'
)
READ_LINE = IMPORT.count("\n")
"""By then the file has been read; what fails there is its import."""
BRANCHES = """\
<ir_version: 8, opset_import: ["" : 17]>
stored (float[1, 4] x) => (float[1, 4] y) <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> {
  [product] a = MatMul(x, w)
  [sum] s = ReduceSum<keepdims = 0>(a)
  [yes] c = Cast<to = 9>(s)
  [choice] y = If(c) <
    then_branch = positive () => (float[1, 4] t) { [same] t = Relu(a) },
    else_branch = negative () => (float[1, 4] e) { [other] e = Neg(a) }
  >
}
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("app.recorder.handler:handle", preload=["app.recorder.handler"]) as sandbox:
        yield sandbox


def record(
    sandbox: Sandbox, script: str, mode: Mode = "compile", kernel: str | None = None, file: bytes = b""
) -> Answer:
    """Return the answer to a script, read as the server reads what a child sends."""
    request = Request(mode=mode, script=script, options=Options(kernel=kernel), budget_seconds=30)
    files = {"m.onnx": file} if file else {}
    job = sandbox.start(msgspec.json.encode(request), files, Limits(wall_seconds=60, cpu_seconds=60))
    return assemble(list(job.messages()), job.outcome)


@pytest.fixture(scope="module")
def answer(sandbox: Sandbox) -> Answer:
    return record(sandbox, NETWORK)


def test_times_of_kernels_are_sent_before_passes_are_checked(sandbox: Sandbox) -> None:
    request = Request(mode="run", script=NETWORK, budget_seconds=30)
    job = sandbox.start(msgspec.json.encode(request), {}, Limits(wall_seconds=60, cpu_seconds=60))
    answers = [msgspec.json.decode(message, type=Snapshot).answer for message in job.messages()]
    first, last = answers[-2].units[0], answers[-1].units[0]
    assert all(kernel.seconds for kernel in first.kernels)
    assert first.kernels == last.kernels
    assert {step.checked for step in first.steps if step.changed} == {"unchecked"}
    assert "ok" in {step.checked for step in last.steps}


def test_a_graph_whose_types_do_not_fit_is_an_error_at_its_line_and_node(sandbox: Sandbox) -> None:
    lines = NETWORK.splitlines()[:3]
    network = ['x, w = relay.var("x", shape=(1, 784)), relay.var("w", shape=(784, 256))']
    network += ["y = relay.nn.relu(relay.nn.dense(x, w))", "mod = tvm.IRModule.from_expr(relay.Function([x, w], y))"]
    answer = record(sandbox, "\n".join([*lines, *network]))
    [problem] = answer.problems
    assert (answer.status, problem.kind, problem.line) == ("error", "TypeInferenceError", 5)
    assert "784 and 256" in problem.message
    shown = page(answer, View())
    assert shown.graph is not None
    [step, *_] = shown.graph.steps
    nodes = answer.drawings[step.drawing or ""].nodes
    assert [node.label for node in nodes if set(node.origins) & set(problem.origins)] == ["nn.dense"]
    assert step.facts.keys() == {"operators", "kernels"}
    assert "kernels" in [pane.name for pane in shown.redrawn]
    assert "784 and 256" in kernel_table(shown).unit.unbuilt


def kernel_table(shown: Page) -> KernelTable:
    content = shown.contents["kernels"]
    assert isinstance(content, KernelTable)
    return content


def test_a_race_is_a_warning_at_its_line(sandbox: Sandbox) -> None:
    example = next(example for example in load_gallery().examples if "race" in example.name)
    answer = record(sandbox, example.script)
    [problem, *_] = answer.problems
    assert (answer.status, problem.kind, problem.severity) == ("ok", "data race", "warning")
    assert problem.line is not None
    assert "A[block * 64 + thread] =" in example.script.splitlines()[problem.line - 1]
    assert page(answer, View()).problem == problem


def test_every_pass_is_a_step_with_its_text_drawing_and_facts(answer: Answer) -> None:
    assert answer.problems == []
    [graph] = [unit for unit in answer.units if unit.kind == "graph"]
    names = [step.name for step in graph.steps]
    assert names[0] == "Graph"
    assert {"InferType", "SimplifyInference", "FuseOps"} <= set(names)
    assert names.index("SimplifyInference") < names.index("FuseOps")
    for step in graph.steps:
        assert step.listing in answer.listings
        assert step.drawing in answer.drawings
        assert step.facts["operators"] > 0
    assert graph.steps[0].facts["operators"] == 5
    fused = graph.steps[names.index("FuseOps")]
    before = graph.steps[names.index("FuseOps") - 1]
    assert fused.facts["kernels"] < before.facts["kernels"]
    assert fused.facts["bytes written"] < before.facts["bytes written"]
    assert fused.line == BUILD_LINE


def test_passes_that_do_not_run_say_why(sandbox: Sandbox) -> None:
    script = NETWORK.replace("opt_level=1", 'opt_level=2, disabled_pass=["FuseOps"]')
    [graph] = [unit for unit in record(sandbox, script).units if unit.kind == "graph"]
    why = {step.name: step.detail for step in graph.steps if not step.applied}
    assert why["FuseOps"] == "disabled by the context"
    assert why["AlterOpLayout"] == "skipped: needs opt_level 3 (current: 2)"
    assert "InferType" not in why


def test_passes_are_checked_by_computing(answer: Answer) -> None:
    changed = [step for step in answer.units[0].steps[1:] if step.changed]
    assert {step.checked for step in changed} == {"ok"}
    assert all(step.error is not None and step.error < 1e-4 for step in changed)


def test_drawings_link_to_the_script(answer: Answer) -> None:
    [graph] = [unit for unit in answer.units if unit.kind == "graph"]
    last = answer.drawings[graph.steps[-1].drawing or ""]
    conv = next(node for node in last.nodes if node.label == "nn.conv2d")
    assert conv.group
    assert conv.type == "(1, 8, 16, 16) float32"
    rows = {row.id: row for row in answer.origins}
    lines, todo = set(), list(conv.origins)
    while todo:
        row = rows[todo.pop()]
        lines.add(row.line if row.level == "source" else None)
        todo += row.parents
    assert 6 in lines


def test_kernels_tell_what_they_cost_and_where_they_come_from(answer: Answer) -> None:
    kernels = {kernel.name: kernel for kernel in answer.units[0].kernels}
    conv = next(kernel for kernel in kernels.values() if "nn.conv2d" in kernel.operators)
    assert "nn.relu" in conv.operators
    assert conv.flops is not None
    assert conv.flops >= 2 * 8 * 8 * 9 * 16 * 16
    assert conv.bytes is not None
    assert conv.bytes >= 4 * (2 * 8 * 16 * 16 + 8 * 8 * 9)
    assert conv.origins
    assert conv.seconds is None  # nothing was run


def test_the_hottest_kernel_is_shown_unless_another_is_asked_for(sandbox: Sandbox, answer: Answer) -> None:
    [shown] = [unit for unit in answer.units if unit.kind == "function"]
    assert "conv2d" in shown.name
    assert {"schedule", "lowering", "llvm", "assembly"} <= {step.group for step in shown.steps}
    assert {step.line for step in shown.steps if step.group == "schedule"} == {None}
    other = next(kernel.name for kernel in answer.units[0].kernels if kernel.name != shown.name)
    [asked] = [unit for unit in record(sandbox, NETWORK, kernel=other).units if unit.kind == "function"]
    assert asked.name == other


def test_a_kernel_that_is_gone_is_a_note(sandbox: Sandbox) -> None:
    answer = record(sandbox, NETWORK, kernel="gone")
    assert answer.problems == []
    assert [entry.text.strip() for entry in answer.console if entry.stream == "note"] == [
        "the graph has no kernel 'gone' any more"
    ]


def test_a_run_measures_every_kernel(sandbox: Sandbox) -> None:
    kernels = record(sandbox, NETWORK, "run").units[0].kernels
    assert kernels
    assert all(kernel.seconds and kernel.seconds > 0 for kernel in kernels)


def test_kernels_are_measured_by_the_time_that_they_have_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) { a = Relu(x) y = Softmax(a) }'
    module, _ = from_onnx(onnx.parser.parse_model(text))
    built = build_graph(module, Target("llvm"))
    monkeypatch.setattr(kernels, "MEASURING_SECONDS", 0.2)
    monkeypatch.setattr(kernels, "REPEATS", 1)
    monkeypatch.setattr(kernels, "time_call", lambda call: time.sleep(0.3))
    assert len(kernels.measure_kernels(built)) == 2
    monkeypatch.setattr(kernels, "MEASURING_PATIENCE", 1)
    assert kernels.measure_kernels(built) == {}


def test_a_kernels_own_script_builds_the_same_kernel(sandbox: Sandbox, answer: Answer) -> None:
    kernel = max(answer.units[0].kernels, key=lambda kernel: kernel.flops or 0)
    own = record(sandbox, kernel.script)
    assert own.problems == []
    [alone] = own.units
    assert (alone.name, alone.kind, alone.built) == (kernel.name, "function", True)
    [shown] = [unit for unit in record(sandbox, NETWORK, kernel=kernel.name).units if unit.kind == "function"]
    assert own.listings[alone.steps[-1].listing or ""].lines, alone.steps
    assert [loop.name for stage in alone.schedule for loop in stage.loops] == [
        loop.name for stage in shown.schedule for loop in stage.loops
    ]


def test_a_failing_script_keeps_its_graph(sandbox: Sandbox) -> None:
    answer = record(sandbox, NETWORK + "raise ValueError('afterwards')\n")
    assert [(problem.kind, problem.line) for problem in answer.problems] == [("ValueError", BUILD_LINE + 1)]
    assert answer.units[0].kind == "graph"
    assert answer.units[0].steps[-1].listing in answer.listings


def test_shapes_that_do_not_fit_are_told_at_the_line_of_the_operator(sandbox: Sandbox) -> None:
    [problem] = record(sandbox, NETWORK.replace("(8, 8, 3, 3)", "(8, 7, 3, 3)")).problems
    assert problem.line == 6
    assert "nn.conv2d" in problem.message


BUILD = """\
import onnx
import tvm
from tvm import relay

mod, params = relay.frontend.from_onnx(onnx.load("m.onnx"))
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm", params=params)
"""


def test_nodes_and_kernels_have_the_names_of_a_models_layers_after_every_pass(sandbox: Sandbox) -> None:
    answer = record(sandbox, BUILD, file=equal_layers())
    graph = answer.units[0]
    for step in graph.steps[1:]:  # the first one is the file, which calls it Relu
        assert step.drawing is not None
        layers = [node.layers for node in answer.drawings[step.drawing].nodes if node.label == "nn.relu"]
        assert layers == [["bend"]], step.name
        named = {name for node in answer.drawings[step.drawing].nodes for name in node.layers}
        assert named == {"first", "bend", "second", "third"}, step.name
    fused = next(kernel for kernel in graph.kernels if "nn.relu" in kernel.operators)
    assert fused.layers == ["first", "bend"]
    [shared] = [kernel for kernel in graph.kernels if kernel.calls == 2]
    assert shared.layers == ["second", "third"]
    final = answer.listings[graph.steps[-1].listing or ""]
    assert any("first" in line.text for line in final.lines)


def test_kernels_of_a_program_with_control_flow_say_that_their_calls_are_unknown(sandbox: Sandbox) -> None:
    example = load_gallery().find("functions-and-recursion")
    assert example is not None
    units = record(sandbox, example.script, mode="run").units
    graph = next(unit for unit in units if unit.kernels)
    assert [kernel.calls for kernel in graph.kernels] == [None] * 4
    table = KernelTable(graph)
    assert not table.counts_calls
    assert table.facts[-1] == "not measured: control flow decides how often each is called"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_broken_model_is_told_at_the_scripts_line(sandbox: Sandbox, name: str) -> None:
    content, line, words = HOSTILE[name]
    answer = record(sandbox, IMPORT, file=content)
    [problem] = answer.problems
    assert problem.line == line
    for word in words:
        assert word in problem.message
    # What could be read is shown as it is stored, with the nodes that the message names.
    assert [unit.name for unit in answer.units] == (["model file"] if line == READ_LINE else [])
    for unit in answer.units:
        [step] = unit.steps
        drawing = answer.drawings[step.drawing or ""]
        assert drawing.is_sound
        at = {node.layers[0] for node in drawing.nodes if node.layers and set(node.origins) & set(problem.origins)}
        assert at == {word.strip("'") for word in words if word.startswith("'") and word != "'w'"}


def test_a_model_is_shown_as_its_file_holds_it_before_what_became_of_it(sandbox: Sandbox) -> None:
    answer = record(sandbox, IMPORT, file=onnx.parser.parse_model(BRANCHES).SerializeToString())
    file, graph, *_ = answer.units[0].steps
    assert (file.name, graph.name) == ("File", "Graph")
    drawing, imported = answer.drawings[file.drawing or ""], answer.drawings[graph.drawing or ""]
    assert drawing.is_sound
    nodes = {node.label: node for node in drawing.nodes}
    assert nodes["MatMul"].constants == ["w (4, 4) float32"]
    assert nodes["Cast"].attributes == {"to": "bool"}
    assert (nodes["Relu"].scope, nodes["Neg"].scope) == (["choice then_branch"], ["choice else_branch"])
    lines = answer.listings[file.listing or ""].lines
    assert "%s = ReduceSum(%a) {keepdims=0}" in [line.text for line in lines]
    # Each node leads to what it became.
    for stored, made in (("MatMul", "nn.dense"), ("ReduceSum", "sum"), ("Neg", "negative"), ("If", "if")):
        assert nodes[stored].origins == next(node.origins for node in imported.nodes if node.label == made)
        assert lines[nodes[stored].line - 1].origins == nodes[stored].origins


def test_a_file_that_was_not_imported_is_none_of_the_graph_that_is_made_instead(sandbox: Sandbox) -> None:
    refused = IMPORT.replace("relay.frontend.from_onnx", "try:\n    relay.frontend.from_onnx", 1)
    instead = """except NotImplementedError:
    relay.build(tvm.IRModule.from_expr(relay.var("x", shape=(2,)) + relay.const(1.0)))
"""
    answer = record(sandbox, f"import tvm\n{refused}{instead}", file=HOSTILE["unknown operators"][0])
    assert not answer.problems
    graphs = [(unit.name, unit.steps[0].name) for unit in answer.units if unit.kind == "graph"]
    assert graphs == [("main", "Graph"), ("model file", "File")]
