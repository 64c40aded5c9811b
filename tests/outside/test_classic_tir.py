"""Random expressions of loop IR: simplified forms, machine code and interpreter against NumPy, and classic TVM."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import tir
from compiler.tir.interpreter import interpret
from tests.outside.classic_te import CLASSIC, from_classic
from tests.outside.classic_tir import faults, from_here, precision
from tests.outside.run_tir_scripts import analyzed
from tests.outside.tir_scripts import points_of, tir_script, values_of

SAMPLE = range(80)
"""The scripts of every run."""


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", SAMPLE)
def test_all_forms_have_the_values_that_numpy_computes(seed: int) -> None:
    script = tir_script(seed)
    assert faults(script, from_here([script])[0]) == [], script


@pytest.mark.parametrize("seed", SAMPLE)
def test_the_interpreter_computes_what_numpy_does(seed: int) -> None:
    script = tir_script(seed)
    variables, domain, forms, _ = analyzed(script, tvm, tir)
    points = points_of(domain).astype("int32")
    expected = values_of(script)
    i = tir.Var("i", "int32")
    inputs = [tir.decl_buffer((points.shape[1],), "int32", name) for name in variables]
    output = tir.decl_buffer((points.shape[1],), "int32", "output")
    there = {var: buffer.vload((i,)) for var, buffer in zip(variables.values(), inputs, strict=True)}
    store = tir.BufferStore(output, tir.stmt_functor.substitute(forms[-1], there), [i])
    result = np.full(points.shape[1], 99, "int32")
    function = tir.PrimFunc([*inputs, output], tir.For(i, 0, points.shape[1], tir.ForKind.SERIAL, store))
    interpret(function, [*[np.ascontiguousarray(row) for row in points], result])
    np.testing.assert_array_equal(result, expected, err_msg=script)


def test_a_wrong_answer_is_seen() -> None:
    """A comparison that accepts everything would compare nothing."""
    script = "domain = {'x': (0, 4), 'y': (0, 1), 'z': (0, 1)}\nvalue = x + y\n"
    answer = from_here([script])[0]
    assert faults(script, answer) == []
    assert faults(script, answer | {"canonical": [0, 1, 2, 4]}) == ["canonical"]
    assert faults(script, answer | {"bound": [0, 2]}) == ["bound 0 to 2, values 0 to 3"]
    assert faults(script, answer | {"modular": [2, 0]}) == ["modular set 2 * k + 0"]


@pytest.mark.skipif(not CLASSIC, reason="STRATA_CLASSIC_TVM names no interpreter with classic TVM")
def test_classic_tvm_does_not_know_more() -> None:
    scripts = [tir_script(seed) for seed in SAMPLE]
    pairs = zip(scripts, from_here(scripts), from_classic(scripts, "run_tir_scripts.py"), strict=True)
    looser = [s for s, here, there in pairs if "error" not in there and precision(here, there) == "tighter there"]
    assert looser == []
