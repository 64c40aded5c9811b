"""The recipes of the compiler's README: how to add an operator, a pass, a primitive …, as anybody would follow them.

A recipe is a section of the README whose title begins with *To add*.  A code block that begins with the path of a file
is a file to write, or, with ``after`` and a line of that file, what to insert there; the last block, which begins with
``# Try it``, uses what was added.  Following a recipe means to copy the compiler, to do this and nothing else, and to
run the last block in a process of its own.

    python -m tests.contracts.recipes     prints how many files each addition takes
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.contracts.measures.sources import ROOT

README = ROOT / "compiler" / "README.md"

_SECTION = re.compile(r"^## (To add .*?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (compiler/[\w./-]+)(?:, after `(.+)`)?")


@dataclass(frozen=True)
class Recipe:
    """A section of a README.

    Attributes
    ----------
    edits : list of (str, str, str)
        A path, the line after which to insert, empty for a new file, and the text.
    trial : str
        The program that uses what was added.
    """

    title: str
    edits: list[tuple[str, str, str]]
    trial: str

    @property
    def files(self) -> list[str]:
        """The files that it takes, each once."""
        return list(dict.fromkeys(path for path, _, _ in self.edits))

    def follow(self, folder: Path) -> subprocess.CompletedProcess[str]:
        """Follow the recipe in a copy of the project and run its trial."""
        shutil.copytree(ROOT / "compiler", folder / "compiler")  # with its bytecode, for what stays as it is
        for name, line, text in self.edits:
            path = folder / name
            if line:
                before, at, after = path.read_text().partition(f"{line}\n")
                assert at, f"{self.title}: {name} has no line {line!r}"
                path.write_text(before + at + text + after)
            else:
                assert not path.exists(), f"{self.title}: {name} is there already"
                path.write_text(text)
        trial = folder / "trial.py"
        trial.write_text(self.trial)
        command = [sys.executable, str(trial)]
        environment = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def recipes() -> list[Recipe]:
    """Read all recipes."""
    return [read_recipe(title, body) for title, body in _SECTION.findall(README.read_text())]


def read_recipe(title: str, body: str) -> Recipe:
    """Read one section.

    Raises
    ------
    ValueError
        If a code block is neither a file nor the trial, or the trial is missing.
    """
    edits: list[tuple[str, str, str]] = []
    trial = ""
    for block in _BLOCK.findall(body):
        first, _, rest = block.partition("\n")
        if match := _FILE.fullmatch(first.strip()):
            edits.append((match[1], match[2] or "", rest))
        elif first.startswith("# Try it"):
            trial = block
        else:
            raise ValueError(f"{title}: what is the block that begins with {first!r}?")
    if not edits or not trial:
        raise ValueError(f"{title}: a recipe needs a file to write and a block that begins with '# Try it'")
    return Recipe(title, edits, trial)


def main() -> None:
    """Print how many files each addition takes."""
    for recipe in recipes():
        print(f"{recipe.title:40} {len(recipe.files)}  {', '.join(recipe.files)}")


if __name__ == "__main__":
    main()
