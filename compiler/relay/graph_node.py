"""What makes a class a node of graphs, and the origins of the nodes that users build."""

from __future__ import annotations

import os
from dataclasses import field
from typing import Any, dataclass_transform
from typing import TypeVar as PythonTypeVar

from compiler.ir.node import node
from compiler.ir.origin import Span, mint_use

T = PythonTypeVar("T")

_VOCABULARY = os.path.dirname(os.path.abspath(__file__)) + os.sep
_FILES = (
    "expr.py",
    "expr_arithmetic.py",
    "function.py",
    "graph_node.py",
    "operator.py",
    "op_registry.py",
    "adt.py",
    "reference.py",
    "op" + os.sep,
)
_NETWORKS = os.path.join(os.path.dirname(_VOCABULARY[:-1]), "classic", "testing", "relay") + os.sep
_WORDS = (*(_VOCABULARY + name for name in _FILES), _NETWORKS)
"""The files whose functions users call to build graphs, as passes and importers do; and the networks of
``relay.testing``, which are built of them for a user's line."""


def mint_here(label: str) -> Span:
    """Return the origins of an expression that is being built: the user's line, or what a pass makes it from."""
    return mint_use(label, _WORDS)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def graph_node(cls: type[T]) -> type[T]:
    """Make ``cls`` a node class whose constructor takes the span as its last argument, by position too.

    Its class variable ``keywords`` says which fields the constructor takes by other names.
    """
    made = node(cls)
    init: Any = made.__init__
    code, by_name = init.__code__, dict(init.__kwdefaults__)
    assert code.co_varnames[code.co_argcount] == "span", "the span is the first of what is taken by name alone"
    names = tuple(cls.__dict__.get("keywords", {}).get(name, name) for name in code.co_varnames)
    init.__code__ = code.replace(
        co_argcount=code.co_argcount + 1, co_kwonlyargcount=code.co_kwonlyargcount - 1, co_varnames=names
    )
    init.__defaults__ = (*(init.__defaults__ or ()), by_name.pop("span"))
    init.__kwdefaults__ = by_name
    return made
