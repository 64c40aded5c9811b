"""What a change does to programs, as a comment under a pull request: loops, machine code and time."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.artifacts import NOISE, Answer, Listing, Measurement, Workspace
from app.errors import NotFound, Unbuildable
from app.panes import texts
from app.shell.commands import fastest
from app.shell.explorer import Explorer, ask
from app.shell.failures import WRONG_COMMAND, WRONG_PROGRAM, Failure
from app.shell.programs import read_program
from app.store.links import SavedLink, SharedState

MARK = "<!-- strata review -->"
"""The first line of a comment, by which the next one finds and replaces it."""
MOST_LINES = 200
"""Of a diff; a comment has 65,536 characters at most."""


@dataclass(frozen=True)
class _Version:
    """A script before or after the change, and what became of it."""

    workspace: Workspace
    answer: Answer

    @property
    def errors(self) -> list[str]:
        return [f"{p.kind}: {p.message}" for p in self.answer.problems if p.severity == "error"]

    def listing(self, pane: str) -> Listing | None:
        """Return the text of a pane; None where the script makes none."""
        try:
            return texts.find_text(self.answer, self.workspace.options, pane)
        except (NotFound, Unbuildable):
            return None


@dataclass(frozen=True)
class Ratio:
    """Times after the change in terms of those before it, of runs in turns."""

    pairs: Sequence[tuple[Measurement, Measurement]]

    def __str__(self) -> str:
        ratios = [after.seconds / before.seconds for before, after in self.pairs]
        low, high = min(ratios), max(ratios)
        noisy = any(m.seconds and m.spread / m.seconds > NOISE for pair in self.pairs for m in pair)
        if low > 1 - NOISE and high < 1 + NOISE:
            verdict = "no difference"
        elif high < 1 or low > 1:
            verdict = "**faster**" if high < 1 else "**slower**"
        else:
            verdict = "undecided: the pairs disagree"
        before, after = (statistics.median(m.seconds for m in side) for side in zip(*self.pairs, strict=True))
        pairs = f"{len(ratios)} pair{'s' if len(ratios) > 1 else ''}"
        return (
            f"{before * 1e6:,.1f} → {after * 1e6:,.1f} µs: {statistics.median(ratios):.2f} × the time"
            f" ({low:.2f} to {high:.2f} in {pairs}), {verdict}{', disturbed' if noisy else ''}"
        )


def review(given: argparse.Namespace, explorer: Explorer) -> int:
    """Write the comment; return 1 if a program of the change has an error that it did not have."""
    _check_options(given, explorer)
    broken: list[str] = []
    sections = [section for name in given.scripts for section in _sections(given, explorer, name, broken)]
    sections = sections or ["None of the programs changed."]
    comment = "\n\n".join([MARK, "### Compiled code of this change", *sections]) + "\n"
    if given.json:
        comment = json.dumps({"comment": comment, "broken": broken}) + "\n"
    if given.output:
        try:
            Path(given.output).write_text(comment, encoding="utf-8")
        except OSError as error:
            raise Failure(f"{given.output} cannot be written: {error.strerror}", WRONG_COMMAND) from None
    else:
        sys.stdout.write(comment)
    return WRONG_PROGRAM if broken else 0


def _check_options(given: argparse.Namespace, explorer: Explorer) -> None:
    """Refuse options of which a comment would be written that says something else than its readers believe."""
    if not Path(given.base).is_dir():
        raise Failure(f"--base: {given.base} is no folder: expected the repository as it was before", WRONG_COMMAND)
    if given.pairs < 0:
        raise Failure(f"--pairs: expected 0 or more, got {given.pairs}", WRONG_COMMAND)
    if given.link and not explorer.address:
        raise Failure("--link: --server says where the scripts are kept", WRONG_COMMAND)


def _sections(given: argparse.Namespace, explorer: Explorer, name: str, broken: list[str]) -> Iterator[str]:
    """Yield the paragraphs about a script, and note it if the change breaks it."""
    before, after = Path(given.base) / name, Path(name)
    title = f"#### {_code(name)}"
    if not before.exists() and not after.exists():
        raise Failure(f"there is no file {name}, neither here nor in {given.base}", WRONG_COMMAND)
    if not after.exists():
        yield f"{title}\n\nremoved"
        return
    if before.exists() and before.read_bytes() == after.read_bytes():
        return
    old = _compiled(given, explorer, before) if before.exists() else None
    new = _compiled(given, explorer, after)
    yield f"{title}{_link(given, explorer, new)}" + ("" if old else "\n\nnew")
    for error in new.errors:
        yield _quoted(f"error: {error}")
    if new.errors:
        broken += [name] if old is None or not old.errors else []
        return
    yield from _comparison(old if old and not old.errors else None, new, name)
    if given.pairs > 0:
        yield _times(explorer, old if old and not old.errors else None, new, given.pairs)


def _compiled(given: argparse.Namespace, explorer: Explorer, path: Path) -> _Version:
    workspace = read_program(str(path), given.file, given.target, given.threads)
    return _Version(workspace, ask(explorer, "/api/compile", workspace, Answer))


def _link(given: argparse.Namespace, explorer: Explorer, version: _Version) -> str:
    """Return a link to the script on the server, if one is asked for."""
    if not given.link:
        return ""
    saved = ask(explorer, "/api/links", SharedState(workspace=version.workspace), SavedLink)
    return f" · [open in Strata]({explorer.address}/z/{saved.id})"


def _comparison(old: _Version | None, new: _Version, name: str) -> Iterator[str]:
    """Yield the facts of the machine code, and the diffs of loops and machine code."""
    machine_code = new.listing("asm")
    if machine_code is not None:
        yield _facts(old.listing("asm") if old else None, machine_code)
        yield from (f"- {finding}" for finding in machine_code.findings)
    for pane, title in (("loops", "Loops"), ("asm", "Assembly")):
        before, after = old.listing(pane) if old else None, new.listing(pane)
        if before is None or after is None:
            continue
        lines = texts.difference(texts.text_of(before), texts.text_of(after), (f"a/{name}", f"b/{name}"))
        if not lines:
            yield f"{title}: the same"
            continue
        yield f"<details><summary>{title}: {_changed(lines)}</summary>\n\n{quoted_diff(lines)}\n\n</details>"


def quoted_diff(lines: Sequence[str]) -> str:
    """Return a diff as a block of code, as much of it as a comment has room for."""
    left_out = [f"… {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return _quoted("\n".join([*lines[:MOST_LINES], *left_out]), "diff")


def _changed(lines: Sequence[str]) -> str:
    counts = [sum(line.startswith(sign) and not line.startswith(sign * 3) for line in lines) for sign in "+-"]
    return f"{counts[0]} lines more, {counts[1]} less"


def _facts(old: Listing | None, new: Listing) -> str:
    """Return a table of what the machine code consists of."""
    rows = ["| | before | after |", "|---|---:|---:|"]
    before = old.summary if old else {}
    for key, value in new.summary.items():
        rows.append(f"| {key} | {before.get(key, '–')} | {value} |")
    return "\n".join(rows)


def _times(explorer: Explorer, old: _Version | None, new: _Version, pairs: int) -> str:
    """Return the ratio of the times, measured in turns; the time alone of a new script."""
    try:
        if old is None:
            return f"{fastest(explorer, new.workspace).seconds * 1e6:,.1f} µs"
        return str(Ratio([_in_turn(explorer, old, new, place % 2 == 1) for place in range(pairs)]))
    except Failure as failure:
        return f"not measured: {failure}"


def _in_turn(explorer: Explorer, old: _Version, new: _Version, swapped: bool) -> tuple[Measurement, Measurement]:
    """Measure both, every other time the new one first, as machines become faster and slower."""
    if swapped:
        after, before = fastest(explorer, new.workspace), fastest(explorer, old.workspace)
    else:
        before, after = fastest(explorer, old.workspace), fastest(explorer, new.workspace)
    return before, after


def _quoted(text: str, language: str = "") -> str:
    """Return a block of code, with a fence that nothing in it ends."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def _code(name: str) -> str:
    """Return a file name as code; names of files may hold anything."""
    plain = "".join(c if c.isprintable() else "?" for c in name)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", plain)), default=0))
    return f"{fence} {plain} {fence}" if "`" in plain else f"`{plain}`"
