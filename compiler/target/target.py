"""Targets: what machine code is made for, as TVM spells it: ``llvm -mcpu=cascadelake -mattr=+avx2``."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping
from functools import cache
from typing import TypeAlias, Union

from llvmlite import binding

from compiler.ir import dtype as dt
from compiler.ir.context_stack import ContextStack
from compiler.ir.error import TargetError, show
from compiler.runtime.native_code import host_cpu, host_features, host_triple
from compiler.target import vector_registers

__all__ = ["KINDS", "OPTIONS", "Target", "TargetKind", "TargetLike", "host_attributes"]

Option: TypeAlias = str | int
"""The value of an option: a text or a number, as :data:`OPTIONS` says."""
TargetLike: TypeAlias = Union["Target", str, Mapping[str, object]]
"""What the constructor of a target takes."""

KINDS = {
    "llvm": "machine code through LLVM",
    "cuda": "NVIDIA GPUs",
    "opencl": "GPUs through OpenCL",
    "vulkan": "GPUs through Vulkan",
    "metal": "Apple GPUs",
    "rocm": "AMD GPUs",
    "c": "C source code",
}
"""Names that a target string may begin with."""

OPTIONS: dict[str, type] = {
    "mcpu": str,
    "mattr": str,
    "mtriple": str,
    "mabi": str,
    "mfloat-abi": str,
    "opt-level": int,
    "num-cores": int,
    "device": str,
    "keys": str,
    "libs": str,
    "model": str,
    "tag": str,
    "arch": str,
    "max_num_threads": int,
    "thread_warp_size": int,
    "system-lib": int,
    "runtime": str,
}
"""Options that may follow, with the type of their values."""

_AVX512 = "avx512f"


_LIMITS = {"cuda": (1024, 32), "rocm": (256, 64), "metal": (256, 16), "opencl": (256, 1), "vulkan": (256, 1)}
"""Threads of a block, and those of them that run in lockstep, of GPUs whose target does not say."""


class TargetKind(str):
    """The first word of a target string; TVM's scripts ask for its ``name``."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The word itself."""
        return str(self)


class Target:
    """What machine code is made for.

    As a context manager it is the :meth:`current` target inside of the block.

    Parameters
    ----------
    target : Target, str or dict
        A kind and its options, such as ``llvm -mcpu=haswell``, or ``{"kind": "llvm", "mcpu": "haswell"}``.
        ``llvm`` alone, or with ``-mcpu=native``, is this machine.
    host : Target, str or dict, optional
        The target that launches a device's kernels.

    Attributes
    ----------
    kind : TargetKind
        The first word, one of :data:`KINDS`.
    attrs : dict of str to (str or int)
        The options that were given.
    host : Target or None
        The target that launches a device's kernels.
    triple, cpu, features : str
        What LLVM is asked for; CPU and features are empty for other kinds than ``llvm``.

    Raises
    ------
    TargetError
        If the string names an unknown kind or option, or a feature without its sign.
    """

    default_opt_level = 3
    """LLVM's optimisation level for targets that do not name one; one for the process."""

    def __init__(self, target: TargetLike, host: TargetLike | None = None) -> None:
        self.kind, self.attrs = _parse(target)
        self.host = Target(host) if host is not None else None
        self.triple = self._text("mtriple") or host_triple()
        if self.kind != "llvm":
            self.cpu, self.features = "", ""
        elif self.triple == host_triple() and self.mcpu in ("", "native"):
            self.cpu, self.features = host_cpu(), ",".join([*host_attributes(), *self.mattr])
        else:
            if self.mcpu == "native":
                raise TargetError(f"Target: -mcpu=native is this machine, which is not a {self.triple}")
            self.cpu, self.features = self.mcpu, ",".join(self.mattr)
        for feature in self.mattr:
            if feature[0] not in "+-" or len(feature) == 1:
                raise TargetError(f"Target: -mattr takes features such as +avx2 or -avx512f, got {show(feature)}")

    def _text(self, option: str) -> str:
        return str(self.attrs.get(option, ""))

    # the machine

    @property
    def opt_level(self) -> int:
        """LLVM's optimisation level, 0 to 3."""
        return int(self.attrs.get("opt-level", Target.default_opt_level))

    @property
    def is_host(self) -> bool:
        """Whether code for this target can run in this process."""
        return self.kind == "llvm" and _architecture(self.triple) == _architecture(host_triple())

    @property
    def is_native(self) -> bool:
        """Whether the code uses nothing but what this machine's CPU can do."""
        return self.is_host and self.cpu == host_cpu() and "+" not in self._text("mattr")

    @property
    def keys(self) -> list[str]:
        """Groups of targets that this one belongs to, as TVM names them."""
        return ["cpu"] if self.kind in ("llvm", "c") else [self.kind.name, "gpu"]

    @property
    def mcpu(self) -> str:
        """The CPU as the target string names it."""
        return self._text("mcpu")

    @property
    def mattr(self) -> list[str]:
        """Features as the target string names them."""
        return [f for f in self._text("mattr").split(",") if f]

    # what schedules ask

    @property
    def num_cores(self) -> int:
        """Cores that schedules may count on, 0 where the target does not say."""
        return int(self.attrs.get("num-cores", 0))

    @property
    def vector_bits(self) -> int:
        """Width in bits of the widest vector registers that code for this target uses, 0 if it uses none."""
        if self.kind != "llvm":
            return 0
        return vector_registers.vector_bits(self.triple, self.cpu, self.features)

    @property
    def vector_registers(self) -> int:
        """Number of vector registers."""
        if self.kind != "llvm":
            return 0
        return vector_registers.vector_registers(self.triple, self.cpu, self.features)

    def vector_width(self, dtype: str = "float32") -> int:
        """Return how many elements of a data type one vector register holds.

        Parameters
        ----------
        dtype : str
            A scalar type, such as ``float32``.

        Returns
        -------
        int
            1 for a target without vectors.
        """
        return max(self.vector_bits // dt.bits(dtype), 1)

    @property
    def max_num_threads(self) -> int:
        """Threads that a block of a GPU may have; 1 for a CPU."""
        return int(self.attrs.get("max_num_threads", _LIMITS.get(self.kind, (1, 1))[0]))

    @property
    def thread_warp_size(self) -> int:
        """Threads of a GPU that run in lockstep; 1 for a CPU."""
        return int(self.attrs.get("thread_warp_size", _LIMITS.get(self.kind, (1, 1))[1]))

    # texts

    def export(self) -> dict[str, object]:
        """Return the target as a dictionary that the constructor takes.

        Returns
        -------
        dict
            ``kind`` (str), ``keys`` (list of str) and the options that were given.
        """
        return {"kind": self.kind.name, "keys": self.keys, **self.attrs}

    @staticmethod
    def list_kinds() -> list[str]:
        """Return all names that a target string may begin with.

        Returns
        -------
        list of str
            ``llvm`` first.
        """
        return list(KINDS)

    # scopes

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the innermost target of the ``with`` blocks around, in this thread and asyncio task.

        Parameters
        ----------
        allow_none : bool
            Whether None is returned where there is none.

        Returns
        -------
        Target or None

        Raises
        ------
        TargetError
            If there is none and ``allow_none`` is False.
        """
        target = _STACK.current()
        if target is not None or allow_none:
            return target
        raise TargetError('Target.current: there is no target around; use `with tvm.target.Target("llvm"):`')

    @staticmethod
    def target_or_current(target: TargetLike | None) -> Target:
        """Return a target; the current one, else this machine, where it is None.

        Parameters
        ----------
        target : Target, str, dict or None

        Returns
        -------
        Target
        """
        if target is None:
            return Target.current() or Target("llvm")
        return target if isinstance(target, Target) else Target(target)

    def __enter__(self) -> Target:
        _STACK.push(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _STACK.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return " ".join([self.kind, *(f"-{key}={value}" for key, value in self.attrs.items())])

    __repr__ = __str__


_STACK: ContextStack[Target] = ContextStack("Target")


def _parse(target: TargetLike) -> tuple[TargetKind, dict[str, Option]]:
    if isinstance(target, Target):
        return target.kind, dict(target.attrs)
    if isinstance(target, Mapping):
        given = {k: v for k, v in target.items() if k not in ("kind", "keys")}
        options = {k: ",".join(v) if isinstance(v, (list, tuple)) else str(v) for k, v in given.items()}
        return _kind(str(target.get("kind", ""))), {k: _option(k, v) for k, v in options.items()}
    if not isinstance(target, str):
        raise TargetError(f"Target: expected a string such as 'llvm -mcpu=native', got {show(target)}")
    try:
        kind, *words = shlex.split(target) or [""]
    except ValueError as exc:
        raise TargetError(f"Target: {show(target)} is not well-formed: {exc}") from None
    return _kind(kind), dict(_options(words, target))


def _options(words: list[str], target: str) -> list[tuple[str, Option]]:
    """Read options: ``-key=value``, ``-key value``, or ``-key`` alone for the number 1."""
    options: list[tuple[str, Option]] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("-"):
            raise TargetError(f"Target: options begin with '-', got {show(word)} in {show(target)}")
        key, has_value, value = word.lstrip("-").partition("=")
        if not has_value:
            if key in OPTIONS and waiting and not waiting[0].startswith("-"):
                value = waiting.pop(0)
            elif OPTIONS.get(key) is int:
                value = "1"
        options.append((key, _option(key, value)))
    return options


def _kind(name: str) -> TargetKind:
    if name not in KINDS:
        near = difflib.get_close_matches(name, KINDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(KINDS)}"
        raise TargetError(f"Target: unknown kind {show(name)}; {hint}")
    return TargetKind(name)


def _option(key: str, value: str) -> Option:
    kind = OPTIONS.get(key)
    if kind is None:
        near = difflib.get_close_matches(key, OPTIONS, n=1)
        hint = f"did you mean -{near[0]}?" if near else f"there are {', '.join('-' + o for o in OPTIONS)}"
        raise TargetError(f"Target: unknown option -{key}; {hint}")
    if kind is not int:
        return value
    if not value.isdigit() or (key == "opt-level" and int(value) > 3):
        raise TargetError(f"Target: -{key} must be {'0 to 3' if key == 'opt-level' else 'a number'}, got {show(value)}")
    return int(value)


def _architecture(triple: str) -> str:
    return triple.split("-")[0]


@cache
def host_attributes() -> tuple[str, ...]:
    """Return this machine's features as LLVM takes them; a CPU with 512-bit vectors is to use them.

    Returns
    -------
    tuple of str
        Each with ``+`` or ``-`` before it.
    """
    present = host_features()
    names = [f"{'+' if name in present else '-'}{name}" for name in sorted(binding.get_host_cpu_features())]
    # LLVM prefers 256-bit vectors on several CPUs that run 512-bit ones at full speed.
    return (*names, "-prefer-256-bit") if _AVX512 in present else tuple(names)
