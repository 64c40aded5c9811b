"""Every pass is exported, is a value that prints and reads back, and shows what it does."""

from __future__ import annotations

import inspect

import pytest

from compiler import relay, tir
from compiler.classic.names.resolution import PUBLIC
from compiler.classic.relay import transform as graph_passes
from compiler.classic.relay.backend import aot
from compiler.classic.tir import transform as loop_passes
from compiler.ir import transform
from compiler.ir.passes.options import option_types
from compiler.ir.transform import Pass, parse_pass, pass_class, registered_passes
from compiler.relay import parser

OURS = [cls for cls in registered_passes() if cls.__module__.startswith("compiler.")]
PACKAGES = (transform, tir.transform, relay.transform, parser, aot, graph_passes, loop_passes)

passes = pytest.mark.parametrize("cls", OURS, ids=lambda cls: cls.facts.name)


def needs_options(cls: type[Pass]) -> bool:
    """Return whether a pass has options without a default."""
    parameters = inspect.signature(cls).parameters.values()
    return any(p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters)


def test_there_are_passes_of_all_levels() -> None:
    assert {cls.__module__.split(".")[1] for cls in OURS} == {"classic", "ir", "relay", "tir"}
    assert len(OURS) > 40


@passes
def test_a_pass_is_exported_by_its_package(cls: type[Pass]) -> None:
    by_its_package = any(getattr(package, name, None) is cls for package in PACKAGES for name in package.__all__)
    assert by_its_package or f"{cls.__module__}:{cls.__name__}" in PUBLIC.values()


@passes
def test_a_pass_has_one_name(cls: type[Pass]) -> None:
    assert pass_class(cls.facts.name) is cls
    assert pass_class(cls.__name__) is cls


@pytest.mark.parametrize("cls", [cls for cls in OURS if not needs_options(cls)], ids=lambda cls: cls.facts.name)
def test_a_pass_prints_and_reads_back(cls: type[Pass]) -> None:
    assert parse_pass(repr(cls())) == cls()


@passes
def test_options_are_described(cls: type[Pass]) -> None:
    doc = inspect.getdoc(cls) or ""
    assert [option for option in option_types(cls) if option not in doc] == []


@passes
def test_what_a_pass_requires_exists(cls: type[Pass]) -> None:
    assert all(issubclass(pass_class(name), Pass) for name in cls.facts.required)
