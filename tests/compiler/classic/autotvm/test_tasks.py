"""Spaces against enumeration, templates against NumPy, records and the contexts that read them."""

import base64
import itertools
import json
import math
import pickle

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te, topi
from compiler.classic import autotvm
from compiler.classic.autotvm.task.space import FallbackConfigEntity, InstantiationError, SplitEntity
from compiler.classic.testing.relay import run_infer_type


@autotvm.template("test/matmul")
def matmul(n, m):
    a, b = te.placeholder((n, m), name="A"), te.placeholder((m, n), name="B")
    k = te.reduce_axis((0, m), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    cfg = autotvm.get_config()
    y, x = c.op.axis
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", x, num_outputs=2)
    cfg.define_reorder("order", [cfg.axis(y), cfg.axis(x), cfg.axis(4)])
    cfg.define_annotate("inner", [cfg.axis(x)], policy="try_unroll_vec")
    cfg.define_knob("unused", [0, 512])
    yo, yi = cfg["tile_y"].apply(s, c, y)
    xo, xi = cfg["tile_x"].apply(s, c, x)
    cfg["order"].apply(s, c, [yo, xo, k])
    s[c].reorder(yi, xi)
    cfg["inner"].apply(s, c, [xi])
    if cfg["tile_y"].size[-1] == 5:
        cfg.raise_error("five rows are too many")
    return s, [a, b, c]


def test_every_configuration_computes_the_product():
    task = autotvm.task.create("test/matmul", (10, 6), "llvm")
    assert task.flop == 2 * 10 * 10 * 6
    assert task.workload == ("test/matmul", 10, 6)
    space = task.config_space
    assert space.dims == [4, 4, 6, 3, 2]
    assert len(space) == 576
    a, b = np.random.rand(10, 6).astype("float32"), np.random.rand(6, 10).astype("float32")
    schedules = set()
    for index in range(0, len(space), 7):
        config = space.get(index)
        assert space.knob2point(space.point2knob(index)) == index
        if config["tile_y"].size[-1] == 5:
            with pytest.raises(InstantiationError, match="five rows"):
                task.instantiate(config)
            continue
        schedule, args = task.instantiate(config)
        built = tvm.build(schedule, args, "llvm")
        schedules.add(str(tvm.lower(schedule, args)))
        c = tvm.nd.array(np.zeros((10, 10), "float32"))
        built(tvm.nd.array(a), tvm.nd.array(b), c)
        np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)
    assert len(schedules) > 30
    with pytest.raises(IndexError):
        space.get(len(space))


@pytest.mark.parametrize("extent", [1, 12, 30])
@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_splits_are_the_factorizations(extent, parts):
    space = autotvm.ConfigSpace()
    space.define_split("exact", space.axis(extent), num_outputs=parts)
    space.define_split("tails", space.axis(extent), policy="power2", num_outputs=parts, max_factor=4)
    ranges = itertools.product(range(1, extent + 1), repeat=parts - 1)
    expected = {(-1, *sizes) for sizes in ranges if extent % math.prod(sizes) == 0}
    assert {tuple(e.size) for e in space.space_map["exact"].entities} == expected
    ranges = itertools.product([1, 2, 4], repeat=parts - 1)
    expected = {(-1, *sizes) for sizes in ranges if math.prod(sizes) <= extent}
    assert {tuple(e.size) for e in space.space_map["tails"].entities} == expected


def test_default_configurations():
    config = FallbackConfigEntity()
    config.define_split("a", config.axis(24), num_outputs=3)
    assert config["a"].size == [-1, 1, 1]
    config.fallback_split("a", [-1, 5, 7])
    assert config["a"].size == [1, 4, 6]
    config["a"] = SplitEntity([-1, 2, 2])
    assert config["a"].size == [-1, 2, 2]
    with pytest.raises(KeyError):
        config["b"]


def _record(task, index, cost, error=0):
    inp = autotvm.MeasureInput(task.target, task, task.config_space.get(index))
    return inp, autotvm.MeasureResult((cost,), error, 1.0, 0.0)


def test_the_best_record_is_applied(tmp_path):
    task = autotvm.task.create("test/matmul", (8, 6), "llvm")
    records = [_record(task, 3, 0.5), _record(task, 10, 0.25), _record(task, 5, 0.1, error=4), _record(task, 7, 0.75)]
    log = tmp_path / "log.json"
    log.write_text("".join(autotvm.record.encode(*row) + "\n" for row in records))
    reread = list(autotvm.record.load_from_file(log))
    written = [[json.dumps(inp.config.to_json_dict()) for inp, _ in rows] for rows in (reread, records)]
    assert written[0] == written[1]
    assert [res.error_no for _, res in reread] == [0, 0, 4, 0]
    expected, args = task.instantiate(task.config_space.get(10))
    for source in (records, str(log)):
        with autotvm.apply_history_best(source), tvm.target.Target("llvm"):
            schedule, made = matmul(8, 6)
        tvm.ir.assert_structural_equal(tvm.lower(schedule, made), tvm.lower(expected, args))
    with pytest.warns(UserWarning, match="Cannot find config"), tvm.target.Target("llvm"):
        matmul(16, 6)


@autotvm.register_topi_compute("test/scaled_twice")
def _scaled_twice(cfg, x):
    return topi.multiply(x, 2.0)


@autotvm.register_topi_schedule("test/scaled_twice")
def _schedule_scaled_twice(cfg, outs):
    s = te.create_schedule([o.op for o in outs])
    cfg.define_split("tile", outs[0].op.axis[0], num_outputs=2)
    cfg["tile"].apply(s, outs[0], outs[0].op.axis[0])
    return s


def _strategy(attrs, inputs, out_type, target):
    strategy = relay.op.OpStrategy()
    wrap = relay.op.strategy.wrap_topi_compute, relay.op.strategy.wrap_topi_schedule
    strategy.add_implementation(wrap[0](_scaled_twice), wrap[1](_schedule_scaled_twice), name="tuned", plevel=1)
    strategy.add_implementation(
        wrap[0](lambda x: topi.add(x, x)), wrap[1](topi.generic.schedule_injective), name="usual", plevel=10
    )
    return strategy


def test_a_tuned_implementation_is_chosen_before_the_level():
    call = run_infer_type(relay.abs(relay.var("x", shape=(12,))))
    target = tvm.target.Target("llvm")
    task = autotvm.task.create("test/scaled_twice", [te.placeholder((12,))], target)

    def chosen(use_autotvm=True):
        x = te.placeholder((12,))
        op = relay.op.get("abs")
        op.reset_attr("FTVMStrategy")
        op.set_attr("FTVMStrategy", _strategy, 11)
        select = relay.backend.te_compiler.select_implementation
        try:
            return select(op, call.attrs, [x], call.checked_type, target, use_autotvm)[0].name
        finally:
            op.reset_attr("FTVMStrategy")

    assert chosen() == "usual"
    with autotvm.apply_history_best([_record(task, 2, 0.5)]):
        assert chosen() == "tuned"
        assert chosen(use_autotvm=False) == "usual"


def _tiles(product: int = 128) -> autotvm.ConfigSpace:
    space = autotvm.ConfigSpace()
    for name in ("y", "x"):
        space.define_split(f"tile_{name}", space.axis(product), num_outputs=2)
    return space


def test_a_filter_leaves_configurations_out():
    space = _tiles()

    def fits(config):
        return 32 <= config["tile_x"].size[1] * config["tile_y"].size[1] < 1024

    expected = [i for i in range(64) if fits(space.get(i))]
    space.multi_filter(fits)
    assert (len(space), space.range_length) == (len(expected), 64)
    assert [i for i in range(-1, 70) if space.is_index_valid(i)] == expected
    assert space.subrange_length(0, 20) == sum(i < 20 for i in expected)
    assert space.get_next_index(expected[0]) == expected[1]
    assert space.get_next_index(expected[0] - 1) == expected[0]
    assert space.get_next_index(expected[5], -5) == expected[0]
    assert space.get_next_index(expected[-1]) is None
    assert space.get_next_index(expected[0], end=expected[1]) is None
    assert sorted(space.sample_ints(len(expected))) == expected
    assert space.random_walk(expected[3]) in set(expected) - {expected[3]}
    assert space.get_rand_index(30, 34, to_exclude=[31, 32, 33]) == 30
    with pytest.raises(IndexError, match="multi-filter"):
        space.get(0)
    with pytest.raises(tvm.TVMError, match="not 65"):
        space.sample_ints(65)


def test_the_best_records_are_picked(tmp_path):
    target = tvm.target.Target("llvm")
    tasks = [autotvm.task.create("test/scaled_twice", [te.placeholder((n,))], target) for n in (12, 24)]
    rows = [_record(task, index, cost) for task in tasks for index, cost in ((0, 2.0), (1, 0.5), (2, 1.0))]
    autotvm.record.pick_best(rows, tmp_path / "best.json")
    picked = list(autotvm.record.load_from_file(tmp_path / "best.json"))
    assert [inp.config.index for inp, _ in picked] == [1, 1]
    assert [inp.task.workload for inp, _ in picked] == [task.workload for task in tasks]


def test_tasks_come_from_the_templates_of_a_model():
    x = relay.var("x", shape=(12,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.abs(relay.exp(relay.abs(x)))))
    op = relay.op.get("abs")
    op.reset_attr("FTVMStrategy")
    op.set_attr("FTVMStrategy", _strategy, 11)
    try:
        tasks = autotvm.task.extract_from_program(mod, {}, "llvm")
        assert autotvm.task.extract_from_program(mod["main"], {}, "llvm", ops=[relay.op.get("exp")]) == []
    finally:
        op.reset_attr("FTVMStrategy")
    assert [(task.name, len(task.config_space) > 1) for task in tasks] == [("test/scaled_twice", True)]


def test_records_are_written_as_pickles_of_texts_alone() -> None:
    @autotvm.template("tests/pickled")
    def pickled(count):
        x = te.placeholder((count,), name="x")
        y = te.compute((count,), lambda i: x[i] + 1.0, name="y")
        schedule = te.create_schedule(y.op)
        config = autotvm.get_config()
        config.define_split("tile", y.op.axis[0], num_outputs=2)
        config["tile"].apply(schedule, y, y.op.axis[0])
        return schedule, [x, y]

    task = autotvm.task.create("tests/pickled", (16,), "llvm")
    given = autotvm.MeasureInput(task.target, task, task.config_space.get(2))
    result = autotvm.MeasureResult((0.25, 0.5), 0, 1.0, 2.0)
    for protocol in ("json", "pickle"):
        row = autotvm.record.encode(given, result, protocol)
        read, measured = autotvm.record.decode(row, protocol)
        assert autotvm.record.measure_str_key(read) == autotvm.record.measure_str_key(given)
        assert (measured.costs, measured.error_no) == ((0.25, 0.5), 0)
    harmful = base64.b64encode(pickle.dumps(print)).decode()
    with pytest.raises(tvm.error.TVMError, match=r"builtins\.print may not be unpickled"):
        autotvm.record.decode(harmful, "pickle")
    with pytest.raises(tvm.error.TVMError, match="protocol must be"):
        autotvm.record.encode(given, result, "text")


def test_a_template_without_a_name_is_called_as_its_function():
    """Programs before 0.7 declare templates so, and create tasks of the function."""

    @autotvm.template
    def declared_without_a_name(n):
        A = te.placeholder((n,), name="A")
        B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
        s = te.create_schedule(B.op)
        cfg = autotvm.get_config()
        cfg.define_split("tile", B.op.axis[0], num_outputs=2)
        cfg["tile"].apply(s, B, B.op.axis[0])
        return s, [A, B]

    task = autotvm.task.create(declared_without_a_name, args=(64,), target="llvm")
    assert task.name == "declared_without_a_name"
    assert len(task.config_space) == 7
