"""What is kept of a run of recorded sessions in files of its own: the results, the sessions with them, and a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path, PurePath
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from evalharness.documents.session import Session
from evalharness.documents.session_checks import check_lines, eval_result, state_of
from evalharness.documents.session_results import (
    EvalRun,
    RepeatedEval,
    Repeats,
    Result,
    RunOutput,
    RunOutputConfig,
    Summary,
    duration_text,
)
from evalharness.domain.plain_numbers import count
from evalharness.errors import UsageError
from evalharness.redaction import Redactor
from evalharness.reports.json_text import json_text
from evalharness.reports.wording import harmless, money

GOOD, FAIR = 0.75, 0.5
LABEL_WIDTH = 14
STATUS_MARKS = {"flaky": "~", "failing": "✗", "incomplete": "?", "stable": "✓"}
MARKS = {"passed": "✓", "failed": "✗", "error": "✗", "skipped": "-", "awaiting": "?"}


def save_run_json(run: EvalRun, folder: Path, redactor: Redactor) -> Path:
    """The results alone, with what each agent said and printed: `<run>.json`."""
    return _write(folder / f"{run.name}.json", _json(run.model_dump(mode="json"), redactor))


def save_run_sessions_json(run: EvalRun, folder: Path, redactor: Redactor) -> Path:
    """The run with all its sessions, each with its criteria and its result: `<run>-sessions.json`."""
    return _write(folder / f"{run.name}-sessions.json", _json(run_output(run).model_dump(mode="json"), redactor))


def save_run_log(run: EvalRun, folder: Path, redactor: Redactor) -> Path:
    """The run as people read it: `<run>.log`."""
    lines = [*_header(run), *(line for result in run.results for line in result_lines(result))]
    text = "\n".join([*lines, *summary_lines(run.summary, run.duration)]) + "\n"
    return _write(folder / f"{run.name}.log", redactor.redact(text))


def run_output(run: EvalRun) -> RunOutput:
    config = run.config
    return RunOutput(
        name=run.name,
        timestamp=run.timestamp,
        duration=duration_text(run.duration, timedelta(milliseconds=1)),
        config=RunOutputConfig(
            agent=config.agent_filename,
            judge_model=config.judge_model,
            concurrency=config.concurrency,
            evals_dir=config.evals_dir,
            base_image=config.base_image,
            agent_image=config.agent_image,
        ),
        summary=run.summary,
        sessions=tuple(judged_sessions(run)),
    )


def judged_sessions(run: EvalRun) -> Iterator[Session]:
    """An eval that broke before there was a session is not left out: its title and its result are what there is."""
    for position, result in enumerate(run.results):
        session = result.session or Session(title=result.title)
        changes = {"id": session.id or made_up_id(run, position), "eval_result": eval_result(result)}
        yield session.model_copy(update=changes)


def made_up_id(run: EvalRun, position: int) -> str:
    """For a session without one: the same whenever the run is saved, and another in every run."""
    return str(uuid5(NAMESPACE_OID, f"{run.name}/{run.timestamp.isoformat()}/{position}"))


def result_lines(result: Result) -> Iterator[str]:
    lines = check_lines(result)
    mark = MARKS[state_of(result)]
    yield _entry(f"{mark} ", f"{result.title} (${result.cost:.6f})")
    yield from (_entry("  ✓ ", line) for line in lines.successes)
    yield from (_entry(f"  {mark if result.error else MARKS['failed']} ", line) for line in lines.failures)
    yield from (_entry(f"  {MARKS['awaiting']} ", line) for line in lines.awaiting)


def _entry(start: str, text: str) -> str:
    """Further lines of a text are indented, so that none looks like an entry of the log."""
    return harmless(start + text.replace("\n", "\n" + " " * len(start)))


def summary_lines(summary: Summary, duration: timedelta) -> Iterator[str]:
    """Only what there are numbers for."""
    yield ""
    if summary.failed_evals:
        yield _summary_line("❌", "Errors", f"{summary.failed_evals}/{summary.total_evals} evaluations failed")
    yield from _share("Sizes", summary.sizes_passed, summary.sizes_total)
    if summary.tools_count:
        mean = summary.tools_f1_sum / summary.tools_count
        evals = f"({summary.tools_count} eval{'' if summary.tools_count == 1 else 's'})"
        yield _summary_line(_icon(mean), "Tool Calls", f"{mean:.1%} avg F1 {evals}")
    yield from _share("Relevance", int(summary.relevance_passed), int(summary.relevance_total))
    yield from _share("Assertions", summary.assertions_passed, summary.assertions_total)
    if summary.repeats:
        yield from repeat_lines(summary.repeats)
    yield ""
    yield f"Total Cost: ${summary.total_cost:.6f}"
    yield f"Total Time: {duration_text(duration, timedelta(seconds=1))}"


def repeat_lines(repeats: Repeats, most: int | None = None, rest_in: str = "") -> Iterator[str]:
    """How reliable the evals are, the most unreliable first, with reasons and with costs far from the others.

    With `most`, only so many, and only those that deserve a look; `rest_in` names where the rest can be read.
    """
    evals, k = repeats.evals, repeats.k
    yield from _share(f"pass@{k}", sum(each.passed > 0 for each in evals), len(evals), "evals passed at least once")
    yield from _share(
        f"pass^{k}", sum(each.status == "stable" for each in evals), len(evals), "evals passed every time"
    )
    yield ""
    counts = Counter(each.status for each in evals)
    yield f"Repeats: {', '.join(f'{number} {status}' for status, number in counts.items())}"
    shown = evals if most is None else tuple(filter(_deserves_a_look, evals))[:most]
    for each in shown:
        yield from _repeated_lines(each)
    if hidden := len(evals) - len(shown):
        yield f"  … and {count(hidden, 'more eval')} ({rest_in} has all)"


def _deserves_a_look(found: RepeatedEval) -> bool:
    return found.status != "stable" or (found.cost is not None and bool(found.cost.outliers))


def _repeated_lines(found: RepeatedEval) -> Iterator[str]:
    """Several evals may have the same title, so the name of the file stands beside it."""
    cost = found.cost
    name = f"{found.title} ({PurePath(found.input_path).name})"
    spread = f"median {money(cost.median)} (range {money(cost.min)}–{money(cost.max)})" if cost else "unknown"
    yield _entry(f"  {STATUS_MARKS[found.status]} ", f"{name}: {found.passed}/{found.total} passed, cost {spread}")
    for title in found.failed_runs:
        yield _entry(f"      {MARKS['failed']} ", f"{title}: {'; '.join(found.reasons.get(title, ()))}")
    for outlier in cost.outliers if cost else ():
        yield _entry("      $ ", f"{outlier.title}: {money(outlier.cost)}, {outlier.ratio:.1f} × the median")


def _share(label: str, passed: int, total: int, what: str = "passed") -> Iterator[str]:
    if total:
        yield _summary_line(_icon(passed / total), label, f"{passed}/{total} {what} ({passed / total:.1%})")


def _summary_line(icon: str, label: str, reported: str) -> str:
    return f"{icon} {label:>{LABEL_WIDTH}}: {reported}"


def _icon(share: float) -> str:
    return "✅" if share > GOOD else "⚠️" if share > FAIR else "❌"


def _header(run: EvalRun) -> list[str]:
    config = run.config
    return [
        f"=== Evaluation Run: {run.name} ===",
        f"Started: {_rfc3339(run.timestamp)}",
        f"Agent: {config.agent_filename}",
        f"Evals dir: {config.evals_dir}",
        f"Judge model: {config.judge_model}",
        f"Concurrency: {config.concurrency}",
        "",
    ]


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _json(data: Any, redactor: Redactor) -> str:
    return json_text(redactor.redact_value(data), indent=2) + "\n"


def _write(path: Path, text: str) -> Path:
    make_folder(path.parent)
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    return path


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror or error}") from None


def write_new(folder: Path, names: Iterable[str], text: str) -> Path:
    """Under the first of the names that is free; a file that is there is never replaced."""
    make_folder(folder)
    for name in names:
        try:
            with (folder / name).open("x", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(f"cannot write {folder / name}: {error.strerror or error}") from None
        return folder / name
    raise UsageError(f"no name is free in {folder}")
