"""Looking at values while machine code runs."""

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.error import ArgumentError
from compiler.tir.interpreter import interpret

SEEN = []


@tvm.register_func("test.trace.look")
def look(*values):
    SEEN.append(values)


@tvm.register_func("test.trace.negate")
def negate(*values):
    return -values[-1]


def traced(dtype, action):
    x = te.placeholder((4,), dtype, "x")
    y = te.compute((4,), lambda i: tir.trace([i, x[i]], action), name="y")
    return te.create_schedule(y.op), [x, y]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8"])
@pytest.mark.parametrize(("action", "sign"), [("test.trace.look", 1), ("test.trace.negate", -1)])
def test_machine_code_and_interpreter_call_the_function(dtype, action, sign):
    schedule, tensors = traced(dtype, action)

    def interpreted(*arrays):
        interpret(tvm.lower(schedule, tensors)["main"], arrays)

    x = np.array([1, -2, 3, 4], dtype)
    for run in (tvm.build(schedule, tensors), interpreted):
        SEEN.clear()
        y = np.zeros(4, dtype)
        run(x, y)
        np.testing.assert_equal(y, sign * x)
        assert ([(i, v) for i, v in enumerate(x.tolist())] if sign == 1 else []) == SEEN


def test_the_default_action_prints(capsys):
    schedule, tensors = traced("float32", "tvm.default_trace_action")
    tvm.build(schedule, tensors)(np.ones(4, "float32"), np.zeros(4, "float32"))
    assert capsys.readouterr().out.splitlines()[1] == "[1, 1.0]"


def test_an_error_of_the_function_is_raised():
    @tvm.register_func("test.trace.fail", override=True)
    def fail(*values):
        raise KeyError("no")

    schedule, tensors = traced("float32", "test.trace.fail")
    with pytest.raises(KeyError, match="no"):
        tvm.build(schedule, tensors)(np.ones(4, "float32"), np.zeros(4, "float32"))


@pytest.mark.parametrize(("args", "action"), [([], "a"), (3, "a"), ([1], 3)])
def test_arguments_are_checked(args, action):
    with pytest.raises(ArgumentError, match="trace: "):
        tir.trace(args, action)
