"""Templates of panes for rendering processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from app.device_languages import DEVICE_LANGUAGES
from app.panes import table
from app.panes.charts import climb
from app.panes.gpu import access_cost, access_title
from app.panes.kernels import race_words, short_name
from app.panes.listings import blocks
from app.panes.messages import message_words
from app.panes.names import layer_name
from app.panes.numbers import busy, conditions, count, duration, how_measured, number, operations, since
from app.panes.selection import unit_label
from app.panes.sources import sources, wording
from app.panes.steps import describe
from app.units import size
from compiler.target.assembly_targets import assembly_target, assembly_targets
from compiler.target.cuda_tools import PROCESSORS

FOLDER = Path(__file__).resolve().parents[2] / "templates"


def data_block(value: object) -> Markup:
    """Return a value as JSON, escaped for a ``<script type="application/json">`` element."""
    text = msgspec.json.encode(value).decode()
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


FILTERS: Mapping[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        access_cost,
        access_title,
        blocks,
        climb,
        busy,
        conditions,
        count,
        data_block,
        describe,
        duration,
        how_measured,
        layer_name,
        message_words,
        number,
        operations,
        race_words,
        short_name,
        since,
        size,
        sources,
        table.panes_of,
        unit_label,
        wording,
    )
}
"""The filters of the templates, by name."""


def environment() -> Environment:
    """Return a Jinja environment for the pane templates, with autoescaping."""
    made = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, auto_reload=False)
    made.filters.update(FILTERS)
    made.globals["panes_with_flow"] = lambda: [pane for pane in table.PANES if pane.flows]
    made.globals["assembly_targets"] = assembly_targets
    made.globals["device_languages"] = lambda: DEVICE_LANGUAGES
    made.globals["gpu_architectures"] = lambda: [(arch, processor.gpus) for arch, processor in PROCESSORS.items()]
    made.globals["assembly_target"] = assembly_target
    return made
