"""The files of a phase: its report, and the archive of results that it keeps where it passed.

Both stay in the folder of the phase file, whatever its paths and links say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.errors import UsageError
from evalharness.reports.phase_report import is_phase_report
from evalharness.reports.report_files import check_output, unknown_ending, write_documents, write_reports

ENDINGS = (".md", ".markdown")
_UNSAFE = re.compile(r"[^\w.-]+")


def check_phase_outputs(paths: Iterable[str]) -> list[Path]:
    """Raises UsageError for the ending of another kind of file; the files are checked with those of the phase."""
    checked = [Path(path) for path in paths]
    for path in checked:
        if path.suffix.lower() not in ENDINGS:
            raise unknown_ending(path, ENDINGS)
    return checked


def check_phase_report(path: Path, root: Path | None = None) -> None:
    """Before anything is run: raises UsageError for a place outside of `root`, or for a file that would be lost."""
    if root is not None:
        check_inside(path, root)
    check_output(path, is_phase_report)


def archive_phase(
    archive: Path, root: Path, phase_id: str, text: str, runs: Sequence[ReportedRun], presentation: Presentation
) -> list[Path]:
    """The phase's report and the JSON report of each run, in a folder by phase and time; returns the files.

    The end of a run's id keeps two phases of the same second apart.
    """
    first = min((each.report.metadata for each in runs), key=lambda metadata: metadata.timestamp)
    folder = archive / phase_id / _UNSAFE.sub("-", f"{first.timestamp}-{first.run_id[-4:]}")
    check_inside(folder, root)
    summary = folder / "phase.md"
    write_documents([summary], text)
    files = {folder / f"{_UNSAFE.sub('-', each.report.metadata.run_name)}.json": each for each in runs}
    for path, each in files.items():
        write_reports([path], [each], presentation)
    return [summary, *files]


def check_inside(path: Path, root: Path) -> None:
    """Raises UsageError where a path, or a link on its way, leads out of this folder."""
    if not path.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{path} lies outside the folder of the phase file")
