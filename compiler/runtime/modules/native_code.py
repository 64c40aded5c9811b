"""Machine code in memory: JIT-linked object code, or an opened shared library."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from functools import cache
from typing import Protocol

from compiler.ir.error import ArgumentError, BuildError, UnavailableError
from compiler.runtime.arrays.myfloat import FUNCTIONS, myfloat_address
from compiler.runtime.llvm import LinkedCode, binding, host_target
from compiler.runtime.machine import this_machine
from compiler.runtime.modules.object_file import is_elf, undefined_symbols
from compiler.runtime.modules.packed_call import VARIABLE, call_address
from compiler.runtime.modules.workspace import functions
from compiler.runtime.parallel.forks import hold_while_forking
from compiler.runtime.parallel.threads import openmp

MAKING = threading.RLock()
"""Is held while machine code is made of something when it is first needed, which several threads may find at once: the
code that only one of them keeps would be unloaded under the others' feet.  Never wait for another thread with it."""
hold_while_forking(MAKING)
_OPENED: dict[str, list[tuple[int, int]]] = {}
"""The files that were opened under each path, by device and number; they stay open, so that the numbers are theirs."""


class NativeCode(Protocol):
    """Machine code that can be called."""

    def address(self, symbol: str) -> int:
        """Return where a function starts."""


@cache
def host_triple() -> str:
    """Return LLVM's name for this kind of machine, or one in its form where llvmlite is not installed."""
    try:
        return str(binding.get_process_triple())
    except UnavailableError:
        return f"{platform.machine()}-unknown-{sys.platform}"


def host_cpu() -> str:
    """Return LLVM's name for this machine's CPU."""
    return this_machine().cpu


def host_features() -> frozenset[str]:
    """Return what this machine's CPU can do, as LLVM names it."""
    return frozenset(name for name, present in this_machine().features.items() if present)


@cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    """Return where C functions are looked for: this process, then the compiler's own support library."""
    libraries = [ctypes.CDLL(None)]
    for name in ("libm.so.6", "libgcc_s.so.1"):
        try:
            libraries.append(ctypes.CDLL(name))
        except OSError:
            continue
    return tuple(libraries)


def _called(code: bytes) -> dict[str, int]:
    """Return the addresses of functions that object code calls.

    Raises BuildError if there is none of a name.
    """
    runtime = openmp()
    ours = {**(runtime.addresses if runtime is not None else {}), **functions()}
    return {name: ours.get(name) or _address(name) for name in undefined_symbols(code)} if is_elf(code) else ours


def _address(name: str) -> int:
    for library in _libraries():
        if hasattr(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    if name in FUNCTIONS:
        return myfloat_address(name)
    raise BuildError(f"the machine code calls {name!r}, and this process has no function of that name")


def _let_call(variable: int) -> None:
    """Give machine code the address of what carries out its calls of registered functions, if it has any."""
    if variable:
        ctypes.c_void_p.from_address(variable).value = call_address()


def compiled(data: bytes, path: str, level: int = 3) -> bytes:
    """Return the object code of LLVM IR, such as :meth:`compiler.runtime.modules.module.Module.save` writes."""
    target = host_target()
    try:
        is_text = not data.startswith((b"BC\xc0\xde", b"\xde\xc0\x17\x0b"))
        module = binding.parse_assembly(data.decode()) if is_text else binding.parse_bitcode(data)
        module.verify()
    except (RuntimeError, UnicodeDecodeError) as exc:
        raise ArgumentError(f"load_module: {path!r} is not LLVM IR: {exc}") from None
    if module.triple.split("-")[0] != host_triple().split("-")[0]:
        raise ArgumentError(f"load_module: {path!r} is for {module.triple}, this machine is a {host_triple()}")
    features = ",".join(f"+{feature}" for feature in sorted(host_features()))
    machine = target.create_target_machine(cpu=host_cpu(), features=features, opt=level)
    return bytes(machine.emit_object(module))


class ObjectCode:
    """Relocatable object code, linked into this process."""

    def __init__(self, code: bytes) -> None:
        self._code = LinkedCode(code, _called(code))
        _let_call(self._code.address(VARIABLE))

    def address(self, symbol: str) -> int:
        """Return where a function starts."""
        address = self._code.address(symbol)
        if not address:
            raise BuildError(f"the machine code has no function {symbol!r}")
        return address


def _name_of_version(path: str) -> str:
    """Return a name of the file at a path by which the loader opens it, and not one that was there before.

    By a name that it knows, the loader returns what it opened then: further files get names such as ``folder/./x.so``.
    """
    folder, name = os.path.split(path)
    try:
        found = os.stat(path)
    except OSError:  # which opening it reports
        return path
    files = _OPENED.setdefault(path, [])
    if (found.st_dev, found.st_ino) not in files:
        files.append((found.st_dev, found.st_ino))
    return os.path.join(folder, *["."] * files.index((found.st_dev, found.st_ino)), name)


class SharedLibrary:
    """A shared library, opened by the system's loader."""

    def __init__(self, path: str) -> None:
        openmp()  # its symbols are then global, and the library finds them
        try:
            self._library = ctypes.CDLL(_name_of_version(path))
        except OSError as exc:
            raise ArgumentError(f"load_module: the system cannot load {path!r}: {exc}") from None
        if hasattr(self._library, VARIABLE):
            _let_call(ctypes.addressof(ctypes.c_void_p.in_dll(self._library, VARIABLE)))

    def address(self, symbol: str) -> int:
        """Return where a function starts."""
        try:
            return ctypes.cast(getattr(self._library, symbol), ctypes.c_void_p).value or 0
        except AttributeError:
            raise ArgumentError(f"load_module: the library has no function {symbol!r}") from None
