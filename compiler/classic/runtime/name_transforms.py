"""``tvm.runtime.name_transforms``: names in generated code."""

from __future__ import annotations

import re

from compiler.ir.error import ArgumentError


def sanitize_name(original_name: str) -> str:
    """Return a name whose characters may all stand in names of C.

    Raises ArgumentError if the name is empty.
    """
    if not original_name:
        raise ArgumentError("sanitize_name: expected a name, got an empty one")
    return re.sub(r"[^A-Za-z0-9_]", "_", original_name)
