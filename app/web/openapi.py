"""The OpenAPI description, generated from the views and their response types."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import UnionType
from typing import Any, TypeVar

import msgspec
from flask import Flask
from werkzeug.routing import Rule

from app.errors import RequestError
from app.web.error_responses import ErrorBody

API = "/api/"
"""What the paths of the API begin with."""
STATELESS = "x-from-any-page"
"""Marks the operations that pages of other sites may use."""
View = TypeVar("View", bound=Callable[..., Any])
REFERENCE = "#/components/schemas/{name}"
_ARGUMENT = re.compile(r"<(?:(?P<converter>\w+)(?:\([^)]*\))?:)?(?P<name>\w+)>")
_ARGUMENT_TYPES = {"int": "integer", "float": "number"}


@dataclass(frozen=True)
class Content:
    """Media type and schema type of a response body."""

    media: str
    kind: Any = None
    """The type of a JSON body, or of the ``data`` of server-sent events."""


@dataclass(frozen=True)
class Operation:
    """Request and responses of a view, in addition to its route and docstring."""

    body: Any = None
    answers: Mapping[int, Content | None] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """Required request headers, with descriptions."""
    optional_headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    """Query arguments, with descriptions."""
    form: Mapping[str, str] = field(default_factory=dict)
    """Files of a form body, with descriptions."""
    stateless: bool = False
    """Whether it changes and tells nothing of anybody's, so that pages of other sites may use it."""


_operations: dict[Callable[..., Any], Operation] = {}


def json_of(kind: type | UnionType) -> Content:
    """Return the description of a JSON body of a type."""
    return Content("application/json", kind)


def operation(
    *,
    body: type | UnionType | None = None,
    answers: Mapping[int, Content | None],
    headers: Mapping[str, str] | None = None,
    optional_headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    stateless: bool = False,
) -> Callable[[View], View]:
    """Decorate a view with the description of its request and responses.

    Parameters
    ----------
    body
        Type of the JSON request body.
    answers
        Response body by status; None for an empty body.  Errors are implicit, as all have the same type.
    headers, optional_headers, query, form
        Request headers, query arguments and form files, with descriptions.
    stateless
        Whether it changes and tells nothing of anybody's, so that pages of other sites may use it.
    """

    def note(view: View) -> View:
        named = headers or {}, optional_headers or {}, query or {}, form or {}
        _operations[view] = Operation(body, answers, *named, stateless)
        return view

    return note


def is_stateless(view: Callable[..., Any] | None) -> bool:
    """Return whether pages of other sites may use a view."""
    return view in _operations and _operations[view].stateless


def describe(app: Flask, version: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of an application's API, without the page and its fragments."""
    kinds = [ErrorBody]
    routes = []
    rules = (rule for rule in app.url_map.iter_rules() if rule.rule.startswith(API))
    for rule in sorted(rules, key=lambda rule: rule.rule):
        view = app.view_functions[rule.endpoint]
        described = _operations.get(view, Operation())
        routes.append((rule, view, described))
        kinds += [described.body] if described.body is not None else []
        kinds += [content.kind for content in described.answers.values() if content and content.kind is not None]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REFERENCE)
    schema_of = {id(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for rule, view, described in routes:
        methods = (rule.methods or set()) - {"HEAD", "OPTIONS"}
        for method in sorted(methods):
            path = paths.setdefault(_ARGUMENT.sub(r"{\g<name>}", rule.rule), {})
            path[method.lower()] = _describe_one(rule, method, view, described, schema_of, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Strata", "version": version, "description": "A compiler explorer for tensor programs."},
        "paths": paths,
        "components": {"schemas": _with_endings(components)},
    }


def _with_endings(schema: object) -> object:
    """Return a schema whose patterns end in ``$``, which in JSON Schema is the end of the text."""
    if isinstance(schema, list):
        return [_with_endings(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: part.replace(r"\Z", "$") if name == "pattern" and isinstance(part, str) else _with_endings(part)
        for name, part in schema.items()
    }


def _describe_one(
    rule: Rule,
    method: str,
    view: Callable[..., Any],
    described: Operation,
    schema_of: Mapping[int, Any],
    components: Mapping[str, Any],
) -> dict[str, Any]:
    summary, _, description = (inspect.getdoc(view) or "").partition("\n")
    out: dict[str, Any] = {
        "operationId": f"{rule.endpoint}.{method.lower()}",
        "summary": summary,
        "responses": {
            str(status): _response(HTTPStatus(status).phrase, content, schema_of)
            for status, content in described.answers.items()
        },
    }
    if description.strip():
        out["description"] = description.strip()
    out["responses"]["default"] = _response(_failures(), json_of(ErrorBody), schema_of)
    parameters = [*_path_parameters(rule), *_named_parameters(described)]
    if parameters:
        out["parameters"] = parameters
    if described.body is not None:
        schema = schema_of[id(described.body)]
        content = {"application/json": {"schema": schema, "example": example_of(schema, components)}}
        out["requestBody"] = {"required": True, "content": content}
    if described.stateless:
        out[STATELESS] = True
    if described.form:
        files = {name: {"type": "string", "format": "binary", "description": w} for name, w in described.form.items()}
        schema = {"type": "object", "properties": files, "required": list(files)}
        out["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
    return out


def example_of(schema: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    """Return a value that has a schema: the schema's own example, or a simple one with what is required."""
    if "$ref" in schema:
        return example_of(components[schema["$ref"].rpartition("/")[2]], components)
    if "examples" in schema:
        return schema["examples"][0]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], components)
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        return {name: example_of(properties[name], components) for name in schema.get("required", ())}
    simple: dict[str, Any] = {"string": "", "integer": schema.get("minimum", 0), "number": 0.0, "array": []}
    return simple.get(schema.get("type", ""), False)


def _failures() -> str:
    """Return the error responses, derived from the exception classes: every status with its code."""
    errors: list[type[RequestError]] = [RequestError, *RequestError.__subclasses__()]
    kinds = sorted({(error.status, error.code) for error in errors})
    statuses = ", ".join(f"{status} {code}" for status, code in kinds)
    return f"What went wrong; pages answer in HTML. Statuses and codes: {statuses}, and those of HTTP itself."


def _path_parameters(rule: Rule) -> list[dict[str, Any]]:
    return [
        {
            "name": match["name"],
            "in": "path",
            "required": True,
            "schema": {"type": _ARGUMENT_TYPES.get(match["converter"] or "", "string")},
        }
        for match in _ARGUMENT.finditer(rule.rule)
    ]


def _named_parameters(described: Operation) -> list[dict[str, Any]]:
    every = [
        ("header", described.headers, True),
        ("header", described.optional_headers, False),
        ("query", described.query, False),
    ]
    return [
        {"name": name, "in": place, "required": required, "description": words, "schema": {"type": "string"}}
        for place, parameters, required in every
        for name, words in parameters.items()
    ]


def _response(words: str, content: Content | None, schema_of: Mapping[int, Any]) -> dict[str, Any]:
    if content is None:
        return {"description": words}
    schema: Any = {"type": "string"} if content.kind is None else schema_of[id(content.kind)]
    return {"description": words, "content": {content.media: {"schema": schema}}}
