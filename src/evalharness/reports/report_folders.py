"""The report files that a suite asks for with `reporting:`, by date: `results/2026-01-20/run-143052.json`.

Date and time are those of the run's start, in UTC. `results/latest` links to the newest date.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from evalharness import registry
from evalharness.contracts.reporter import Reporter
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.run import Run
from evalharness.domain.suite import Reporting
from evalharness.errors import HarnessError
from evalharness.reports.report_files import write_reports

LATEST = "latest"
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def write_folder(each: ReportedRun, presentation: Presentation) -> Iterator[Path]:
    """Yields the files; none where the suite asks for none. A run that is resumed replaces its own.

    A file that cannot be written does not keep the others from being written; it is an error at the end.
    """
    run = each.run
    reporters = list(_reporters(run.suite.reporting)) if run and run.suite.reporting else []
    if run is None or run.suite.reporting is None or not reporters:
        return
    place = _confined(Path(run.root), run.suite.reporting.output_dir)
    started = datetime.fromisoformat(run.created_at)
    day = place / f"{started:%Y-%m-%d}"
    day.mkdir(parents=True, exist_ok=True)
    stem = _claimed(day, run, f"run-{started:%H%M%S}", reporters[0].endings[0])
    problems: list[str] = []
    for reporter in reporters:
        path = day / f"{stem}{reporter.endings[0]}"
        try:
            yield from write_reports([path], [each], presentation, reporter.name)
        except OSError as error:
            problems.append(f"{path}: {error.strerror}")
        except HarnessError as error:
            problems.append(error.message)
        finally:
            if path.exists() and not path.stat().st_size:  # claimed, and not written
                path.unlink()
    _link(place / LATEST, day.name)
    if problems:
        raise HarnessError("; ".join(problems))


def _reporters(reporting: Reporting) -> Iterator[Reporter]:
    """Those that are known here. A suite in another format may name others; a warning has said so."""
    known = registry.names("reporter")
    for name in reporting.format:
        if name in known and (reporter := registry.build_reporter(name)).endings:
            yield reporter


def _confined(root: Path, folder: str) -> Path:
    """Links that lead out of the suite's folder do not count."""
    place = root / folder
    if not place.resolve().is_relative_to(root.resolve()):
        raise HarnessError(f"the report folder {folder} is outside the suite's folder")
    return place


def _claimed(day: Path, run: Run, stem: str, ending: str) -> str:
    """What the run's files are called. Of several runs of one second, the first has the short name."""
    others = [path for path in day.glob(f"{stem}.*") if not _is_of(run, path)]
    if not others and _create(day / f"{stem}{ending}", run):
        return stem
    return f"{stem}-{run.id[-4:]}"


def _create(path: Path, run: Run) -> bool:
    """False where another process was quicker."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return _is_of(run, path)
    return True


def _is_of(run: Run, path: Path) -> bool:
    """Every report names its run."""
    return run.name.encode() in path.read_bytes()


def foreign_link(each: ReportedRun) -> Path | None:
    """`latest`, where it links to something that no report is written to: it stays as it is."""
    run = each.run
    if run is None or run.suite.reporting is None or not run.suite.reporting.format:
        return None
    link = Path(run.root) / run.suite.reporting.output_dir / LATEST
    return link if link.is_symlink() and not _DAY.fullmatch(str(link.readlink())) else None


def _link(link: Path, day: str) -> None:
    """Relative, so that the folder can be moved; never back to an earlier date."""
    if link.is_symlink() and (day < (there := str(link.readlink())) or not _DAY.fullmatch(there)):
        return
    if link.exists() and not link.is_symlink():
        raise FileExistsError(errno.EEXIST, "is not a link, so it is left alone", str(link))
    unfinished = link.with_name(f".{link.name}-{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    unfinished.symlink_to(day)
    unfinished.replace(link)
