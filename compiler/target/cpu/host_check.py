"""Checks whether this machine's CPU can run code compiled for another one."""

from __future__ import annotations

import re

from compiler.ir.error import BuildError
from compiler.runtime.modules.native_code import host_cpu, host_features
from compiler.target.target import Target

_NEEDS = (
    (r"\ttdpb[su]{2}d\t", ("amx-int8",)),
    (r"\ttdpbf16ps\t", ("amx-bf16",)),
    (r"\tldtilecfg\t", ("amx-tile",)),
    (r"\t(?:insertq|extrq|movnts[sd])\t", ("sse4a",)),
    (r"%r(?:1[6-9]|2\d|3[01])[bdw]?\b|\{(?:nf|dfv=.*?)\}|\t(?:add|sub|x?or)[lq]\t[$%]\w+, %\w+, %", ("ndd",)),
    (r"%zmm\d|%k[0-7]\b|%[xy]mm(?:1[6-9]|2\d|3[01])\b", ("avx512f",)),
    (r"\tv(?:add|sub|mul|div|sqrt|max|min|mov|fn?m(?:add|sub)\w*?)[ps]h\t|\tvcvt\w*ph2p[sd]x\t", ("avx512fp16",)),
    (r"\tv\w+bf16\t|\tvdpbf16ps\t", ("avx512bf16",)),
    (r"\tvperm[it]?2?b\t", ("avx512vbmi",)),
    (r"\tvpsh[lr]dv?[wdq]\t|\tvp(?:compress|expand)[bw]\t", ("avx512vbmi2",)),
    (r"\tvpopcnt[dq]\t", ("avx512vpopcntdq",)),
    (r"\{vex\}\s+vpdp", ("avxvnni",)),
    (r"\tvpdp[bw]\w+\t", ("avx512vnni", "avxvnni")),
    (r"\t(?:mulx|rorx|s[ah][lr]x|pdep|pext)[lq]\t", ("bmi2",)),
    (r"\tvfn?m(?:add|sub)\w+\t", ("fma", "avx512f")),
    (r"\tvp\w+\t[^\n]*%ymm", ("avx2",)),
    (r"\tv\w+\t[^\n]*%[xy]mm", ("avx",)),
)
"""Patterns of instructions in assembly, each with alternative features of which one is required."""


def require_host_can_run(target: Target, assembly: str) -> None:
    """Check that this CPU supports the instructions of x86 code; other architectures are not checked."""
    if not target.triple.startswith("x86_64"):
        return
    for pattern, features in _NEEDS:
        if not host_features().intersection(features) and re.search(pattern, assembly):
            name = features[0].upper()
            left_out = ", without what is tensorized for AMX" if name.startswith("AMX") else ""
            raise BuildError(
                f"code for {target} uses {name}, which this CPU ({host_cpu()}) does not have; "
                f"build for 'llvm -mcpu=native' to run it here{left_out}"
            )
