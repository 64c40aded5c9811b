"""Features of the processor of a target: ``Target(...).features.has_sve``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.target.cpu.processor_features import used_features

_ARM = {"has_asimd": "neon", "has_dotprod": "dotprod", "has_fp16_simd": "fullfp16", "has_matmul_i8": "i8mm"}
_AARCH64_ALONE = {"has_sve": "sve", "has_sme": "sme"}


class TargetFeatures:
    """Features of a processor as attributes; None for those of other architectures.

    Arm processors have ``is_aarch64``, ``has_asimd``, ``has_dotprod``, ``has_fp16_simd``, ``has_matmul_i8``,
    ``has_sve`` and ``has_sme``; those of the M profile ``has_dsp`` and ``has_mve``.
    """

    def __init__(self, triple: str, cpu: str, features: str, known: Mapping[str, bool]) -> None:
        self._triple = triple
        self._known = known
        self._machine: Callable[[], frozenset[str]] = lambda: used_features(triple, cpu, features)
        self._stated = features.split(",")

    def __getattr__(self, name: str) -> bool | None:
        if name in self._known:
            return self._known[name]
        architecture = self._triple.split("-")[0]
        aarch64 = architecture in ("aarch64", "arm64")
        if not aarch64 and not architecture.startswith(("arm", "thumb")):
            return None
        if name == "is_aarch64":
            return aarch64
        feature = {**_ARM, **_AARCH64_ALONE}.get(name)
        if feature is None:
            return None
        if f"+{feature}" in self._stated or f"-{feature}" in self._stated:
            return f"+{feature}" in self._stated
        if aarch64:
            return feature in self._machine()
        return name == "has_asimd" and "v8" in architecture
