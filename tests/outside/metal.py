"""Compiles kernels for ``metal`` as C++, with a header that stands for Metal's library, and runs them on the CPU.

Metal Shading Language is C++14 with address spaces: the header makes these nothing, and threads of the machine of those
of a block.  It shows that the text is a program that computes the right result, not that Apple's compiler takes it.
"""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

_PROLOGUE = ("#include <metal_stdlib>", "using namespace metal;")


def run_as_cpp(built, folder):
    """Compile the kernels that modules import, all at once, and let them run when the modules are called."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text("\n".join([_PROLOGUE[0], *(_program(number, module) for number, module in enumerate(built))]))
    options = ["-std=c++20", "-O0", "-w", "-shared", "-fPIC", "-pthread", f"-I{Path(__file__).parent}"]
    subprocess.run([compiler, *options, str(source), "-o", str(library)], check=True, timeout=120)
    code = ctypes.CDLL(str(library))
    for number, module in enumerate(built):
        (kernels,) = module.imported_modules
        kernels.launcher = _launcher(code, number, kernels)


def _program(number, module):
    (kernels,) = module.imported_modules
    text = kernels.get_source()
    for line in _PROLOGUE:
        assert line in text
        text = text.replace(line, "")
    # Only declarations say where memory is: a variable that all threads of a block share is static in C++.
    text = text.replace(") threadgroup ", ") static ")
    names = [var.name_hint for var, _ in kernels.kernels.items()]
    runs = [f"RUN(run_{number}_{name}, {name}, {len(kernels.kernels[name].params)})" for name in names]
    return "\n".join([f"namespace program_{number} {{", _PROLOGUE[1], text, *runs, "}"])


def _launcher(code, number, kernels):
    def launch(name, arguments, extents):
        sizes = [extents.get(f"{of}.{along}", 1) for of in ("blockIdx", "threadIdx") for along in "xyz"]
        params = kernels.kernels[name].params
        values = (ctypes.c_void_p * len(params))()
        scalars = []
        for at, (argument, param) in enumerate(zip(arguments, params, strict=True)):
            if not isinstance(argument, ctypes.c_void_p):
                scalars.append({"int32": ctypes.c_int32, "int64": ctypes.c_int64}[param.dtype](int(argument)))
                argument = ctypes.c_void_p(ctypes.addressof(scalars[-1]))
            values[at] = argument
        getattr(code, f"run_{number}_{name}")(values, (ctypes.c_uint * 6)(*sizes))

    return launch
