"""``tvm.contrib.tar``: archives of object files."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["tar", "untar"]


def tar(output: str, files: str | Sequence[str]) -> None:
    """Write files to an archive, without their folders.

    Parameters
    ----------
    output : str
        The path of the archive.
    files : str or sequence of str
        Their paths; the names must differ.
    """
    with tarfile.open(output, "w") as archive:
        for file in [files] if isinstance(files, str) else files:
            archive.add(file, arcname=Path(file).name)


def untar(tar_file: str, directory: str) -> None:
    """Unpack an archive.

    Parameters
    ----------
    tar_file : str
        The path of the archive.
    directory : str
        Where the files are written; those that would lie outside are refused.
    """
    with tarfile.open(tar_file) as archive:
        archive.extractall(directory, filter="data")


tar.output_format = "tar"  # type: ignore[attr-defined]  # export_library asks for it
