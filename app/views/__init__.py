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
    graphs,
    health,
    lessons,
    links,
    mcp,
    metrics,
    proposals,
    searches,
    site,
    targets,
    texts,
    traces,
    webgpu,
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
    challenges.bp,
    docs.bp,
    targets.bp,
    texts.bp,
    traces.bp,
    webgpu.bp,
    proposals.bp,
    searches.bp,
    site.bp,
    health.bp,
    metrics.bp,
    mcp.bp,
)
"""All blueprints of the application."""
