"""Parses input shapes of the command line."""

from __future__ import annotations

import argparse
import re

from compiler.ir.expr.scalars import AnyDim

_INPUT = re.compile(r"([^\s:\[][^\s\[]*):\s*\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]")


def parse_shape_string(inputs_string: str) -> dict[str, list[int | AnyDim]]:
    """Return the shapes of a text such as ``data:[1,3,224,224] mask:[1,-1]``; -1 is known at run time only."""
    shapes = _INPUT.findall(inputs_string)
    if not shapes or _INPUT.sub("", inputs_string).strip(" ,\n\t"):
        raise argparse.ArgumentTypeError(
            "--input-shapes argument must be of the form "
            f'"input_name:[dim1,dim2,...,dimn] input_name2:[dim1,dim2]", got {inputs_string!r}'
        )
    return {name: [int(d) if int(d) >= 0 else AnyDim() for d in dims.split(",")] for name, dims in shapes}
