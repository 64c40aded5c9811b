"""Random graphs under random passes: a fixed sample against this interpreter, and classic TVM where there is one."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from tests.outside.classic_relay import from_both
from tests.outside.classic_te import CLASSIC, compare
from tests.outside.relay_scripts import relay_script
from tests.outside.run_relay_scripts import defined_by, inputs_of, run

SAMPLE = range(60)
"""The scripts of every run."""


@pytest.mark.parametrize("seed", SAMPLE)
def test_passes_change_no_result(seed: int) -> None:
    script = relay_script(seed)
    func, _ = defined_by(script, relay)
    expected = relay.create_executor("debug", mod=tvm.IRModule.from_expr(func)).evaluate()(*inputs_of(func))
    answer = run(script, tvm, relay)
    assert "error" not in answer, f"{script}{answer}"
    for got, want in zip(answer["output"], expected, strict=True):
        np.testing.assert_array_equal(np.array(got, "float32"), want.numpy().ravel(), err_msg=script)


@pytest.mark.skipif(not CLASSIC, reason="STRATA_CLASSIC_TVM names no interpreter with classic TVM")
def test_classic_tvm_agrees() -> None:
    answers = from_both([relay_script(seed) for seed in SAMPLE])
    assert [answer for answer in answers if compare(*answer[1:]) == "other values"] == []
