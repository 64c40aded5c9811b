"""Notebook support: scripts in frames, and drawings of schedules, programs, modules and ladders.

>>> import strata_explorer as strata
>>> strata.show(open("matmul.py").read())                       # doctest: +SKIP

After ``%load_ext strata_explorer``, a cell that begins with ``%%strata`` is shown instead of run; ``%%strata --emit
asm`` prints one text of it, with the options of ``strata compile``, and ``%%strata --ladder`` measures it step by step.
What cells evaluate to is drawn: a schedule as its loops, functions and modules as their coloured texts.
"""

from __future__ import annotations

from typing import Any

from app.notebook import drawings
from app.notebook.showing import ShownScript, show, strata

__all__ = ["ShownScript", "load_ipython_extension", "show"]


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the cell magic ``%%strata`` and the drawings; IPython calls this for ``%load_ext``."""
    shell.register_magic_function(strata, "cell")
    drawings.register(shell.display_formatter.formatters["text/html"])
