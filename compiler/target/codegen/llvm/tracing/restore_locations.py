"""Restores the debug locations of instructions that LLVM's optimiser dropped.

LLVM drops the locations of instructions that it hoists or merges, to keep debuggers from jumping around.  For a reader
who wants to know where an instruction comes from, they are still right.  The names of values survive: ``%.45.i`` is
the value that was emitted as ``%.45``, in a function that has since been inlined (``.i``); a loop's counter is found
by the label of its block.  What has no name of its own, such as an address, serves what uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

Place: TypeAlias = tuple[int, int]
"""Line and column of the printed loop IR."""
Locations: TypeAlias = dict[str, tuple[Place, str]]
"""The position and scope of each debug location, by its metadata number."""

_DEFINE = re.compile(r"^define .*?@([\w.$]+)\(")
_LABEL = re.compile(r"^([\w.$]+):")
_VALUE = re.compile(r"^  %([\w.$]+) = ")
_ATTACHED = re.compile(r", !dbg !(\d+)")
_LOCATION = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\((.*)\)")
_FIELD = re.compile(r"(\w+): !?(\d+)")
_NODE = re.compile(r"^!(\d+) = ", re.M)
_UNNAMED = re.compile(r"\.\d+(?!.*\.promoted)")
_OPERAND = re.compile(r"%([\w.$]+)")


@dataclass(slots=True)
class _Emitted:
    """The locations from which the values and blocks of a function were emitted."""

    values: dict[str, Place] = field(default_factory=dict)
    blocks: dict[str, Place] = field(default_factory=dict)


def restore_locations(emitted: str, optimised: str) -> str:
    """Restore debug locations after LLVM's optimiser where an instruction's origin follows from its name or uses."""
    functions = _emitted_places(emitted)
    locations = _locations(optimised)
    lines = [_without_line_zero(line, locations) for line in optimised.splitlines()]
    scopes = _scopes(lines, locations)
    next_node = max((int(m[1]) for m in _NODE.finditer(optimised)), default=0) + 1
    added: dict[str, int] = {}
    for number, function, block in _instructions(lines):
        value = _VALUE.match(lines[number])
        if value is None or "!dbg" in lines[number]:
            continue
        inlined = (function, True) in scopes and _is_inlined(value[1], block)
        place = _origin(value[1], block, lines[number], functions, function, inlined)
        scope = scopes.get((function, inlined))
        if place is not None and scope is not None:
            node = f"!DILocation(line: {place[0]}, column: {place[1]}, {scope})"
            lines[number] += f", !dbg !{added.setdefault(node, next_node + len(added))}"
    _locate_by_use(lines)
    return "\n".join([*lines, *(f"!{number} = {node}" for node, number in added.items())]) + "\n"


def _without_line_zero(line: str, locations: Locations) -> str:
    """Drop the line-zero location of a merged instruction, except from calls, which must have one."""
    attached = _ATTACHED.search(line)
    if attached is None or not _VALUE.match(line) or " call " in line:
        return line
    location = locations.get(attached[1])
    return line if location is None or location[0][0] else line.replace(attached[0], "", 1)


def _instructions(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the number of each line within a function, with its function and basic block."""
    function, block = "", ""
    for number, line in enumerate(lines):
        define, label = _DEFINE.match(line), _LABEL.match(line)
        if define:
            function, block = define[1], ""
        elif label:
            block = label[1]
        elif line.startswith("  "):
            yield number, function, block


def _locate_by_use(lines: list[str]) -> None:
    """Give an instruction without a location, such as an address, the location of its first use."""
    users: dict[str, str] = {}
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        if not line.startswith("  "):
            if line.startswith("}"):
                users = {}
            continue
        value, attached = _VALUE.match(line), _ATTACHED.search(line)
        if attached is None and value is not None and value[1] in users:
            lines[number] = f"{line}, !dbg !{users[value[1]]}"
            attached = _ATTACHED.search(lines[number])
        if attached is not None:
            for operand in _OPERAND.findall(line.partition(" = ")[2] or line):
                users[operand] = attached[1]


def _is_inlined(value: str, block: str) -> bool:
    """Return whether a value was inlined, which LLVM marks by the suffix ``.i``."""
    return "i" in value.split(".")[2:] or block.endswith(".i") or ".i." in block


def _origin(
    value: str, block: str, line: str, functions: dict[str, _Emitted], function: str, inlined: bool
) -> Place | None:
    """Return the position from which a value, or the loop that it counts, was emitted."""
    source = functions.get(function.replace(".thread", ".parallel", 1) if inlined else function)
    if source is None:
        return None
    unnamed = _UNNAMED.match(value)
    place = source.values.get(unnamed[0] if unnamed else value.removesuffix(".i"))
    if place is None and " = phi " in line:
        place = source.blocks.get(block.removesuffix(".i"))
    return place if place and place[0] else None


def _locations(text: str) -> Locations:
    """Return the position and scope of each debug location, by its metadata number."""
    locations: Locations = {}
    for line in text.splitlines():
        match = _LOCATION.match(line)
        if match:
            fields = dict(_FIELD.findall(match[2]))
            scope = f"scope: !{fields['scope']}"
            if "inlinedAt" in fields:
                scope += f", inlinedAt: !{fields['inlinedAt']}"
            locations[match[1]] = ((int(fields.get("line", 0)), int(fields.get("column", 0))), scope)
    return locations


def _emitted_places(text: str) -> dict[str, _Emitted]:
    locations = _locations(text)
    functions: dict[str, _Emitted] = {}
    current, block = _Emitted(), ""
    for line in text.splitlines():
        define, label = _DEFINE.match(line), _LABEL.match(line)
        if define:
            current = functions[define[1]] = _Emitted()
        elif label:
            block = label[1]
        value, attached = _VALUE.match(line), _ATTACHED.search(line)
        if value and attached and attached[1] in locations:
            place = locations[attached[1]][0]
            current.values[value[1]] = place
            if " = phi " in line:
                current.blocks[block] = place
    return functions


def _scopes(lines: list[str], locations: Locations) -> dict[tuple[str, bool], str]:
    """Return a scope for each function's own instructions and one for those inlined into it."""
    scopes: dict[tuple[str, bool], str] = {}
    function = ""
    for line in lines:
        define = _DEFINE.match(line)
        if define:
            function = define[1]
        attached = _ATTACHED.search(line) if line.startswith("  ") else None
        if attached and attached[1] in locations:
            scope = locations[attached[1]][1]
            scopes.setdefault((function, "inlinedAt" in scope), scope)
    return scopes
