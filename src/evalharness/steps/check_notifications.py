"""Check notifications: a suite that wants to notify somebody, and names nobody, is fine where the settings do."""

from __future__ import annotations

from dataclasses import replace

from evalharness.domain.suite import NOBODY_NOTIFIED, LoadedFile
from evalharness.settings import Settings


def with_notified(file: LoadedFile, settings: Settings) -> LoadedFile:
    """The file without the warning that the settings answer."""
    if not settings.notifies:
        return file
    return replace(file, problems=tuple(each for each in file.problems if each.message != NOBODY_NOTIFIED))
