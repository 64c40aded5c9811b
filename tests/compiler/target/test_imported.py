"""LLVM IR that a program brings by the pragma ``import_llvm`` becomes part of what is built."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.error import BuildError

AXPY = """
define i32 @axpy4(ptr %y, ptr %x) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %px = getelementptr float, ptr %x, i64 %i
  %py = getelementptr float, ptr %y, i64 %i
  %vx = load float, ptr %px
  %twice = fmul float %vx, 2.0
  store float %twice, ptr %py
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 4
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
"""


def doubled_by_fours() -> tuple[te.Schedule, list[te.Tensor]]:
    """Return a schedule whose innermost loop calls ``axpy4``."""
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] * 2.0, name="b")
    buffers = {t: tir.decl_buffer((4,), name=t.name, offset_factor=1, strides=[1]) for t in (a, b)}

    def called(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        call = tir.call_extern("int32", "axpy4", outs[0].access_ptr("w"), ins[0].access_ptr("r"))
        return tir.Evaluate(call)

    intrin = te.decl_tensor_intrin(b.op, called, binds=buffers)
    x = te.placeholder((16,), name="x")
    y = te.compute((16,), lambda i: x[i] * 2.0, name="y")
    s = te.create_schedule(y.op)
    _, inner = s[y].split(y.op.axis[0], 4)
    s[y].tensorize(inner, intrin)
    return s, [x, y]


def run(schedule: te.Schedule, args: list[te.Tensor]) -> list[float]:
    result = tvm.nd.array(np.zeros(16, "float32"))
    tvm.build(schedule, args)(tvm.nd.array(np.arange(16, dtype="float32")), result)
    values: list[float] = result.numpy().tolist()
    return values


@pytest.mark.parametrize("as_file", [False, True])
def test_imported_functions_are_called(as_file: bool, tmp_path: Path) -> None:
    schedule, args = doubled_by_fours()
    (tmp_path / "axpy.ll").write_text(AXPY)
    schedule[args[1]].pragma(
        schedule[args[1]].leaf_iter_vars[0], "import_llvm", str(tmp_path / "axpy.ll") if as_file else AXPY
    )
    assert run(schedule, args) == [2.0 * i for i in range(16)]


def test_without_them_the_call_has_no_function() -> None:
    with pytest.raises(BuildError, match="calls 'axpy4', and this process has no function"):
        run(*doubled_by_fours())


@pytest.mark.parametrize("text", ["not LLVM IR", "missing.ll", "missing.bc"])
def test_what_llvm_cannot_read_is_refused(text: str) -> None:
    schedule, args = doubled_by_fours()
    schedule[args[1]].pragma(schedule[args[1]].leaf_iter_vars[0], "import_llvm", text)
    with pytest.raises(BuildError, match="build: import_llvm: what is imported is not LLVM IR"):
        run(schedule, args)
