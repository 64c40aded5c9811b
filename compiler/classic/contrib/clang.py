"""``tvm.contrib.clang``: LLVM IR from Clang."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence

from compiler.classic.contrib.utils import which
from compiler.ir.error import BuildError, UnavailableError
from compiler.runtime.llvm import binding


def find_clang(required: bool = True) -> list[str]:
    """Return the Clang compilers of this machine; one of the version of LLVM that code is generated with comes first.

    Raises UnavailableError if there is none and one is required.
    """
    names = [f"clang-{binding.llvm_version_info[0]}", "clang"]
    paths = [path for name in names if (path := which(name))]
    if required and not paths:
        raise UnavailableError("find_clang: this machine has no Clang")
    return paths


def create_llvm(
    inputs: str | Sequence[str], output: str | None = None, options: Sequence[str] | None = None, cc: str | None = None
) -> str:
    """Compile C or C++, the paths of sources or the text of one, to LLVM IR, and write it to ``output`` as well.

    Raises
    ------
    UnavailableError
        If there is no Clang.
    BuildError
        With what Clang says, if it fails.
    """
    compiler = cc or find_clang()[0]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for index, source in enumerate([inputs] if isinstance(inputs, str) else inputs):
            path = source
            if not os.path.isfile(source):
                path = os.path.join(folder, f"input{index}.cc")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(source)
            files.append(path)
        target = output or os.path.join(folder, "output.ll")
        command = [compiler, "-emit-llvm", "-S", *(options or ()), "-o", target, *files]
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if ran.returncode != 0:
            raise BuildError(f"create_llvm: {' '.join(command)} failed\n{ran.stdout}{ran.stderr}")
        with open(target, encoding="utf-8") as file:
            return file.read()
