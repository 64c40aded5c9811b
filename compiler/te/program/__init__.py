"""Serialised schedules: a schedule and its computation as data, written in one process and rebuilt in another.

The text is JSON.  It holds definitions and the primitives that were applied, and nothing that is executed: reading it
calls the same functions of :mod:`compiler.te` as a script does, which check every argument.  Expressions may call pure
intrinsics only, so that machine code made from a text reads and writes the arguments of its function, nothing else.
"""

from compiler.te.program.format import MAX_BYTES, VERSION, NotExpressible, ProgramError
from compiler.te.program.reader import Program, read_program
from compiler.te.program.writer import write_program

__all__ = ["MAX_BYTES", "VERSION", "NotExpressible", "Program", "ProgramError", "read_program", "write_program"]
