"""Runs a module of Python as on a processor with fewer vector instructions than this one has.

    python -m tests.benchmarks.older_processor haswell tests.benchmarks.relay_latency resnet18 --mcpu haswell

Libraries with kernels for many processors, such as onnxruntime, choose by the instruction CPUID.  The kernel of Linux
can let it fault (``arch_prctl`` with ``ARCH_SET_CPUID``), and a library that is loaded first, ``cpuid.c``, answers for
it.  What runs is still this processor: its clock, its caches and how many instructions it starts in a cycle.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("cpuid.c")
PROCESSORS = ("haswell", "skylake-avx512")


def main(processor: str, module: str, *arguments: str) -> int:
    """Run a module and return its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "cpuid.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        seen = {"LD_PRELOAD": str(library), "OLDER_PROCESSOR": processor}
        return subprocess.run([sys.executable, "-m", module, *arguments], env=os.environ | seen, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in PROCESSORS:
        sys.exit(f"usage: python -m tests.benchmarks.older_processor {{{','.join(PROCESSORS)}}} MODULE [ARGUMENT …]")
    sys.exit(main(*sys.argv[1:]))
