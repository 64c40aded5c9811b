"""Creates the application: configuration, script runner, blueprints."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Mapping
from pathlib import Path

from flask import Flask

from app import services
from app.config import Config, ConfigurationError
from app.memory import give_freed_memory_back
from app.runners import start_renderer, start_runner
from app.sandbox import Runner
from app.store.data_directory import open_data_directory
from app.store.database import without_password
from app.views import BLUEPRINTS
from app.web import assets, error_responses, security
from app.web.bodies import FORM_BYTES
from app.web.proxies import behind
from app.workers.tasks import Renderer

log = logging.getLogger(__name__)
ROOT = Path(__file__).parent.parent


def create_app(
    config: Config | Mapping[str, object] | None = None, runner: Runner | None = None, renderer: Renderer | None = None
) -> Flask:
    """Create the application.

    Parameters
    ----------
    config
        Settings, or some of them by name; the others come from ``STRATA_*`` in the environment.
    runner
        Runs scripts; by default the strictest sandbox available.
    renderer
        Decodes and renders answers; by default in separate processes, if the system supports that.

    Raises
    ------
    ConfigurationError
        If the settings are inconsistent, would accept public connections without a sandbox, or name a data directory
        that cannot be written to.
    """
    if not isinstance(config, Config):
        config = Config.read(config)
    give_freed_memory_back()
    app = Flask("app", root_path=str(ROOT), static_folder=None, template_folder="templates")
    app.config.update(MAX_CONTENT_LENGTH=config.body_bytes, MAX_FORM_MEMORY_SIZE=min(config.body_bytes, FORM_BYTES))
    app.wsgi_app = behind(config.proxies, app.wsgi_app)  # type: ignore[method-assign, assignment]
    open_data_directory(config.data_dir)
    if config.lessons_dir is not None and not config.lessons_dir.is_dir():
        raise ConfigurationError(f"there is no directory {config.lessons_dir} with lessons")
    if runner is None:
        runner = start_runner(config)
        atexit.register(runner.close)
    if renderer is None:
        renderer = start_renderer(config)
        atexit.register(renderer.close)
    log.info("opening the links: %s", without_password(config.links_database))
    services.install(app, services.build_services(config, runner, renderer))
    assets.install(app, ROOT / "static")
    error_responses.install(app)
    security.install(app, config.rate_limit, config.trusted_hosts, other_origins(config, runner))
    app.add_template_global(lambda: runner.tier.safe_for_public, "sandboxed")
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    return app


def other_origins(config: Config, runner: Runner) -> list[str]:
    """Return the other sites whose pages may use the API: a script of theirs runs here, so none without a sandbox."""
    if not runner.tier.safe_for_public:
        return []
    named = [origin.strip() for origin in config.origins.split(",") if origin.strip()]
    return named or ([] if config.loopback else ["*"])
