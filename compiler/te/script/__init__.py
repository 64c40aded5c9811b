"""Prints a schedule as the Python script that a person would write.

Unlike the data of :mod:`compiler.te.program`, the text is there to be read, edited and run.
"""

from compiler.te.script.writer import write_script

__all__ = ["write_script"]
