"""Schedules, functions, modules and ladders as HTML that stands alone, in the colours of the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

import app
from app.artifacts import Loop, Measurement, Stage
from app.panes.highlighting import highlight, renew_budget
from app.recorder.units.schedule_tree import schedule_stages
from compiler import relay, te, tir
from compiler.ir.module import IRModule
from compiler.runtime.modules.module import Module
from compiler.tir.schedule.schedule import Schedule as BlockSchedule

MOST_LINES = 2_000
"""Of a text; notebooks keep what is drawn in their files."""
_TEXTS = {("llvm", "ll"): ("LLVM IR", "llvm"), ("llvm", "s"): ("Assembly", "gas"), ("c", "c"): ("C", "c")}
"""What is shown of a module: its kind and a format of ``get_source``, and the title and language of that text."""
_CSS = Path(app.__file__).parent.parent / "static" / "css"


def register(formatter: Any) -> None:
    """Let IPython's formatter of HTML draw what the compiler makes."""
    drawn: dict[type, Callable[[Any], str]] = {
        te.Schedule: schedule,
        BlockSchedule: lambda made: text(made.mod.script(), "python"),
        tir.PrimFunc: lambda function: text(function.script(), "python"),
        relay.Function: lambda function: text(function.astext(show_meta_data=False), "relay"),
        IRModule: module_text,
        Module: runtime_module,
    }
    for kind, draw in drawn.items():
        formatter.for_type(kind, draw)


def schedule(made: te.Schedule) -> str:
    """Return the stages of a schedule, each as the nest of its loops."""
    return _framed(Markup("").join(_stage(stage) for stage in schedule_stages(made)))


def _stage(stage: Stage) -> Markup:
    rows = [_loop(loop, depth) for depth, loop in enumerate(stage.loops)]
    body = Markup('<div style="margin-left: {}em">{}</div>').format(2 * len(rows), stage.body)
    return Markup('<div class="nest"><b>{}</b> <span class="mute">{}</span>{}{}</div>').format(
        stage.name, stage.placement, Markup("").join(rows), body
    )


def _loop(loop: Loop, depth: int) -> Markup:
    kind = loop.kind if loop.kind != "spatial" else ""
    return Markup('<div class="loop {}" style="margin-left: {}em">{} <span class="mute">{} {}</span></div>').format(
        kind, 2 * depth, loop.name, loop.extent, loop.annotation or kind
    )


def module_text(module: IRModule) -> str:
    """Return a module's text: TVMScript of loops, or Relay."""
    is_graph = any(isinstance(function, relay.Function) for function in module.functions.values())
    return text(module.astext(show_meta_data=False), "relay") if is_graph else text(module.script(), "python")


def runtime_module(module: Module) -> str:
    """Return the texts of a module of machine code, closed until one opens them."""
    parts = [
        Markup("<details><summary>{}</summary>{}</details>").format(title, _lines(module.get_source(form), language))
        for (kind, form), (title, language) in _TEXTS.items()
        if kind == module.type_key
    ]
    return _framed(Markup("<b>{}</b>{}").format(repr(module), Markup("").join(parts)))


def ladder(measurements: Sequence[Measurement]) -> str:
    """Return a table of times with a bar for the speed of each."""
    timed = [m for m in measurements if m.kind not in ("peak", "bandwidth")]
    most = max((m.gflops or 0.0 for m in measurements), default=0.0) or 1.0
    rows = [_rung(m, (m.gflops or 0.0) / most) for m in timed]
    head = Markup("<tr><th>step<th>time<th>GFLOP/s<th>result</tr>")
    return _framed(Markup("<table>{}{}</table>").format(head, Markup("").join(rows)))


def _rung(measured: Measurement, share: float) -> Markup:
    speed = f"{measured.gflops:.2f}" if measured.gflops else ""
    checked = {"ok": "same", "wrong": "WRONG"}.get(measured.checked, "")
    disturbed = " disturbed" if measured.disturbed else ""
    return Markup(
        '<tr><td>{}<td>{:,.2f} µs{}<td>{} <span class="bar" style="width: {:.2f}em"></span><td class="{}">{}</tr>'
    ).format(
        measured.name,
        measured.seconds * 1e6,
        disturbed,
        speed,
        12 * share,
        "bad" if checked == "WRONG" else "",
        checked,
    )


def text(source: str, language: str) -> str:
    """Return a text in colours."""
    return _framed(_lines(source, language))


def _lines(source: str, language: str) -> Markup:
    renew_budget()
    lines = source.rstrip("\n").split("\n")
    left_out = Markup('\n<span class="mute">… {} more lines</span>').format(len(lines) - MOST_LINES)
    shown = Markup("\n").join(highlight(lines[:MOST_LINES], language))
    return Markup("<pre>{}{}</pre>").format(shown, left_out if len(lines) > MOST_LINES else "")


def _framed(content: Markup) -> str:
    return str(Markup('<div class="strata"><style>{}</style>{}</div>').format(Markup(_style()), content))


@cache
def _style() -> str:
    """Return the rules of drawings, and the page's colours by the theme of the reader's system."""
    tokens, rules = ((_CSS / name).read_text(encoding="utf-8") for name in ("tokens.css", "notebook.css"))
    light, dark = (_colours(tokens, theme) for theme in (":root", '[data-theme="dark"]'))
    return f".strata {{ {light} }} @media (prefers-color-scheme: dark) {{ .strata {{ {dark} }} }} {rules}"


def _colours(tokens: str, theme: str) -> str:
    rule = tokens.partition(f"\n{theme} {{")[2].partition("}")[0]
    return " ".join(re.findall(r"--[\w-]+: #\w+;", rule))
