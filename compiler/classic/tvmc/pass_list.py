"""Parses pass names of the command line."""

from __future__ import annotations

import argparse

from compiler.ir.passes.base import registered_passes


def parse_pass_list_str(input_string: str) -> list[str]:
    """Return the passes that a text names."""
    names = input_string.split(",")
    names_of_passes = (cls.facts.name for cls in registered_passes())
    known = {name for name in names_of_passes if not name.startswith("tir.")}
    unknown = [name for name in (given.strip() for given in names) if name and name not in known]
    if unknown:
        there = ", ".join(sorted(known))
        raise argparse.ArgumentTypeError(
            f"Following passes are not registered within tvm: {', '.join(unknown)}. Available: {there}."
        )
    return names
