"""Target tags: ``tvm.target.tag``."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.error import expected
from compiler.target.tags import add_tag, tag_names, tagged
from compiler.target.target import Target

__all__ = ["list_tags", "register_tag"]


def list_tags() -> dict[str, Target]:
    """Return all tags with their targets."""
    return {name: Target(name) for name in tag_names()}


def register_tag(name: str, config: Mapping[str, object], override: bool = False) -> Target:
    """Register a tag for a target.

    Parameters
    ----------
    config : mapping of str to object
        The kind and the options, as in the constructor of a target.
    override : bool
        Whether an existing tag may be replaced.

    Raises
    ------
    ArgumentError
        If the tag exists already.
    TargetError
        If the options are invalid.
    """
    if tagged(name) is not None and not override:
        expected("register_tag", "name", "a new tag, or override be True", name)
    target = Target(config)
    add_tag(name, config)
    return target
