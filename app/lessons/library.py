"""The lessons of a server: the built-in ones, and those of a teacher's folder, reloaded when they change."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from app.lessons.lesson import Lesson, LessonError, lesson_name, read_lesson

__all__ = ["TEXTS", "Library"]

TEXTS = Path(__file__).parent / "texts"
MAX_LESSONS = 200
"""The maximum number of lessons in a teacher's folder."""
Stamp = tuple[int, int]
"""The modification time of a file, in nanoseconds, and its size."""


@dataclass
class _File:
    stamp: Stamp
    name: str
    """The name of its lesson."""
    lesson: Lesson | None = None
    error: str = ""


@cache
def _built_in() -> tuple[Lesson, ...]:
    """Read the lessons that come with the explorer, once for all libraries of a process."""
    return tuple(read_lesson(path) for path in sorted(TEXTS.glob("*.md")))


@dataclass
class Library:
    """All lessons, ordered by file name.

    Parameters
    ----------
    folder : Path, optional
        A teacher's lessons, which override built-in ones of the same name.
    """

    folder: Path | None = None
    _files: dict[Path, _File] = field(init=False, default_factory=dict)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    @property
    def lessons(self) -> list[Lesson]:
        """The current lessons: the teacher's, followed by the built-in ones."""
        own = [file.lesson for file in self._current() if file.lesson]
        names = {lesson.name for lesson in own}
        return [*own, *(lesson for lesson in _built_in() if lesson.name not in names)]

    @property
    def errors(self) -> list[str]:
        """The errors in the teacher's folder."""
        return [file.error for file in self._current() if file.error]

    def find(self, name: str) -> Lesson | None:
        """Look up a lesson by name."""
        return next((lesson for lesson in self.lessons if lesson.name == name), None)

    def problem(self, name: str) -> str:
        """Return the error in the file of a lesson, if any."""
        return next((file.error for file in self._current() if file.name == name), "")

    def _current(self) -> list[_File]:
        """Reload changed files of the teacher's folder; a lesson whose file is broken is kept as it was."""
        if self.folder is None:
            return []
        with self._lock:
            stamps = {path: _stamp(path) for path in sorted(self.folder.glob("*.md"))[:MAX_LESSONS]}
            self._files = {path: self._read(path, stamp) for path, stamp in stamps.items()}
            return list(self._files.values())

    def _read(self, path: Path, stamp: Stamp) -> _File:
        before = self._files.get(path)
        if before is not None and before.stamp == stamp:
            return before
        try:
            return _File(stamp, lesson_name(path), read_lesson(path, own=True))
        except LessonError as error:
            return _File(stamp, lesson_name(path), before.lesson if before else None, str(error))


def _stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
