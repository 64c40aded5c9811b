"""Target tags: ``tvm.target.tag``."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.error import expected
from compiler.target.tags import add_tag, tag_names, tagged
from compiler.target.target import Target


def list_tags() -> dict[str, Target]:
    """Return all tags with their targets."""
    return {name: Target(name) for name in tag_names()}


def register_tag(name: str, config: Mapping[str, object], override: bool = False) -> Target:
    """Register a tag for a target of this kind and options, as its constructor takes them.

    A tag that exists is only replaced with ``override``.
    """
    if tagged(name) is not None and not override:
        expected("register_tag", "name", "a new tag, or override be True", name)
    target = Target(config)
    add_tag(name, config)
    return target
