"""``tvm.contrib.tar``: archives of object files."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path

from compiler.classic.contrib.utils import TempDirectory


def tar(output: str, files: str | Sequence[str]) -> None:
    """Write files to an archive, without their folders."""
    with tarfile.open(output, "w") as archive:
        for file in [files] if isinstance(files, str) else files:
            archive.add(file, arcname=Path(file).name)


def untar(tar_file: str, directory: str) -> None:
    """Unpack an archive into a folder; files that would lie outside are refused."""
    with tarfile.open(tar_file) as archive:
        archive.extractall(directory, filter="data")


def normalize_file_list_by_unpacking_tars(temp: TempDirectory, file_list: Sequence[str]) -> list[str]:
    """Unpack the archives among files, ``.tar``, and return the paths with their files in their place.

    Each is unpacked into a folder of its own in ``temp``.
    """
    files: list[str] = []
    for number, path in enumerate(file_list):
        if not path.endswith(".tar"):
            files.append(path)
            continue
        folder = Path(temp.relpath(f"tar_{number}"))
        folder.mkdir(exist_ok=True)
        untar(path, str(folder))
        files += [str(folder / name) for name in sorted(p.name for p in folder.iterdir())]
    return files


tar.output_format = "tar"  # type: ignore[attr-defined]  # export_library asks for it
