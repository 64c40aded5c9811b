"""Twenty-two kernels with one known defect each: whether it is ranked first, and what is predicted and gained.

``python -m tests.benchmarks.causes [-mcpu=…] [--time]`` prints each planted defect, the cause that is said first, the
predicted gain of its remedy (of leaving it out, where no primitive does) and, with ``--time``, the measured one: of the
remedy, else of the same kernel mended by hand.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from app.artifacts import Options
from app.causes import CauseKind, Why
from app.proposals import Edit
from app.protocol import Message, Request
from app.recorder.measuring.measure import time_call, time_in_turns
from app.recorder.session import Session
from app.workers.ports import port_cause
from app.workers.tasks import PortCause
from compiler.classic import alias
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.device import cpu
from compiler.runtime.parallel.threads import set_num_threads
from compiler.te.definition.tensor import Tensor

HEAD = "import tvm\nfrom tvm import te\n\n"
HELD = 1.5
"""By which factor a prediction may be off."""
PROCESSORS = ("haswell", "skylake-avx512", "icelake-server", "sapphirerapids", "znver4")


@dataclass(frozen=True)
class Planted:
    """A kernel with a defect.

    Attributes
    ----------
    kinds : tuple of str
        What the defect may be called; the first is its name.
    mended : tuple of str
        A text of the script and what stands there without the defect.
    """

    name: str
    kinds: tuple[CauseKind, ...]
    script: str
    mended: tuple[str, str]
    threads: int = 1


def _elementwise(body: str, schedule: str = "", size: str = "1024, 1024", more: str = "", args: str = "A, B") -> str:
    return (
        f"A = te.placeholder(({size}), name='A')\n{more}"
        f"B = te.compute(({size}), lambda i, j: {body}, name='B')\n"
        f"s = te.create_schedule(B.op)\ni, j = B.op.axis\n{schedule}\nf = tvm.build(s, [{args}], 'llvm', name='f')\n"
    )


def _product(schedule: str, size: str = "256, 256, 256", dtype: str = "float32") -> str:
    return (
        f"n, m, l = {size}\nA = te.placeholder((n, l), '{dtype}', name='A')\n"
        f"W = te.placeholder((l, m), '{dtype}', name='W')\n"
        "k = te.reduce_axis((0, l), 'k')\nC = te.compute((n, m), lambda i, j: te.sum(A[i, k] * W[k, j], k), name='C')\n"
        f"s = te.create_schedule(C.op)\ni, j = C.op.axis\n[k] = C.op.reduce_axis\n{schedule}\n"
        "f = tvm.build(s, [A, W, C], 'llvm', name='f')\n"
    )


VECTORS = "jo, ji = s[B].split(j, 16)\ns[B].vectorize(ji)\n"

ROWS = (
    "A = te.placeholder((512, 512), name='A')\nk = te.reduce_axis((0, 512), 'k')\n"
    "B = te.compute((512,), lambda i: te.sum(A[i, k], k), name='B')\ns = te.create_schedule(B.op)\n{}\n"
    "f = tvm.build(s, [A, B], 'llvm', name='f')\n"
)
CHAINED = (
    "A = te.placeholder((2048, 2048), name='A')\n"
    "T = te.compute((2048, 2048), lambda i, j: A[i, j] * 2.0, name='T')\n"
    "B = te.compute((2048, 2048), lambda i, j: T[i, j] + 1.0, name='B')\n"
    "s = te.create_schedule(B.op)\n{}\nf = tvm.build(s, [A, B], 'llvm', name='f')\n"
)
WINDOW = (
    "A = te.placeholder((256, 264), name='A')\nT = te.compute((256, 264), lambda i, j: te.exp(A[i, j]), name='T')\n"
    "k = te.reduce_axis((0, 9), 'k')\nB = te.compute((256, 256), lambda i, j: te.sum(T[i, j + k], k), name='B')\n"
    "s = te.create_schedule(B.op)\ni, j = B.op.axis\n[k] = B.op.reduce_axis\njo, ji = s[B].split(j, 16)\n"
    "s[B].reorder(i, jo, k, ji)\ns[B].vectorize(ji)\n{}\nf = tvm.build(s, [A, B], 'llvm', name='f')\n"
)

PLANTED = (
    Planted(
        "row sums, one chain each",
        ("chain",),
        ROWS.format(""),
        (
            "s = te.create_schedule(B.op)",
            "s = te.create_schedule(B.op)\no, p = s[B].split(B.op.reduce_axis[0], 16)\n"
            "R = s.rfactor(B, p)\ns[R].reorder(R.op.axis[1], R.op.reduce_axis[0], R.op.axis[0])\n"
            "s[R].vectorize(R.op.axis[0])",
        ),
    ),
    Planted(
        "product of one register",
        ("chain",),
        _product("jo, ji = s[C].split(j, 16)\ns[C].reorder(i, jo, k, ji)\ns[C].vectorize(ji)"),
        (
            "s[C].vectorize(ji)",
            "s[C].vectorize(ji)\nio, ii = s[C].split(i, 8)\ns[C].reorder(io, jo, k, ii, ji)\ns[C].unroll(ii)",
        ),
    ),
    Planted(
        "dot products in order",
        ("chain",),
        _product("", "64, 64, 4096"),
        ("[k] = C.op.reduce_axis", "[k] = C.op.reduce_axis\ns[C].reorder(i, k, j)"),
    ),
    Planted(
        "columns inside of rows",
        ("order",),
        _elementwise("A[i, j] * 2.0", "s[B].reorder(j, i)"),
        ("s[B].reorder(j, i)", ""),
    ),
    Planted(
        "transposed copy",
        ("order",),
        _elementwise("A[j, i]", size="2000, 2000"),
        ("i, j = B.op.axis", "i, j = B.op.axis\nx, y, u, v = s[B].tile(i, j, 16, 16)"),
    ),
    Planted(
        "sums by columns, rows innermost",
        ("order", "chain"),
        "A = te.placeholder((3000, 3000), name='A')\nk = te.reduce_axis((0, 3000), 'k')\n"
        "B = te.compute((3000,), lambda j: te.sum(A[k, j], k), name='B')\ns = te.create_schedule(B.op)\n"
        "[k] = B.op.reduce_axis\n"
        "f = tvm.build(s, [A, B], 'llvm', name='f')\n",
        ("[k] = B.op.reduce_axis", "[k] = B.op.reduce_axis\ns[B].reorder(k, B.op.axis[0])"),
    ),
    Planted(
        "a remainder in the index",
        ("divisions",),
        _elementwise("A[i, (j * 7) % 251] + 1.0", size="251, 251"),
        ("A[i, (j * 7) % 251]", "A[i, j]"),
    ),
    Planted(
        "a function of C",
        ("calls",),
        _elementwise("tvm.tir.call_pure_extern('float32', 'expf', A[i, j])", size="256, 256"),
        ("tvm.tir.call_pure_extern('float32', 'expf', A[i, j])", "te.exp(A[i, j])"),
    ),
    Planted(
        "a tangent of C in a vector",
        ("calls",),
        _elementwise("tvm.tir.call_pure_extern('float32', 'tanhf', A[i, j]) * 0.5", size="256, 256"),
        ("tvm.tir.call_pure_extern('float32', 'tanhf', A[i, j])", "te.tanh(A[i, j])"),
    ),
    Planted(
        "vectors of three",
        ("lanes",),
        _elementwise("A[i, j] * 2.0 + 1.0", "jo, ji = s[B].split(j, 3)\ns[B].vectorize(ji)", size="128, 192"),
        ("split(j, 3)", "split(j, 16)"),
    ),
    Planted(
        "vectors of nine",
        ("lanes",),
        _elementwise("te.exp(A[i, j])", "jo, ji = s[B].split(j, 9)\ns[B].vectorize(ji)", size="128, 288"),
        ("split(j, 9)", "split(j, 16)"),
    ),
    Planted(
        "doubles by accident",
        ("float64",),
        _elementwise(
            "(te.exp(A[i, j].astype('float64')) * tvm.tir.const(2.0, 'float64')).astype('float32')", size="128, 128"
        ),
        (
            "(te.exp(A[i, j].astype('float64')) * tvm.tir.const(2.0, 'float64')).astype('float32')",
            "te.exp(A[i, j]) * 2.0",
        ),
    ),
    Planted(
        "an intermediate in memory",
        ("intermediate",),
        CHAINED.format(""),
        ("s = te.create_schedule(B.op)", "s = te.create_schedule(B.op)\ns[T].compute_inline()"),
    ),
    Planted(
        "computed again for each column",
        ("recomputed",),
        WINDOW.format("s[T].compute_at(s[B], k)"),
        ("compute_at(s[B], k)", "compute_at(s[B], i)"),
    ),
    Planted(
        "exponentials inlined into a window",
        ("inlined",),
        WINDOW.format("s[T].compute_inline()"),
        ("s[T].compute_inline()", "s[T].compute_at(s[B], i)"),
    ),
    Planted(
        "one thread of two",
        ("threads",),
        _elementwise("te.exp(A[i, j])", VECTORS),
        ("s[B].vectorize(ji)", "s[B].vectorize(ji)\ns[B].parallel(i)"),
        threads=2,
    ),
    Planted(
        "threads begun for each row",
        ("grain",),
        _elementwise("te.exp(A[i, j])", VECTORS + "s[B].parallel(jo)", size="2048, 64"),
        ("s[B].parallel(jo)", "s[B].parallel(i)"),
        threads=2,
    ),
    Planted(
        "three rows for two threads",
        ("balance",),
        _elementwise("te.exp(A[i, j])", VECTORS + "s[B].parallel(i)", size="3, 65536"),
        ("s[B].parallel(i)", "s[B].parallel(s[B].fuse(i, jo))"),
        threads=2,
    ),
    Planted(
        "columns of one table for two threads",
        ("sharing",),
        _elementwise("A[i, j] * 2.0", "s[B].reorder(j, i)\ns[B].parallel(j)", size="4096, 16"),
        ("s[B].reorder(j, i)\ns[B].parallel(j)", "s[B].parallel(i)"),
        threads=2,
    ),
    Planted(
        "a tile of more registers than there are",
        ("spills",),
        _product(
            "CC = s.cache_write(C, 'local')\ni, j = C.op.axis\nio, ii = s[C].split(i, 16)\njo, ji = s[C].split(j, 64)\n"
            "s[C].reorder(io, jo, ii, ji)\ns[CC].compute_at(s[C], jo)\nci, cj = CC.op.axis\n"
            "[ck] = CC.op.reduce_axis\ns[CC].reorder(ck, ci, cj)\ns[CC].vectorize(cj)\ns[CC].unroll(ci)\n"
            "s[C].vectorize(ji)"
        ),
        ("split(i, 16)", "split(i, 4)"),
    ),
    Planted(
        "a column per line, a power of two apart",
        ("conflicts", "order"),
        _elementwise("A[j, i] * 2.0", size="64, 1024")
        .replace("placeholder((64, 1024)", "placeholder((1024, 1024)")
        .replace("compute((64, 1024)", "compute((1024, 64)"),
        ("te.placeholder((1024, 1024), name='A')", "te.placeholder((1024, 1040), name='A')"),
    ),
    Planted(
        "sums of images, each in a column",
        ("conflicts", "order"),
        "A = te.placeholder((64, 64, 512), name='A')\nk = te.reduce_axis((0, 64), 'k')\n"
        "B = te.compute((512, 64), lambda i, j: te.sum(A[j, k, i], k), name='B')\ns = te.create_schedule(B.op)\n"
        "i, j = B.op.axis\n[k] = B.op.reduce_axis\ns[B].reorder(j, k, i)\nf = tvm.build(s, [A, B], 'llvm', name='f')\n",
        (
            "i, j = B.op.axis\n[k] = B.op.reduce_axis\ns[B].reorder(j, k, i)",
            "R = s.cache_write(B, 'local')\ni, j = s[B].op.axis\n[k] = s[R].op.reduce_axis\ns[B].reorder(j, i)\n"
            "s[R].compute_at(s[B], j)\ns[R].reorder(k, *s[R].op.axis)",
        ),
    ),
)

PORTS = (
    Planted(
        "pairs of numbers taken apart",
        ("ports",),
        _elementwise("A[i, 2 * j] * A[i, 2 * j] + A[i, 2 * j + 1] * A[i, 2 * j + 1]", VECTORS, size="64, 64").replace(
            "placeholder((64, 64)", "placeholder((64, 128)"
        ),
        (
            "A[i, 2 * j] * A[i, 2 * j] + A[i, 2 * j + 1] * A[i, 2 * j + 1]",
            "A[i, j] * A[i, j] + A[i, j + 64] * A[i, j + 64]",
        ),
    ),
    Planted(
        "grey of three colours",
        ("ports",),
        _elementwise("A[i, 3 * j] + A[i, 3 * j + 1] * A[i, 3 * j + 2]", VECTORS, size="64, 48").replace(
            "placeholder((64, 48)", "placeholder((64, 144)"
        ),
        ("A[i, 3 * j] + A[i, 3 * j + 1] * A[i, 3 * j + 2]", "A[i, j] + A[i, j + 48] * A[i, j + 96]"),
    ),
)
"""Defects that only the machine code shows, by LLVM's model; nothing is said of them without llvm-mca."""

HELD_OUT = (
    Planted(
        "squares of rows in double precision",
        ("chain",),
        ROWS.format("").replace("name='A')", "name='A', dtype='float64')").replace("A[i, k]", "A[i, k] * A[i, k]"),
        ("A[i, k] * A[i, k]", "A[i, k]"),
    ),
    Planted("maxima of rows", ("chain",), ROWS.format("").replace("te.sum", "te.max"), ("te.max", "te.min")),
    Planted(
        "three neighbours below, down the columns",
        ("order",),
        _elementwise("A[i, j] + A[i + 1, j] + A[i + 2, j]", "s[B].reorder(j, i)", size="1500, 1500").replace(
            "placeholder((1500, 1500)", "placeholder((1502, 1500)"
        ),
        ("s[B].reorder(j, i)", ""),
    ),
    Planted(
        "a hash as the index",
        ("divisions",),
        _elementwise("A[i, (i * 31 + j * 17) % 127]", size="127, 127"),
        ("A[i, (i * 31 + j * 17) % 127]", "A[i, j]"),
    ),
    Planted(
        "a sine of C",
        ("calls",),
        _elementwise("tvm.tir.call_pure_extern('float32', 'sinf', A[i, j]) + 1.0", size="200, 300"),
        ("tvm.tir.call_pure_extern('float32', 'sinf', A[i, j])", "te.sin(A[i, j])"),
    ),
    Planted(
        "a product in vectors of five",
        ("lanes",),
        _product("jo, ji = s[C].split(j, 5)\ns[C].reorder(i, k, jo, ji)\ns[C].vectorize(ji)", "60, 60, 60"),
        ("split(j, 5)", "split(j, 12)"),
    ),
    Planted(
        "a logarithm in doubles",
        ("float64",),
        _elementwise("te.log(A[i, j].astype('float64')).astype('float32')", size="90, 110"),
        ("te.log(A[i, j].astype('float64')).astype('float32')", "te.log(A[i, j])"),
    ),
    Planted(
        "a difference kept for its square",
        ("intermediate",),
        CHAINED.format("").replace("A[i, j] * 2.0", "A[i, j] - 0.5").replace("T[i, j] + 1.0", "T[i, j] * T[i, j]"),
        ("s = te.create_schedule(B.op)", "s = te.create_schedule(B.op)\ns[T].compute_inline()"),
    ),
    Planted(
        "the maximum of the row for each element",
        ("recomputed",),
        "A = te.placeholder((200, 200), name='A')\nk = te.reduce_axis((0, 200), 'k')\n"
        "M = te.compute((200,), lambda i: te.max(A[i, k], k), name='M')\n"
        "B = te.compute((200, 200), lambda i, j: A[i, j] - M[i], name='B')\ns = te.create_schedule(B.op)\n"
        "i, j = B.op.axis\ns[M].compute_at(s[B], j)\nf = tvm.build(s, [A, B], 'llvm', name='f')\n",
        ("compute_at(s[B], j)", "compute_at(s[B], i)"),
    ),
    Planted(
        "logarithms inlined into a product",
        ("inlined",),
        "A = te.placeholder((96, 96), name='A')\nW = te.placeholder((96, 96), name='W')\n"
        "T = te.compute((96, 96), lambda i, j: te.log(W[i, j]), name='T')\nk = te.reduce_axis((0, 96), 'k')\n"
        "C = te.compute((96, 96), lambda i, j: te.sum(A[i, k] * T[k, j], k), name='C')\n"
        "s = te.create_schedule(C.op)\ni, j = C.op.axis\n[k] = C.op.reduce_axis\njo, ji = s[C].split(j, 16)\n"
        "s[C].reorder(i, jo, k, ji)\ns[C].vectorize(ji)\ns[T].compute_inline()\n"
        "f = tvm.build(s, [A, W, C], 'llvm', name='f')\n",
        ("s[T].compute_inline()", ""),
    ),
    Planted(
        "a product on one thread of two",
        ("threads",),
        _product(
            "io, ii = s[C].split(i, 8)\njo, ji = s[C].split(j, 16)\ns[C].reorder(io, jo, k, ii, ji)\n"
            "s[C].unroll(ii)\ns[C].vectorize(ji)"
        ),
        ("s[C].vectorize(ji)", "s[C].vectorize(ji)\ns[C].parallel(io)"),
        threads=2,
    ),
    Planted(
        "threads begun for every row of a table",
        ("grain",),
        _elementwise("A[i, j] * 3.0 + 1.0", VECTORS + "s[B].parallel(jo)", size="4000, 32"),
        ("s[B].parallel(jo)", "s[B].parallel(i)"),
        threads=2,
    ),
    Planted(
        "five images for two threads",
        ("balance",),
        _elementwise("te.tanh(A[i, j])", VECTORS + "s[B].parallel(i)", size="5, 32768"),
        ("s[B].parallel(i)", "s[B].parallel(s[B].fuse(i, jo))"),
        threads=2,
    ),
    Planted(
        "sums of two threads beside each other",
        ("sharing",),
        _product("s[C].reorder(j, k, i)\ns[C].parallel(j)", "256, 8, 64"),
        ("s[C].reorder(j, k, i)\ns[C].parallel(j)", "s[C].reorder(i, k, j)\ns[C].parallel(i)"),
        threads=2,
    ),
    Planted(
        "twelve rows of accumulators",
        ("spills",),
        _product(
            "CC = s.cache_write(C, 'local')\ni, j = C.op.axis\nio, ii = s[C].split(i, 12)\njo, ji = s[C].split(j, 64)\n"
            "s[C].reorder(io, jo, ii, ji)\ns[CC].compute_at(s[C], jo)\nci, cj = CC.op.axis\n"
            "[ck] = CC.op.reduce_axis\ns[CC].reorder(ck, ci, cj)\ns[CC].vectorize(cj)\ns[CC].unroll(ci)\n"
            "s[C].vectorize(ji)",
            "240, 256, 128",
        ),
        ("split(i, 12)", "split(i, 3)"),
    ),
    Planted(
        "columns of a table of 512 doubles",
        ("conflicts", "order"),
        _elementwise("A[j, i] + 1.0", size="32, 2048")
        .replace("placeholder((32, 2048), name='A'", "placeholder((2048, 512), name='A', dtype='float64'")
        .replace("A[j, i] + 1.0", "A[j, i] + tvm.tir.const(1.0, 'float64')"),
        ("te.placeholder((2048, 512)", "te.placeholder((2048, 520)"),
    ),
    Planted(
        "the real part of a product of complex numbers",
        ("ports",),
        _elementwise(
            "A[i, 2 * j] * A[i + 32, 2 * j] - A[i, 2 * j + 1] * A[i + 32, 2 * j + 1]", VECTORS, size="32, 64"
        ).replace("placeholder((32, 64)", "placeholder((64, 128)"),
        ("2 * j + 1", "j + 64"),
    ),
)
"""Further kernels, which nothing of the model was chosen by."""
KERNELS = {"planted": PLANTED, "ports": PORTS, "held out": HELD_OUT}


def why(script: str, cpu: str, threads: int = 1) -> Why:
    """Return the causes of a script's function on a processor."""
    messages: list[Message] = []
    options = Options(target=f"llvm -mcpu={cpu}", threads=threads)
    Session(Request(mode="propose", script=script, explained=-1, options=options), messages.append, guarded=False).run()
    said = next(message for message in messages if isinstance(message, Why))
    found = port_cause(said.loop) if said.loop is not None else PortCause()
    return said.with_cause(found.cause, found.unknown)


def edited(script: str, edit: Edit) -> str:
    """Return a script after an edit, as the editor makes it."""
    lines = script.splitlines()
    lines[edit.line - 1 : edit.line - 1 + edit.removed] = edit.text.split("\n")
    return "\n".join(lines) + "\n"


def scripts(planted: Planted, cpu: str) -> str:
    """Return the script of a case for a processor."""
    return HEAD + planted.script.replace("'llvm'", f"'llvm -mcpu={cpu}'")


def gained(before: str, after: str, threads: int) -> tuple[float, bool]:
    """Return how many times as fast a script's function is after a change, and whether others disturbed that."""
    set_num_threads(threads)
    calls = (_call(before), _call(after))
    timings = time_in_turns(calls, (time_call(calls[0]), time_call(calls[1])))
    return timings[0].median / timings[1].median, any(timing.is_disturbed for timing in timings)


def _call(script: str) -> Callable[[], object]:
    alias.install()
    names: dict[str, Any] = {}
    exec(compile(script, "planted", "exec"), names)
    tensors = [names[name] for name in ("A", "W", "B", "C") if isinstance(names.get(name), Tensor)]
    random = np.random.default_rng(0)
    arrays = [array(random.random([int(e) for e in t.shape]).astype(t.dtype), cpu(0)) for t in tensors]
    return partial(names["f"], *arrays)


def _row(planted: Planted, cpu_name: str, measures: bool) -> bool:
    """Print what is said of a case; return whether its defect is said first."""
    script = scripts(planted, cpu_name)
    said = why(script, cpu_name, planted.threads)
    first = said.causes[0] if said.causes else None
    if first is None:
        print(f"MISS {planted.name}: {said.problem or 'no cause'}")
        return False
    is_right = first.kind in planted.kinds
    row = f"{'ok  ' if is_right else 'MISS'} {planted.name:<42} {first.kind:<12} {first.share:>4.0%}  "
    label, after = "mended by hand", script.replace(*planted.mended)
    if first.remedy is not None and first.remedy.edit is not None:
        label, after = first.remedy.label, edited(script, first.remedy.edit)
    row += f"{label:<24} predicted {first.gain or 1:>6.2f} x"
    if measures:
        ratio, disturbed = gained(script, after, planted.threads)
        held = abs(math.log((first.gain or 1) / ratio)) <= math.log(HELD)
        row += f", measured {ratio:>6.2f} x: {'held' if held else 'not held'}{', disturbed' if disturbed else ''}"
    print(row, flush=True)
    return is_right


def main(arguments: Sequence[str]) -> None:
    """Print the table for each processor."""
    named = [argument.removeprefix("-mcpu=") for argument in arguments if argument.startswith("-mcpu=")]
    for name in named or PROCESSORS:
        for title, kernels in KERNELS.items():
            right = sum(_row(planted, name, "--time" in arguments) for planted in kernels)
            print(f"{name}, {title}: the defect is said first in {right} of {len(kernels)}")


if __name__ == "__main__":
    main(sys.argv[1:])
