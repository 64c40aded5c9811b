"""Write a model to a file: ``python -m tests.models NAME FILE``."""

import sys
from pathlib import Path

from tests.models import MODELS, build

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in MODELS:
        sys.exit(f"usage: python -m tests.models {{{','.join(MODELS)}}} FILE")
    Path(sys.argv[2]).write_bytes(build(sys.argv[1]).SerializeToString())
