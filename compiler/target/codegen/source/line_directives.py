"""``#line`` directives, by which compilers and debuggers refer to the lines of the user's program."""

from __future__ import annotations

from compiler.ir.origin import user_location
from compiler.ir.printing.text import Line, TextBuilder
from compiler.ir.transform import register_config_option
from compiler.target.codegen.source.expressions import quoted

LINE_DIRECTIVES = "tir.line_directives"
"""The PassContext option that enables the directives."""
register_config_option(LINE_DIRECTIVES, (bool, int))


def with_line_directives(listing: TextBuilder, template: str) -> TextBuilder:
    """Insert line directives, by the language's template if it has one, that map each line to the user's line.

    For example, where line 12 of ``model.py`` binds an axis::

        B[threadIdx.x] = A[threadIdx.x];    →    #line 12 "model.py"
                                                 B[threadIdx.x] = A[threadIdx.x];
    """
    if not template:
        return listing
    result, numbers = TextBuilder(), [0]
    counted: tuple[str, int] | None = None
    for line in listing.lines:
        place = user_location(line.span) if line.text.strip() else None
        told = counted if place is None else (place.file, place.line)
        if told is not None and told != counted:
            result.lines.append(Line(template.format(line=told[1], file=quoted(told[0])), ()))
        counted = None if told is None else (told[0], told[1] + 1)
        result.lines.append(line)
        numbers.append(len(result.lines))
    result.positions.update({node: (numbers[line], column) for node, (line, column) in listing.positions.items()})
    return result
