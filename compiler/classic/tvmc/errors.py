"""Errors of tvmc."""

from __future__ import annotations

from compiler.ir.error import TVMError


class TVMCException(TVMError):
    """A command of tvmc was asked for something that it cannot do."""
