"""The page of text: one table for each step."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

_TOLD = ("name", "status", "why", "failures")


def page(known: Mapping[str, Any]) -> str:
    """Return the results as Markdown."""
    facts = {case["name"]: case for case in known.get("facts", {}).get("cases", ())}
    device, host = facts.get("device", {}), facts.get("host", {})
    lines = [
        f"# On {device.get('device', 'no device')}",
        "",
        f"Driver's CUDA {device.get('CUDA')}, compute capability {device.get('compute')}; {device.get('nvidia-smi')}.",
        f"Host: {host.get('processor')}, {host.get('cores')} cores, Python {host.get('python')}; packages: "
        + ", ".join(f"{name} {version}" for name, version in host.get("packages", {}).items()),
        "",
        "| step | cases | ok | refused | other | seconds | |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, step in known.items():
        counts = [sum(case["status"] == status for case in step["cases"]) for status in ("ok", "refused")]
        rest = len(step["cases"]) - sum(counts)
        cells = (name, len(step["cases"]), *counts, rest, step["seconds"], step["why"])
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for name, step in known.items():
        lines += ["", f"## {name}", "", *_step(step["cases"])]
    return "\n".join(lines) + "\n"


def _step(cases: list[Mapping[str, Any]]) -> list[str]:
    """Return the tables of a step, one for each kind of case; what went well and has no figures is only counted."""
    shown = [case for case in cases if case["status"] != "ok" or _figures(case).keys() - {"error"}]
    lines = [f"{len(cases) - len(shown)} more cases agree with their reference."] if len(shown) < len(cases) else []
    for columns, rows in groupby(shown, lambda case: tuple(_figures(case))):
        lines += ["", "| case | " + " | ".join([*columns, "status"]) + " |", "|---" * (len(columns) + 2) + "|"]
        for case in rows:
            figures = [_text(value) for value in _figures(case).values()]
            lines.append("| " + " | ".join([case["name"], *figures, _status(case)]).replace("\n", " ") + " |")
    return lines


def _figures(case: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in case.items() if key not in _TOLD}


def _status(case: Mapping[str, Any]) -> str:
    told = [case["status"], case.get("why", ""), *(f"{k}: {v}" for k, v in case.get("failures", {}).items())]
    return "; ".join(filter(None, told)).replace("|", "\\|")


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value).replace("|", "\\|")
