"""Schedules that no GPU can run: the page names the rule, the schedule's line, and what would make it legal."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import settled, write
from tests.e2e.test_webgpu import SCALE, rewritten, run

BEGIN = """\
import tvm
from tvm import te

A = te.placeholder((65536,), name="A")
B = te.compute((65536,), lambda i: A[i] + A[i], name="B")
s = te.create_schedule(B.op)
AS = s.cache_read(A, "shared", [B])
x, y = s[B].split(B.op.axis[0], factor=64)
s[AS].compute_at(s[B], x)
"""
BOUND = """\
s[B].bind(x, te.thread_axis("blockIdx.x"))
s[B].bind(y, te.thread_axis("threadIdx.x"))
"""
CUDA = 'f = tvm.build(s, [A, B], target="cuda")\n'
WGSL = CUDA.replace("cuda", "webgpu")
TWO_EXTENTS = """\
x, z = s[B].split(x, factor=4)
s[B].bind(z, te.thread_axis("threadIdx.x"))
s[B].bind(y, te.thread_axis("threadIdx.x"))
"""
BARRIER = """\
import tvm
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    block = T.launch_thread("blockIdx.x", 1)
    thread = T.launch_thread("threadIdx.x", 64)
    S = T.allocate([64], "float32", "shared")
    S_1 = T.Buffer((64,), data=S, scope="shared")
    S_1[thread] = A[thread]
    if thread < 32:
        T.tvm_storage_sync("shared")
    B[thread] = S_1[63 - thread]

f = tvm.build(main, target="cuda")
"""


def typed(dtype: str) -> str:
    """Return the script whose input is of a data type, for WGSL."""
    return BEGIN.replace('name="A"', f'name="A", dtype="{dtype}"') + BOUND + WGSL


REFUSED = {
    "threads are not bound": (BEGIN + CUDA, 7, "did you forget to bind its loops to thread axes?"),
    "one thread axis has two extents": (BEGIN + TWO_EXTENTS + CUDA, 12, "fuse them, or bind one to another"),
    "shared memory beyond the limit": (
        BEGIN.replace("factor=64", "factor=16384") + BOUND.replace("threadIdx.x", "vthread") + CUDA,
        9,
        "max_shared_memory_per_block is 49,152; stage a smaller part at a time",
    ),
    "a barrier under a condition of threads": (BARRIER, 12, "move the barrier out"),
    "float64 in WGSL": (typed("float64"), 9, "WGSL has no double precision: compute in float32"),
    "int64 in WGSL": (typed("int64"), 9, "WGSL has integers of 32 bits only: use int32"),
}
"""By what is wrong: the script, the line of its schedule that the error leads to, and the remedy."""


def test_what_no_gpu_runs_is_refused_with_the_line_and_the_remedy(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer)
    problem = page.locator("#pane-console .problem.error p")
    for what, (script, line, remedy) in REFUSED.items():
        write(page, script)
        expect(problem, what).to_contain_text(remedy)
        problem.get_by_role("button", name=f"line {line}", exact=True).click()
        expect(page.locator(".cm-activeLineGutter"), what).to_have_text(str(line))


@pytest.mark.long
def test_a_language_that_refuses_the_kernels_says_why_in_its_pane(
    explorer: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(explorer, script=typed("float64").replace(WGSL, CUDA))
    page.select_option("#device", label="WGSL")
    expect(page.locator("#body-kernel .empty")).to_contain_text("No WGSL: build: target 'webgpu' has no values of type")
    expect(page.locator("#pane-gpu .empty")).to_contain_text("No WGSL: build: target 'webgpu' has no values of type")
    page.select_option("#device", label="CUDA C")
    expect(page.locator("#body-kernel .l", has_text="__global__")).to_be_visible()


@pytest.mark.long
def test_every_pane_says_which_language_has_tensor_cores(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{explorer}/?example=gpu-tensor-cores")
    page.select_option("#device", label="OpenCL C")
    settled(page)
    for pane in ("kernel", "ptx", "gpu"):
        said = page.locator(f"#pane-{pane} .empty")
        expect(said).to_contain_text(re.compile(r"No OpenCL C: .* \(line \d+\) computes with tensor cores: .* CUDA C"))


@pytest.mark.long
def test_half_precision_needs_a_feature_of_the_gpu(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    rewritten(page, "device", {', "shader-f16"]': "]"})
    run(page, SCALE.replace('name="A")', 'name="A", dtype="float16")').replace("2.0", 'tvm.tir.const(2, "float16")'))
    row = page.locator("#webgpu-rows tr")
    expect(row).to_contain_text("this GPU has no feature shader-f16: compute in float32")
