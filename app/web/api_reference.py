"""The API's description as a page for people shows it: routes, their fields, and an example to run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.web.openapi import STATELESS

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Field:
    """A field of a request's body, or a parameter."""

    name: str
    kind: str
    required: bool
    text: str


@dataclass(frozen=True)
class Route:
    """A method of a path.

    Attributes
    ----------
    example : str
        JSON of a body; empty if it takes none.
    file : str
        The field that holds a file; empty if it takes none.
    runnable : bool
        Whether the page can send it: it takes JSON or nothing.
    """

    method: str
    path: str
    anchor: str
    summary: str
    description: str
    parameters: list[Field]
    fields: list[Field]
    answers: list[tuple[str, str]]
    example: str
    file: str
    runnable: bool
    from_any_page: bool

    def curl(self, host: str) -> str:
        """Return a command that sends the example; what stands in braces is for the user to replace."""
        parts = ["curl -sS" if self.method == "GET" else f"curl -sS -X {self.method}", f"{host}{self.path}"]
        needed = [field for field in self.parameters if field.required and field.kind.startswith("header")]
        parts += [f"-H '{field.name}: {{{field.name}}}'" for field in needed]
        if self.file:
            parts += [f"-F '{self.file}=@{{{self.file}}}'"]
        if self.example:
            quoted = json.dumps(json.loads(self.example)).replace("'", "'\\''")
            parts += ["-H 'Content-Type: application/json'", f"-d '{quoted}'"]
        return " \\\n  ".join([" ".join(parts[:2]), *parts[2:]])


def routes_of(document: Schema) -> list[Route]:
    """Return the routes of an OpenAPI document, ordered by path."""
    schemas = document["components"]["schemas"]
    return [
        _route(path, method, operation, schemas)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def _route(path: str, method: str, operation: Schema, schemas: Schema) -> Route:
    content = operation.get("requestBody", {}).get("content", {})
    body = content.get("application/json", {})
    form = content.get("multipart/form-data", {}).get("schema", {})
    return Route(
        method=method.upper(),
        path=path,
        anchor=operation["operationId"].replace(".", "-"),
        summary=operation["summary"],
        description=operation.get("description", ""),
        parameters=[
            Field(p["name"], f"{p['in']}, {p['schema']['type']}", p["required"], p.get("description", ""))
            for p in operation.get("parameters", ())
        ],
        fields=_fields(body.get("schema", {}), schemas),
        answers=[
            (status, ", ".join(f"{media} {kind_of(one['schema'])}" for media, one in told.get("content", {}).items()))
            for status, told in operation["responses"].items()
        ],
        example=json.dumps(body["example"], indent=2) if body else "",
        file=next(iter(form.get("properties", ())), ""),
        runnable=bool(body) or not content,
        from_any_page=STATELESS in operation,
    )


def _fields(schema: Schema, schemas: Schema) -> list[Field]:
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    required = schema.get("required", ())
    return [
        Field(name, kind_of(part), name in required, part.get("description", ""))
        for name, part in schema.get("properties", {}).items()
    ]


def kind_of(schema: Schema) -> str:
    """Return the kind of a schema's values in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " or ".join(json.dumps(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(kind_of(part) for part in schema["anyOf"])
    kind = schema.get("type", "any value")
    if "prefixItems" in schema:
        return f"pair of {' and '.join(kind_of(part) for part in schema['prefixItems'])}"
    if kind == "array" and "items" in schema:
        return f"list of {kind_of(schema['items'])}"
    return str(kind)
