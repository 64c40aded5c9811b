"""Operators that programs register with ``tvm.relay.op.op.register`` and then complete by calling methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from compiler.ir.attrs import Attrs
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.error import ArgumentError, errors_of_program, show
from compiler.ir.op import ArgumentInfo
from compiler.ir.types import Type
from compiler.relay.operator import Input, RelationError, RelayOp, Types
from compiler.runtime.modules.packed_func import get_global_func

ProgramRelation = Callable[[Types, Attrs | None], Type | None]


@dataclass(slots=True, eq=False)
class ProgramOp(RelayOp):
    """An operator registered by a program, with neither a compute definition nor a NumPy reference."""

    @property
    def num_inputs(self) -> int:
        """The number of arguments of a call; -1 if unspecified."""
        return self.declaration.num_inputs

    def complete_attrs(self, given: Mapping[str, Any]) -> Attrs:
        """Return the attributes of a call; any are accepted."""
        return DictAttrs(given)

    def _add_argument(self, argument: ArgumentInfo) -> None:
        self.inputs = {**self.inputs, argument.name: Input(argument.description, type_info=argument.type_info)}

    def add_type_rel(self, rel_name: str, type_rel_func: ProgramRelation | None = None) -> None:
        """Set the type relation: how the type of a call follows from the types of its arguments and the attributes.

        ``type_rel_func`` takes these (None for a call without attributes).  Its exceptions propagate through type
        inference, as errors that are of their own class and ``TVMError`` too.
        """
        function = type_rel_func or get_global_func(f"tvm.relay.type_relation.{rel_name}", allow_missing=True)
        if function is None:
            raise ArgumentError(f"add_type_rel: {show(rel_name)} is not a type relation, and no function is given")
        self.relation = _relation(rel_name, function)

    def set_attrs_type_key(self, key: str) -> None:
        """Set the type key of the attributes, which can only be ``DictAttrs``."""
        if key != "DictAttrs":
            raise ArgumentError(f"set_attrs_type_key: expected 'DictAttrs', got {show(key)}")
        RelayOp.set_attrs_type_key(self, key)  # zero-argument super() fails in slotted dataclasses


def _relation(name: str, function: ProgramRelation) -> Callable[[Types, Attrs], Type]:
    """Wrap a program's type relation, which gets None as the attributes of a call without any."""

    def relation(types: Types, attrs: Attrs) -> Type:
        with errors_of_program():
            result = function(types, attrs if len(attrs) else None)
        if not isinstance(result, Type):
            raise RelationError(f"type relation {name} must return a type, returned {show(result)}")
        return result

    return relation
