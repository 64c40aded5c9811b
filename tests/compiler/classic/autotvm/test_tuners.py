"""Tuners measure each candidate once, remember the best, and write records that are applied again."""

import random

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic import autotvm
from compiler.classic.autotvm import MeasureErrorNo
from compiler.classic.autotvm.boosted_trees import BoostedTrees

_N = 32


@autotvm.template("test/scaled")
def scaled(n):
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    cfg = autotvm.get_config()
    cfg.define_split("tile", b.op.axis[0], num_outputs=2)
    cfg.define_knob("kind", ["serial", "vectorize", "refused"])
    _, inner = cfg["tile"].apply(s, b, b.op.axis[0])
    if cfg["kind"].val == "vectorize":
        s[b].vectorize(inner)
    if cfg["kind"].val == "refused":
        cfg.raise_error("refused")
    return s, [a, b]


@pytest.fixture
def task():
    return autotvm.task.create("test/scaled", (_N,), "llvm")


_OPTION = autotvm.measure_option(builder=autotvm.LocalBuilder(), runner=autotvm.LocalRunner(number=1, repeat=2))


@pytest.mark.parametrize("make", [autotvm.tuner.RandomTuner, autotvm.tuner.GridSearchTuner, autotvm.tuner.GATuner])
def test_the_whole_space_is_measured_once(task, make, tmp_path, capsys):
    log, rows = tmp_path / "log.json", []
    tuner = make(task)
    tuner.tune(
        n_trial=1000,
        measure_option=_OPTION,
        callbacks=[
            autotvm.callback.log_to_file(log),
            autotvm.callback.progress_bar(1000, "task"),
            lambda tuner, inputs, results: rows.extend(zip(inputs, results, strict=True)),
        ],
    )
    assert sorted(inp.config.index for inp, _ in rows) == list(range(len(task.config_space)))
    assert not tuner.has_next()
    assert f"({len(rows)}/1000)" in capsys.readouterr().out
    for inp, res in rows:
        refused = inp.config["kind"].val == "refused"
        assert res.error_no == (MeasureErrorNo.INSTANTIATION_ERROR if refused else MeasureErrorNo.NO_ERROR)
    fastest = min((r for r in rows if not r[1].error_no), key=lambda r: sum(r[1].costs))
    assert tuner.best_config is fastest[0].config
    assert tuner.best_flops == pytest.approx(_N / np.mean(fastest[1].costs))
    with autotvm.apply_history_best(log), tvm.target.Target("llvm"):
        schedule, args = scaled(_N)
    expected = tvm.lower(*task.instantiate(fastest[0].config))
    tvm.ir.assert_structural_equal(tvm.lower(schedule, args), expected)
    a, b = tvm.nd.array(np.random.rand(_N).astype("float32")), tvm.nd.empty((_N,))
    tvm.build(schedule, args, "llvm")(a, b)
    np.testing.assert_allclose(b.numpy(), a.numpy() * 2)


def test_the_genetic_algorithm_prefers_good_candidates():
    """With costs that a formula says, it comes near the optimum of a large space after a part of it."""
    space = autotvm.ConfigSpace()
    for knob in range(4):
        space.define_knob(f"k{knob}", list(range(12)))
    task = autotvm.task.Task("test/scaled", (_N,))
    task.config_space, task.target, task.flop = space, tvm.target.Target("llvm"), 1
    random.seed(0)
    tuner = autotvm.tuner.GATuner(task, pop_size=20)
    best = np.inf
    for _ in range(100):
        inputs = [autotvm.MeasureInput(task.target, task, config) for config in tuner.next_batch(8)]
        costs = [1 + sum((v - 7) ** 2 for v in inp.config.get_other_option().values()) for inp in inputs]
        tuner.update(inputs, [autotvm.MeasureResult((cost,), 0, 0.0, 0.0) for cost in costs])
        best = min(best, *costs)
    assert best <= 3


def test_it_ends_early_and_skips_what_is_known(task):
    tuner = autotvm.tuner.GridSearchTuner(task)
    known = autotvm.MeasureInput(task.target, task, task.config_space.get(0))
    tuner.load_history([(known, autotvm.MeasureResult((1.0,), 0, 1.0, 0.0))])
    seen = []
    tuner.tune(
        9, _OPTION, early_stopping=1, callbacks=[lambda t, inputs, r: seen.extend(i.config.index for i in inputs)]
    )
    assert seen[0] == 1
    assert len(seen) in (8, 9)
    tuner.reset()
    assert tuner.best_config is None
    assert tuner.next_batch(1)[0].index == 0
    with pytest.raises(tvm.TVMError, match=r"task must be a task with a configuration space, .* got Task"):
        autotvm.tuner.RandomTuner(autotvm.task.Task("test/scaled", (_N,)))
    with pytest.raises(tvm.TVMError, match=r"as autotvm.task.create makes it, got None"):
        autotvm.tuner.XGBTuner(None)
    with pytest.raises(tvm.TVMError, match="runner"):
        autotvm.measure_option("local", "remote")


def test_a_model_of_speed_finds_what_is_fast():
    """With costs that a formula says, it needs far fewer candidates than a random search."""
    random.seed(1)
    space = autotvm.ConfigSpace()
    for knob in range(3):
        space.define_knob(f"k{knob}", [2**i for i in range(9)])
    task = autotvm.task.Task("test/scaled", (_N,))
    task.config_space, task.target, task.flop = space, tvm.target.Target("llvm"), 1
    tuner = autotvm.tuner.XGBTuner(task, plan_size=16, loss_type="rank")
    costs = {}
    for _ in range(12):
        inputs = [autotvm.MeasureInput(task.target, task, config) for config in tuner.next_batch(8)]
        made = [1 + sum((np.log2(v) - 6) ** 2 for v in i.config.get_other_option().values()) for i in inputs]
        costs.update(zip((i.config.index for i in inputs), made, strict=True))
        tuner.update(inputs, [autotvm.MeasureResult((cost,), 0, 0.0, 0.0) for cost in made])
    assert len(costs) == 96
    assert min(costs.values()) == 1
    later = list(costs.values())
    assert np.mean(later[48:]) < np.mean(later[:24]) / 2
    with pytest.raises(tvm.TVMError, match="loss_type must be one of 'reg', 'rank'"):
        autotvm.tuner.XGBTuner(task, loss_type="squares")


def test_boosted_trees_learn_a_step_and_a_slope():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (400, 3))
    y = 3.0 * (x[:, 0] > 0.5) + x[:, 2]
    model = BoostedTrees(200)
    model.fit(x[:300], y[:300])
    assert np.abs(model.predict(x[300:]) - y[300:]).mean() < 0.1
    model.fit(np.ones((4, 2)), np.arange(4.0))
    assert model.predict(np.ones((1, 2))).tolist() == [1.5]


@pytest.mark.parametrize("make", [autotvm.tuner.RandomTuner, autotvm.tuner.GridSearchTuner])
def test_a_part_of_a_space_is_measured(task, make):
    tuner = make(task, range_idx=(3, 7))
    assert sorted(config.index for config in tuner.next_batch(100)) == [3, 4, 5, 6, 7]
    assert not tuner.has_next()
    for wrong in ((5, 1000), (7, 3), (0, 1, 2), "ab", 3):
        with pytest.raises(tvm.TVMError, match=r"range_idx must be the first and the last number, within 0 and \d+"):
            make(task, range_idx=wrong)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_trial": "64"}, "n_trial must be an int of at least 0, got '64'"),
        ({"measure_option": {}}, r"measure_option must be what autotvm\.measure_option returned, got {}"),
        ({"measure_option": "local"}, "measure_option must be what"),
        ({"early_stopping": "8"}, "early_stopping must be a number of candidates or None, got '8'"),
        ({"callbacks": lambda *of: None}, "callbacks must be a list of functions"),
        ({"callbacks": ["log.json"]}, "callbacks must be a list of functions"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_measured(task, options, said):
    tuner = autotvm.tuner.GridSearchTuner(task)
    with pytest.raises(tvm.TVMError, match=said):
        tuner.tune(**{"n_trial": 4, "measure_option": _OPTION, **options})
    assert tuner.best_measure_pair is None


def test_no_early_stopping_is_none_or_nought(task):
    tuner, monitor = autotvm.tuner.GridSearchTuner(task), autotvm.callback.Monitor()
    tuner.tune(17, _OPTION, early_stopping=0, callbacks=[monitor])
    assert len(monitor.scores) == 17


def test_wrong_parts_of_a_tuning_are_refused(task, tmp_path):
    with pytest.raises(tvm.TVMError, match="si_prefix must be one of '', 'k', 'M', 'G', 'T', got 'Q'"):
        autotvm.callback.progress_bar(8, si_prefix="Q")
    autotvm.callback.progress_bar(8)(autotvm.tuner.RandomTuner(task), [], [])
    with pytest.raises(tvm.TVMError, match="LocalRunner: cooldown_interval must be seconds, at least 0, got -1"):
        autotvm.LocalRunner(cooldown_interval=-1)
    with pytest.raises(tvm.TVMError, match="LocalRunner: repeat must be an int of at least 1, got 0"):
        autotvm.LocalRunner(repeat=0)
    with pytest.raises(tvm.TVMError, match="data_set must be records, as load_from_file yields them"):
        autotvm.tuner.RandomTuner(task).load_history("log.json")
    (tmp_path / "binary").write_bytes(b"\x80\xff\n")
    with pytest.raises(tvm.TVMError, match="this line is not a record"):
        list(autotvm.record.load_from_file(tmp_path / "binary"))


def test_only_what_a_filter_leaves_is_measured(task):
    task.config_space.multi_filter(lambda config: config["kind"].val != "refused")
    tuner, monitor = autotvm.tuner.GATuner(task), autotvm.callback.Monitor()
    tuner.tune(1000, _OPTION, callbacks=[monitor])
    assert len(monitor.trial_scores()) == len(task.config_space) == task.config_space.range_length * 2 // 3
    assert min(monitor.trial_scores()) > 0


def test_a_droplet_goes_down_to_where_no_neighbour_is_certainly_faster():
    space = autotvm.ConfigSpace()
    for knob in range(3):
        space.define_knob(f"k{knob}", list(range(10)))
    task = autotvm.task.Task("test/scaled", (_N,))
    task.config_space, task.target, task.flop = space, tvm.target.Target("llvm"), 1

    def searched(noise, **options):
        tuner, seen = autotvm.tuner.DropletTuner(task, **options), []
        while tuner.has_next():
            inputs = [autotvm.MeasureInput(task.target, task, config) for config in tuner.next_batch(8)]
            knobs = [tuple(inp.config.get_other_option().values()) for inp in inputs]
            costs = [1 + sum((v - 6) ** 2 for v in each) for each in knobs]
            times = [(cost - noise, cost, cost + noise) for cost in costs]
            tuner.update(inputs, [autotvm.MeasureResult(each, 0, 0.0, 0.0) for each in times])
            seen += zip(costs, knobs, strict=True)
        return seen

    seen = searched(0.01, start_position=[0, 9, 5])
    assert seen[0][1] == (0, 9, 5)
    assert min(seen) == (1, (6, 6, 6))
    assert len({knobs for _, knobs in seen}) == len(seen) < 100, "of a thousand candidates, none twice"
    assert len(searched(1000.0)) == 4, "what may be chance is not followed: the first one and its neighbours"
    with pytest.raises(tvm.TVMError, match="start_position must number values of"):
        autotvm.tuner.DropletTuner(task, [0, 10, 0])
