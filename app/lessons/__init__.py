"""Lessons: one Markdown file each, with checks for every step."""

from app.lessons.checks import Check, Verdict
from app.lessons.evidence import Evidence
from app.lessons.lesson import Lesson, LessonError, Step
from app.lessons.library import Library

__all__ = ["Check", "Evidence", "Lesson", "LessonError", "Library", "Step", "Verdict"]
