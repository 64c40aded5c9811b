"""Temporary files, and what is said about files: ``tvm.contrib.utils``."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from compiler.ir.error import ArgumentError

__all__ = ["TempDirectory", "is_source_path", "tempdir", "which"]

_SOURCES = (".cc", ".cpp", ".c", ".cu", ".cl", ".ll", ".s", ".py")


class TempDirectory:
    """A folder for temporary files, removed with the object, or at the end of a ``with`` block.

    Parameters
    ----------
    custom_path : str or Path, optional
        A folder to be used instead, which must not exist yet.
    keep_for_debug : bool
        Leave the folder where it is.

    Raises
    ------
    ArgumentError
        If ``custom_path`` exists.
    """

    def __init__(self, custom_path: str | Path | None = None, keep_for_debug: bool = False) -> None:
        self._keep = keep_for_debug
        if custom_path is None:
            self.path = Path(tempfile.mkdtemp(prefix="tvm-"))
        else:
            self.path = Path(custom_path)
            if self.path.exists():
                raise ArgumentError(f"TempDirectory: {self.path} exists")
            self.path.mkdir(parents=True)

    @property
    def temp_dir(self) -> Path:
        """The folder."""
        return self.path

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        if not self._keep:
            shutil.rmtree(self.path, ignore_errors=True)

    def relpath(self, name: str) -> str:
        """Return the path of a file in the folder.

        Parameters
        ----------
        name : str
            Its name, or its path from the folder on.

        Returns
        -------
        str
        """
        return str(self.path / name)

    def listdir(self) -> list[str]:
        """Return the names of the files in the folder.

        Returns
        -------
        list of str
        """
        return os.listdir(self.path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()

    def __del__(self) -> None:
        if hasattr(self, "path"):
            self.remove()


def tempdir(custom_path: str | Path | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """Return a folder for temporary files.

    Parameters
    ----------
    custom_path : str or Path, optional
        A folder to be used instead, which must not exist yet.
    keep_for_debug : bool
        Leave the folder where it is.

    Returns
    -------
    TempDirectory

    Examples
    --------
    >>> temp = tvm.contrib.utils.tempdir()
    >>> lib.save(temp.relpath("lib.o"))
    """
    return TempDirectory(custom_path, keep_for_debug)


def is_source_path(path: str) -> bool:
    """Return whether a path names a file of source code.

    Parameters
    ----------
    path : str

    Returns
    -------
    bool
    """
    return os.path.splitext(path)[1] in _SOURCES


def which(exec_name: str) -> str | None:
    """Return where a program is.

    Parameters
    ----------
    exec_name : str

    Returns
    -------
    str or None
        Its path, if it can be run.
    """
    return shutil.which(exec_name)
