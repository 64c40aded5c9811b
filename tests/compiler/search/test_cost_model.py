"""Cost models learn an order from features."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from compiler.ir.error import ArgumentError
from compiler.search import cost_model
from compiler.search.cost_model import LearnedModel, rank_correlation
from compiler.search.features import NAMES


def _rows(count: int, seed: int) -> tuple[list[list[float]], list[float]]:
    """Return programs whose time is their estimate, times eight where they gather."""
    rng, rows, seconds = random.Random(seed), [], []
    for _ in range(count):
        row = [rng.uniform(-8, 8) for _ in NAMES]
        rows.append(row)
        seconds.append(2.0 ** (row[NAMES.index("estimate")] + 3 * (row[NAMES.index("gathers")] > 0)))
    return rows, seconds


@pytest.mark.parametrize("trees", [False, True])
def test_a_model_learns_from_one_workload_what_holds_for_another(trees: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if trees:
        if cost_model._lightgbm() is None:
            pytest.skip("LightGBM, or the libgomp that it needs, is not installed")
    else:
        monkeypatch.setattr(cost_model, "_lightgbm", lambda: None)
    model = LearnedModel()
    rows, seconds = _rows(40, 1)
    before = rank_correlation(model.predict(rows), seconds)
    model.update("a", rows[:20], seconds[:20])
    model.update("b", rows[20:], [1000 * s for s in seconds[20:]])
    model.update("c", rows[:1], [float("inf")])
    others, wanted = _rows(30, 2)
    assert rank_correlation(model.predict(others), wanted) > max(0.85, before - 0.1)
    assert before > 0.7


def test_a_model_without_measurements_goes_by_the_estimate() -> None:
    rows, _ = _rows(5, 3)
    assert rank_correlation(LearnedModel().predict(rows), [row[NAMES.index("estimate")] for row in rows]) == 1


def test_a_model_is_saved_and_read_again(tmp_path: Path) -> None:
    path, (rows, seconds) = tmp_path / "model", _rows(40, 5)
    model, read = LearnedModel(), LearnedModel()
    model.update("a", rows, [*seconds[:-1], float("inf")])
    model.save(str(path))
    read.update("b", rows[:2], [1.0, 2.0])
    read.load(str(path))
    assert read.rows == model.rows
    assert read.predict(rows) == model.predict(rows)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no model", "Expecting value"),
        ("[1]", "no attribute"),
        ('{"a": [[[1.0], 2.0]]}', "have not the"),
        (None, "No such"),
    ],
)
def test_what_is_no_model_is_not_read(text: str | None, told: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ArgumentError, match=rf"the cost model '.*model' cannot be read: .*{told}"):
        LearnedModel().load(str(path))


def test_a_few_measurements_of_like_programs_do_not_outweigh_the_estimate() -> None:
    rng, (rows, seconds) = random.Random(4), _rows(42, 4)
    near = [
        [value / 40 if name != "estimate" else value for name, value in zip(NAMES, row, strict=True)] for row in rows
    ]
    noisy = [s * 2.0 ** rng.uniform(-3, 3) for s in seconds]
    model = LearnedModel()
    model.update("a", near[:12], noisy[:12])
    assert rank_correlation(model.predict(rows[12:]), seconds[12:]) > 0.85
