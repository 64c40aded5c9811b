"""Quick fixes: edits of a script that the page offers beside an error; each rule reads the error and the script."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from app.artifacts import MAX_EDITS, MAX_FIXES, SCRIPT_NAME, Fix
from app.proposals import MAX_EDIT, Edit
from app.recorder.scripts.cells import is_heading
from app.recorder.scripts.frames import script_lines, user_trace
from app.recorder.scripts.indentation import indented
from app.recorder.scripts.suggestions import EXTRAS, IMPORTS

SIZE = 64
"""What a dimension begins with whose size the script leaves open."""
SHAPED = frozenset({"compute", "placeholder", "reduce_axis"})
"""Functions of ``te`` whose arguments name dimensions."""
MAX_COMMENTED = 400
"""Lines that are made comments at once."""

_NEAR = re.compile(r"did you mean '([^'\n]{1,80})'\?")
_UNKNOWN_CPU = re.compile(r"unknown CPU '([^'\n]{1,80})' for .*(?:did you mean '(\S{1,80})'\?|(-mtriple=\S{1,80}))$")
_QUOTED = re.compile(r"'([^'\n]{1,80})'")
_TEXT = re.compile(r"\s*//|[^\"'#]*[\u2190-\u21ff\u2500-\u25ff]")
"""Lines that no program has, wherever they stand: arrows, frames, comments of other languages."""
_COMMANDS = "pip3? git cd mkdir cmake make docker cp python3? conda apt(?:-get)? sudo curl wget"
_NOT_PYTHON = re.compile(rf"{_TEXT.pattern}|\s*(?:[!$|>]|%\w|(?:{'|'.join(_COMMANDS.split())})\s)")
"""Lines that are wrong for what they begin with: commands of a shell or a notebook, other languages."""
_LONE = re.compile(r"\s*[\])}]+[;,]?\s*")
"""The end of a block of another language."""
_RELAY = re.compile(r"\s*(?:def @\w+|fn)\s*\(\s*%")


@dataclass(frozen=True)
class Failure:
    """An error of a script, and what rules read of it."""

    exc: BaseException
    message: str
    line: int
    """Where it is, from 1."""
    source: str
    names: Mapping[str, object]
    """The script's global names."""

    @property
    def lines(self) -> list[str]:
        """The script's lines."""
        return script_lines(self.source)

    @property
    def tree(self) -> ast.Module | None:
        """The script, else as much of it as ran: cells behind may be no Python."""
        return _parsed(self.source) or _parsed("\n".join(self.lines[: _cell_end(self)]))

    @property
    def text(self) -> str:
        """The line where it is."""
        return self.lines[self.line - 1]


Rule = Callable[[Failure], Fix | None]


def fixes_of(failure: Failure) -> list[Fix]:
    """Return what would mend an error, the likeliest first; what is too long for the page is left out."""
    if not 1 <= failure.line <= len(failure.lines):
        return []
    found = [fix for rule in RULES if (fix := rule(failure)) is not None]
    return [fix for at, fix in enumerate(found) if _is_small(fix) and fix not in found[:at]][:MAX_FIXES]


def _is_small(fix: Fix) -> bool:
    return len(fix.edits) <= MAX_EDITS and all(len(edit.text) <= MAX_EDIT for edit in fix.edits)


# names


def _import(failure: Failure) -> Fix | None:
    """Import the modules that the script uses under the names that tutorials give them."""
    exc = failure.exc
    if not isinstance(exc, NameError) or exc.name not in IMPORTS:
        return None
    missing = dict.fromkeys([exc.name, *(name for name in _undefined(failure) if name in IMPORTS)])
    statements = [IMPORTS[name] for name in missing]
    insertion = Edit(line=_after_imports(failure), text="\n".join(statements))
    return Fix(label=f"Add {' and '.join(statements)}", edits=[insertion])


def _after_imports(failure: Failure) -> int:
    """Return the line before which an import belongs: behind the first ones, else before the first statement."""
    tree = failure.tree
    if tree is None:
        return 1
    body = tree.body if ast.get_docstring(tree) is None else tree.body[1:]
    imports = next(
        (at for at, node in enumerate(body) if not isinstance(node, (ast.Import, ast.ImportFrom))), len(body)
    )
    if imports:
        return (body[imports - 1].end_lineno or 0) + 1
    line = _first_line(body[0]) if body else 1
    while line > 1 and re.match(r"#(?!!)", above := failure.lines[line - 2]) and not is_heading(above):
        line -= 1  # a comment stays with its statement
    return line


def _first_line(statement: ast.stmt) -> int:
    """Return the line of a statement, or of its first decorator."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and statement.decorator_list:
        return statement.decorator_list[0].lineno
    return statement.lineno


def _size(failure: Failure) -> Fix | None:
    """Give a size to the dimensions that the script names and leaves open."""
    exc, tree = failure.exc, failure.tree
    if not isinstance(exc, NameError) or tree is None:
        return None
    undefined = set(_undefined(failure))
    open_sizes = [name for name in _dimensions(tree) if name in undefined]
    if exc.name not in open_sizes or _NEAR.search(failure.message):
        return None
    names = list(dict.fromkeys(open_sizes))
    statement = f"{', '.join(names)} = {', '.join([str(SIZE)] * len(names))}"
    inside = (node for node in tree.body if node.lineno <= failure.line <= (node.end_lineno or node.lineno))
    line = _first_line(next(inside, tree.body[0]))
    return Fix(label=f"Add {statement}", edits=[Edit(line=line, text=statement)])


def _dimensions(tree: ast.Module) -> Iterator[str]:
    """Yield the names that stand for sizes: in the shape of a tensor, or in the range of an axis."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in SHAPED
            and node.args
        ):
            yield from (name.id for name in ast.walk(node.args[0]) if isinstance(name, ast.Name))


def _undefined(failure: Failure) -> Iterator[str]:
    """Yield the names that a script reads and nowhere gives a value, in order."""
    tree = failure.tree
    if tree is None:
        return
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    given = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | set(failure.names) | set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            given.add(node.name)
        elif isinstance(node, ast.arg):
            given.add(node.arg)
        elif isinstance(node, ast.alias):
            given.add((node.asname or node.name).partition(".")[0])
    yield from dict.fromkeys(
        node.id for node in sorted(names, key=lambda node: (node.lineno, node.col_offset)) if node.id not in given
    )


def _misspelt(failure: Failure) -> Fix | None:
    """Write the name that the error's message found near."""
    near = _NEAR.search(failure.message)
    if near is None:
        return None
    named = getattr(failure.exc, "name", None)
    quoted = _QUOTED.findall(failure.message[: near.start()])
    for wrong in [named if isinstance(named, str) else "", *reversed(quoted)]:
        text, count = re.subn(rf"(?<!\w){re.escape(wrong)}(?!\w)", near[1], failure.text)
        if wrong and count and wrong != near[1]:
            return Fix(label=f"Write {near[1]}", edits=[Edit(line=failure.line, removed=1, text=text)])
    return None


def _cpu(failure: Failure) -> Fix | None:
    """Write the near CPU of a target, or name the architecture that has it, wherever the script says the target."""
    found = _UNKNOWN_CPU.search(failure.message)
    if found is None:
        return None
    old, near, triple = f"-mcpu={found[1]}", found[2], found[3]
    new = f"-mcpu={near}" if near else f"{triple} {old}"
    lines = [(at, re.sub(rf"{re.escape(old)}(?![\w.+-])", new, line)) for at, line in enumerate(failure.lines, 1)]
    edits = [Edit(line=at, removed=1, text=text) for at, text in lines if text != failure.lines[at - 1]]
    return Fix(label=f"Write {near}" if near else f"Add {triple}", edits=edits) if edits else None


# files


def _attach(failure: Failure) -> Fix | None:
    """Attach the file that the script does not find, or that of a module."""
    exc = failure.exc
    name = exc.filename if isinstance(exc, FileNotFoundError) else _file_of_module(failure)
    if not isinstance(name, str) or not re.fullmatch(r"[^/\\\x00-\x1f]{1,120}", name):
        return None
    return Fix(label=f"Choose {name} …", attach=name)


def _file_of_module(failure: Failure) -> str | None:
    """Return the file of a module that is imported in vain, unless the server's owner can install it.

    The script imports it, or a module that is attached already.
    """
    name = failure.exc.name if isinstance(failure.exc, ModuleNotFoundError) else None
    if not isinstance(name, str) or not name.isidentifier() or name in EXTRAS:
        return None
    statement = (user_trace(failure.exc.__traceback__) or [""])[-1]
    return f"{name}.py" if re.search(rf"\b(import|from)\b.*\b{name}\b(?!\.)", statement) else None


# indentation


def _indent(failure: Failure) -> Fix | None:
    """Restore the indentation of a block, as far as it was lost when it was pasted."""
    if not isinstance(failure.exc, SyntaxError):
        return None
    message = str(failure.exc.msg)
    for words, mend in _INDENTATIONS.items():
        if message.startswith(words):
            return _rewritten(failure, mend(failure, message))
    return None


def _rewritten(failure: Failure, lines: list[str] | None) -> Fix | None:
    """Return the fix that writes other lines in the place of those that differ."""
    pairs = zip(failure.lines, lines or (), strict=False)
    edits = [Edit(line=at, removed=1, text=new) for at, (old, new) in enumerate(pairs, 1) if old != new]
    return Fix(label=f"Indent {_ranges([edit.line for edit in edits])} anew", edits=edits) if edits else None


def _indented_anew(failure: Failure, message: str) -> list[str] | None:
    """Return the lines with the blocks indented that begin at the header whose own block is missing."""
    found = re.search(r" on line (\d+)$", message)
    first = int(found[1]) if found else failure.line
    lines = failure.lines
    if not 1 <= first <= len(lines):
        return None
    margin = _margin(lines[first - 1])
    last = first
    while last < _cell_end(failure) and (not lines[last].strip() or _margin(lines[last]).startswith(margin)):
        last += 1
    text = "\n".join(line[len(margin) :] for line in lines[first - 1 : last])
    above = _parsed("\n".join(lines[: first - 1]))
    given = (
        [n.id for n in ast.walk(above) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)] if above else []
    )
    written = indented(text, [*failure.names, *given])
    if written is None:
        return None
    return [*lines[: first - 1], *((margin + line).rstrip() for line in written.split("\n")), *lines[last:]]


def _moved_left(failure: Failure, message: str) -> list[str] | None:
    """Return the lines with those to the left that stand deeper than the statement before asks for."""
    lines, first = failure.lines, failure.line
    before = next(
        (line for line in reversed(lines[: first - 1]) if line.strip() and not line.lstrip().startswith("#")), ""
    )
    excess, margin = _margin(lines[first - 1]), _margin(before)
    last = first
    while last < len(lines) and (not lines[last].strip() or _margin(lines[last]).startswith(excess)):
        last += 1
    moved = [margin + line[len(excess) :] if line.strip() else line for line in lines[first - 1 : last]]
    return [*lines[: first - 1], *moved, *lines[last:]]


def _snapped(failure: Failure, message: str) -> list[str] | None:
    """Return the lines with one that ends a block where none began at the nearest margin of those above."""
    lines, at = failure.lines, failure.line - 1
    margins = [_margin(line) for line in lines[:at] if line.strip()]
    depth = len(_margin(lines[at]))
    margin = min(margins, key=lambda margin: (abs(len(margin) - depth), -len(margin)), default="")
    return [*lines[:at], margin + lines[at].lstrip(), *lines[at + 1 :]]


def _without_tabs(failure: Failure, message: str) -> list[str] | None:
    """Return the lines with spaces for the tabs that they begin with, of a width that makes them Python.

    Lines that begin in a string stay as they are.
    """
    for width in (4, 8):
        lines = [_margin(line).expandtabs(width) + line[len(_margin(line)) :] for line in failure.lines]
        tree = _parsed("\n".join(lines))
        if tree is not None:
            texts = [n for n in ast.walk(tree) if isinstance(n, ast.JoinedStr | ast.Constant)]
            inside = {at for text in texts for at in range(text.lineno, text.end_lineno or 0)}
            return [failure.lines[at] if at in inside else line for at, line in enumerate(lines)]
    return None


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


_INDENTATIONS: dict[str, Callable[[Failure, str], list[str] | None]] = {
    "expected an indented block": _indented_anew,
    "unexpected indent": _moved_left,
    "unindent does not match": _snapped,
    "inconsistent use of tabs": _without_tabs,
}
"""What is done about the errors of Python's tokenizer and parser, by how their messages begin."""


# text that is no Python


def _read_relay(failure: Failure) -> Fix | None:
    """Read Relay's text, which begins at the line where Python stops, as a module."""
    if not _RELAY.match(failure.text):  # no Python begins so
        return None
    last = _cell_end(failure)
    if '"""' in "\n".join(failure.lines[failure.line - 1 : last]):
        return None
    begin = Edit(line=failure.line, text='from tvm import relay\n\nmod = relay.fromtext("""')
    end = Edit(line=last, removed=1, text=f'{failure.lines[last - 1]}\n""")')
    return Fix(label="Read it as Relay", edits=[begin, end])


def _comment_out(failure: Failure) -> Fix | None:
    """Make comments of commands and text between the code."""
    if not isinstance(failure.exc, SyntaxError) or _text_above(failure) == 0:
        return None
    lines, commented = failure.lines, set[int]()
    line, last = _text_above(failure), failure.line
    while len(commented) < MAX_COMMENTED:
        for at in range(line, max(line, last) + 1):
            commented.add(at)
            lines[at - 1] = f"# {lines[at - 1]}"
        last = 0
        try:
            compile("\n".join(lines), SCRIPT_NAME, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
            break
        except SyntaxError as error:
            line = error.lineno or 0
        if 1 <= line <= len(lines) and _LONE.fullmatch(lines[line - 1]):
            continue
        beside = line - 1 in commented or line + 1 in commented
        if line in commented or not 1 <= line <= len(lines) or not (beside or _NOT_PYTHON.match(lines[line - 1])):
            break
    whole = range(min(commented), max(commented) + 1)  # what stands between lines of another language is one too
    numbers = [at for at in whole if (text := failure.lines[at - 1].lstrip()) and not text.startswith("#")]
    edits = [Edit(line=at, removed=1, text=f"# {failure.lines[at - 1]}") for at in numbers]
    return Fix(label=f"Comment out {_ranges(numbers)}", edits=edits)


def _text_above(failure: Failure) -> int:
    """Return the line of an error if it is text, else that of text above it in its cell; 0 if there is none."""
    if _NOT_PYTHON.match(failure.text):
        return failure.line
    for at in range(failure.line - 1, 0, -1):
        line = failure.lines[at - 1]
        if is_heading(line):
            break
        if _TEXT.match(line):
            return at
    return 0


def _ranges(numbers: list[int]) -> str:
    """Return ``line 3`` or ``lines 3 to 7`` of some lines, from the first to the last."""
    return f"line {numbers[0]}" if len(numbers) == 1 else f"lines {numbers[0]} to {numbers[-1]}"


def _cell_end(failure: Failure) -> int:
    """Return the last line of the cell of an error that is not empty."""
    lines = failure.lines
    heads = (at for at in range(failure.line + 1, len(lines) + 1) if is_heading(lines[at - 1]))
    last = next(heads, len(lines) + 1) - 1
    while last > failure.line and not lines[last - 1].strip():
        last -= 1
    return last


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


RULES: tuple[Rule, ...] = (_import, _size, _cpu, _misspelt, _attach, _indent, _read_relay, _comment_out)
"""What may mend an error; the first ones are the likeliest."""
