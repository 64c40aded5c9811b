"""Attributes that programs give to operators of graphs, under the names of ``tvm.relay.op.op``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.op import Op, add_op, register_op_attr, registered_ops
from compiler.relay.operator import OpPattern
from compiler.relay.program_op import ProgramOp

__all__ = [
    "OpPattern",
    "get",
    "register",
    "register_alter_op_layout",
    "register_convert_op_layout",
    "register_infer_correct_layout",
    "register_legalize",
    "register_pattern",
    "register_stateful",
]

Rule = Callable[..., Any]


def get(op_name: str) -> Op:
    """Return the operator of a name.

    Parameters
    ----------
    op_name : str

    Returns
    -------
    Op
    """
    return Op.get(op_name)


def register(op_name: str, describe: str = "") -> ProgramOp:
    """Return a new operator, which has a name only: programs give it its attributes.

    Parameters
    ----------
    op_name : str
        Which is still free.
    describe : str
        What it does.

    Returns
    -------
    ProgramOp

    Raises
    ------
    ArgumentError
        If the name is taken.
    """
    if op_name in registered_ops():
        raise ArgumentError(f"register: operator {op_name} is registered before")
    return add_op(ProgramOp(op_name, doc=describe))


def register_alter_op_layout(op_name: str, alter_layout: Rule | None = None, level: int = 10) -> Any:
    """Set how AlterOpLayout changes the calls of an operator.

    Parameters
    ----------
    op_name : str
    alter_layout : callable, optional
        From attributes, arguments, placeholders of their types, and the type of the result to another call of as many
        arguments, or None; without it, the decorator is returned.
    level : int
        The priority.

    Returns
    -------
    callable
        The function, or the decorator that sets it.
    """
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_legalize(op_name: str, legal_op: Rule | None = None, level: int = 10) -> Any:
    """Set what Legalize puts in place of the calls of an operator.

    Parameters
    ----------
    op_name : str
    legal_op : callable, optional
        From attributes, arguments, and their types with that of the result last, to an expression, or None; without it,
        the decorator is returned.
    level : int
        The priority.

    Returns
    -------
    callable
        The function, or the decorator that sets it.
    """
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_convert_op_layout(op_name: str, convert_layout: Rule | None = None, level: int = 10) -> Any:
    """Set how ConvertLayout changes the calls of an operator.

    Parameters
    ----------
    op_name : str
    convert_layout : callable, optional
        From attributes, arguments, placeholders of their types and the desired layouts to another call of as many
        arguments, or None; without it, the decorator is returned.
    level : int
        The priority.

    Returns
    -------
    callable
        The function, or the decorator that sets it.
    """
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_infer_correct_layout(op_name: str, infer_layout: Rule | None = None, level: int = 10) -> Any:
    """Set which layouts the calls of an operator take, for ConvertLayout and AlterOpLayout.

    Parameters
    ----------
    op_name : str
    infer_layout : callable, optional
        From attributes, the layouts that the inputs have come into (None when it is asked for the call as it is), their
        old layouts, and the types of the arguments to an InferCorrectLayoutOutput; layouts that nobody knows are None.
        Without it, the decorator is returned.
    level : int
        The priority.

    Returns
    -------
    callable
        The function, or the decorator that sets it.
    """
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_pattern(op_name: str, pattern: OpPattern, level: int = 10) -> Any:
    """Set how the calls of an operator are fused.

    Parameters
    ----------
    op_name : str
    pattern : OpPattern
    level : int
        The priority.

    Returns
    -------
    OpPattern
    """
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Set whether the calls of an operator do more than return a value.

    Parameters
    ----------
    op_name : str
    stateful : bool
    level : int
        The priority.

    Returns
    -------
    bool
    """
    return register_op_attr(op_name, "TOpIsStateful", stateful, level)
