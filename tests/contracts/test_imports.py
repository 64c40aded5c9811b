"""Who imports whom: nothing upward, not even by a name in a string, and no two files each other.

Every import counts, one within a function as well, but not one under ``if TYPE_CHECKING``, whose names nothing but
annotations need.  A package counts as its ``__init__.py``; that Python imports the package before its modules does not
count.  Layers are those that import-linter holds imports to.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import compiler
from compiler.classic.names.resolution import PUBLIC
from compiler.ir.extension import load
from tests.contracts.measures.sources import parsed

ROOT = Path(__file__).parents[2]
TOP = (
    "compiler",
    "compiler.__main__",
    "compiler.classic.alias",
    "compiler.classic.names.resolution",
    "compiler.classic.names.public",
    "compiler.classic.names.unavailable",
)
"""The library's entry: it may name every package."""
DOTTED = re.compile(r"(compiler|app)(\.\w+)+(:\w+)?")
QUOTED = re.compile(r"[\"'](compiler|app)\b")
"""How a string begins that may name a module: most files have none, and need not be read further."""


@cache
def modules() -> dict[str, Path]:
    """Return the files of both packages by the names of their modules."""
    files = [path for package in ("compiler", "app") for path in (ROOT / package).rglob("*.py")]
    parts = {path: path.relative_to(ROOT).with_suffix("").parts for path in files}
    return {".".join(p[:-1] if p[-1] == "__init__" else p): path for path, p in parts.items()}


@cache
def layers() -> list[list[str]]:
    """Return the packages of each layer, the top first."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    stated = config["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[package.strip() for package in layer.split("|")] for layer in stated]


def layer_of(module: str) -> int:
    """Return the layer of a module, counted from the top."""
    if module in TOP:
        return 0
    inside = [
        n for n, packages in enumerate(layers()) if any(f"{module}.".startswith(f"{package}.") for package in packages)
    ]
    return inside[0] if inside else 1  # what classic programs import beside the language is in the layer of the driver


def strings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the strings of a module that are not docstrings."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            pending += ast.iter_child_nodes(node)


def named_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the modules that strings of a program name, with their lines."""
    for node in strings(tree):
        if isinstance(node.value, str) and DOTTED.fullmatch(node.value):
            name = node.value.partition(":")[0]
            if name in modules():
                yield node.lineno, name


def upward(module: str, tree: ast.Module) -> list[str]:
    """Return the places where a module names one of a higher layer in a string."""
    return [f"{module}:{line}: {name}" for line, name in named_modules(tree) if layer_of(name) < layer_of(module)]


def test_no_string_names_a_module_of_a_higher_layer() -> None:
    told = [(module, path) for module, path in modules().items() if QUOTED.search(path.read_text())]
    faults = [fault for module, path in told for fault in upward(module, parsed(path))]
    assert not faults, "\n".join(faults)


def test_a_string_that_names_a_module_of_a_higher_layer_is_seen() -> None:
    def in_strings(module: str, source: str) -> list[str]:
        return upward(module, ast.parse(source))

    table = 'PLACES = {"build": ("compiler.driver.build", "build")}'
    assert in_strings("compiler.relay", table) == ["compiler.relay:1: compiler.driver.build"]
    assert in_strings("compiler.runtime.x", 'import_module("compiler.relay.op")') == [
        "compiler.runtime.x:1: compiler.relay.op"
    ]
    assert in_strings("compiler.driver.x", 'import_module("compiler.relay.op")') == []
    assert in_strings("compiler.ir.x", '"""compiler.driver.build"""') == []


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of both packages that a module imports."""
    pending: list[ast.AST] = [tree]
    while pending:
        match pending.pop():
            case ast.Import(names=aliases):
                yield from (a.name for a in aliases if a.name in modules())
            case ast.ImportFrom(module=str(origin), names=aliases):
                inside = [f"{origin}.{a.name}" for a in aliases]
                yield from (name if name in modules() else origin for name in inside if origin in modules())
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), orelse=otherwise):
                pending += otherwise
            case ast.stmt() | ast.Module() | ast.excepthandler() | ast.match_case() as node:
                pending += ast.iter_child_nodes(node)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that import each other, by Tarjan's algorithm.

    References
    ----------
    R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1 (1972).
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for other in graph.get(module, ()):
            if other not in order:
                visit(other)
            if other in stack:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == order[module]:
            group = stack[stack.index(module) :]
            del stack[-len(group) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for module in graph:
        if module not in order:
            visit(module)
    return groups


def test_no_two_files_import_each_other() -> None:
    graph = {name: {*imported(parsed(path))} - {name} for name, path in modules().items()}
    assert sum(map(len, graph.values())) > 1000
    assert circles(graph) == []


def test_a_circle_is_seen() -> None:
    late = "def f():\n    from compiler.ir import node\nif TYPE_CHECKING:\n    from compiler.ir import span"
    assert [*imported(ast.parse(late))] == ["compiler.ir.node"]
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def public_value(name: str) -> object:
    """Return what a public name leads to, attribute by attribute."""
    value: object = compiler
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return value


def test_every_public_name_is_where_the_table_says() -> None:
    assert len(PUBLIC) > 100
    assert [name for name, place in PUBLIC.items() if public_value(name) is not load(place)] == []
