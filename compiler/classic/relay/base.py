"""``tvm.relay.base``: nodes and their text."""

from compiler.ir import base
from compiler.ir.base import *  # noqa: F403
from compiler.ir.identity import Id
from compiler.relay.printer import astext
from compiler.relay.printer import text as pretty_print

__all__ = [*base.__all__, "Id", "astext", "pretty_print"]
