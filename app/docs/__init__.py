"""The project's pages of documentation: the Markdown files beside the code, rendered and searched."""

from app.docs.library import Library
from app.docs.page import Page, Section
from app.docs.search import Hit, search

__all__ = ["Hit", "Library", "Page", "Section", "search"]
