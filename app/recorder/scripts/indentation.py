"""Restores the indentation that a pasted text has lost.

Where every line stands at the margin, only the first line of a block is certain to be inside of it.  What comes next is
inside or behind, and the cheapest reading of the whole text is taken: each way of breaking blocks off costs what speaks
against it, such as a name of a function that is used behind it, or a function that names itself in its own body.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.recorder.scripts.cells import is_heading

INDENT = "    "
MAX_STATEMENTS = 600
"""Statements of a text that is read: longer ones are left as they are."""
MAX_LOOKED = 2_000_000
"""Open blocks that are looked at, of all readings together; that takes some seconds on one core."""
BEAM = 96
"""Readings that are kept from statement to statement, the cheapest."""

CERTAIN, LIKELY, SLIGHT = 20.0, 4.0, 0.5
"""What speaks against a reading."""
_CONTINUES = {
    "elif": ("if", "elif"),
    "else": ("if", "elif", "for", "while", "try", "except"),
    "except": ("try", "except"),
    "finally": ("try", "except", "else"),
}
"""The headers whose block another header follows."""
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_ENDS = frozenset({"return", "raise", "break", "continue", "pass"})
_OF_BLOCKS = frozenset({"init", "reads", "writes", "where", "block_attr"})
_DEFINITIONS = frozenset({"def", "class"})
_KEYWORD = re.compile(r"(?:async\s+)?([a-z]+)\b")
_SCRIPT = re.compile(r"(?:with )?T\.(block|init|reads|writes|where|block_attr)\(")
"""Words of TVMScript: the others belong to a block."""
_BUILTIN = frozenset(dir(builtins))


@dataclass(frozen=True)
class _Statement:
    """A statement, or the header of one: its lines, and what it says about names."""

    first: int
    last: int
    """Its lines, from 0; comments and empty lines before it are not counted."""
    keyword: str
    """The word that it begins with, or that of TVMScript; empty for another expression or an assignment."""
    is_header: bool
    nesting: tuple[int | None, ...]
    """In how many brackets each of its lines begins; None for one that begins in a string."""
    after_gap: bool
    """Whether an empty line is before it."""
    reads: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset()
    """Names that it gives values, outside of its own block."""
    inner: frozenset[str] = frozenset()
    """Parameters of a function, and targets of a loop."""
    arguments: tuple[str, ...] = ()
    name: str = ""
    """Of a function or class."""


@dataclass(frozen=True)
class _Block:
    """An open block of a reading."""

    header: _Statement
    known: frozenset[str]
    """Names that have values before it."""
    given: frozenset[str] = frozenset()
    """Names that it gives values."""


@dataclass(frozen=True)
class _Reading:
    """One way to indent the statements so far."""

    blocks: tuple[_Block, ...] = ()
    known: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    """Names that only closed functions have."""
    parameters: frozenset[str] = frozenset()
    """Those that are their parameters."""
    looped: frozenset[str] = frozenset()
    """Targets of closed loops, and what closed branches gave values first."""
    depths: tuple[int, ...] = field(default=())
    cost: float = 0.0
    previous: _Statement | None = None


def indented(text: str, known: Iterable[str] = ()) -> str | None:
    """Return a text whose lines stand at the margin with its blocks indented; None if no reading is Python.

    Parameters
    ----------
    text : str
        Some statements.  From the first one whose block is indented already, it stays as it is.
    known : iterable of str
        Names that have values before.
    """
    statements = _statements(text)
    if not statements or len(statements) > MAX_STATEMENTS:
        return None
    readings = [_Reading(known=frozenset(known))]
    looked = 0
    for statement in statements:
        looked += sum((len(reading.blocks) + 1) ** 2 for reading in readings)  # a way for each, and all of each
        if looked > MAX_LOOKED:
            return None
        following = [grown for reading in readings for grown in _grown(reading, statement)]
        cheapest: dict[object, _Reading] = {}
        for reading in sorted(following, key=lambda reading: reading.cost):
            # Two that differ in nothing that later statements are judged by go on alike.
            state = (tuple(block.header.first for block in reading.blocks), reading.hidden, reading.looped)
            cheapest.setdefault(state, reading)
        readings = list(cheapest.values())[:BEAM]
    lines = text.split("\n")
    for reading in readings:
        written = _written(lines, statements, reading.depths)
        if _parses("\n".join(written[: statements[-1].last + 1])):
            return "\n".join(written)
    return None


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _written(lines: Sequence[str], statements: Sequence[_Statement], depths: Sequence[int]) -> list[str]:
    """Return the lines, each as deep as its statement; a comment as deep as the statement that it precedes."""
    written = list(lines)
    for statement, depth in reversed(list(zip(statements, depths, strict=True))):
        for at, nesting in enumerate(statement.nesting, statement.first):
            if nesting is not None and (text := lines[at].strip()):
                written[at] = INDENT * (depth + nesting) + text
        above = statement.first
        while above and lines[above - 1].lstrip().startswith("#") and not is_heading(lines[above - 1]):
            above -= 1
            written[above] = INDENT * depth + lines[above].strip()
    return written


# statements


def _statements(text: str) -> list[_Statement]:
    """Return the statements of a text up to the first whose block is indented; none if they cannot be read."""
    lines = text.split("\n")
    found: list[_Statement] = []
    words: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.INDENT, tokenize.DEDENT):
                while found and (found[-1].is_header or found[-1].keyword == "@"):
                    found.pop()
                break
            if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
                continue
            if token.type != tokenize.NEWLINE:
                words.append(token)
                continue
            made = _statement(words, lines)
            if made is None:
                return []
            found.append(made)
            words = []
    except (tokenize.TokenError, SyntaxError):
        return []
    return found


def _statement(words: Sequence[tokenize.TokenInfo], lines: Sequence[str]) -> _Statement | None:
    first, last = words[0].start[0] - 1, words[-1].end[0] - 1
    source = "\n".join(lines[first : last + 1])
    keyword = match[1] if (match := _KEYWORD.match(source)) else ""
    is_header = words[-1].string == ":"
    node = _node(source, keyword, is_header)
    if node is None:
        return None
    known = _KEYWORDS.get(type(node), "") if not isinstance(node, ast.Try) else keyword
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        known = "text"
    if match := _SCRIPT.match(source):
        known = match[1]
    keyword = "@" if source.startswith("@") else keyword if keyword in _CONTINUES else known
    gap = first > 0 and not lines[first - 1].strip()
    nesting = _nesting(words, last - first + 1)
    names = [name for name in ast.walk(node) if isinstance(name, ast.Name)]
    own = {
        argument.arg for part in ast.walk(node) if isinstance(part, ast.Lambda) for argument in _arguments(part.args)
    }
    for part in ast.walk(node):
        if isinstance(part, ast.comprehension):
            own |= {name.id for name in ast.walk(part.target) if isinstance(name, ast.Name)}
    reads = {name.id for name in names if isinstance(name.ctx, ast.Load)} - own
    stored = {name.id for name in names if not isinstance(name.ctx, ast.Load)} - own
    stored |= {
        (alias.asname or alias.name).partition(".")[0] for alias in ast.walk(node) if isinstance(alias, ast.alias)
    }
    made = _Statement(first, last, keyword, is_header, nesting, gap, frozenset(reads), frozenset(stored))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        arguments = tuple(argument.arg for argument in _arguments(node.args))
        made = replace(
            made, gives=frozenset({node.name}), inner=frozenset(arguments), arguments=arguments, name=node.name
        )
        return replace(made, reads=made.reads - made.inner)
    if isinstance(node, ast.ClassDef):
        return replace(made, gives=frozenset({node.name}), name=node.name)
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return replace(made, gives=frozenset(), inner=made.gives)
    return made


def _nesting(words: Sequence[tokenize.TokenInfo], count: int) -> tuple[int | None, ...]:
    """Return in how many brackets each line begins, those that it closes first left out; None inside of a string."""
    first, in_string = words[0].start[0], 0
    nesting: list[int | None] = [None] * count
    opened: list[int] = []
    for word in words:
        if word.string in _CLOSING and opened:
            opened.pop()
        at = word.start[0] - first
        if nesting[at] is None and at >= in_string:
            nesting[at] = len(set(opened))  # those that open on one line indent once
        if word.string in _OPENING:
            opened.append(at)
        in_string = max(in_string, word.end[0] - first + (word.end[0] > word.start[0]))
    return tuple(nesting)


_KEYWORDS: dict[type[ast.stmt], str] = {
    ast.FunctionDef: "def", ast.AsyncFunctionDef: "def", ast.ClassDef: "class", ast.For: "for", ast.AsyncFor: "for",
    ast.While: "while", ast.If: "if", ast.With: "with", ast.AsyncWith: "with", ast.Return: "return", ast.Raise: "raise",
    ast.Break: "break", ast.Continue: "continue", ast.Pass: "pass", ast.Nonlocal: "nonlocal",
}  # fmt: skip


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None)


def _node(source: str, keyword: str, is_header: bool) -> ast.stmt | None:
    """Parse a statement, or a header with a block of its own."""
    body = f"{source} pass" if is_header else source
    before = {"elif": "if 0: pass\n", "else": "if 0: pass\n", "except": "try: pass\n", "finally": "try: pass\n"}
    if keyword == "try":
        body += "\nfinally: pass"
    if source.startswith("@"):
        body += "\ndef decorated(): pass"
    try:
        tree = ast.parse(before.get(keyword, "") + body)
    except SyntaxError:
        return None
    node = tree.body[-1] if tree.body else None
    return ast.Expr(node.decorator_list[0]) if isinstance(node, ast.FunctionDef) and source.startswith("@") else node


# readings


def _grown(reading: _Reading, statement: _Statement) -> Iterator[_Reading]:
    """Yield the ways to go on with one more statement."""
    if reading.previous is not None and reading.previous.is_header:
        if statement.keyword not in _CONTINUES:
            yield _placed(reading, reading.blocks, statement, _staying(reading.blocks, statement))
        return
    must_end = reading.previous is not None and reading.previous.keyword in _ENDS
    for kept in range(len(reading.blocks), -1, -1):
        blocks, closed = reading.blocks[:kept], reading.blocks[kept:]
        if statement.keyword in _CONTINUES:
            if not closed or closed[0].header.keyword not in _CONTINUES[statement.keyword]:
                continue
        elif any(block.header.keyword == "try" for block in closed):
            continue  # a handler is to come
        if must_end and not closed and reading.blocks:
            continue
        yield _placed(reading, blocks, statement, _breaking_off(closed, must_end) + _staying(blocks, statement))


def _breaking_off(closed: Sequence[_Block], must_end: bool) -> float:
    """Return what speaks against closing blocks; one that the statement before ends is closed in any case."""
    costs = [2 * SLIGHT if block.header.keyword in _DEFINITIONS else SLIGHT / 5 for block in reversed(closed)]
    return sum(costs[1:] if must_end else costs)


def _staying(blocks: Sequence[_Block], statement: _Statement) -> float:
    """Return what speaks against a statement inside of blocks."""
    cost = 0.0
    for depth, block in enumerate(blocks):
        header, innermost = block.header, depth == len(blocks) - 1
        if header.keyword in _DEFINITIONS:
            cost += LIKELY * (header.name in statement.reads)
            cost += SLIGHT * 3 * statement.after_gap
        elif innermost and not statement.reads & (block.given | header.inner):
            cost += SLIGHT
    inside = [block.header.keyword for block in blocks]
    takes_self = statement.arguments[:1] in (("self",), ("cls",))
    if statement.keyword == "def" and takes_self != (inside[-1:] == ["class"]):
        cost += CERTAIN
    if statement.keyword in ("return", "nonlocal"):
        enclosing = [keyword for keyword in inside if keyword in _DEFINITIONS]
        cost += CERTAIN * 10 * (enclosing[-1:] != ["def"])
    if inside[-1:] == ["class"] and statement.keyword not in ("def", "class", "pass", "text") and not statement.gives:
        cost += LIKELY
    if statement.keyword in _OF_BLOCKS and inside[-1:] != ["block"]:
        cost += CERTAIN
    if statement.keyword in ("break", "continue"):
        cost += CERTAIN * 10 * (not {"for", "while"} & set(inside))
    return cost


def _placed(reading: _Reading, blocks: tuple[_Block, ...], statement: _Statement, cost: float) -> _Reading:
    """Return a reading with one more statement, inside of some of its blocks."""
    known, hidden, looped, parameters = reading.known, reading.hidden, reading.looped, reading.parameters
    for block in reversed(reading.blocks[len(blocks) :]):
        first_given = (block.given | block.header.inner) - block.known
        if block.header.keyword in _DEFINITIONS:
            known, hidden = block.known | {block.header.name}, hidden | first_given - {block.header.name}
            parameters |= block.header.inner
        elif block.header.keyword == "block":
            hidden |= block.given - block.known
        elif block.header.keyword == "for":
            looped |= block.header.inner - block.known
        elif block.header.keyword in ("if", "elif", "else"):
            looped |= block.given - block.known
    outside = statement.reads - _BUILTIN
    lost = outside & hidden - known
    # Whoever calls a function may well have a variable of the same name as its parameter.
    cost += CERTAIN * len(lost - parameters) + LIKELY / 2 * len(lost & parameters) + CERTAIN / 2 * len(outside & looped)
    given = statement.gives
    blocks = tuple(replace(block, given=block.given | given) for block in blocks)
    if statement.is_header:
        blocks = (*blocks, _Block(statement, known | given))
    depth = len(blocks) - statement.is_header
    inside = given | statement.inner
    return _Reading(
        blocks,
        known | inside,
        hidden - inside,
        parameters - inside,
        looped - inside,
        (*reading.depths, depth),
        reading.cost + cost,
        statement,
    )
