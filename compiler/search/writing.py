"""Writes a schedule that was found as a script with explicit primitives."""

from __future__ import annotations

import re

from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

_SCRIPT = '''"""{title}"""

import tvm
from tvm import tir
{imported}


{function}

sch = tir.Schedule({name})
{steps}

found = tvm.build(sch.mod, target="{target}"{named})
'''


def write_script(definition: PrimFunc, schedule: Schedule, target: str, title: str, kernel: str = "") -> str:
    """Return a script that applies the primitives of a schedule's trace to the definition, and builds the result.

    It builds it as ``kernel`` if that is given, the name of a kernel of a model.
    """
    assert schedule.trace is not None
    steps = schedule.trace.simplified(remove_postproc=False).as_python()
    imported, _, function = definition.script().strip().removeprefix("# ").partition("\n\n")
    name = re.findall(r"^def (\w+)", function, re.M)[0]
    named = f', name="{kernel}"' if kernel else ""
    return _SCRIPT.format(
        title=title, target=target, imported=imported, function=function, name=name, steps="\n".join(steps),
        named=named,
    )  # fmt: skip
