"""Prints a schedule and its computation as a script."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr.primexpr import SizeVar, Var
from compiler.te.definition.dataflow import post_dfs_order
from compiler.te.definition.operation import PlaceholderOp
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule
from compiler.te.script.definitions import Definitions
from compiler.te.script.names import Names
from compiler.te.script.primitives import PrimitiveWriter

_MODULES = ("tvm", "te", "tir", "s", "f", "args", "float")
"""Names that mean something else than a tensor or an axis in a script."""


def write_script(
    schedule: Schedule, args: Sequence[Tensor | Var], target: str = "llvm", name: str = "main", title: str = ""
) -> str:
    """Return a Python script that defines a computation, schedules it primitive by primitive, and builds it.

    Tensors and axes have their own names, as far as these are identifiers and differ; the title is the first line of
    the docstring, by default the function's name.

    Examples
    --------
    >>> A = te.placeholder((1024,), name="A")
    >>> B = te.compute((1024,), lambda i: A[i] * 2.0, name="B")
    >>> s = te.create_schedule(B.op)
    >>> outer, inner = s[B].split(B.op.axis[0], factor=16)
    >>> print(write_script(s, [A, B]))
    """
    names = Names(_MODULES)
    operations = post_dfs_order(schedule.outputs)
    unread = (a.op for a in args if isinstance(a, Tensor) and isinstance(a.op, PlaceholderOp))
    operations += dict.fromkeys(op for op in unread if op not in operations)
    definitions = Definitions(names)
    variables = [_variable(a, names) for a in args if isinstance(a, Var)]
    defined = [line for op in operations for line in definitions.lines(op)]
    primitives = PrimitiveWriter(schedule, names).lines()
    outputs = ", ".join(f"{names[op.output(0)]}.op" for op in schedule.outputs)
    listed = ", ".join(names[a] for a in args)
    return "\n".join(
        [
            f'"""{title or name}"""',
            "",
            "import tvm",
            "from tvm import te, tir" if "tir." in "\n".join(defined) else "from tvm import te",
            "",
            *variables,
            *defined,
            "",
            f"s = te.create_schedule({outputs if len(schedule.outputs) == 1 else f'[{outputs}]'})",
            *primitives,
            "",
            f"args = [{listed}]",
            f'f = tvm.build(s, args, target="{target}", name="{name}")',
            "",
        ]
    )


def _variable(variable: Var, names: Names) -> str:
    kind = "te.size_var" if isinstance(variable, SizeVar) else "te.var"
    return f'{names.give(variable, variable.name)} = {kind}("{variable.name}", "{variable.dtype}")'
