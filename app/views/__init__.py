"""The pages and the API, one blueprint each."""

from __future__ import annotations

from app.views import (
    api,
    challenges,
    charts,
    classes,
    docs,
    editor,
    explorer,
    exports,
    figures,
    functions,
    graphs,
    health,
    lessons,
    links,
    live,
    mcp,
    metrics,
    scrubs,
    searches,
    site,
    targets,
    texts,
)

BLUEPRINTS = (
    explorer.bp,
    charts.bp,
    exports.bp,
    figures.bp,
    editor.bp,
    graphs.bp,
    api.bp,
    links.bp,
    lessons.bp,
    classes.bp,
    live.bp,
    challenges.bp,
    docs.bp,
    targets.bp,
    texts.bp,
    functions.bp,
    scrubs.bp,
    searches.bp,
    site.bp,
    health.bp,
    metrics.bp,
    mcp.bp,
)
"""All blueprints of the application."""
