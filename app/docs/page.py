"""A page of documentation: a Markdown file as sections with anchors."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markdown_it.token import Token
from markupsafe import Markup

from app.lessons.markdown import parse, render

_IMAGES = "static/"
_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
"""What other programs find a place in the file by."""


@dataclass(frozen=True)
class Section:
    """What stands under one heading.

    Attributes
    ----------
    level : int
        1 for the page's title.
    anchor : str
        Id of the heading, unique on its page.
    text : str
        All words under the heading, without markup.
    """

    level: int
    title: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Page:
    """A rendered page.

    Attributes
    ----------
    name : str
        Last part of its address.
    path : str
        The file, relative to the project.
    summary : str
        What it answers.
    body : Markup
        HTML without the title.
    """

    name: str
    path: str
    title: str
    summary: str
    sections: Sequence[Section]
    body: Markup


def read_page(
    name: str, path: str, summary: str, text: str, addresses: Mapping[str, str], static: Callable[[str], str]
) -> Page:
    """Parse a Markdown file whose first line is its title.

    Parameters
    ----------
    name, path, summary
        See :class:`Page`.
    text
        Its content.
    addresses
        Of the pages, by the path of their file.  Other relative links lead nowhere on a server and become text.
    static
        From the path of an image below ``static/`` to its address.
    """
    tokens = parse(_COMMENT.sub("", text))
    sections = list(_sections(tokens))
    for token in tokens:
        if token.children:
            for child in token.children:
                if child.type == "image":
                    child.attrSet("src", _image(str(child.attrGet("src")), posixpath.dirname(path), static))
            token.children = _links(token.children, posixpath.dirname(path), addresses)
    return Page(name, path, sections[0].title, summary, sections, render(tokens[3:]))


def _sections(tokens: Sequence[Token]) -> list[Section]:
    """Return the sections, and give each heading its anchor."""
    heads = [i for i, token in enumerate(tokens) if token.type == "heading_open"]
    sections: list[Section] = []
    for at, end in zip(heads, [*heads[1:], len(tokens)], strict=True):
        title = _words(tokens[at + 1 : at + 2])
        anchor = _unique(re.sub(r"\W+", "-", title.lower()).strip("-"), {section.anchor for section in sections})
        tokens[at].attrSet("id", anchor)
        sections.append(Section(int(tokens[at].tag[1:]), title, anchor, _words(tokens[at + 3 : end])))
    return sections


def _unique(anchor: str, taken: set[str]) -> str:
    number = 1
    while (candidate := anchor if number == 1 else f"{anchor}-{number}") in taken:
        number += 1
    return candidate


def _words(tokens: Sequence[Token]) -> str:
    """Return the text of tokens, with a space between blocks."""
    texts = [token.content for token in tokens if token.type in ("fence", "code_block")]
    for token in tokens:
        pieces = [" " if each.type == "softbreak" else each.content for each in token.children or ()]
        texts.append("".join(pieces))
    return " ".join(text for text in texts if text)


def _links(tokens: Sequence[Token], folder: str, addresses: Mapping[str, str]) -> list[Token]:
    """Return the tokens of a line with its links as the server knows them."""
    kept: list[Token] = []
    dropped = 0
    for token in tokens:
        if token.type == "link_open":
            address = _address(str(token.attrGet("href")), folder, addresses)
            dropped += not address
            if not address:
                continue
            token.attrSet("href", address)
        if token.type == "link_close" and dropped:
            dropped -= 1
            continue
        kept.append(token)
    return kept


def _address(target: str, folder: str, addresses: Mapping[str, str]) -> str:
    """Return where a link leads; empty if it leads to a file that no page shows."""
    if ":" in target or target.startswith(("#", "/")):
        return target
    path, _, anchor = target.partition("#")
    page = addresses.get(posixpath.normpath(posixpath.join(folder, path)), "")
    return f"{page}#{anchor}" if page and anchor else page


def _image(source: str, folder: str, static: Callable[[str], str]) -> str:
    path = posixpath.normpath(posixpath.join(folder, source))
    return static(path.removeprefix(_IMAGES)) if path.startswith(_IMAGES) else source
