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

found = tvm.build(sch.mod, {build})
'''


def write_script(definition: PrimFunc, schedule: Schedule, target: str, title: str, kernel: str = "") -> str:
    """Return a script that applies the primitives of a schedule's trace to the definition, and builds what it gives."""
    steps = schedule.trace.simplified(remove_postproc=False).as_python()
    imported, _, function = definition.script().strip().removeprefix("# ").partition("\n\n")
    name = re.findall(r"^def (\w+)", function, re.M)[0]
    build = f'target="{target}"' + (f', name="{kernel}"' if kernel else "")
    return _SCRIPT.format(
        title=title, build=build, imported=imported, function=function, name=name, steps="\n".join(steps)
    )
