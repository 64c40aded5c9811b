"""Helpers of tuning programs, switches of all tuning, and contexts of published records."""

from __future__ import annotations

import logging
import warnings
from functools import partial

import numpy as np
import pytest

import compiler as tvm
from compiler.classic import autotvm
from compiler.classic.autotvm import env, tophub, utils


@pytest.mark.parametrize(
    ("value", "prefix", "wanted"), [(1024, "k", 1.024), (3e-9, "n", 3.0), (0, "y", 0), (7, " ", 7)]
)
def test_units_have_prefixes(value: float, prefix: str, wanted: float) -> None:
    assert utils.format_si_prefix(value, prefix) == pytest.approx(wanted)


def test_no_such_prefix() -> None:
    with pytest.raises(tvm.TVMError, match="si_prefix"):
        utils.format_si_prefix(1, "kM")


def test_ranks_and_names() -> None:
    np.testing.assert_array_equal(utils.get_rank([3, 1, 2, 9]), [1, 3, 2, 0])
    assert utils.get_func_name(partial(utils.get_rank, [1])) == "get_rank"


def test_nothing_is_said_of_workloads_without_a_record_where_that_is_asked_for() -> None:
    quiet = env.AutotvmGlobalScope()
    quiet.silent = True
    loud = env.AutotvmGlobalScope()
    try:
        env.reset_global_scope(quiet)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert autotvm.FallbackContext().query(tvm.target.Target("llvm"), ("quiet",)).is_fallback
    finally:
        env.reset_global_scope(loud)
    with pytest.warns(UserWarning, match="Cannot find config"):
        autotvm.FallbackContext().query(tvm.target.Target("llvm"), ("loud",))


def test_published_records_are_those_of_files(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="autotvm"), tophub.context("llvm") as best:
        assert not best.best_by_targetkey
    assert "none are downloaded" in caplog.text
