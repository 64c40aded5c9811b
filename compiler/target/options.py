"""Parsing of targets given as a string, a dictionary, JSON or a tag."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from compiler.ir.error import TargetError, show
from compiler.target.cpu.m_profile import is_m_profile
from compiler.target.kinds import KINDS, TargetKind, kind_named, option_type
from compiler.target.tags import tagged

Option: TypeAlias = str | int | bool | list[str]
"""The value of an option, whose type depends on the target kind."""

_OLDER_NAMES = {
    "shared_memory_per_block": "max_shared_memory_per_block",
    "max_shared_memory": "max_shared_memory_per_block",
}
_TRUTH = {"1": True, "true": True, "True": True, "0": False, "false": False, "False": False}


class Options(dict[str, Any]):
    """The options of a target by name, also by the names of older releases."""

    def __missing__(self, key: str) -> Any:
        if key in _OLDER_NAMES and _OLDER_NAMES[key] in self:
            return self[_OLDER_NAMES[key]]
        raise KeyError(key)


@dataclass(slots=True)
class Description:
    """A parsed target: its host, the keys that were given, none for the default ones, and the other options."""

    kind: TargetKind
    given: Options = field(default_factory=Options)
    keys: list[str] = field(default_factory=list)
    host: object = None


def describe(target: str | Mapping[str, object]) -> Description:
    """Parse a target: ``llvm -mcpu=haswell``, the same as a mapping or as JSON, or a tag."""
    if isinstance(target, Mapping):
        return _of_mapping(target)
    if not isinstance(target, str):
        raise TargetError(f"Target: expected a string such as 'llvm -mcpu=native', got {show(target)}")
    options = tagged(target)
    if options is not None:
        return _of_mapping(options)
    if target.lstrip().startswith("{"):
        return _of_mapping(_read_json(target))
    return _normalised(_of_text(target))


def _normalised(made: Description) -> Description:
    """Name all keys, or none if they are the default ones, so that equal targets have equal descriptions."""
    keys = keys_of(made)
    made.keys = keys if keys != keys_of(Description(made.kind, made.given)) else []
    return made


def _read_json(text: str) -> Mapping[str, object]:
    try:
        options = json.loads(text)
    except json.JSONDecodeError as error:
        raise TargetError(f"Target: line {error.lineno}, column {error.colno}: {error.msg} in {show(text)}") from None
    return options if isinstance(options, dict) else {}


def _of_mapping(target: Mapping[str, object]) -> Description:
    tag = target.get("kind") is None and tagged(str(target.get("tag", "")))
    if tag:
        target = {**tag, **target}
    made = Description(kind_named(str(target.get("kind", ""))))
    for key, value in target.items():
        if key != "kind":
            _put(made, key, value)
    return _normalised(made)


def _of_text(target: str) -> Description:
    try:
        first, *words = shlex.split(target) or [""]
    except ValueError as exc:
        raise TargetError(f"Target: {show(target)} is not well-formed: {exc}") from None
    made = Description(kind_named(first))
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            raise TargetError(f"Target: options begin with '-', got {show(word)} in {show(target)}")
        key, has_value, value = word.lstrip("-").partition("=")
        if not has_value and key != "host":
            flag = option_type(made.kind, _OLDER_NAMES.get(key, key)) in (int, bool)
            takes_next = words and not words[0].startswith("-")
            value = words.pop(0) if takes_next else "1" if flag else ""
        elif not has_value:
            value = words.pop(0) if words else ""
        _put(made, key, value)
    return made


def _put(made: Description, key: str, value: object) -> None:
    """Set an option."""
    key = _OLDER_NAMES.get(key, key)
    if key == "host":
        made.host = value
    elif key == "keys":
        made.keys = _words(key, value)
    else:
        made.given[key] = _value(made.kind, key, value)


def _value(kind: TargetKind, key: str, value: object) -> Option:
    value_type = option_type(kind, key)
    if value_type is list:
        return _words(key, value)
    if value_type is str:
        if isinstance(value, (Mapping, list, tuple)):
            raise TargetError(f"Target: -{key} must be a text, got {show(value)}")
        return str(value)
    text = str(int(value)) if isinstance(value, bool) else str(value)
    if value_type is bool and text in _TRUTH:
        return _TRUTH[text]
    if not text.isdigit() or (key == "opt-level" and int(text) > 3):
        raise TargetError(f"Target: -{key} must be {'0 to 3' if key == 'opt-level' else 'a number'}, got {show(value)}")
    return int(text)


def _words(key: str, value: object) -> list[str]:
    if isinstance(value, str):
        return [word for word in value.split(",") if word]
    if isinstance(value, (list, tuple)):
        return [json.dumps(word) if isinstance(word, Mapping) else str(word) for word in value]
    raise TargetError(f"Target: -{key} must be a comma-separated list, got {show(value)}")


def keys_of(made: Description) -> list[str]:
    """Return the keys of a target: those that were given, or else those of its kind."""
    device = made.given.get("device")
    devices = [str(device)] if device else []
    arm = ["arm_cpu", "cpu"] if _is_arm(made) else []
    if made.keys:
        return list(dict.fromkeys([*made.keys, *arm, *devices]))
    return list(dict.fromkeys([*arm, *devices, *KINDS[made.kind].keys]))


def _is_arm(made: Description) -> bool:
    """Return whether a target names an Arm processor, of any profile."""
    if made.kind not in ("llvm", "c"):
        return False
    triple, cpu = (str(made.given.get(key, "")) for key in ("mtriple", "mcpu"))
    return triple.startswith(("aarch64", "arm")) or is_m_profile(cpu)


def option_text(key: str, value: object) -> str:
    """Format an option as in a target string."""
    if isinstance(value, list):
        return f"-{key}={','.join(map(str, value))}"
    text = str(int(value)) if isinstance(value, bool) else str(value)
    return f"-{key}='{text}'" if " " in text else f"-{key}={text}"
