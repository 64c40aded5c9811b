"""Operators that programs declare, step by step: ``tvm.relay.op.op.register`` and the methods of what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from compiler.ir.attrs import Attrs, DictAttrs
from compiler.ir.error import ArgumentError, errors_of_program, show
from compiler.ir.types import Type
from compiler.relay.op_levels import support_level
from compiler.relay.operator import Input, RelationError, RelayOp, Types
from compiler.runtime.packed_func import get_global_func

__all__ = ["ProgramOp"]

ProgramRelation = Callable[[Types, Attrs | None], Type | None]


@dataclass(slots=True, eq=False)
class ProgramOp(RelayOp):
    """An operator of a program, which has neither a definition nor a reference here."""

    declared_inputs: int = -1
    declared_level: int = 0
    declared_attrs: str = ""

    @property
    def attrs_type_key(self) -> str:
        """The type key that was set; empty without one."""
        return self.declared_attrs

    @property
    def num_inputs(self) -> int:
        """How many arguments a call has, -1 if unspecified."""
        return self.declared_inputs

    @property
    def support_level(self) -> int:
        """The level that was set; 10 without one."""
        return self.declared_level or support_level(self.name)

    def complete_attrs(self, given: Mapping[str, Any]) -> Attrs:
        """Return the attributes of a call, which may be any.

        Parameters
        ----------
        given : mapping of str to object

        Returns
        -------
        Attrs
        """
        return DictAttrs(given)

    def set_num_inputs(self, n: int) -> None:
        """Set the number of arguments of a call.

        Parameters
        ----------
        n : int
        """
        self.declared_inputs = n

    def add_argument(self, name: str, type: str, description: str) -> None:
        """Describe the next argument.

        Parameters
        ----------
        name : str
        type : str
            E.g. ``Tensor``.
        description : str
        """
        self.inputs = {**self.inputs, name: Input(description, type_info=type)}

    def add_type_rel(self, rel_name: str, type_rel_func: ProgramRelation | None = None) -> None:
        """Say how the type of a call follows from those of its arguments.

        Parameters
        ----------
        rel_name : str
            ``Identity``, ``Broadcast``, ``BroadcastComp``, or a name for the function.
        type_rel_func : callable, optional
            From the types of the arguments and the attributes, None of a call without any, to the type of the result.
            What it raises reaches the caller of the type inference, as an error of its class that is a ``TVMError``
            too.

        Raises
        ------
        ArgumentError
            If there is no relation of the name, and no function is given.
        """
        function = type_rel_func or get_global_func(f"tvm.relay.type_relation.{rel_name}", allow_missing=True)
        if function is None:
            raise ArgumentError(f"add_type_rel: {show(rel_name)} is not a type relation, and no function is given")
        self.relation = _relation(rel_name, function)

    def set_support_level(self, level: int) -> None:
        """Set the level under which documentation lists the operator.

        Parameters
        ----------
        level : int
        """
        self.declared_level = level

    def set_attrs_type_key(self, key: str) -> None:
        """Name the class of the attributes; those of a program's operator may be any.

        Parameters
        ----------
        key : str
            ``DictAttrs``.

        Raises
        ------
        ArgumentError
            If it is another.
        """
        if key != "DictAttrs":
            raise ArgumentError(f"set_attrs_type_key: expected 'DictAttrs', got {show(key)}")
        self.declared_attrs = key


def _relation(name: str, function: ProgramRelation) -> Callable[[Types, Attrs], Type]:
    """Return a relation of a program, which sees no attributes where a call has none."""

    def relation(types: Types, attrs: Attrs) -> Type:
        with errors_of_program():
            result = function(types, attrs if len(attrs) else None)
        if not isinstance(result, Type):
            raise RelationError(f"type relation {name} must return a type, returned {show(result)}")
        return result

    return relation
