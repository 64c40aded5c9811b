"""TVMScript as TVM 0.27 spells it is read where it has a classic counterpart, and refused by name where it has none."""

from __future__ import annotations

import pytest

from compiler.ir.error import TVMError
from compiler.tir.script import from_source
from compiler.tir.script import tirx as T

# mypy: disable-error-code="valid-type,untyped-decorator"

PRODUCT = """\
# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((7, 5), "float32"), C: T.Buffer((7,), "float32")):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    B = T.sblock_alloc_buffer((7, 5))
    for i, j in T.grid(7, 5):
        with T.sblock("B"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            T.reads(A[v_i, v_j])
            T.writes(B[v_i, v_j])
            T.sblock_attr({"layout_free": 1})
            B[v_i, v_j] = T.exp(A[v_i, v_j])
    for i, j in T.grid(7, 5):
        with T.sblock("C"):
            v_i, v_j = T.axis.remap("SR", [i, j])
            with T.init():
                C[v_i] = T.float32(0.0)
            C[v_i] = C[v_i] + B[v_i, v_j]
"""


@T.prim_func(s_tir=True)
def double(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")) -> None:
    T.func_attr({"tirx.noalias": True})
    for i in range(16):
        with T.sblock("B"):
            v_i = T.axis.spatial(16, i)
            B[v_i] = A[v_i] * 2.0


def test_text_that_tvm_printed_is_read_as_its_classic_counterpart() -> None:
    classic = PRODUCT.replace("tirx", "tir").replace("(s_tir=True)", "").replace("sblock_alloc", "alloc")
    assert str(from_source(PRODUCT)) == str(from_source(classic.replace("sblock", "block")))


def test_a_function_of_a_script_is_read_too() -> None:
    text = str(double)
    assert 'with T.block("B"):' in text
    assert '"tir.noalias"' in text


@pytest.mark.parametrize("word", ["alloc_buffer((4,))", "cta_id(3)", 'attr("x", 1)'])
def test_a_word_without_a_counterpart_is_named(word: str) -> None:
    name = word.partition("(")[0]
    with pytest.raises(TVMError, match=rf"T\.{name} of TVM 0\.27 has no counterpart in classic TVMScript"):
        from_source(f"{PRODUCT}    T.{word}\n")


def test_the_classic_spelling_of_a_renamed_word_is_refused() -> None:
    with pytest.raises(TVMError, match=r"T\.sblock is the classic T\.block"):
        from_source(PRODUCT.replace('T.sblock("B")', 'T.block("B")'))


def test_the_words_that_are_offered_are_those_that_are_read() -> None:
    offered = set(dir(T))
    assert {"sblock", "sblock_attr", "sblock_alloc_buffer", "func_attr", "exp", "axis"} <= offered
    assert not {"block", "alloc_buffer", "attr"} & offered
    assert set(T.__all__) <= offered
