"""Options of contexts that lowering and building take."""

import subprocess
import sys

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.tir.statements.stmt import For
from compiler.tir.statements.stmt_functor import post_order_visit


def _column():
    a = te.placeholder((4, 1), name="a")
    b = te.compute((4, 1), lambda i, j: a[i, j] + 1.0, name="b")
    return te.create_schedule(b.op), [a, b]


def _extents(module):
    extents = []
    post_order_visit(module["main"].body, lambda n: extents.append(int(n.extent)) if isinstance(n, For) else None)
    return sorted(extents)


def test_loops_of_one_iteration_are_kept():
    s, args = _column()
    assert _extents(tvm.lower(s, args)) == [4]
    with tvm.transform.PassContext(config={"tir.debug_keep_trivial_loop": True}):
        assert _extents(tvm.lower(s, args)) == [1, 4]
        built = tvm.build(s, args, "llvm")
    data, out = tvm.nd.array(np.arange(4, dtype="float32").reshape(4, 1)), tvm.nd.array(np.zeros((4, 1), "float32"))
    built(data, out)
    np.testing.assert_array_equal(out.numpy(), data.numpy() + 1)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tir.usmp.enable", True),
        ("tir.usmp.algorithm", "greedy_by_size"),
        ("tir.usmp.custom_algorithm", "trivial"),
        ("tir.usmp.use_workspace_io", True),
        ("tir.is_entry_func", True),
        ("tir.enable_debug", True),
        ("tir.ptx_ldg32", 1),
    ],
)
def test_options_of_others_leave_programs_alone(option, value):
    s, args = _column()
    usual = tvm.lower(s, args)
    with tvm.transform.PassContext(config={option: value}):
        assert tvm.ir.structural_equal(tvm.lower(s, args), usual)


def test_options_are_known_before_anything_is_lowered():
    script = (
        "import compiler as tvm\n"
        "tvm.transform.PassContext(config={'tir.debug_keep_trivial_loop': True, 'tir.usmp.enable': True})\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
