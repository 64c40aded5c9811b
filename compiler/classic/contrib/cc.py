"""``tvm.contrib.cc``: the C++ compiler of this machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from compiler.classic.contrib.utils import which
from compiler.ir.error import BuildError, UnavailableError
from compiler.runtime.modules.linking import library_content
from compiler.runtime.modules.object_file import is_elf

_COMPILERS = ("g++", "gcc", "clang++", "clang", "c++", "cc")


def get_cc() -> str | None:
    """Return the path of a C++ compiler: of the environment variable ``CXX``, else the first one of the usual names."""
    named = os.environ.get("CXX")
    return named or next((path for name in _COMPILERS if (path := which(name))), None)


def create_shared(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: Mapping[str, str] | None = None,
) -> None:
    """Link object files, or compile sources, to a shared library, by :func:`get_cc` by default.

    Where there is no compiler, one object file is linked as ``export_library`` does it. ``cwd`` is the folder that
    relative paths begin at; with variables of ``ccache_env`` the compiler is called through ccache.

    Raises
    ------
    UnavailableError
        If there is no compiler, and it is more than one object file.
    BuildError
        With what the compiler says, if it fails.
    """
    inputs = [objects] if isinstance(objects, str) else list(objects)
    code = _only_object(inputs) if not (options or cc or get_cc()) else None
    if code is not None:
        Path(output).write_bytes(library_content(code, output))
        return
    _run(output, objects, ["-shared", "-fPIC", *(options or ())], cc, cwd, ccache_env)


def _only_object(inputs: Sequence[str]) -> bytes | None:
    """Return the object code of the only input; None if there are more, or it is something else."""
    if len(inputs) != 1 or not Path(inputs[0]).is_file():
        return None
    code = Path(inputs[0]).read_bytes()
    return code if is_elf(code) else None


def create_executable(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: Mapping[str, str] | None = None,
) -> None:
    """Link object files, or compile sources, to a program; the arguments are those of :func:`create_shared`.

    Raises
    ------
    UnavailableError
        If there is no compiler.
    BuildError
        With what the compiler says, if it fails.
    """
    _run(output, objects, list(options or ()), cc, cwd, ccache_env)


def create_staticlib(output: str, inputs: str | Sequence[str], ar: str | None = None) -> None:
    """Put object files into a static library, in place of what the file held, by the archiver ``ar`` or another one.

    Raises
    ------
    UnavailableError
        If there is no archiver.
    BuildError
        With what the archiver says, if it fails.
    """
    archiver = ar or which("ar")
    if archiver is None:
        raise UnavailableError("create_staticlib: this machine has no archiver (ar)")
    Path(output).unlink(missing_ok=True)
    _command([archiver, "qcs", output, *([inputs] if isinstance(inputs, str) else inputs)])


def _run(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str],
    cc: str | None,
    cwd: str | None = None,
    ccache_env: Mapping[str, str] | None = None,
) -> None:
    compiler = cc or get_cc()
    if compiler is None:
        raise UnavailableError("cc: this machine has no C++ compiler; set the environment variable CXX to one")
    inputs = [objects] if isinstance(objects, str) else list(objects)
    ccache = [] if ccache_env is None else [_found("ccache")]
    _command([*ccache, compiler, *options, "-o", output, *inputs], cwd, ccache_env)


def _found(program: str) -> str:
    path = which(program)
    if path is None:
        raise UnavailableError(f"cc: {program} is not installed on this machine")
    return path


def _command(command: Sequence[str], cwd: str | None = None, variables: Mapping[str, str] | None = None) -> None:
    environment = None if variables is None else {**os.environ, **variables}
    try:
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=cwd, env=environment)
    except OSError as error:
        raise UnavailableError(f"cc: {command[0]} cannot be called: {error.strerror}") from None
    if ran.returncode != 0:
        raise BuildError(f"cc: {' '.join(command)} failed\n{ran.stdout}{ran.stderr}")


def get_target_by_dump_machine(compiler: str) -> Callable[[], str | None]:
    """Return what asks a compiler for the triple that it makes code for, e.g. ``x86_64-linux-gnu``, or None."""

    def triple() -> str | None:
        try:
            ran = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, errors="replace")
        except OSError:
            return None
        return ran.stdout.strip() if ran.returncode == 0 else None

    return triple


def cross_compiler(
    compile_func: str | Callable[..., None],
    options: Sequence[str] | None = None,
    output_format: str = "so",
    get_target_triple: Callable[[], str | None] | None = None,
    add_files: Sequence[str] | None = None,
) -> Callable[..., None]:
    """Return a function of output, objects and options like :func:`create_shared` for another compiler."""
    triple = get_target_triple
    if isinstance(compile_func, str):
        triple = triple or get_target_by_dump_machine(compile_func)

    def compile_all(output: str, objects: str | Sequence[str], more: Sequence[str] | None = None) -> None:
        inputs = [*([objects] if isinstance(objects, str) else objects), *(add_files or ())]
        every = [*(options or ()), *(more or ())]
        if isinstance(compile_func, str):
            create_shared(output, inputs, every, compile_func)
        else:
            compile_func(output, inputs, options=every)

    vars(compile_all).update(output_format=output_format, get_target_triple=triple)
    return compile_all
