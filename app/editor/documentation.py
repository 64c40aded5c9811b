"""Documentation of public names: signature and parsed docstring."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType

from docstring_parser import DocstringMeta, DocstringParam, DocstringRaises, DocstringReturns, DocstringStyle, parse
from docstring_parser.common import DocstringExample

from app.editor.public_api import resolve

MAX_DOCUMENTED = 1_024
_SECTION_TITLES = {
    "param": "Parameters",
    "attribute": "Attributes",
    "other_param": "Other parameters",
    "returns": "Returns",
    "yields": "Yields",
    "raises": "Raises",
    "warns": "Warns",
    "notes": "Notes",
    "examples": "Examples",
    "references": "References",
    "see_also": "See also",
}
"""Section titles by entry kind of the parser, in display order."""
_KIND = r"\w*(?:Error|Exception|NotImplemented)"
_ERROR = re.compile(rf"(?:^|(?<=[.…] ))Raises ({_KIND}(?:, {_KIND})*) ")
"""Where a sentence like ``Raises ArgumentError if …`` begins; it ends with the next one, or with its paragraph."""


@dataclass(frozen=True)
class Block:
    """A paragraph, or a preformatted block."""

    text: str
    verbatim: bool = False


@dataclass(frozen=True)
class Entry:
    """A parameter, result, exception or text in a section."""

    name: str = ""
    type: str = ""
    blocks: Sequence[Block] = ()


@dataclass
class Section:
    """A titled part of a docstring."""

    title: str
    entries: list[Entry] = field(default_factory=list)


@dataclass(frozen=True)
class Documentation:
    """The documentation of a public name, as shown in the editor."""

    name: str
    call: str
    """Parameters with defaults and return type; empty if it is not callable."""
    blocks: Sequence[Block]
    """Summary and description."""
    sections: Sequence[Section]


@lru_cache(MAX_DOCUMENTED)
def documentation(path: str) -> Documentation | None:
    """Return the documentation of a public name.

    Parameters
    ----------
    path : str
        Public name, e.g. ``tvm.te.Stage.split``.

    Returns
    -------
    documentation : Documentation or None
        None if the name does not exist.
    """
    value = resolve(path)
    if value is None:
        return None
    parsed = parse(_docstring(value), DocstringStyle.NUMPYDOC)
    texts = [text for text in (parsed.short_description, parsed.long_description) if text]
    call = call_text(value, with_result=True) or ""
    described, errors = _without_errors(blocks("\n\n".join(texts)))
    return Documentation(path, call, described, _sections(parsed.meta, errors))


def _docstring(value: object) -> str:
    """Return the docstring of a value; empty for constants, and for generated docstrings of dataclasses."""
    if not (isinstance(value, ModuleType | type) or callable(value)):
        return ""
    text = inspect.getdoc(value) or ""
    generated = isinstance(value, type) and text.startswith(f"{value.__name__}(")
    return "" if generated else text


# Signatures


def call_text(value: object, *, with_result: bool = False) -> str | None:
    """Format the parameters of a callable; return None if it has no signature.

    Parameters
    ----------
    with_result : bool
        Include annotations and return type.
    """
    if not callable(value):
        return None
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # built-in without signature
        return None
    empty = inspect.Signature.empty
    parameters = [
        p.replace(annotation=_unquoted(p.annotation) if with_result else empty)
        for p in signature.parameters.values()
        if p.name not in ("self", "cls")
    ]
    result = signature.return_annotation if with_result and not isinstance(value, type) else empty
    try:
        return str(inspect.Signature(parameters, return_annotation=_unquoted(result)))
    except ValueError:  # removing self made the parameter order invalid
        return None


class _UnquotedString(str):
    """A string whose repr has no quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _unquoted(annotation: object) -> object:
    """Wrap a string annotation so that a signature shows it as in the source."""
    return _UnquotedString(annotation) if isinstance(annotation, str) else annotation


# Docstrings


def _without_errors(described: Iterable[Block]) -> tuple[list[Block], list[Entry]]:
    """Return a description without its sentences about errors, and these as the entries of a section."""
    kept, errors = [], []
    for block in described:
        text, *sentences = [block.text] if block.verbatim else _ERROR.split(block.text)
        if text:
            kept.append(Block(text.rstrip(" "), block.verbatim))
        for kind, reason in zip(sentences[::2], sentences[1::2], strict=True):
            errors.append(Entry(type=kind, blocks=[Block(reason[0].upper() + reason[1:].rstrip())]))
    return kept, errors


def _sections(meta: Sequence[DocstringMeta], errors: list[Entry]) -> list[Section]:
    sections = {"Raises": Section("Raises", errors)} if errors else {}
    for item in meta:
        kind = item.args[0] if item.args else ""
        title = _SECTION_TITLES.get(kind)
        if title is not None:
            sections.setdefault(title, Section(title)).entries.append(_entry(item))
    order = list(_SECTION_TITLES.values())
    return sorted(sections.values(), key=lambda section: order.index(section.title))


def _entry(item: DocstringMeta) -> Entry:
    text = list(blocks(item.description or ""))
    if isinstance(item, DocstringParam):
        return Entry(item.arg_name, item.type_name or "", text)
    if isinstance(item, DocstringReturns):
        return Entry(item.return_name or "", item.type_name or "", text)
    if isinstance(item, DocstringRaises):
        return Entry("", item.type_name or "", text)
    if isinstance(item, DocstringExample):
        example = "\n".join(part for part in (item.snippet, item.description) if part)
        return Entry(blocks=[Block(example, verbatim=True)] if item.snippet else text)
    return Entry(blocks=text)


def blocks(text: str) -> Iterator[Block]:
    """Yield the paragraphs of reStructuredText, with indented and literal blocks as preformatted."""
    paragraphs = re.split(r"\n[ \t]*\n", text.strip("\n"))
    verbatim: list[str] = []
    for paragraph in paragraphs:
        if paragraph.startswith((" ", "\t")):
            verbatim.append(paragraph)
            continue
        if verbatim:
            yield _verbatim(verbatim)
            verbatim = []
        if paragraph.startswith(">>>"):
            yield Block(paragraph, verbatim=True)
            continue
        sentence = re.sub(r"\s+", " ", paragraph.strip())
        sentence = re.sub(r"(?<=\w)::$", ":", sentence).removesuffix("::").strip()
        if sentence:
            yield Block(sentence)
    if verbatim:
        yield _verbatim(verbatim)


def _verbatim(paragraphs: Sequence[str]) -> Block:
    return Block(textwrap.dedent("\n\n".join(paragraphs)), verbatim=True)
