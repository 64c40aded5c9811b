"""What a search has found: charts, decisions, failures and reasons, of records that anybody may have written."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from types import FrameType
from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient

from app.artifacts import Measurement
from app.panes.searches import FEATURES, Trial, best_of, cloud, decisions, failures, progress_chart, reasons, references
from app.searches import Decision
from compiler.search.features import NAMES
from tests.app.views.test_explorer import HX

TABLE: list[Decision] = [("C.way", "tiles"), ("C.way", "plain"), ("C.0.outer", [4, 2]), ("D.inline", True)]


def timed(seconds: float, choices: str | None = "0 2", predicted: float | None = None, **fields: float) -> Trial:
    return Trial(kind="ok", seconds=seconds, choices=choices, predicted=predicted, **fields)


TRIALS = [
    timed(4e-3, timestamp=100.0),
    Trial(kind="wrong", message="argument 2 differs", choices="1", timestamp=101.0),
    timed(1e-3, "1 2 3", predicted=2e-3, timestamp=102.0),
    timed(2e-3, predicted=8e-3, timestamp=104.0, error=0.3),
    timed(3e-3, None),
]


def test_the_line_of_the_best_only_falls_and_begins_at_the_first_time() -> None:
    chart = progress_chart(TRIALS, [], 800, False, None)
    assert chart is not None
    heights = [y for _, y in chart.line]
    assert heights == sorted(heights), "less time is lower"
    assert [point.trial for point in chart.points] == [0, 2, 3], "what has no time, and the default, are no points"
    assert [point.kind for point in chart.points] == ["", "best", "disturbed"]
    assert chart.line[-1][0] == chart.right
    by_seconds = progress_chart(TRIALS, [], 800, True, 0)
    assert by_seconds is not None
    assert [point.x for point in by_seconds.points] == [58.0, 58 + (800 - 150 - 58) / 2, 650.0]
    assert by_seconds.points[0].kind == "chosen"
    next_day = progress_chart([timed(1e-3), timed(1e-3, timestamp=9e4)], [], 800, True, None)
    assert next_day is not None
    assert next_day.columns[-1].label == "30 s", "what lies between searches has no room"


@pytest.mark.parametrize("slowest", [1.2e-5, 4.27e-5, 2e-4, 1e-1])
def test_labels_of_a_scale_do_not_overlap(slowest: float) -> None:
    trials = [timed(7.84e-6, predicted=7e-6), timed(slowest, predicted=slowest * 1.5)]
    progress, expected = progress_chart(trials, [], 800, False, None), cloud(trials, 800, None)
    assert progress
    assert expected
    for marks, apart in ((progress.rows, 13), (expected.rows, 13), (expected.columns, 40)):
        assert len(marks) > 1
        assert all(abs(a.place - b.place) >= apart for a, b in pairwise(marks))


def test_the_lines_that_draw_a_log_grow_as_it_does() -> None:
    """Each point once looked for the best of those before it."""
    few, many = (_lines_that_draw([timed(1e-3, str(at), 1e-3, timestamp=at) for at in range(n)]) for n in (200, 800))
    assert many < 5 * few


def _lines_that_draw(trials: list[Trial]) -> int:
    """Return how many lines of Python are run."""
    lines = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        assert progress_chart(trials, [], 800, False, None)
        assert cloud(trials, 800, None)
    finally:
        sys.settrace(before)
    return lines


def test_a_search_is_drawn_beside_what_there_is() -> None:
    measured = [
        Measurement(name="peak", kind="peak", seconds=0.0, gflops=100.0),
        Measurement(name="NumPy", kind="numpy", seconds=2e-3, disturbed=True),
        Measurement(name="default", kind="prefix", seconds=9e-3, estimated=True, step=0),
        Measurement(name="matmul", kind="kernel", seconds=5e-3, flops=1e8),
    ]
    assert references(TRIALS, measured) == [
        ("peak", "peak", 1e-3),
        ("numpy", "NumPy !", 2e-3),
        ("prefix", "≈ unscheduled", 9e-3),
        ("kernel", "your schedule", 3e-3),
    ], "as candidates are measured, not with its calls from Python"
    assert references(TRIALS[:-1], measured)[-1] == ("kernel", "your schedule", 5e-3)
    assert references(TRIALS, []) == [("kernel", "default", 3e-3)], "of a log, the record of the default"
    for decided, name in ((0, "peak"), (4, "direct peak")):
        assert references(TRIALS, measured, [("conv.winograd", decided)])[0][1] == name, "others may be below it"
    slow = [msgspec.structs.replace(measured[0], gflops=50.0), measured[3]]
    assert references(TRIALS, slow)[0] == ("peak", "peak !", 2e-3), "a candidate takes half of it"
    chart = progress_chart([], measured, 800, False, None)
    assert chart is not None
    labels = [rule.label_place for rule in chart.rules]
    assert all(b - a >= 13 for a, b in pairwise(labels)), "labels do not overlap"


def test_candidates_fill_the_chart_whatever_they_are_compared_with() -> None:
    far = [
        Measurement(name="peak", kind="peak", seconds=0.0, gflops=1e6),
        Measurement(name="NumPy", kind="numpy", seconds=1.9e-3),
        Measurement(name="default", kind="prefix", seconds=9.0, step=0),
        Measurement(name="f", kind="kernel", seconds=5e-3, flops=1e8),
    ]
    for trials in (TRIALS[:4], [timed(1.00e-3), timed(1.5e-3)], [timed(1.00e-3), timed(1.8e-3)]):
        chart = progress_chart(trials, far, 800, False, None)
        assert chart is not None
        heights = [point.y for point in chart.points]
        assert max(heights) - min(heights) > (chart.base - chart.top) / 2.5
        places = {rule.kind: (rule.place, rule.label) for rule in chart.rules}
        assert places["prefix beyond"] == (chart.top, "↑ unscheduled 9 s")
        assert places["peak beyond"] == (chart.base, "↓ peak 100 ns")
        assert 3 <= len(chart.rows) <= 7
        assert all(chart.top <= mark.place <= chart.base for mark in chart.rows)
        labels = [rule.label_place for rule in chart.rules]
        assert all(b - a >= 13 for a, b in pairwise(labels))
        assert labels[-1] <= chart.base + 4, "not over the scale below"
    chart = progress_chart(TRIALS[:4], far, 800, False, None)
    assert chart is not None
    titles = {rule.kind: rule.title for rule in chart.rules}
    assert "below what the scale shows" in titles["peak beyond"]
    assert "calls from Python" in titles["numpy"]
    alone = progress_chart([], far, 800, False, None)
    assert alone is not None
    assert not [rule for rule in alone.rules if "beyond" in rule.kind], "without candidates all are shown"


def test_predictions_are_drawn_where_there_are_some() -> None:
    drawn = cloud(TRIALS, 800, 3)
    assert drawn is not None
    assert [point.trial for point in drawn.points] == [2, 3]
    assert drawn.summary == "1 of 2 predictions within a factor of two"
    assert drawn.points[1].kind == "chosen"
    assert cloud(TRIALS[:3], 800, None) is None


def test_decisions_have_their_best_time_and_what_is_wished() -> None:
    block, other = decisions(TRIALS, TABLE, pinned=[("C.way", "parts")], banned=[("C.way", "tiles")])
    assert (block.block, other.block) == ("C", "D")
    way, options = block.decisions[0]
    assert way == "way"
    assert [(o.words, o.count, o.seconds, o.wish) for o in options] == [
        ("plain", 2, 1e-3, ""),
        ("tiles", 2, 2e-3, "banned"),
        ("parts", 0, None, "pinned"),
    ]
    assert block.decisions[1][1][0].words == "4 × 2"
    assert other.decisions[0][1][0].words == "yes"
    assert json.loads(other.decisions[0][1][0].key) == ["D.inline", True]


def test_failures_are_counted_by_their_reason() -> None:
    refused = [Trial(kind="refused", message="too large", choices="0")] * 2
    assert failures([*TRIALS, *refused]) == [("refused", "too large", 2), ("wrong", "argument 2 differs", 1)]


def test_reasons_are_in_words_with_the_largest_difference_first() -> None:
    assert tuple(FEATURES) == NAMES
    mine, best = [0.0] * len(NAMES), [0.0] * len(NAMES)
    mine[NAMES.index("lanes")], best[NAMES.index("lanes")] = 0.0, 3.0
    mine[NAMES.index("memory_bytes")] = 1.0
    found = reasons(mine, best)
    assert [(r.words, r.mine, r.best, r.times) for r in found] == [
        ("lanes of a vector", "1", "8", "0.125×"),
        ("bytes from memory", "2", "1", "2×"),
    ]
    assert reasons([1.0], best) == [], "of another version"


@pytest.mark.parametrize("value", [0.0, -1.0, 1e300])
def test_no_record_breaks_the_drawing(value: float) -> None:
    trials = [
        timed(value, "0 99 x -1 1e9", value, timestamp=value, error=value),
        timed(1e-3, "0", value, timestamp=-value),
    ]
    assert best_of(trials) == 1
    for by_seconds in (False, True):
        assert progress_chart(trials, [], 800, by_seconds, 7) is not None
    assert cloud(trials, 800, None) is None
    assert reasons([value] * len(NAMES), [1e300] * len(NAMES)) == []
    assert decisions(trials, TABLE)


def asked(trials: Sequence[object], **fields: object) -> dict[str, str]:
    return {"asked": json.dumps({"trials": trials, "table": TABLE, **fields})}


def test_a_search_is_drawn_and_says_when_the_default_stays(client: FlaskClient) -> None:
    trials = [{"kind": "ok", "seconds": 1e-3, "choices": "0 2"}, {"kind": "wrong", "message": "<b>", "choices": "1"}]
    found = {"type": "found", "choices": None, "seconds": 1e-3, "default_seconds": 1e-3}
    html = client.post("/search", data=asked(trials, found=found, chosen=1), headers=HX).text
    for shown in ("<svg", "that stays", "&lt;b&gt;", "Candidate 2: wrong", 'data-trial="0"', "data-open-candidate"):
        assert shown in html, shown
    nothing = {"type": "found", "choices": None}
    assert "Nothing new was measured" in client.post("/search", data=asked(trials, found=nothing), headers=HX).text
    found |= {"choices": TABLE[:1], "seconds": 5e-4}
    html = client.post("/search", data=asked(trials, found=found), headers=HX).text
    assert "2.00× as fast as what the script makes" in html
    assert "Stopped: the best was not compared" in client.post("/search", data=asked(trials), headers=HX).text
    assert "others used the machine" not in html
    busy = [msgspec.to_builtins(Measurement(name="NumPy", kind="numpy", seconds=2e-3, disturbed=True))]
    html = client.post("/search", data=asked(trials, measurements=busy), headers=HX).text
    assert "others used the machine while this was measured" in html
    assert "timed without such calls" not in html, "milliseconds"
    busy[0]["seconds"] = 5e-6
    html = client.post("/search", data=asked(trials, measurements=busy), headers=HX).text
    assert "timed without such calls" in html
    html = client.post("/search", data=asked(trials, default_seconds=1e-4), headers=HX).text
    assert "no candidate was faster than what the script makes (100 µs)" in html


def test_why_nothing_was_searched_and_what_was_is_said(client: FlaskClient) -> None:
    html = client.post("/search", data=asked([], failures=["the script fails"]), headers=HX).text
    assert "Nothing was searched:" in html
    own = [msgspec.to_builtins(Measurement(name="plus", kind="kernel", seconds=2e-3))]
    html = client.post("/search", data=asked([], failures=["no"], measurements=own, running=True), headers=HX).text
    assert "Nothing was searched:" not in html
    assert "Candidates for plus, the last function of the script" in html


def test_a_log_is_long_at_most(client: FlaskClient) -> None:
    for wrong in (asked([{"kind": "ok"}] * 2001), {"asked": ""}, asked([{"kind": "ok", "more": 1}])):
        assert client.post("/search", data=wrong, headers=HX).status_code == 422


KERNEL = {"name": "tvmgen_default_fused_<i>", "workload": "w", "calls": 2, "before": 2e-3, "best": 1e-3, "beside": 3e-3}
MODEL = {"type": "model", "kernels": [KERNEL, {"name": "other", "workload": "v", "trouble": "known"}], "total": 8e-3}


def test_the_kernels_of_a_model_are_drawn_with_what_it_is_expected_to_take(client: FlaskClient) -> None:
    trials = [{"kind": "ok", "seconds": 1e-3, "choices": "0 2"}]
    model = {**MODEL, "others": {"tvmgen_default_fused_pad": "no blocks"}, "ways": {"conv2d": "transformed tiles"}}
    html = client.post("/search", data=asked(trials, model=model, kernel="w"), headers=HX).text
    for shown in ("&lt;i&gt;", "50%", "2.00×", "6 ms <small>expected", "pad is not searched: no blocks", "known"):
        assert shown in html, shown
    assert "default 3 ms" in html, "what its candidates are compared with"
    assert "The model was not measured" in html
    for shown in ("data-open-candidate", "data-pin", "pinned or banned of this kernel"):
        assert shown in html, shown
    untimed = {"type": "model", "kernels": [{"name": "k", "workload": "w"}]}
    html = client.post("/search", data=asked([], model=untimed, kernel="w", running=True), headers=HX).text
    assert "have most operations, until they are timed" in html
    assert (
        "1.25× as fast as before"
        in client.post("/search", data=asked([], model={**model, "before": 10e-3, "after": 8e-3}), headers=HX).text
    )
    assert (
        "it stays as it is"
        in client.post("/search", data=asked([], model={**model, "before": 8e-3, "after": 8e-3}), headers=HX).text
    )


def test_times_of_a_model_are_times(client: FlaskClient) -> None:
    for wrong in ({"total": 0}, {"before": -1}, {"after": 1e9}, {"kernels": [KERNEL] * 101}):
        assert client.post("/search", data=asked([], model={**MODEL, **wrong}), headers=HX).status_code == 422
    best = {**KERNEL, "calls": 100}
    assert client.post("/search", data=asked([], model={**MODEL, "kernels": [best]}), headers=HX).status_code == 200
