"""Targets of code generation, such as ``llvm -mcpu=cascadelake -mattr=+avx2``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from compiler.ir.context_stack import Entered
from compiler.ir.error import TargetError
from compiler.ir.extension import extension_point, public_module
from compiler.ir.serialization.codecs import register_codec
from compiler.runtime.device import Device
from compiler.runtime.device import device as device_of
from compiler.target.cpu.llvm_cpu import host_attributes
from compiler.target.kinds import KINDS, TargetKind
from compiler.target.options import Description, Options, describe, keys_of, option_text
from compiler.target.target_attributes import TargetAttributes

__all__ = ["Target", "TargetKind", "TargetLike", "host_attributes"]

TargetLike: TypeAlias = Union["Target", str, Mapping[str, object]]
"""The arguments that the constructor of a target takes."""


class Target(TargetAttributes, Entered):
    """The machine to generate code for.

    As a context manager it sets the :meth:`current` target. Raises TargetError if a kind or option is unknown, or a
    feature has no sign.

    Parameters
    ----------
    target : Target, str or dict
        A kind and its options, such as ``llvm -mcpu=haswell`` or ``{"kind": "llvm", "mcpu": "haswell"}`` (also as
        JSON), or the tag of a machine, such as ``nvidia/jetson-nano``.  ``llvm`` without ``-mcpu``, or with
        ``-mcpu=native``, is this machine.
    host : Target, str or dict, optional
        The target of host code, which launches kernels; by default the host of ``target``.

    Attributes
    ----------
    kind : TargetKind
        The first word of the target string, one of :data:`KINDS`.
    attrs : dict of str to (str, int, bool or list)
        The options that were given, and the defaults of the kind.
    keys : list of str
        The keys that select schedules: those given, the device, and those of the kind.
    triple, cpu, llvm_features : str
        LLVM's names of the machine; CPU and features are empty for kinds other than ``llvm``.
    """

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
        if self.mcpu:
            self._cpu_and_features  # noqa: B018  refuses what it cannot be
        for feature in self.mattr:
            if feature[0] not in "+-" or len(feature) == 1:
                raise TargetError(f"Target: -mattr takes features such as +avx2 or -avx512f, got {feature!r}")

    def get_target_device_type(self) -> int:
        """Return the number of the device type that code for this target runs on, as ``tvm.device`` has it."""
        return int(device_of(self.kind.name).device_type)

    def get_kind_attr(self, attr_name: str) -> object:
        """Return an attribute of the target kind: ``keys``, ``defaults`` or ``doc``; None for any other."""
        return getattr(KINDS[self.kind], attr_name, None)

    def with_host(self, host: TargetLike) -> Target:
        """Return this target with a host."""
        return Target(self, host)

    def without_host(self) -> Target:
        """Return this target without its host; itself if it has none."""
        if self.host is None:
            return self
        return Target({name: value for name, value in self.export().items() if name != "host"})

    @staticmethod
    def from_device(device: str | Device) -> Target:
        """Detect the target of a device of this machine, such as ``cpu`` or ``tvm.cuda(0)``.

        It is ``llvm -mcpu=native`` for the CPU, and the architecture of a CUDA device. Raises TargetError if this
        machine has no such device. Raises ArgumentError if the device type is unknown.
        """
        dev = device_of(device) if isinstance(device, str) else device
        if not dev.exist:
            raise TargetError(f"Target.from_device: cannot detect {dev}: there is no such device, or no driver for it")
        version = dev.compute_version
        return Target(f"cuda -arch=sm_{version.replace('.', '')}" if version else "llvm -mcpu=native")

    @staticmethod
    def check_and_update_host_consist(
        target: TargetLike | None, host: TargetLike | None = None
    ) -> tuple[Target | None, Target | None]:
        """Combine a target with its host, by default the one it has; a host without a target is an AssertionError."""
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
        """Convert one or several targets to a list; None stays.

        A mapping from device types to targets, as in older programs, is also accepted.
        """
        if multi_targets is None:
            return None
        one = isinstance(multi_targets, (Target, str)) or "kind" in multi_targets or "tag" in multi_targets
        several: Any = multi_targets.values() if isinstance(multi_targets, Mapping) and not one else multi_targets
        return [Target(each) for each in ([several] if one else several)]

    @staticmethod
    def canon_multi_target_and_host(
        target: TargetLike | Sequence[TargetLike] | Mapping[object, TargetLike], target_host: TargetLike | None = None
    ) -> list[Target]:
        """Convert one or several targets, at least one, to a list; those without a host get ``target_host``.

        A mapping from device types to targets, as in older programs, is also accepted.
        """
        targets = Target.canon_multi_target(target)
        assert targets is not None, "Target is not None"
        return [each if target_host is None else Target(each, each.host or target_host) for each in targets]

    @staticmethod
    def canon_target_map_and_host(
        target_map: Mapping[TargetLike, object], target_host: TargetLike | None = None
    ) -> tuple[dict[Target, object], Target | None]:
        """Combine the targets that are the keys of a mapping with one host, by default the first target's."""
        targets: dict[Target, object] = {}
        host = Target.canon_target(target_host)
        for given, value in target_map.items():
            target, host = Target.canon_target_and_host(given, host)
            assert target is not None
            targets[target] = value
        return targets, host

    @staticmethod
    def canon_target(target: TargetLike | None) -> Target | None:
        """Convert what is given for a target to a Target; None stays."""
        return target if target is None or isinstance(target, Target) else Target(target)

    def export(self) -> dict[str, object]:
        """Return the target as a dictionary that the constructor takes: kind, keys, given options, and host if any."""
        options = {"kind": self.kind.name, "keys": self.keys, **self.description.given}
        return options if self.host is None else {**options, "host": self.host.export()}

    @staticmethod
    def list_kinds() -> list[str]:
        """Return the names of all target kinds."""
        return list(KINDS)

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the target of the innermost ``with`` block in this thread and asyncio task, or None.

        Raises TargetError if there is no current target and ``allow_none`` is False.
        """
        target = Target._innermost()
        if target is not None or allow_none:
            return target
        raise TargetError('Target.current: there is no current target; use `with tvm.target.Target("llvm"):`')

    @staticmethod
    def target_or_current(target: TargetLike | None) -> Target:
        """Return a target, by default the current one or else this machine."""
        if target is None:
            return Target.current() or Target("llvm")
        return target if isinstance(target, Target) else Target(target)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self._canonical_words() == other._canonical_words()

    def __hash__(self) -> int:
        return hash(self._canonical_words())

    def __str__(self) -> str:
        return " ".join(self._words())

    def _words(self) -> list[str]:
        """Return the words of the target string: the kind, the keys and the options."""
        made = self.description
        keys = [option_text("keys", made.keys)] if made.keys else []
        return [self.kind, *keys, *[option_text(key, value) for key, value in made.given.items() if key != "tag"]]

    def _canonical_words(self) -> tuple[str, ...]:
        """Return the words of the target string in a canonical order, as options may be given in any."""
        return tuple(sorted(self._words()))

    __repr__ = __str__


def _host(host: object) -> Target | None:
    if host is None or isinstance(host, Target):
        return host
    if not isinstance(host, (str, Mapping)):
        raise TargetError(f"Target: target host has to be a string or dictionary, got {type(host).__name__}")
    return Target(host)


extension_point("current target").add("target", Target.current)
register_codec(Target, "Target", lambda target: {"target": target.export()}, lambda fields: Target(fields["target"]))


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.target.target", __all__)
