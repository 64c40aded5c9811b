"""Running a file of tests as a program."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the tests of the file that calls this, with the arguments of the command line, and end the process.

    Raises
    ------
    SystemExit
        With pytest's exit code.

    Examples
    --------
    ::

        if __name__ == "__main__":
            tvm.testing.main()
    """
    import pytest

    file = sys._getframe(1).f_code.co_filename
    raise SystemExit(pytest.main(["-p", "tvm.testing.plugin", file, *sys.argv[1:]]))
