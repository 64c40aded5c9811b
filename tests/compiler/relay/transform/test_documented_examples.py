"""What the documentation of each pass shows as its effect is its effect."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator

import pytest

import compiler.relay.transform
from compiler.ir.transform import Pass, parse_pass, registered_passes
from tests.compiler.relay.transform.before_after import ARROW, check_pass

_EXAMPLE = re.compile(r"^``(.+)``.*::\n\n((?:    .*\n|\n)+)", re.MULTILINE)

PASSES = [cls for cls in registered_passes() if cls.__module__.startswith(compiler.relay.transform.__name__)]
WITHOUT_TEXT = {
    "ConvolveImages": "weights are constants, which texts keep in a table",
    "ManifestAlloc": "shapes are constants, which texts keep in a table",
    "MergeComposite": "takes patterns, which are objects",
    "MultiplyBytes": "weights are constants, which texts keep in a table",
    "Strassen": "weights are constants, which texts keep in a table",
    "Winograd": "weights are constants, which texts keep in a table",
    "MultiplyHalves": "weights are constants, which texts keep in a table",
    "TabulateBytes": "tables are constants, which texts keep in a table of their own",
    "PlanDevices": "takes a device, which is an object",
}


def examples(cls: type[Pass]) -> Iterator[tuple[str, str, str]]:
    """Yield the examples of a pass: the pass as text, a program, and what becomes of it."""
    _, _, section = f"{inspect.getdoc(cls)}\n".partition("Examples\n--------\n")
    for text, programs in _EXAMPLE.findall(section):
        before, _, after = textwrap.dedent(programs).partition(f"\n{ARROW}\n")
        yield text, before, after


EXAMPLES = [example for cls in PASSES if cls.__name__ not in WITHOUT_TEXT for example in examples(cls)]


@pytest.mark.parametrize(("passes", "before", "after"), EXAMPLES, ids=[e[0] for e in EXAMPLES])
def test_an_example_is_right(passes: str, before: str, after: str) -> None:
    check_pass(passes, before, after)


@pytest.mark.parametrize("cls", PASSES, ids=lambda cls: cls.__name__)
def test_every_pass_has_an_example_and_states_its_level(cls: type[Pass]) -> None:
    doc = inspect.getdoc(cls) or ""
    assert any(cls.__name__ in text for text, _, _ in examples(cls)) or cls.__name__ in WITHOUT_TEXT
    if cls.__name__ != "FoldScaleAxis":  # a sequence, whose passes have levels of their own
        assert f"\nLevel {cls.facts.opt_level}" in doc
    assert all(name in doc for name in cls.facts.required)


@pytest.mark.parametrize("text", sorted({text for text, _, _ in EXAMPLES}))
def test_a_pass_prints_as_it_parses(text: str) -> None:
    made = parse_pass(text)
    assert parse_pass(repr(made)) == made
