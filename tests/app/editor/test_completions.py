"""The names that the editor completes are those that scripts can use."""

from __future__ import annotations

import pytest

from app.editor.completions import Completion, completions, ranked
from app.editor.public_api import public_names, resolve
from app.gallery import load_gallery
from compiler.classic.contrib import dlpack


def offered(owner: str) -> dict[str, Completion]:
    """Return the completions of a module or class by their labels."""
    names = completions(owner)
    assert names is not None, owner
    return {name.label: name for name in names}


def namespaces() -> list[str]:
    """Return the public modules, which are all imported for it: that is left to the tests of these names."""
    return [f"tvm.{name}" for name, entry in offered("tvm").items() if entry.type == "namespace"]


def test_every_public_module_is_offered() -> None:
    assert set(namespaces()) >= {
        "tvm.te",
        "tvm.tir",
        "tvm.relay",
        "tvm.topi",
        "tvm.transform",
        "tvm.target",
        "tvm.runtime",
    }


def test_every_completed_name_exists() -> None:
    for owner in ["tvm", *namespaces(), "tvm.relay.nn", "tvm.relay.transform", "tvm.te.Stage"]:
        names = offered(owner)
        assert names
        assert [f"{owner}.{name}" for name in names if not hasattr(resolve(owner), name)] == []


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ("tvm", {"build", "lower", "nd", "cpu", "te", "tir", "relay", "topi", "transform"}),
        ("tvm.te", {"placeholder", "compute", "reduce_axis", "sum", "create_schedule", "if_then_else"}),
        ("tvm.te.Stage", {"split", "tile", "reorder", "vectorize", "parallel", "unroll", "compute_at"}),
        ("tvm.relay", {"nn", "transform", "frontend", "var", "Function", "add", "reshape", "build"}),
        ("tvm.relay.nn", {"conv2d", "dense", "relu", "softmax"}),
        ("tvm.relay.transform", {"FuseOps", "FoldConstant", "InferType"}),
        ("tvm.transform", {"PassContext", "Sequential"}),
        ("tvm.IRModule", {"astext", "from_expr"}),
    ],
)
def test_the_names_that_programs_use_are_offered(owner: str, expected: set[str]) -> None:
    assert set(offered(owner)) >= expected


def test_names_that_examples_use_come_first_and_those_of_the_compiler_last() -> None:
    names = {name.label: name for name in ranked(offered("tvm.relay.nn").values(), load_gallery().uses)}
    internal = [one.boost for name, one in names.items() if name.startswith("contrib_")]
    assert names["conv2d"].boost > names["conv1d"].boost == 0 > max(internal)


def test_a_primitive_shows_its_parameters() -> None:
    split = offered("tvm.te.Stage")["split"]
    assert split.type == "function"
    assert split.detail.startswith("(parent, factor")
    assert "self" not in split.detail


def test_nothing_private_or_foreign_is_offered() -> None:
    for owner in ("tvm", "tvm.te", "tvm.relay", "tvm.te.Stage"):
        assert not [name for name in offered(owner) if name.startswith("_") or name in ("np", "annotations")]


def test_a_module_offers_what_it_defines_not_what_it_imports() -> None:
    assert public_names(dlpack) == ["convert_func", "to_pytorch_func"]


@pytest.mark.parametrize(
    "path", ["", "os", "os.system", "tvm.no", "tvm.te.Stage.split.__globals__", "tvm.__dict__", "tvm."]
)
def test_only_public_names_can_be_asked_for(path: str) -> None:
    assert resolve(path) is None
    assert completions(path) is None
