"""The pages and the API, a blueprint each."""

from __future__ import annotations

from app.views import api, explorer, health, links

BLUEPRINTS = (explorer.bp, api.bp, links.bp, health.bp)
"""All blueprints of the application."""
