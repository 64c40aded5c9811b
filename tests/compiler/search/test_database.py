"""The log of a search opens after it was cut off anywhere, and says where others begin."""

from __future__ import annotations

import json
import math
import random
import warnings
from pathlib import Path

import pytest

from compiler.ir.error import ArgumentError
from compiler.search.database import Database, Record


def _records(workload: str = "w") -> list[Record]:
    choices = (("C.way", "tiles"), ("C.0.outer", (2, 4)), ("C.unroll", True))
    return [
        Record(workload, "s", choices, "ok", 0.25, features=(1.0, -2.5)),
        Record(workload, "s", choices[:1], "crashed", math.inf, "its process ended with SIGSEGV — “é”"),
        Record(workload, "s", None, "ok", 0.5),
    ]


def test_a_log_that_was_cut_off_at_any_byte_opens_and_goes_on(tmp_path: Path) -> None:
    log, rng = tmp_path / "log.jsonl", random.Random(0)
    Database(log).add(_records())
    whole = log.read_bytes()
    lines = list(Database(log))
    assert lines == list(_records_at(lines))
    for _ in range(60):
        log.write_bytes(whole[: rng.randrange(len(whole) + 1)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = list(Database(log))
            assert kept == lines[: len(kept)]
            assert len(kept) >= log.read_bytes().count(b"\n")
            Database(log).add(_records()[:1])
            assert len(Database(log)) == len(kept) + 1
    log.write_bytes(whole[:-5])
    with pytest.warns(UserWarning, match="line 3 of a log was cut off"):
        Database(log)


def _records_at(lines: list[Record]) -> list[Record]:
    return [Record(**{**vars(r), "timestamp": read.timestamp}) for r, read in zip(_records(), lines, strict=True)]


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    for text, words in (("noise\n", "not a record"), ("{}\n", "not a record"), ('{"v": 99}\n', "later version")):
        (tmp_path / "log").write_text(text)
        with pytest.raises(ArgumentError, match=words):
            Database(tmp_path / "log")


def test_features_that_meant_something_else_are_none() -> None:
    (record,) = Database(text=json.dumps({**json.loads(_records()[0].line()), "v": 1}))
    assert (record.features, record.seconds) == ((), _records()[0].seconds)


def test_no_record_has_values_of_other_types() -> None:
    good = _records()[0].line()
    Database(text=good.replace('"seconds": 0.25', '"seconds": 0'))
    Database(text=json.dumps({**json.loads(good), "choices": [["tile", 2**63 - 1]]}))
    for value in ({"a": 1}, 1.5, ["x"], [[1]], [None], None, 10**400, 2**63, -(2**63)):
        with pytest.raises(ArgumentError, match="is no choice for tile"):
            Database(text=json.dumps({**json.loads(good), "choices": [["tile", value]]}))
    others = {"workload": 1, "structure": None, "kind": [], "features": [None], "seconds": -1.0}
    for name, value in others.items():
        with pytest.raises(ArgumentError, match="not a record"):
            Database(text=json.dumps({**json.loads(good), name: value}))
    with pytest.raises(ArgumentError, match="not a record"):
        Database(text=good.replace('"seconds": 0.25', '"seconds": NaN'))


def test_a_search_begins_with_the_best_of_like_shapes() -> None:
    database = Database()
    database.add([*_records("a"), *_records("b"), Record("c", "other", (("x", 1),), "ok", 0.1)])
    assert database.like("a", "s", 6) == [_records()[0].choices]
    assert len(database.of("a")) == 3
