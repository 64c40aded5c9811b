"""Limits on workspaces, checked before compiling or saving."""

from __future__ import annotations

from app.artifacts import Workspace
from app.errors import InvalidBody, TooLarge
from app.sandbox import StoredFile, check_name
from app.store.uploads import Uploads

MAX_FILES = 64
"""Attached files of one workspace."""
MAX_UPLOADS = 16
"""Stored files that one workspace names."""
FRAME_BYTES = 5 << 20
"""What a saved workspace takes beside its files: the longest script in four-byte characters, and a margin."""


def content_bytes(workspace: Workspace) -> int:
    """Return the size of what a workspace holds itself: its script and its attached files."""
    return len(workspace.script) + sum(map(len, workspace.files.values()))


class WorkspaceLimits:
    """Limits of the files of a workspace.

    Parameters
    ----------
    uploads : Uploads
        Stored files that workspaces name.
    files_bytes : int
        Attached files together.
    uploads_bytes : int
        Stored files together; one that is named twice counts twice, as a job gets two copies.
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
        """Return the stored files that a workspace names.

        Raises
        ------
        InvalidBody
            The names of files are not plain file names, or there are too many.
        TooLarge
            The files are too large together.
        NotFound
            A stored file is not here.
        Damaged
            A stored file is not what was stored.
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
