"""Small computations that several tests schedule."""

from __future__ import annotations

from typing import Any

from compiler import te
from compiler.te.lowering.to_tir import schedule_to_prim_func
from compiler.tir.printing.printer import script


def matmul(rows: Any = 64, columns: Any = 64, inner: Any = 64) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """Return the tensors A, B and C of a matrix multiplication."""
    a = te.placeholder((rows, inner), name="A")
    b = te.placeholder((inner, columns), name="B")
    k = te.reduce_axis((0, inner), name="k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return a, b, c


def body_text(schedule: te.Schedule, args: list[Any]) -> str:
    """Return the loops of a schedule as TVMScript, without the function's head."""
    lines = str(script(schedule_to_prim_func(schedule, args)).text()).split("\n")
    start = next(i for i, line in enumerate(lines) if "func_attr" in line)
    return "\n".join(line[4:] for line in lines[start + 1 :])
