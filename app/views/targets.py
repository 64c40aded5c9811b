"""Targets of the assembly pane."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response

from app.views.api import answer_json
from app.web.openapi import json_of, operation
from compiler.target.cpu.cpus import TRIPLES, cpus

bp = Blueprint("targets", __name__)


class Architecture(msgspec.Struct, frozen=True, kw_only=True):
    """An architecture, with its CPUs in LLVM."""

    name: str
    """The architecture in target triples."""
    cpus: list[str]
    """Values for ``-mcpu``; ``name:cpu`` is a value of the option ``assembly``."""


@bp.get("/api/cpus")
@operation(answers={200: json_of(list[Architecture])}, stateless=True)
def list_cpus() -> Response:
    """List the CPUs that assembly can be generated for."""
    return answer_json([Architecture(name=name, cpus=list(cpus(name))) for name in TRIPLES])
