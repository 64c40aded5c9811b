"""The wheel is the program: what it installs serves pages, compiles in the shell, and hits nobody else's packages."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType
from urllib.request import urlopen

import grimp
import pytest

from tests.ports import free_port

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = {"dask", "hatchling", "tensorflow"}
"""What comes with what is declared (Dask with distributed, TensorFlow for CPUs), and what only building imports."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which a wheel is installed, without what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=200)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def environment(installed: Path) -> dict[str, str]:
    """An environment in which the repository is not found."""
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *libraries])}


@pytest.fixture(scope="module")
def address(installed: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, folder = free_port(), tmp_path_factory.mktemp("data")
    arguments = ["-P", "-S", "-m", "strata_explorer", "serve", "--port", str(port), "--data", str(folder)]
    with subprocess.Popen(
        [sys.executable, *arguments], env=environment, cwd="/", stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            assert "Strata is at" in server.stdout.readline()
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


@pytest.mark.long
def test_everything_is_in_one_package(installed: Path) -> None:
    top = {path.name for path in installed.iterdir()}
    assert top == {"strata_explorer", f"strata_explorer-{_version()}.dist-info"}
    assert {path.name for path in (installed / "strata_explorer").iterdir()} >= {
        "app",
        "compiler",
        "static",
        "templates",
    }
    assert (
        "strata_explorer.__main__:main"
        in (installed / f"strata_explorer-{_version()}.dist-info/entry_points.txt").read_text()
    )


@pytest.mark.long
def test_pages_are_served_from_it(address: str) -> None:
    def read(path: str) -> str:
        with urlopen(address + path) as answer:
            return str(answer.read().decode())

    first = read("/")
    linked = set(re.findall(r'(?:href|src)="(/static/[^"]+\.(?:css|js))"', first))
    assert {path.rpartition(".")[2] for path in linked} == {"css", "js"}
    for path in linked:
        assert read(path)
    for path in ("/learn/split", "/docs/changes"):
        assert "<h1" in read(path)


@pytest.mark.long
def test_programs_compile_in_the_shell(environment: dict[str, str], address: str, tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    script.write_text(
        "import tvm\nfrom tvm import te\nA = te.placeholder((8,), name='A')\n"
        "B = te.compute((8,), lambda i: A[i] * 2.0, name='B')\nf = tvm.build(te.create_schedule(B.op), [A, B])\n"
        "print(tvm.__version__)\n"
    )

    def strata(*arguments: str) -> str:
        command = [sys.executable, "-P", "-S", "-m", "strata_explorer", *arguments]
        done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "A[i] * T.float32(2.0)" in strata("compile", str(script), "--server", address)
    assert strata("python", str(script)).startswith("0.18.0")


def test_every_module_can_be_renamed(hook: ModuleType) -> None:
    named = re.compile(r"""["'](?:app|compiler)\.|^\s*import .*\b(?:app|compiler)\b""", re.MULTILINE)
    for folder in hook.CODE:
        for file in (ROOT / folder).rglob("*.py"):
            source = file.read_text(encoding="utf-8")
            if named.search(source):
                hook.renamed(source, str(file))


def test_every_import_is_declared() -> None:
    everywhere = packages_distributions()
    declared = {_normal(line) for line in PROJECT["dependencies"]}
    optional = {_normal(line) for lines in PROJECT["optional-dependencies"].values() for line in lines}
    graph = grimp.build_graph("app", "compiler", include_external_packages=True)
    others = {name for name in graph.modules if graph.is_module_squashed(name)}
    missing = {}
    for name in others - {"tvm", "_typeshed", *sys.stdlib_module_names}:
        offered = {_normal(d) for d in everywhere.get(name, [name])}
        if not offered & (declared | optional | OPTIONAL):
            missing[name] = graph.find_modules_that_directly_import(name)
    assert missing == {}


def _normal(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def _version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "app" / "__init__.py").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wheel_hook", ROOT / "app/deployment/wheel_hook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "renamed"),
    [
        ("from compiler.te import compute", "from strata_explorer.compiler.te import compute"),
        ("    # compiler.te\nimport app", "    # compiler.te\nfrom strata_explorer import app"),
        ('T = {"é": "compiler.te"}', 'T = {"é": "strata_explorer.compiler.te"}'),
        ('"""compiler.te"""\nx = "compiler te"', '"""compiler.te"""\nx = "compiler te"'),
        ("application = 1\nfrom apps import x", "application = 1\nfrom apps import x"),
    ],
)
def test_modules_are_renamed_and_nothing_else(source: str, renamed: str, hook: ModuleType) -> None:
    assert hook.renamed(source) == renamed


@pytest.mark.parametrize(
    "source", ["import compiler.te", "import app, os", 'f"compiler.{name}"', 'x = "compiler." "te"']
)
def test_what_cannot_be_renamed_stops_the_build(source: str, hook: ModuleType) -> None:
    with pytest.raises(ValueError, match="line 1"):
        hook.renamed(source)
