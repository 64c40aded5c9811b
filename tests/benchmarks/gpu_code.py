"""The code of a 512³ float32 matrix multiplication for a GPU: how long it takes to make, and what is in it.

    python -m tests.benchmarks.gpu_code [--runs N] [--gallery]

The schedule has tiles in shared memory and in the registers of threads.  The script is posted to the explorer's
application in this process, with its real sandbox; each request has a kernel of another name, or, of kernels that an
edit leaves alone, another comment.  PTX and SASS are NVIDIA's, for sm_90 (``pip install -e '.[cuda]'``).
With ``--gallery`` it prints instead how much of the code of each of the explorer's GPU examples leads to the script.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import compiler as tvm
from app import create_app
from app.gallery import load_gallery
from compiler.classic import alias
from compiler.driver.device_pipeline import split_for_device
from compiler.ir.origin import OriginTable, recording, user_line
from compiler.ir.printing.text import Line
from compiler.target.codegen.source import source_code
from compiler.target.cuda_tools import CONTROL_HEADING, compile_cuda, missing_tools
from compiler.target.cuda_tools.listings import CodeLine
from compiler.target.target import Target

ARCH = "sm_90"
UNKNOWN = "sm_70"
"""An architecture that CUDA 13 does not compile for: LLVM makes its PTX."""
TILE, STEP = 4, 8
SCRIPT = f"""\
import tvm
from tvm import te

N = 512
A = te.placeholder((N, N), name="A")
B = te.placeholder((N, N), name="B")
k = te.reduce_axis((0, N), name="k")
C = te.compute((N, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
AA, BB = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
CC = s.cache_write(C, "local")
tx, ty = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")
bi, bj, i, j = s[C].tile(C.op.axis[0], C.op.axis[1], 64, 64)
ti, tj, ii, jj = s[C].tile(i, j, {TILE}, {TILE})
s[C].bind(bi, te.thread_axis("blockIdx.y"))
s[C].bind(bj, te.thread_axis("blockIdx.x"))
s[C].bind(ti, ty)
s[C].bind(tj, tx)
s[CC].compute_at(s[C], tj)
ko, ki = s[CC].split(s[CC].op.reduce_axis[0], factor={STEP})
s[CC].reorder(ko, ki, *s[CC].op.axis)
for load in (AA, BB):
    s[load].compute_at(s[CC], ko)
    fused = s[load].fuse(*s[load].op.axis)
    for thread in (tx, ty):
        fused, own = s[load].split(fused, factor=16)
        s[load].bind(own, thread)
"""
SHOWN: dict[str, dict[str, object]] = {
    "CUDA C and what is said of kernels": {"arch": UNKNOWN},
    "PTX as well": {"arch": ARCH},
    "PTX and SASS": {"arch": ARCH, "sass": True},
}
"""What is made of the script, and the options that ask for it."""
BUILD = 'matmul = tvm.build(s, [A, B, C], target="cuda", name="{}")\n'


def milliseconds(call: Any, runs: int) -> tuple[float, float, float]:
    """Return median, quartile and least time of a call, which gets the number of the run; three are warm-up."""
    taken = []
    for run in range(-3, runs):
        started = time.perf_counter()
        call(run)
        if run >= 0:
            taken.append((time.perf_counter() - started) * 1e3)
    low, median, _ = statistics.quantiles(taken, n=4, method="inclusive")
    return median, low, min(taken)


def names_of_script() -> dict[str, Any]:
    """Run the script as a user's, whose lines are origins; return its names."""
    alias.install()
    path = Path(tempfile.gettempdir(), "gpu_matmul.py")
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(SCRIPT, str(path), "exec"), names)
    return names


def backward_branches(lines: list[CodeLine]) -> list[range]:
    """Return the lines of each loop: from a label to a branch that leads back to it."""
    labels = {line.text.strip(" :"): at for at, line in enumerate(lines) if line.text.strip().startswith(".L_x_")}
    branches = ((at, re.search(r"BRA.*?(\.L_x_\d+)", line.text)) for at, line in enumerate(lines))
    return [range(labels[to[1]], at + 1) for at, to in branches if to and labels.get(to[1], at) < at]


def inner_loop(lines: list[CodeLine]) -> list[CodeLine]:
    """Return the instructions of the loop with the most multiply-adds that contains no other loop of them."""
    loops = [[lines[at] for at in loop if lines[at].is_instruction] for loop in backward_branches(lines)]
    return max(loops, key=lambda loop: (opcodes(loop)["FFMA"], -len(loop)))


def opcodes(lines: list[CodeLine]) -> Counter[str]:
    """Return how often each operation occurs."""
    names = (re.sub(r"^\s*(@!?\w+\s+)?", "", line.text).split(maxsplit=1)[0].split(".")[0] for line in lines)
    return Counter(names)


def is_code(line: Line) -> bool:
    """Return whether a line of CUDA C says more than where a block ends."""
    return line.text.strip(" {}") != ""


def share(lines: list[Any], leads: Any) -> float:
    """Return the percentage of lines that lead somewhere."""
    return 100 * sum(map(bool, map(leads, lines))) / len(lines)


def print_times(runs: int) -> None:
    """Print how long the page and the compilers take."""

    def build(run: int) -> None:
        names = names_of_script()
        tvm.build(names["s"], [names["A"], names["B"], names["C"]], "cuda").imported_modules[0].get_source()

    rows = {"script to CUDA C, in a process": milliseconds(build, runs)}
    with tempfile.TemporaryDirectory() as folder:
        client = create_app({"DATA_DIR": Path(folder), "RATE_LIMIT": 0}).test_client()

        def post(run: int, is_new: bool = True, **options: object) -> None:
            kernel = f"matmul_{run % 100}" if is_new else "matmul"
            script = f"{SCRIPT}{BUILD.format(kernel)}# {run} {options}\n"
            answer = client.post("/api/compile", json={"script": script, "options": options}).get_json()
            assert answer["status"] == "ok", answer["problems"]

        for name, options in SHOWN.items():
            rows[f"script to {name}, through the API"] = milliseconds(partial(post, **options), runs)
        left = partial(post, is_new=False, **SHOWN["PTX and SASS"])
        rows["script to PTX and SASS of kernels that it leaves alone"] = milliseconds(left, runs)
    source = cuda_source()[0]
    if not missing_tools():
        rows["CUDA C to PTX and SASS"] = milliseconds(lambda _: compile_cuda(source, ARCH), max(runs // 3, 3))
    print(f"{'ms':56}{'median':>9} {'25 %':>9} {'min':>9}")
    for name, (median, low, least) in rows.items():
        print(f"{name:56}{median:9.1f} {low:9.1f} {least:9.1f}")


def cuda_source() -> tuple[str, list[Line]]:
    """Return the CUDA C of the script, and its lines with their origins."""
    names = names_of_script()
    lowered = tvm.lower(names["s"], [names["A"], names["B"], names["C"]], name="matmul")
    code = source_code(split_for_device(lowered, Target("cuda"), packed=False).device, "cuda")
    return code.text, code.listing.lines


def print_code() -> None:
    """Print what the compilers made of the kernel, and how much of it leads back to the script."""
    with recording(OriginTable()):
        source, lines = cuda_source()
        script_lines = range(1, SCRIPT.count("\n") + 1)
        in_script = {number for number, line in enumerate(lines, 1) if user_line(line.span) in script_lines}
    own = [number for number, line in enumerate(lines, 1) if is_code(line)]
    print(
        f"CUDA C: {len(own)} lines, {share(own, lambda number: lines[number - 1].regions):.1f} % lead to loop IR, ",
        end="",
    )
    print(f"{share(own, lambda number: number in in_script):.1f} % to lines of the script")
    if missing_tools():
        print(f"no SASS: {missing_tools()}")
        return
    report = compile_cuda(source, ARCH)
    (kernel,) = report.kernels
    used = kernel.resources
    print(f"{ARCH}: {used.registers} registers, {used.shared_bytes} bytes shared, ", end="")
    print(f"{used.spill_store_bytes + used.spill_load_bytes} bytes spilled")
    loop = inner_loop(report.sass)
    counts = opcodes(loop)
    steps = max(round(counts["FFMA"] / TILE**2 / STEP), 1)
    operations = 2 * TILE**2 * STEP * steps
    print(
        f"inner loop: {len(loop)} instructions, {counts['FFMA']} FFMA, {counts['FMUL'] + counts['FADD']} FMUL or FADD"
    )
    print(f"  one FFMA per {operations / counts['FFMA']:.2f} operations of the definition, ", end="")
    print(f"{100 * counts['FFMA'] / len(loop):.0f} % of the instructions; most frequent: {counts.most_common(6)}")

    def leads(instruction: CodeLine) -> bool:
        number = instruction.source_line or 0
        return 0 < number <= len(lines) and bool(lines[number - 1].regions) and number in in_script

    print(f"  {share(loop, leads):.1f} % lead to loop IR and a line of the script")


def page_lines(listing: dict[str, Any], origins: dict[int, Any]) -> list[CodeLine]:
    """Return the lines of a listing as the page gets it; those that lead to loop IR and script have a source line."""

    def levels(made_of: list[int]) -> set[str]:
        above = [levels(origins[each]["parents"]) for each in made_of]
        return {origins[each]["level"] for each in made_of}.union(*above)

    lines = []
    for text, made_of, _ in listing["lines"]:
        is_code = (
            text.strip(" {}") != ""
            and not text.lstrip().startswith(("//", "#include", CONTROL_HEADING))
            and not text.endswith(":")
        )
        lines.append(CodeLine(text, 1 if {"source", "loop"} <= levels(made_of) else None, is_code))
    return lines


def print_gallery() -> None:
    """Print how much of each example's kernel leads to loop IR and to a line of the script, as the page has it."""
    print(f"{'lead to loop IR and script':28}{'CUDA C lines':>16}{'SASS':>16}{'SASS in loops':>16}")
    with tempfile.TemporaryDirectory() as folder:
        client = create_app({"DATA_DIR": Path(folder), "RATE_LIMIT": 0}).test_client()
        for example in load_gallery():
            body = {"script": example.script, "options": {"arch": ARCH, "sass": True}}
            answer = client.post("/api/compile", json=body).get_json()
            origins = {origin["id"]: origin for origin in answer["origins"]}
            shown = {each["language"]: page_lines(each, origins) for each in answer["listings"].values()}
            if "sass" not in shown:
                continue
            sass = shown["sass"]
            looped = [sass[at] for at in sorted({at for loop in backward_branches(sass) for at in loop})]
            columns = [[line for line in lines if line.is_instruction] for lines in (shown["cuda"], sass, looped)]
            told = (f"{share(lines, lambda line: line.source_line):.0f} % of {len(lines)}" for lines in columns)
            print(f"{example.name:28}" + "".join(f"{each:>16}" for each in told))


def main() -> None:
    """Print times and facts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--gallery", action="store_true", help="how much of each example's code leads to its script")
    chosen = parser.parse_args()
    if chosen.gallery:
        print_gallery()
        return
    print_times(chosen.runs)
    print_code()


if __name__ == "__main__":
    main()
