"""The kernels of functions that launch threads: source, PTX and facts, each line with its origins."""

from __future__ import annotations

import pytest

from app.artifacts import Answer, Listing, Mode, Options, Unit
from app.device_languages import DEVICE_LANGUAGES
from app.machine_code import CudaProgram
from app.protocol import Message, Request, Snapshot
from app.recorder.session import Session
from compiler.target.cuda_tools import PROCESSORS
from compiler.target.cuda_tools.tools import missing_tools

MATMUL = """
import tvm
from tvm import te

n = 64
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
CC = s.cache_write(C, "local")
i, j = s[C].op.axis
block_i, thread_i = s[C].split(i, factor=16)
block_j, thread_j = s[C].split(j, factor=16)
s[C].reorder(block_i, block_j, thread_i, thread_j)
tags = ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
for axis, tag in zip((block_i, block_j, thread_i, thread_j), tags):
    s[C].bind(axis, te.thread_axis(tag))
s[CC].compute_at(s[C], thread_j)
"""
BUILT = MATMUL + '\nf = tvm.build(s, [A, B, C], "opencl", name="product")\n'


def answered(script: str, mode: Mode = "compile", **options: str) -> tuple[Answer, dict[str, Listing]]:
    """Return the answer to a script, and all listings."""
    messages: list[Message] = []
    request = Request(mode=mode, script=script, options=Options(**options))  # type: ignore[arg-type]
    Session(request, messages.append, guarded=False).run()
    snapshots = [message for message in messages if isinstance(message, Snapshot)]
    return snapshots[-1].answer, {key: item for one in snapshots for key, item in one.answer.listings.items()}


def listing_of(unit: Unit, group: str, listings: dict[str, Listing]) -> Listing:
    [step] = [step for step in unit.steps if step.group == group]
    assert step.listing is not None
    return listings[step.listing]


@pytest.mark.parametrize(
    ("rest", "kind", "severity"),
    [
        ("x = tvm.nd.array([1.0], tvm.cuda(0))\ny = x\n", "DeviceError", "warning"),
        ("f(*[tvm.nd.empty((n, n)) for _ in range(3)])\ny = 1\n", "DeviceError", "warning"),
        ("x = nowhere\n", "NameError", "error"),
    ],
)
def test_kernels_are_shown_of_a_script_that_goes_on_where_it_cannot(rest: str, kind: str, severity: str) -> None:
    answer, listings = answered(BUILT + rest)
    [problem] = answer.problems
    assert (problem.kind, problem.severity, problem.line) == (kind, severity, BUILT.count("\n") + 1)
    assert ("line {} did not run".format(BUILT.count("\n") + 2) in problem.message) == (kind == "DeviceError")
    assert listing_of(answer.units[-1], "kernel", listings).language == "opencl"
    assert answer.units[-1].device is not None


def test_what_a_script_makes_before_it_asks_for_another_device_is_built() -> None:
    answer, listings = answered(MATMUL + "x = tvm.nd.array([1.0], tvm.cuda(0))\n")
    assert answer.status == "ok"
    assert listing_of(answer.units[-1], "kernel", listings).language == "cuda"


def test_a_schedule_with_threads_ends_as_cuda_that_links_to_the_loops() -> None:
    answer, listings = answered(MATMUL)
    [unit] = answer.units
    source = listing_of(unit, "kernel", listings)
    assert source.language == "cuda"
    assert [step.delta for step in unit.steps if step.group == "kernel"] == [{"lines": len(source.lines)}]
    loop_rows = {origin.id for origin in answer.origins if origin.level == "loop"}
    lines = [line for line in source.lines if line.text.strip()]
    linked = [line for line in lines if loop_rows.intersection(line.origins)]
    assert len(linked) >= 0.95 * len(lines)
    sources = {origin.id: origin for origin in answer.origins}
    of_sum = next(line for line in lines if "__ldg" in line.text)
    parents = {parent for row in of_sum.origins for parent in sources[row].parents}
    assert 9 in {sources[parent].line for parent in parents}  # the line of te.sum
    assert not {"llvm", "assembly"} & {step.group for step in unit.steps}


def test_a_language_that_refuses_the_kernels_has_a_step_with_the_reason() -> None:
    answer, _ = answered(MATMUL.replace("(n, n), name", '(n, n), dtype="float64", name'), device="webgpu")
    [refused] = [step for step in answer.units[0].steps if step.group == "kernel"]
    assert (refused.name, refused.listing, refused.applied) == ("WGSL", None, False)
    assert "WGSL has no double precision" in refused.refused


def test_each_copy_of_an_unrolled_loop_links_to_its_own_line() -> None:
    """The copies share what does not depend on the loop, and come from the same line of the script."""
    unrolled = "first, second = s[CC].split(s[CC].op.reduce_axis[0], factor=4)\ns[CC].unroll(second)\n"
    answer, listings = answered(MATMUL + unrolled)
    [unit] = answer.units
    source = listing_of(unit, "kernel", listings)
    rows = {origin.id: origin for origin in answer.origins}
    copies = [line for line in source.lines if "__ldg" in line.text]
    loops = [{rows[row].line for row in line.origins if rows[row].level == "loop"} for line in copies]
    assert [len(of_copy) for of_copy in loops] == [1] * 4
    assert len(set.union(*loops)) == 4
    assert all(9 in {rows[p].line for row in line.origins for p in rows[row].parents} for line in copies)
    [head] = [line for line in source.lines if "__launch_bounds__" in line.text]
    assert {"blockIdx_y", "blockIdx_x", "threadIdx_y", "threadIdx_x"} <= {
        rows[row].label.split(" ")[0] for row in head.origins
    }
    [start] = [line for line in source.lines if line.text.endswith("[0] = 0.0f;")]
    assert len(start.origins) <= 2, "what stands around a statement did not make its line"


@pytest.mark.parametrize("kind", DEVICE_LANGUAGES)
def test_each_language_of_the_selector_is_shown(kind: str) -> None:
    answer, listings = answered(BUILT, device=kind)
    [unit] = answer.units
    text = "\n".join(line.text for line in listing_of(unit, "kernel", listings).lines)
    words = {"cuda": "__global__", "opencl": "__kernel", "metal": "kernel void", "webgpu": "@compute"}
    assert words.get(kind, "product_kernel") in text
    assert not answer.problems


def test_the_target_of_the_script_is_the_default() -> None:
    answer, listings = answered(BUILT)
    assert listing_of(answer.units[0], "kernel", listings).language == "opencl"


@pytest.mark.skipif(bool(missing_tools()), reason="NVIDIA's compilers are not installed")
def test_cuda_c_is_left_to_the_compilers_of_the_server() -> None:
    messages: list[Message] = []
    request = Request(mode="compile", script=MATMUL, options=Options(arch="sm_90"), compiles_cuda=True)
    Session(request, messages.append, guarded=False).run()
    [program] = [message for message in messages if isinstance(message, CudaProgram)]
    [snapshot, *_] = [message for message in messages if isinstance(message, Snapshot)]
    source = listing_of(snapshot.answer.units[0], "kernel", snapshot.answer.listings)
    assert program.source == "".join(f"{line.text}\n" for line in source.lines)
    assert program.arch == "sm_90"


def test_without_the_tools_llvm_makes_the_ptx() -> None:
    answer, listings = answered(MATMUL)
    text = "\n".join(line.text for line in listing_of(answer.units[0], "ptx", listings).lines)
    assert "fma.rn.f32" in text
    assert any("PTX is LLVM's" in entry.text for entry in answer.console)


@pytest.mark.parametrize(("kind", "operation"), [("nvptx", "fma.rn.f32"), ("rocm", "global_load")])
def test_assembly_by_llvm_links_to_the_loops(kind: str, operation: str) -> None:
    answer, listings = answered(BUILT, device=kind)
    lines = listing_of(answer.units[0], "kernel", listings).lines
    loop_rows = {origin.id: origin for origin in answer.origins if origin.level == "loop"}
    sums = [line for line in lines if operation in line.text]
    assert sums
    assert all(loop_rows.keys() & set(line.origins) for line in sums)
    instructions = [line for line in lines if line.text.startswith("    ") and line.text.strip()[0].isalpha()]
    assert sum(bool(line.origins) for line in instructions) >= 0.8 * len(instructions)
    assert not any("$L__tmp" in line.text or ", debug" in line.text for line in lines)


def test_what_a_language_lacks_is_said() -> None:
    script = MATMUL
    for name in "AB":
        script = script.replace(f'name="{name}")', f'name="{name}", dtype="float64")')
    answer, _ = answered(script, device="webgpu")
    said = [entry.text for entry in answer.console] + [problem.message for problem in answer.problems]
    assert any("float64" in text for text in said)


def test_every_architecture_is_one_that_a_link_may_name() -> None:
    for arch in PROCESSORS:
        assert answered("import tvm", arch=arch)[0].status == "ok"
