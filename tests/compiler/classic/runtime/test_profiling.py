"""Reports of measured calls: tables, CSV, JSON and back, metrics of programs' own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.classic.runtime import profiling
from compiler.classic.runtime.profiler_vm import VirtualMachineProfiler
from compiler.classic.runtime.profiling import (
    Count,
    Duration,
    MetricCollector,
    Percent,
    Profiler,
    Ratio,
    Report,
    profile_function,
)
from compiler.ir.error import ArgumentError
from compiler.runtime.timing import clock


def call(name: str, microseconds: float, **more: Ratio) -> dict[str, object]:
    return {"Name": name, "Duration (us)": Duration(microseconds), "Count": Count(1), "Device": "cpu0", **more}


@pytest.fixture
def report() -> Report:
    calls = [call("add", 1000), call("mul", 2500.5, Reuse=Ratio(4)), call("add", 2000), call("mul", 1, Reuse=Ratio(2))]
    return Report(calls, {"cpu0": {"Name": "Total", "Duration (us)": Duration(6000)}}, {"Executor": "Graph"})


def test_a_table_has_one_row_for_calls_of_the_same_kind(report: Report) -> None:
    lines = [line.split() for line in report.table().splitlines()]
    assert lines[0] == ["Name", "Duration", "(us)", "Device", "Count", "Reuse"]
    assert lines[1] == ["add", "3,000.00", "cpu0", "2"]
    assert lines[2] == ["mul", "2,501.50", "cpu0", "2", "3.00"]
    assert lines[4] == ["Sum", "5,501.50", "4"]
    assert lines[5] == ["Total", "6,000.00"]
    assert lines[-1] == ["Executor:", "Graph"]


def test_a_table_in_order_without_sums(report: Report) -> None:
    names = [line.split()[0] for line in report.table(sort=False, aggregate=False, col_sums=False).splitlines()[1:6]]
    assert names == ["add", "mul", "add", "mul", "Total"]


def test_csv_has_a_line_for_each_call(report: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert [row["Name"] for row in rows] == ["add", "mul", "add", "mul"]
    assert [float(row["Duration (us)"]) for row in rows] == [1000, 2500.5, 2000, 1]
    assert [row["Reuse"] for row in rows] == ["", "4", "", "2"]


def test_json_says_what_each_value_is_and_is_read_back(report: Report) -> None:
    parsed = json.loads(report.json())
    assert parsed["calls"][1] == {
        "Name": {"string": "mul"}, "Duration (us)": {"microseconds": 2500.5}, "Count": {"count": 1},
        "Device": {"string": "cpu0"}, "Reuse": {"ratio": 4},
    }  # fmt: skip
    assert Report.from_json(report.json()).json() == report.json()
    assert str(Report.from_json(report.json())) == str(report)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"calls": [{"a": {"hours": 1}}], "device_metrics": {}}'])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"Report\.from_json: not a report"):
        Report.from_json(text)


class Calls(MetricCollector):
    """Counts the calls that it was asked to measure."""

    def __init__(self) -> None:
        self.number = 0
        self.devices: list[str] = []

    def init(self, devices: object) -> None:
        self.devices = [str(each.device) for each in devices]

    def start(self, device: object) -> int:
        return self.number

    def stop(self, started: int) -> Mapping[str, Count]:
        self.number += 1
        return {"Before": Count(started)}


def test_collectors_measure_each_call() -> None:
    collector = Calls()
    profiler = Profiler(tvm.cpu(), "Graph", [collector])
    assert [profiler.measure(lambda: 7, Name="seven") for _ in range(3)] == [7] * 3
    report = profiler.report()
    assert collector.devices == ["cpu(0)"]
    assert [each["Before"].count for each in report.calls] == [0, 1, 2]
    assert sum(each["Percent"].percent for each in report.calls) <= 100
    assert isinstance(report.calls[0]["Percent"], Percent)
    with pytest.raises(ArgumentError, match="collectors must be MetricCollectors, got str"):
        Profiler(tvm.cpu(), "Graph", ["time"])


def test_one_call_of_a_function_is_measured_by_collectors() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    built = tvm.build(te.create_schedule(B.op), [A, B], "llvm")
    a, b = tvm.nd.array(np.arange(8, dtype="float32")), tvm.nd.empty((8,))
    assert profile_function(built, tvm.cpu(), [Calls()], warmup_iters=2)(a, b) == {"Before": Count(0)}
    np.testing.assert_array_equal(b.numpy(), np.arange(8) + 1)


def test_the_virtual_machine_measures_instructions() -> None:
    x = relay.var("x", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(x)))
    machine = VirtualMachineProfiler(relay.vm.compile(mod, "llvm"), tvm.cpu())
    data = np.random.rand(2, 3).astype("float32")
    before = machine.invoke("main", data).numpy()
    report = machine.profile(data, func_name="main")
    names = [str(each["Name"]) for each in report.calls]
    assert any("softmax" in name for name in names)
    assert "VM::Return" in names
    assert report.configuration["Executor"] == "VM"
    kernel = next(each for each in report.calls if "softmax" in str(each["Name"]))
    assert kernel["Argument Shapes"] == "float32[2, 3]"
    assert len(str(kernel["Hash"])) == 16
    np.testing.assert_array_equal(machine.invoke("main", data).numpy(), before)


def test_a_report_says_that_it_was_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([clock.Duration(1.0), clock.Duration(9.0, 3.0)])
    monkeypatch.setattr(profiling, "stopwatch", lambda: lambda: next(times))
    profiler = Profiler(tvm.cpu(0), "Graph")
    profiler.measure(lambda: None, Name="f")
    configuration = profiler.report().configuration
    assert configuration["Times"] == "disturbed: processor time, by the clock up to 3 times as long"
