"""Targets: what machine code is made for, as TVM spells it: ``llvm -mcpu=cascadelake -mattr=+avx2``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from llvmlite import binding

from compiler.ir import dtype as dt
from compiler.ir.codecs import register_codec
from compiler.ir.context_stack import ContextStack
from compiler.ir.error import TargetError
from compiler.ir.extension import extension_point, public_module
from compiler.runtime.device import Device, device
from compiler.runtime.native_code import host_cpu, host_features, host_triple
from compiler.target import vector_registers
from compiler.target.kinds import KINDS, TargetKind
from compiler.target.m_profile import is_m_profile, m_profile_features, split_cpu
from compiler.target.options import Description, Options, describe, keys_of, option_text
from compiler.target.target_features import TargetFeatures

__all__ = ["Target", "TargetKind", "TargetLike", "host_attributes"]

TargetLike: TypeAlias = Union["Target", str, Mapping[str, object]]
"""What the constructor of a target takes."""

_AVX512 = "avx512f"
_SCALAR_REGISTERS = 16
_SCALABLE = {"aarch64": ("+sve", "+sve2"), "arm64": ("+sve", "+sve2"), "riscv64": ("+v",)}


class Target:
    """What machine code is made for.

    As a context manager it is the :meth:`current` target inside of the block.

    Parameters
    ----------
    target : Target, str or dict
        A kind and its options, such as ``llvm -mcpu=haswell``, or ``{"kind": "llvm", "mcpu": "haswell"}``, also as
        JSON; or the tag of a machine, such as ``nvidia/jetson-nano``.  ``llvm`` alone, or with ``-mcpu=native``, is
        this machine.
    host : Target, str or dict, optional
        The target that launches a device's kernels; that of ``target`` when left out.

    Attributes
    ----------
    kind : TargetKind
        The first word, one of :data:`KINDS`.
    attrs : dict of str to (str, int, bool or list)
        The options that were given, and those that its kind has anyway.
    keys : list of str
        The groups of targets that it belongs to: those given, its device, those of its kind.
    host : Target or None
        The target that launches a device's kernels.
    triple, cpu, llvm_features : str
        What LLVM is asked for; CPU and features are empty for other kinds than ``llvm``.

    Raises
    ------
    TargetError
        If the string names an unknown kind or option, or a feature without its sign.
    """

    default_opt_level = 3
    """LLVM's optimisation level for targets that do not name one; one for the process."""

    def __init__(self, target: TargetLike, host: TargetLike | None = None) -> None:
        self.description: Description = target.description if isinstance(target, Target) else describe(target)
        made = self.description
        self.kind: TargetKind = made.kind
        self.attrs: dict[str, Any] = Options({**KINDS[made.kind].defaults, **made.given})
        self.keys = keys_of(made)
        own_host = target.host if isinstance(target, Target) else made.host
        self.host: Target | None = _host(own_host if host is None else host)
        if "devices" in self.attrs:
            self.attrs["devices"] = [Target(device) for device in self.attrs["devices"]]
        self.triple = self._text("mtriple") or host_triple()
        self.cpu, self.llvm_features = self._cpu_and_features() if self.kind == "llvm" else ("", "")
        for feature in self.mattr:
            if feature[0] not in "+-" or len(feature) == 1:
                raise TargetError(f"Target: -mattr takes features such as +avx2 or -avx512f, got {feature!r}")

    def _cpu_and_features(self) -> tuple[str, str]:
        """Return what LLVM is asked for."""
        if self.triple == host_triple() and self.mcpu in ("", "native"):
            return host_cpu(), ",".join([*host_attributes(), *self.mattr])
        if self.mcpu == "native":
            raise TargetError(f"Target: -mcpu=native is this machine, which is not a {self.triple}")
        cpu, extensions = split_cpu(self.mcpu)
        return cpu, ",".join(map(_llvm_feature, [*extensions, *self.mattr]))

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
        return self.is_host and self.cpu == host_cpu() and not any("+" in feature for feature in self.mattr)

    @property
    def mcpu(self) -> str:
        """The CPU as the target string names it."""
        return self._text("mcpu")

    @property
    def mattr(self) -> list[str]:
        """Features as the target string names them."""
        return list(self.attrs.get("mattr", ()))

    @property
    def device_name(self) -> str:
        """The device that the target is for, e.g. ``arm_cpu``; empty for any of its kind."""
        return self._text("device")

    @property
    def model(self) -> str:
        """The model of the device; ``unknown`` where the target does not say."""
        return self._text("model") or "unknown"

    @property
    def arch(self) -> str:
        """The architecture of a GPU, e.g. ``sm_75``."""
        return self._text("arch")

    @property
    def tag(self) -> str:
        """The tag that the target was made from; empty for others."""
        return self._text("tag")

    @property
    def libs(self) -> list[str]:
        """The libraries that kernels may be taken from."""
        return list(self.attrs.get("libs", ()))

    @property
    def supports_integer_dot_product(self) -> bool:
        """Whether a GPU multiplies and adds four bytes at once."""
        capability = self.arch.removeprefix("sm_")
        return bool(self.attrs.get("supports_integer_dot_product", capability.isdigit() and int(capability) >= 61))

    # what schedules ask

    @property
    def features(self) -> TargetFeatures:
        """Facts about the processor as attributes, such as ``has_sve``."""
        known = (
            m_profile_features(self.mcpu, self.mattr) if is_m_profile(self.mcpu) else {"is_test": self.kind == "test"}
        )
        return TargetFeatures(self.triple if "mtriple" in self.attrs else "", self.cpu, self.llvm_features, known)

    @property
    def num_cores(self) -> int:
        """Cores that schedules may count on, 0 where the target does not say."""
        return int(self.attrs.get("num-cores", 0))

    @property
    def vector_bits(self) -> int:
        """Width in bits of the widest vector registers that code for this target uses, 0 if it uses none."""
        if self.kind != "llvm":
            return 0
        return vector_registers.vector_bits(self.triple, self.cpu, self.llvm_features)

    @property
    def has_scalable_vectors(self) -> bool:
        """Whether the processor says while it runs how long its vectors are: SVE of AArch64, V of RISC-V."""
        extensions = _SCALABLE.get(self.triple.split("-")[0], ())
        return self.kind == "llvm" and not set(extensions).isdisjoint(self.llvm_features.split(","))

    @property
    def vector_registers(self) -> int:
        """Number of vector registers; for C, of registers that a compiler may keep numbers in on any CPU."""
        if self.kind == "c":
            return _SCALAR_REGISTERS
        if self.kind != "llvm":
            return 0
        return vector_registers.vector_registers(self.triple, self.cpu, self.llvm_features)

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
        return int(self.attrs.get("max_num_threads", 1))

    @property
    def thread_warp_size(self) -> int:
        """Threads of a GPU that run in lockstep; 1 for a CPU."""
        return int(self.attrs.get("thread_warp_size", 1))

    @property
    def max_shared_memory_per_block(self) -> int:
        """Bytes of memory that the threads of a block of a GPU share, 0 where the target does not say."""
        return int(self.attrs.get("max_shared_memory_per_block", 0))

    @property
    def max_function_args(self) -> int:
        """Parameters that a kernel may have, 0 where the target does not say."""
        return int(self.attrs.get("max_function_args", 0))

    @property
    def max_block_size_x(self) -> int:
        """Threads of a block of a GPU along its first axis, 1 where the target does not say."""
        return int(self.attrs.get("max_block_size_x", 1))

    @property
    def max_block_size_y(self) -> int:
        """Threads of a block of a GPU along its second axis, 1 where the target does not say."""
        return int(self.attrs.get("max_block_size_y", 1))

    @property
    def l2_cache_size_bytes(self) -> int:
        """Bytes of the cache of a GPU, 0 where the target does not say."""
        return int(self.attrs.get("l2_cache_size_bytes", 0))

    @property
    def supports_cooperative_matrix(self) -> bool:
        """Whether the target says that a GPU multiplies matrices of a subgroup."""
        return bool(self.attrs.get("supports_cooperative_matrix", False))

    def get_target_device_type(self) -> int:
        """Return the number of the kind of devices that code for this target runs on.

        Returns
        -------
        int
            As of ``tvm.device(target.kind.name).device_type``.
        """
        return int(device(self.kind.name).device_type)

    @property
    def vtcm_capacity(self) -> int:
        """Bytes of the tightly coupled memory of a Hexagon processor, 0 where the target does not say."""
        return int(self.attrs.get("vtcm-capacity", 0))

    def get_kind_attr(self, attr_name: str) -> object:
        """Return a fact that holds for all targets of this one's kind.

        Parameters
        ----------
        attr_name : str
            ``keys``, ``defaults`` or ``doc``.

        Returns
        -------
        object
            None where there is no such fact.
        """
        return getattr(KINDS[self.kind], attr_name, None)

    # the host

    def with_host(self, host: TargetLike) -> Target:
        """Return this target with a host.

        Parameters
        ----------
        host : Target, str or dict
            The target that launches the kernels.

        Returns
        -------
        Target
        """
        return Target(self, host)

    def without_host(self) -> Target:
        """Return this target alone.

        Returns
        -------
        Target
            The target itself where it has no host.
        """
        if self.host is None:
            return self
        return Target({name: value for name, value in self.export().items() if name != "host"})

    @staticmethod
    def from_device(dev: str | Device) -> Target:
        """Return a target for a device of this machine.

        Parameters
        ----------
        dev : str or Device
            For example ``cpu`` or ``tvm.cuda(0)``.

        Returns
        -------
        Target
            With the processor's name; of a CUDA device, with its architecture.

        Raises
        ------
        TargetError
            If this machine has no such device.
        ArgumentError
            If there is no such kind of device.
        """
        dev = device(dev) if isinstance(dev, str) else dev
        if not dev.exist:
            raise TargetError(f"Target.from_device: cannot detect {dev}: there is no such device, or no driver for it")
        version = dev.compute_version
        return Target(f"cuda -arch=sm_{version.replace('.', '')}" if version else "llvm -mcpu=native")

    @staticmethod
    def check_and_update_host_consist(
        target: TargetLike | None, host: TargetLike | None = None
    ) -> tuple[Target | None, Target | None]:
        """Return a target that has its host, and the host.

        Parameters
        ----------
        target : Target, str, dict or None
        host : Target, str, dict or None
            Where None, that of ``target``.

        Returns
        -------
        tuple of two Target or None

        Raises
        ------
        AssertionError
            If there is a host, but no target.
        """
        if target is None:
            assert host is None, "Target host is not empty when target is empty."
            return None, None
        made = Target(target, host)
        return made, made.host

    canon_target_and_host = check_and_update_host_consist

    @staticmethod
    def canon_multi_target(
        multi_targets: TargetLike | Sequence[TargetLike] | Mapping[Any, TargetLike] | None,
    ) -> list[Target] | None:
        """Return what is given for one or several targets as a list of them.

        Parameters
        ----------
        multi_targets : Target, str, dict, a sequence of them, or None
            Or, as older programs say it, a mapping of kinds of devices to them.

        Returns
        -------
        list of Target, or None
            None for None.
        """
        if multi_targets is None:
            return None
        one = isinstance(multi_targets, (Target, str)) or "kind" in multi_targets or "tag" in multi_targets
        several: Any = multi_targets.values() if isinstance(multi_targets, Mapping) and not one else multi_targets
        return [Target(each) for each in ([several] if one else several)]

    @staticmethod
    def canon_multi_target_and_host(
        target: TargetLike | Sequence[TargetLike] | Mapping[Any, TargetLike], target_host: TargetLike | None = None
    ) -> list[Target]:
        """Return what is given for one or several targets as a list of them with their hosts.

        Parameters
        ----------
        target : Target, str, dict, or a sequence of them
            Or, as older programs say it, a mapping of kinds of devices to them.
        target_host : Target, str or dict, optional
            The host of those that have none.

        Returns
        -------
        list of Target

        Raises
        ------
        AssertionError
            If there is no target.
        """
        targets = Target.canon_multi_target(target)
        assert targets is not None, "Target is not None"
        return [each if target_host is None else Target(each, each.host or target_host) for each in targets]

    @staticmethod
    def canon_target_map_and_host(
        target_map: Mapping[TargetLike, Any], target_host: TargetLike | None = None
    ) -> tuple[dict[Target, Any], Target | None]:
        """Return a mapping whose keys are targets with one host, and the host.

        Parameters
        ----------
        target_map : mapping of Target or str to object
        target_host : Target, str or dict, optional
            That of the first target when left out.

        Returns
        -------
        tuple of dict and Target or None
        """
        targets: dict[Target, Any] = {}
        host = Target.canon_target(target_host)
        for given, value in target_map.items():
            target, host = Target.canon_target_and_host(given, host)
            assert target is not None
            targets[target] = value
        return targets, host

    @staticmethod
    def canon_target(target: TargetLike | None) -> Target | None:
        """Return what is given for a target as one.

        Parameters
        ----------
        target : Target, str, dict or None

        Returns
        -------
        Target or None
            None for None.
        """
        return target if target is None or isinstance(target, Target) else Target(target)

    # texts

    def export(self) -> dict[str, object]:
        """Return the target as a dictionary that the constructor takes.

        Returns
        -------
        dict
            ``kind`` (str), ``keys`` (list of str), the options that were given, and ``host`` (dict) where there is one.
        """
        options = {"kind": self.kind.name, "keys": self.keys, **self.description.given}
        return options if self.host is None else {**options, "host": self.host.export()}

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
        raise TargetError('Target.current: there is no current target; use `with tvm.target.Target("llvm"):`')

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
        return isinstance(other, Target) and self._sorted_texts() == other._sorted_texts()

    def __hash__(self) -> int:
        return hash(self._sorted_texts())

    def __str__(self) -> str:
        return " ".join(self._texts())

    def _texts(self) -> list[str]:
        """Return the kind, the keys and the options that were given, as they are written."""
        made = self.description
        keys = [option_text("keys", made.keys)] if made.keys else []
        return [self.kind, *keys, *[option_text(key, value) for key, value in made.given.items() if key != "tag"]]

    def _sorted_texts(self) -> tuple[str, ...]:
        """Return what two targets have in common that are equal: options may be given in any order."""
        return tuple(sorted(self._texts()))

    __repr__ = __str__


_STACK: ContextStack[Target] = ContextStack("Target")


def _host(host: object) -> Target | None:
    if host is None or isinstance(host, Target):
        return host
    if not isinstance(host, (str, Mapping)):
        raise TargetError(f"Target: target host has to be a string or dictionary, got {type(host).__name__}")
    return Target(host)


extension_point("current target").add("target", Target.current)
register_codec(Target, "Target", lambda target: {"target": target.export()}, lambda fields: Target(fields["target"]))


_WITHOUT = {f"+no{name}": f"-{name}" for name in (
    "crypto", "dotprod", "dsp", "fullfp16", "i8mm", "mve", "mve.fp", "neon", "sme", "sve", "sve2",
)}  # fmt: skip
"""What Arm's compilers take for the lack of a feature, and what LLVM does."""


def _llvm_feature(feature: str) -> str:
    return _WITHOUT.get(feature, feature)


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


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.target.target", __all__)
