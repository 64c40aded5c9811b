"""Arm's M-profile processors, with their names and features."""

from __future__ import annotations

from collections.abc import Sequence

_WITH_DSP = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p", "cortex-m55", "cortex-m85")
_WITH_MVE = ("cortex-m55", "cortex-m85")
_CPUS = ("cortex-m0", "cortex-m0plus", "cortex-m3", *_WITH_DSP)


def split_cpu(mcpu: str) -> tuple[str, list[str]]:
    """Split the name of a processor into its base name and its extensions."""
    name, *extensions = mcpu.split("+")
    return name, [f"+{extension}" for extension in extensions]


def is_m_profile(mcpu: str) -> bool:
    """Return whether a processor is of the M profile."""
    return split_cpu(mcpu)[0] in _CPUS


def m_profile_features(mcpu: str, mattr: Sequence[str]) -> dict[str, bool]:
    """Return the features of an M-profile processor."""
    name, extensions = split_cpu(mcpu)
    stated = {*extensions, *mattr}
    has_dsp = name in _WITH_DSP and stated.isdisjoint({"+nodsp", "-dsp"})
    has_mve = name in _WITH_MVE and stated.isdisjoint({"+nomve", "+nomve.fp", "-mve", "-mve.fp", "+nodsp"})
    return {"has_dsp": has_dsp, "has_mve": has_mve}
