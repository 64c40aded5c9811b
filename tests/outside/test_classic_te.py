"""Random scripts of tensor expressions: a fixed sample against NumPy, and against classic TVM where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.error import TVMError
from compiler.te.definition.numpy_reference import NoNumPyProgram, evaluate
from tests.outside.classic_te import CLASSIC, compare, from_classic, from_here
from tests.outside.run_te_scripts import arrays_of, run
from tests.outside.te_scripts import te_script

SAMPLE = range(60)
"""The scripts of every run."""


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", SAMPLE)
def test_a_scheduled_script_computes_what_numpy_does(seed: int) -> None:
    script = te_script(seed)
    names: dict[str, Any] = {"tvm": tvm, "te": te, "tir": tir}
    try:
        exec(script, names)
        args = names["args"]
        expected = evaluate([args[-1]], dict(zip(args, arrays_of(args)[:-1], strict=False)))[0]
    except (TVMError, NoNumPyProgram):
        return  # few, says the test below
    answer = run(script, tvm, te, tir)
    np.testing.assert_array_equal(np.array(answer["output"], expected.dtype), expected, err_msg=script)


def test_most_of_the_sample_is_compared() -> None:
    """A generator whose scripts are refused would compare nothing."""
    refused = [seed for seed in SAMPLE if "error" in run(te_script(seed), tvm, te, tir)]
    assert len(refused) < len(SAMPLE) // 10


@pytest.mark.skipif(not CLASSIC, reason="STRATA_CLASSIC_TVM names no interpreter with classic TVM")
def test_classic_tvm_agrees() -> None:
    scripts = [te_script(seed) for seed in SAMPLE]
    pairs = zip(scripts, from_here(scripts), from_classic(scripts), strict=True)
    different = [(script, here, there) for script, here, there in pairs if compare(here, there) == "other values"]
    assert different == []
