"""Options of printed programs: prefixes, line numbers, underlines and annotations."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.function import BaseFunc
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.object_path import (
    ArrayIndexPath,
    AttributeAccessPath,
    MapValuePath,
    MissingArrayElementPath,
    MissingMapEntryPath,
    ObjectPath,
)
from compiler.ir.printing.marks import TextMarks, marked_lines
from compiler.ir.printing.text import TextBuilder
from compiler.ir.scriptable import ScriptOptions
from compiler.tir.statements.stmt import Stmt


def marked_text(root: object, out: TextBuilder, options: ScriptOptions) -> str:
    """Return a printed program with what the options ask for beside the program itself."""
    lines = _with_prefixes(out.text(), options).split("\n")
    underlined = [*options.obj_to_underline, *_at_paths(out, root, options.path_to_underline)]
    remarks = {**options.obj_to_annotate}
    for path, remark in options.path_to_annotate.items():
        remarks.update(dict.fromkeys(_at_paths(out, root, [path]), remark))
    marks = TextMarks(
        {number: (columns,) for number, columns in _underlined(out, underlined).items()},
        {out.positions[part][0] - 1: remark for part, remark in remarks.items() if part in out.positions},
        options.num_context_lines,
        options.print_line_numbers,
    )
    return "\n".join(marked_lines(lines, marks))


def _with_prefixes(text: str, options: ScriptOptions) -> str:
    """Return a program with its words imported under other names."""
    prefixes = {"T": options.tir_prefix, "I": options.ir_prefix}
    if all(old == new for old, new in prefixes.items()):
        return text
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    lines = text.split("\n")
    for token, following in reversed(list(pairwise(tokens))):
        if token.type == tokenize.NAME and token.string in prefixes and following.string == ".":
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = line[:column] + prefixes[token.string] + line[column + 1 :]
    imports = {f"# from tvm.script import {module} as {old}": f"# from tvm.script import {module} as {prefixes[old]}"
               for module, old in (("tir", "T"), ("ir", "I"))}  # fmt: skip
    return "\n".join(imports.get(line, line) for line in lines)


def _at_paths(out: TextBuilder, root: object, paths: Iterable[ObjectPath]) -> Iterator[object]:
    """Yield the parts of a program at the ends of some paths; what has no text of its own stands in what has."""
    printed = {region.node for line in out.lines for region in line.regions} if paths else set()
    for path in paths:
        part = shown = root
        for length in range(2, len(path) + 1):
            step = path.get_prefix(length)
            if isinstance(step, (MissingMapEntryPath, MissingArrayElementPath)):
                break
            try:
                part = _part_at(part, step)
            except (AttributeError, LookupError, TypeError):
                raise ArgumentError(f"script: there is no {step}") from None
            shown = part if isinstance(part, Node) and part in printed else shown
        yield shown


def _part_at(thing: Any, step: ObjectPath) -> object:
    """Return the part of a thing that the last step of a path leads to."""
    if isinstance(step, AttributeAccessPath):
        is_number = isinstance(thing, (int, float)) and step.attr_key == "value"  # a constant of TVM's
        return thing if is_number else getattr(thing, step.attr_key)
    if isinstance(step, ArrayIndexPath):
        return thing[step.index]
    return thing[step.key] if isinstance(step, MapValuePath) else thing


def _underlined(out: TextBuilder, parts: Iterable[object]) -> dict[int, tuple[int, int]]:
    """Return the columns of each line that are underlined, by the number of the line from 0."""
    columns: dict[int, tuple[int, int]] = {}
    for part in parts:
        lines = _lines_of(out, part)
        for line in lines:
            text = out.lines[line].text
            if text.strip() and not text.lstrip().startswith("#"):
                columns[line] = (len(text) - len(text.lstrip()), len(text))
        if not lines:
            for number, printed in enumerate(out.lines):
                for region in printed.regions:
                    if region.node is part:
                        columns[number] = (region.start, region.end)
    return columns


def _lines_of(out: TextBuilder, part: object) -> range:
    """Return the lines of a statement, function or module: its header, and what is indented below it."""
    if isinstance(part, IRModule):
        first = next((number for number, line in enumerate(out.lines) if line.text.startswith("@")), len(out.lines))
        return range(first, len(out.lines))
    if not isinstance(part, (Stmt, BaseFunc)) or part not in out.positions:
        return range(0)
    first = out.positions[part][0] - 1
    indent = _indent(out.lines[first].text)
    last = first + 1
    while last < len(out.lines) and (
        _indent(out.lines[last].text) > indent or out.lines[last].text in ("", " " * indent + "else:")
    ):
        last += 1
    decorated = first > 0 and out.lines[first - 1].text.startswith(" " * indent + "@")
    return range(first - decorated, last)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
