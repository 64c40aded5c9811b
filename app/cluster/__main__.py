"""Runs a worker machine of a cluster: ``python -m app.cluster``."""

from __future__ import annotations

import argparse
import sys

from app import __version__


def main() -> None:
    """Work for a cluster, by the settings in the environment."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description="A machine that runs scripts for the servers of a cluster.",
        epilog="STRATA_SCHEDULER is the address of the Dask scheduler, STRATA_STORE the store of files.",
    )
    parser.add_argument("--version", action="version", version=f"strata {__version__}")
    parser.parse_args()
    try:
        from app.cluster.worker import run
    except ImportError as error:
        sys.exit(f"strata: no machine of a cluster can be started: {error}; pip install 'strata-explorer[cluster]'")
    run()


if __name__ == "__main__":
    main()
