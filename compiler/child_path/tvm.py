"""``import tvm`` in processes that a program starts: its folder is on the path that they inherit.

``python -m compiler script.py`` gives ``tvm`` its meaning in its own process; see :mod:`compiler.classic.alias`.
"""

import importlib

from compiler.classic import alias

alias.install()
importlib.import_module(alias.ALIAS)  # takes the place of this module, which nobody sees
