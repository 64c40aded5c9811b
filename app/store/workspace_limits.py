"""Limits on workspaces, checked before compiling or saving."""

from __future__ import annotations

from app.artifacts import Workspace
from app.errors import InvalidBody, TooLarge
from app.sandbox import StoredFile, check_name
from app.store.uploads import Uploads

MAX_FILES = 64
"""Maximum number of attached files of a workspace."""
MAX_UPLOADS = 16
"""Maximum number of uploaded files that a workspace refers to."""
FRAME_BYTES = 5 << 20
"""Size of a saved workspace without files: the longest script in four-byte characters, and a margin."""


def content_bytes(workspace: Workspace) -> int:
    """Return the size of a workspace's script and attached files."""
    return len(workspace.script) + sum(map(len, workspace.files.values()))


class WorkspaceLimits:
    """Limits of the files of a workspace.

    Parameters
    ----------
    uploads : Uploads
        The uploaded files.
    files_bytes : int
        Limit on the total size of attached files.
    uploads_bytes : int
        Limit on the total size of uploaded files; a file referred to twice counts twice, as a job gets two copies.
    """

    def __init__(self, uploads: Uploads, files_bytes: int, uploads_bytes: int) -> None:
        self._uploads = uploads
        self._files_bytes = files_bytes
        self._uploads_bytes = uploads_bytes

    @property
    def content_bytes(self) -> int:
        """Size limit of a saved workspace."""
        return self._files_bytes + FRAME_BYTES

    def check(self, workspace: Workspace) -> dict[str, StoredFile]:
        """Check a workspace, and return the uploaded files that it refers to.

        Raises
        ------
        InvalidBody
            If a file name is not plain, or there are too many files.
        TooLarge
            If the files exceed their size limit.
        NotFound
            If an uploaded file does not exist.
        Damaged
            If an uploaded file is corrupted.
        """
        _check_count("attached files", "$.files", len(workspace.files), MAX_FILES)
        _check_count("stored files", "$.uploads", len(workspace.uploads), MAX_UPLOADS)
        try:
            for name in (*workspace.files, *workspace.uploads):
                check_name(name)
        except ValueError as error:
            raise InvalidBody(str(error), field="$.files", expected="plain file names") from error
        _check_size("attached files", "$.files", sum(map(len, workspace.files.values())), self._files_bytes)
        stored = {}
        for name, file in workspace.uploads.items():
            stored[name] = self._uploads.find(name, file)
            size = sum(one.size for one in stored.values())
            _check_size("stored files", "$.uploads", size, self._uploads_bytes)
        return stored


def _check_count(what: str, field: str, count: int, limit: int) -> None:
    if count > limit:
        raise InvalidBody(f"the workspace has {count} {what}", field=field, expected=f"at most {limit}")


def _check_size(what: str, field: str, size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(f"the {what} have {size:,} bytes together", field=field, expected=f"at most {limit:,} bytes")
