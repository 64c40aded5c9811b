"""Targets by the names of whole machines: what TVM has in ``tvm.target.tag``."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.error import expected
from compiler.target.tags import add_tag, tag_names, tagged
from compiler.target.target import Target

__all__ = ["list_tags", "register_tag"]


def list_tags() -> dict[str, Target]:
    """Return the targets of all tags.

    Returns
    -------
    dict of str to Target
        By their tags, such as ``nvidia/jetson-nano``.
    """
    return {name: Target(name) for name in tag_names()}


def register_tag(name: str, config: Mapping[str, object], override: bool = False) -> Target:
    """Let a tag stand for a target.

    Parameters
    ----------
    name : str
        The tag.
    config : mapping of str to object
        The kind and the options, as the constructor of a target takes them.
    override : bool
        Replace the target that the tag stands for already.

    Returns
    -------
    Target

    Raises
    ------
    ArgumentError
        If the tag stands for a target already.
    TargetError
        If the options are not those of a target.
    """
    if tagged(name) is not None and not override:
        expected("register_tag", "name", "a new tag, or override be True", name)
    target = Target(config)
    add_tag(name, config)
    return target
