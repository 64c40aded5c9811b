"""Parses targets of the command line."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.classic.tvmc.errors import TVMCException
from compiler.target.target import Target

_TOKEN = re.compile(r"""--?[\w.-]+=(?:'[^']*'|"[^"]*"|[^\s,]+(?:,[^\s,-][^\s,]*)*)|[^\s,]+|,""")
_OPTIONS = ("mcpu", "mattr", "mtriple", "mfloat-abi", "mabi", "num-cores", "device", "model", "libs", "keys", "tag")

TargetParts = dict[str, Any]


def is_inline_json(target: str) -> bool:
    """Return whether a text is JSON."""
    try:
        json.loads(target)
    except json.JSONDecodeError:
        return False
    return True


def tokenize_target(target: str) -> list[str]:
    """Return the words of a text of targets, such as ``dnnl -opt=1, llvm -mcpu=skylake``."""
    return _TOKEN.findall(target)


def parse_target(target: str) -> list[TargetParts]:
    """Return the targets that a text names."""
    groups: list[list[str]] = [[]]
    for token in tokenize_target(target):
        if token == ",":
            groups.append([])
        else:
            groups[-1].append(token)
    kinds = Target.list_kinds()
    parts: list[TargetParts] = []
    for name, *options in filter(None, groups):
        raw, opts = " ".join((name, *options)), dict(map(_option, options))
        parts.append({"name": name, "opts": opts, "raw": raw, "is_tvm_target": name in kinds})
    names = [part["name"] for part in parts]
    if len(set(names)) != len(names):
        raise TVMCException("Duplicate target definitions are not allowed")
    return parts


def _option(text: str) -> tuple[str, str | bool]:
    name, equals, value = text.lstrip("-").partition("=")
    return (name, value.strip("'\"")) if equals else (name, True)


def validate_targets(
    parse_targets: Sequence[TargetParts], additional_target_options: Mapping[str, Mapping[str, object]] | None = None
) -> None:
    """Check that a processor is named last, after at most one other target of this compiler."""
    kinds = Target.list_kinds()
    own = [part for part in parse_targets if part["is_tvm_target"]]
    if not parse_targets or not parse_targets[-1]["is_tvm_target"]:
        raise TVMCException(f"The last target needs to be a TVM target. Choices: {', '.join(kinds)}")
    if len(own) > 2:
        names = ", ".join(part["name"] for part in own)
        raise TVMCException(f"Only two of the following targets can be used at a time. Found: {names}.")
    for name in additional_target_options or {}:
        if name not in {part["name"] for part in parse_targets}:
            raise TVMCException(f"Passed --target-{name}-* but did not specify {name} target")


def target_from_cli(
    target: str, additional_target_options: Mapping[str, Mapping[str, object]] | None = None
) -> tuple[Target, list[TargetParts]]:
    """Return the target that a text asks for, with the processor as its host, and those of other compilers."""
    given = additional_target_options or {}
    if is_inline_json(target):
        return Target(json.loads(target)), []
    parts = parse_target(target)
    validate_targets(parts, given)
    own = [_target(part, given.get(part["name"], {})) for part in parts if part["is_tvm_target"]]
    others = [part for part in parts if not part["is_tvm_target"]]
    for part in others:
        part["opts"] |= given.get(part["name"], {})
    return own[0] if len(own) == 1 else Target(own[0], host=own[1]), others


def _target(part: TargetParts, given: Mapping[str, object]) -> Target:
    return Target(" ".join((part["raw"], *(f"-{name}={value}" for name, value in given.items()))))


def generate_target_args(parser: argparse.ArgumentParser) -> None:
    """Add the options of all targets to a parser: ``--target``, ``--target-llvm-mcpu`` and so on."""
    parser.add_argument("--target", default="llvm", help="e.g. 'llvm -mcpu=skylake-avx512'")
    for kind in Target.list_kinds():
        for option in _OPTIONS:
            parser.add_argument(f"--target-{kind}-{option}", help=f"target {kind} {option} string")


def reconstruct_target_args(args: argparse.Namespace) -> dict[str, dict[str, str]]:
    """Return the options of targets that the arguments give."""
    by_target: dict[str, dict[str, str]] = {}
    for kind in Target.list_kinds():
        given = {o: getattr(args, f"target_{kind}_{o}".replace("-", "_"), None) for o in _OPTIONS}
        if set_options := {option: value for option, value in given.items() if value is not None}:
            by_target[kind] = set_options
    return by_target
