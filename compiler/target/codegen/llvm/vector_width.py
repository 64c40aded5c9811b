"""How wide the vectors are that LLVM uses for a target: it is asked, as no list of CPUs is ever complete."""

from __future__ import annotations

from functools import cache

from compiler.target.codegen.llvm import pipeline
from compiler.target.codegen.llvm.summary import assembly_summary
from compiler.target.target import Target

_WIDE_SUM = """
target triple = "{triple}"
define void @sum(ptr %a) {{
  %x = load <64 x float>, ptr %a
  %y = fadd <64 x float> %x, %x
  store <64 x float> %y, ptr %a
  ret void
}}
"""


def vector_bits(target: Target) -> int:
    """Return the width in bits of the widest vectors that code for a target uses, 0 for none."""
    return _vector_bits(str(target))


@cache
def _vector_bits(text: str) -> int:
    target = Target(text)
    module = pipeline.parse(_WIDE_SUM.format(triple=target.triple))
    return int(assembly_summary(pipeline.assembly(module, target))["vector bits"])
