"""Every pass is exported, is a value that prints and reads back, and shows what it does."""

from __future__ import annotations

import inspect

from compiler import relay, tir
from compiler.classic.names.resolution import PUBLIC
from compiler.classic.relay import transform as graph_passes
from compiler.classic.tir import transform as loop_passes
from compiler.ir import transform
from compiler.ir.passes.options import option_types
from compiler.ir.transform import Pass, parse_pass, pass_class, registered_passes
from compiler.relay import parser

OURS = [cls for cls in registered_passes() if cls.__module__.startswith("compiler.")]
PACKAGES = (transform, tir.transform, relay.transform, parser, graph_passes, loop_passes)


def needs_options(cls: type[Pass]) -> bool:
    """Return whether a pass has options without a default."""
    parameters = inspect.signature(cls).parameters.values()
    return any(p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters)


def is_exported(cls: type[Pass]) -> bool:
    """Return whether a package offers a pass by its name."""
    by_its_package = any(getattr(package, name, None) is cls for package in PACKAGES for name in package.__all__)
    return by_its_package or f"{cls.__module__}:{cls.__name__}" in PUBLIC.values()


def test_there_are_passes_of_all_levels() -> None:
    assert {cls.__module__.split(".")[1] for cls in OURS} == {"classic", "ir", "relay", "tir"}
    assert len(OURS) > 40


def test_a_pass_is_exported_by_its_package() -> None:
    assert [cls.facts.name for cls in OURS if not is_exported(cls)] == []


def test_a_pass_has_one_name() -> None:
    for cls in OURS:
        assert pass_class(cls.facts.name) is cls
        assert pass_class(cls.__name__) is cls


def test_a_pass_prints_and_reads_back() -> None:
    for cls in OURS:
        if not needs_options(cls):
            assert parse_pass(repr(cls())) == cls()


def test_options_are_described() -> None:
    described = {cls: inspect.getdoc(cls) or "" for cls in OURS}
    missing = [(cls.facts.name, option) for cls in OURS for option in option_types(cls) if option not in described[cls]]
    assert missing == []


def test_what_a_pass_requires_exists() -> None:
    for cls in OURS:
        for name in cls.facts.required:
            assert issubclass(pass_class(name), Pass), f"{cls.facts.name} requires {name}"
