"""Operators whose schedules have numbers to choose: tasks, configurations against NumPy, models by records."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic import autotvm
from compiler.classic.autotvm.measure import MeasureInput, MeasureResult
from compiler.classic.autotvm.operator_templates import template_name
from compiler.ir.error import ArgumentError

TARGET = "llvm -mcpu=haswell"


def _models():
    """Return models of one call, by the operator that it becomes in a build."""
    x, last = relay.var("x", shape=(1, 16, 4, 5)), relay.var("x", shape=(1, 4, 5, 4))
    window, depthwise = relay.var("w", shape=(16, 16, 3, 3)), relay.var("w", shape=(16, 1, 3, 3))
    last_window, transposed = relay.var("w", shape=(3, 3, 4, 8)), relay.var("w", shape=(4, 8, 3, 3))
    weight = relay.const(np.random.rand(16, 8).astype("float32"))
    return {
        "nn.contrib_conv2d_NCHWc": relay.nn.relu(relay.nn.conv2d(x, window, padding=(1, 1))),
        "nn.contrib_depthwise_conv2d_NCHWc": relay.nn.conv2d(x, depthwise, padding=(1, 1), groups=16),
        "nn.conv2d": relay.nn.conv2d(last, last_window, data_layout="NHWC", kernel_layout="HWIO"),
        "nn.conv2d_transpose": relay.nn.conv2d_transpose(
            last, transposed, channels=8, kernel_size=(3, 3), data_layout="NHWC"
        ),
        "nn.dense": relay.nn.dense(relay.var("x", shape=(4, 16)), relay.var("w", shape=(8, 16))),
        "nn.batch_matmul": relay.nn.batch_matmul(*(relay.var(name, shape=(2, 4, 16)) for name in "xw")),
        "nn.contrib_dense_pack": relay.nn.dense(relay.var("x", shape=(32, 8)), weight),
    }


def _module(body):
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))


def _arrays(task):
    return [np.random.rand(*shape).astype(dtype) for _, shape, dtype in task.args[:-1]]


def _parameters(arrays):
    return [relay.var(f"p{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", _models())
def test_configurations_compute_what_numpy_does(name):
    [task] = autotvm.task.extract_from_program(_module(_models()[name]), {}, TARGET)
    operator = relay.op.get(name)
    assert task.name == template_name(operator)
    space, arrays = task.config_space, _arrays(task)
    call = _module(operator(*_parameters(arrays), **dict(task.args[-1])))["main"].body
    expected = operator.reference(call.attrs, *arrays)
    texts = set()
    for index in (len(space) // 3, len(space) - 1):
        with task.target:
            schedule, args = task.instantiate(space.get(index))
        texts.add(str(tvm.lower(schedule, args)))
        out = tvm.nd.array(np.zeros(expected.shape, expected.dtype))
        tvm.build(schedule, args, "llvm")(*map(tvm.nd.array, arrays), out)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-5)
    assert len(texts) > 1, space


def test_the_first_configuration_is_the_usual_schedule():
    for body in _models().values():
        [task] = autotvm.task.extract_from_program(_module(body), {}, TARGET)
        with task.target:
            chosen, args = task.instantiate(task.config_space.get(0))
            operator = next(o for o in map(relay.op.get, _models()) if template_name(o) == task.name)
            call = _module(operator(*_parameters(_arrays(task)), **dict(task.args[-1])))["main"].body
            inputs = args[: len(call.args)]
            outputs = operator.compute(call.attrs, inputs, call.checked_type)
            usual = operator.schedule(call.attrs, outputs, task.target)
        tvm.ir.assert_structural_equal(tvm.lower(chosen, args), tvm.lower(usual, [*inputs, *outputs]))


def _record(task, index, seconds):
    return MeasureInput(task.target, task, task.config_space.get(index)), MeasureResult((seconds,), 0, 1.0, 0.0)


def _loops(module):
    """Return the loops of a model's only convolution or product."""
    with tvm.transform.PassContext(opt_level=3):
        built = relay.build(module, tvm.target.Target(TARGET))
    [kernel] = [k for k in built.kernels.values() if "conv2d" in k.name or "dense" in k.name]
    return kernel.prim_func


def test_models_are_built_by_the_best_records(tmp_path):
    module = _module(_models()["nn.contrib_conv2d_NCHWc"])
    [task] = autotvm.task.extract_from_program(module, {}, TARGET, ops=[relay.op.get("nn.conv2d")])
    last = len(task.config_space) - 1
    log = tmp_path / "conv2d.log"
    rows = [_record(task, 0, 0.5), _record(task, last, 0.25)]
    log.write_text("".join(autotvm.record.encode(*row) + "\n" for row in rows))
    usual = _loops(module)
    with autotvm.apply_history_best(str(log)):
        tuned = _loops(module)
    with autotvm.apply_history_best(rows[:1]):
        tvm.ir.assert_structural_equal(_loops(module), usual)
    assert not tvm.ir.structural_equal(tuned, usual)
    tvm.ir.assert_structural_equal(_loops(module), usual)


def test_a_tuned_model_computes_the_same():
    module = _module(_models()["nn.contrib_conv2d_NCHWc"])
    [task] = autotvm.task.extract_from_program(module, {}, "llvm")
    arrays = [np.random.rand(1, 16, 4, 5).astype("float32"), np.random.rand(16, 16, 3, 3).astype("float32")]
    record = _record(task, len(task.config_space) - 1, 0.5)
    with autotvm.apply_history_best([record]), tvm.transform.PassContext(opt_level=3):
        tuned = relay.create_executor("graph", module, target="llvm").evaluate()(*arrays).numpy()
    expected = relay.create_executor("debug", module).evaluate()(*arrays).numpy()
    np.testing.assert_allclose(tuned, expected, rtol=1e-4, atol=1e-5)


def test_untuned_calls_are_reported_and_have_the_usual_schedule():
    module = _module(_models()["nn.dense"])
    usual = _loops(module)
    with autotvm.apply_history_best([]), pytest.warns(UserWarning, match=r"Cannot find config .*dense\.cpu"):
        tvm.ir.assert_structural_equal(_loops(module), usual)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["tile_rows", "ot", 1000000], ["tile_columns", "ot", 1]], "tile_rows must be one of .*, got 1000000"),
        ([["tile_rows", "ot", "many"], ["tile_columns", "ot", 1]], "tile_rows must be one of .*, got 'many'"),
        ([["tile_rows", "sp", [-1, 2]], ["tile_columns", "ot", 1]], "has no value for the schedule's knob tile_rows"),
        ([], "has no value for the schedule's knob tile_rows"),
    ],
)
def test_records_that_do_not_fit_are_refused(rows, message):
    module = _module(_models()["nn.dense"])
    [task] = autotvm.task.extract_from_program(module, {}, TARGET)
    config = autotvm.ConfigEntity.from_json_dict({"index": 0, "entity": rows})
    record = MeasureInput(task.target, task, config), MeasureResult((0.5,), 0, 1.0, 0.0)
    with autotvm.apply_history_best([record]), pytest.raises(ArgumentError, match=message):
        _loops(module)


def test_tasks_are_those_of_the_operators_asked_for():
    dense, conv = relay.op.get("nn.dense"), relay.op.get("nn.conv2d")
    models = [_module(body) for body in _models().values()]
    params = [{}] * len(models)
    extract = autotvm.task.extract_from_multiple_program
    assert [t.name for t in extract(models, params, TARGET, ops=[dense])] == ["dense.cpu", "dense_pack.cpu"]
    names = [t.name for t in extract(models * 2, params * 2, TARGET, ops=(conv,))]
    assert names == ["conv2d_NCHWc.cpu", "depthwise_conv2d_NCHWc.cpu", "conv2d.cpu"]
    assert extract(models, params, "cuda") == []
