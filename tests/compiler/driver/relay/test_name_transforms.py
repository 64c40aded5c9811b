"""Names of generated C code."""

from __future__ import annotations

import pytest

from compiler.classic.relay.backend import name_transforms as names
from compiler.ir.error import ArgumentError


def test_styles_keep_the_prefix_of_generated_names() -> None:
    generated = names.prefix_generated_name(["model", "runMe"])
    assert generated == "TVMGen_model_runMe"
    assert names.to_c_function_style(generated) == "TVMGenModelRunme"
    assert names.to_c_variable_style(generated) == "tvmgen_model_runme"
    assert names.to_c_constant_style(names.prefix_name("max size")) == "TVM_MAX SIZE"
    assert names.sanitize_name("a b:1") == "a_b_1"


def test_empty_names_and_segments_are_refused() -> None:
    for call, message in (
        (lambda: names.prefix_name(""), "prefix_name: Name is empty"),
        (lambda: names.prefix_name([]), "prefix_name: Name segments empty"),
        (lambda: names.prefix_name(["a", ""]), "prefix_name: Name segment is empty"),
        (lambda: names.to_c_variable_style(""), "to_c_variable_style: Variable name is empty"),
        (lambda: names.to_c_function_style("my_f"), "to_c_function_style: Function not TVM prefixed: 'my_f'"),
    ):
        with pytest.raises(ArgumentError, match=f"^{message}$"):
            call()
