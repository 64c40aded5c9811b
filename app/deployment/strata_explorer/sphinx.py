"""The directive ``strata`` for books made with Sphinx or MyST: a link of an explorer, in a frame with a caption.

::

    .. strata:: https://strata.example/z/1a2b3c4d
       :pane: asm
       :height: 480

       The loop after vectorization.

Other formats show the caption and the link.
"""

from __future__ import annotations

import html
import re
from typing import Any, ClassVar
from urllib.parse import urlencode

try:
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives
except ImportError as error:
    raise ImportError(
        f"{__name__}: a directive needs docutils, which Sphinx brings, or the extra strata-explorer[sphinx]: {error}"
    ) from None

_LINK = re.compile(r"https?://[^/\s]+(?:/[^?#\s]*)?/z/[\w-]+")


class Strata(Directive):
    """A link in a frame; its content is the caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "pane": directives.unchanged_required,
        "theme": lambda argument: directives.choice(argument, ("light", "dark")),
        "height": directives.positive_int,
    }

    def run(self) -> list[nodes.Node]:
        """Return a figure: the frame in HTML, the link elsewhere, and the caption."""
        link = self.arguments[0]
        if not _LINK.fullmatch(link):
            raise self.error(f"strata: expected a link such as https://strata.example/z/1a2b3c4d, got {link!r}")
        asked = {"view": "embed"} | {name: self.options[name] for name in ("pane", "theme") if name in self.options}
        source = html.escape(f"{link}?{urlencode(asked)}")
        caption = nodes.caption("", *self._words())
        title = html.escape(caption.astext() or "A tensor program in Strata", quote=True)
        frame = (
            f'<iframe src="{source}" title="{title}" width="100%" height="{self.options.get("height", 480)}"'
            ' style="border: 0" loading="lazy"></iframe>'
        )
        figure = nodes.figure("", nodes.raw("", frame, format="html"))
        caption += [nodes.Text(" ")] * bool(caption.children) + [nodes.reference("", "Open in Strata", refuri=link)]
        figure += caption
        return [figure]

    def _words(self) -> list[nodes.Node]:
        """Return the words of the content with their markup, of all its paragraphs in one line."""
        content = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, content)
        if other := next((part for part in content.children if not isinstance(part, nodes.paragraph)), None):
            raise self.error(f"strata: the caption has paragraphs only, got a {other.tagname}")
        between = [[nodes.Text(" "), *part.children] for part in content.children]
        return [word for part in between for word in part][1:]


def setup(application: Any) -> dict[str, bool]:
    """Register the directive; Sphinx calls this."""
    application.add_directive("strata", Strata)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
