"""Targets of the assembly pane."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response

from app.views.api import answer_json
from app.web.openapi import json_of, operation
from compiler.target.cpus import TRIPLES, cpus

bp = Blueprint("targets", __name__)


class Architecture(msgspec.Struct, frozen=True, kw_only=True):
    """An architecture and the CPUs of it that LLVM knows."""

    name: str
    """First part of a target triple."""
    cpus: list[str]
    """As ``-mcpu`` takes them; with the name and a colon before it, one is a value of the option ``assembly``."""


@bp.get("/api/cpus")
@operation(answers={200: json_of(list[Architecture])})
def list_cpus() -> Response:
    """List every CPU that assembly can be shown for."""
    return answer_json([Architecture(name=name, cpus=list(cpus(name))) for name in TRIPLES])
