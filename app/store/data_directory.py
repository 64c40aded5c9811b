"""The directory of everything that a server keeps."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

from app.config import ConfigurationError
from app.store.faults import is_disk_full


def open_data_directory(path: Path) -> None:
    """Create the data directory if it is missing, and try whether files can be written there.

    A full disk is no reason not to start: what is stored can be read, and whatever cannot be stored says so.

    Raises
    ------
    ConfigurationError
        If the directory cannot be created or written to, or its name is not text.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise ConfigurationError(
            f"the data directory {str(path)!a} has characters that the locale of this process cannot read: "
            "set LC_ALL=C.UTF-8 or PYTHONUTF8=1, or let --data name another"
        ) from None
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ConfigurationError(f"the data directory {path} is a file (ENOTDIR); --data names another") from error
    except OSError as error:
        raise ConfigurationError(f"the data directory {path} cannot be created: {reason(error)}") from error
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(b"\n")
    except OSError as error:
        if not is_disk_full(error):
            raise ConfigurationError(f"the data directory {path} cannot be written to: {reason(error)}") from error


def check_temporary_directory() -> None:
    """Try whether temporary files can be made.

    Raises
    ------
    ConfigurationError
        If there is no place for them.
    """
    try:
        with tempfile.TemporaryFile():
            pass
    except OSError as error:
        raise ConfigurationError(f"there is no place for temporary files: {reason(error)}; TMPDIR names one") from error


def reason(error: OSError) -> str:
    """Return an error of the operating system in words, with its symbol."""
    symbol = errno.errorcode.get(error.errno or 0, "")
    words = error.strerror or str(error)
    return f"{words} ({symbol})" if symbol else words
