"""The operators of graphs, a file an operator family: ``relay.op``.

A family's file registers its operators and has the public functions that call them.
"""

from compiler.relay.op import image, nn

__all__ = ["image", "nn"]
