"""What is printed can be read, and is what was printed."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.ir import assert_structural_equal, structural_equal, structural_hash
from compiler.relay.parser import parse_expr, read
from compiler.relay.printer import astext
from tests.properties.relay_programs import Programs

EXAMPLES = os.environ.get("STRATA_EXAMPLES")

relaxed = settings(max_examples=int(EXAMPLES or "20"), derandomize=EXAMPLES is None, deadline=None)

SEEDS = st.integers(0, 2**32)


@relaxed
@given(SEEDS, st.integers(1, 40))
def test_modules_survive_their_text(seed: int, size: int) -> None:
    mod = Programs(seed, size).module()
    text = mod.astext()
    again = read("read", text)  # as it is written: random programs have no types
    # Extents such as ``n`` in a result's type are free: in another text they are other variables.
    assert_structural_equal(again, mod, map_free_vars=True)
    assert structural_hash(again, True) == structural_hash(mod, True)
    assert again.astext() == text


@relaxed
@given(SEEDS)
def test_expressions_with_free_variables_survive_their_text(seed: int) -> None:
    expr = Programs(seed).expression()
    assert structural_equal(parse_expr(astext(expr)), expr, map_free_vars=True)


@relaxed
@given(SEEDS, SEEDS)
def test_different_modules_are_not_equal(seed: int, other: int) -> None:
    a, b = Programs(seed, 20).module(), Programs(other, 20).module()
    assert structural_equal(a, b, map_free_vars=True) == (a.astext() == b.astext())
