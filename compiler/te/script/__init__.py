"""A schedule as the script that a person would have written: definitions and primitives in Python.

Unlike the data of :mod:`compiler.te.program`, the text is there to be read, edited and run.
"""

from compiler.te.script.writer import write_script

__all__ = ["write_script"]
