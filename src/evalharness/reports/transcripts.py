"""One case of a run as people read it: what was asked, what happened, what each grader said."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from evalharness.domain.case import Case, as_text
from evalharness.domain.grade import Grade
from evalharness.domain.run import Run
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.reports.screen import Screen
from evalharness.reports.wording import duration, money, naming, size, verdict_words

STYLES = {"passed": "green", "pass": "green", "failed": "red", "fail": "red", "error": "magenta", "unscored": "magenta"}
SHOWN = 4000


class TranscriptReport:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._say = screen.say

    def show_cases(self, run: Run, lines: Iterable[tuple[str, str, str]], store: str | None = None) -> None:
        """Every case with its state and its first reason."""
        for case_id, state, reason in lines:
            self._say(
                (f"{state:<9}", STYLES.get(state, "yellow")),
                case_id,
                (f"  {self._screen.one_line(reason)}" if reason else "", "dim"),
            )
        self._say(("next      ", "dim"), f"{self._screen.command} show {shlex.quote(run.name)} CASE{naming(store)}")

    def show_case(self, case: Case, trials: Iterable[Trial], history: str = "") -> None:
        self._say((f"case {case.id}", "bold"), (f"  {case.name}" if case.name else "", "dim"))
        if history:
            self._block("history", history)
        self._block("asked", as_text(case.content))
        for trial in trials:
            self._trial(trial)

    def _trial(self, trial: Trial) -> None:
        self._say()
        measured = "" if trial.measured_s is None else f" (as reported; measured {duration(trial.measured_s)})"
        head = f"  {duration(trial.duration_s)}{measured}   seed {trial.seed}"
        if trial.cost_usd is not None:
            head += f"   {money(trial.cost_usd)}"
        self._say(
            (f"trial {trial.index + 1}: ", "bold"), (trial.state, STYLES.get(trial.state, "yellow")), (head, "dim")
        )
        for number, attempt in enumerate(trial.attempts, start=1):
            if len(trial.attempts) > 1:
                self._say((f"attempt {number}: {attempt.state}", "dim"))
            self._attempt(attempt)

    def _attempt(self, attempt: Attempt) -> None:
        if attempt.transcript is not None:
            self._transcript(attempt.transcript)
        if attempt.reason and not attempt.grades:
            self._block("reason", attempt.reason)
        for grade in attempt.grades:
            verdict = verdict_words(grade)
            optional = "" if grade.required else " (not required)"
            reason, *rest = self._lines(grade.reason)
            self._say(
                (f"  {grade.grader}: ", ""),
                (verdict, STYLES.get(verdict.partition(" ")[0], "yellow")),
                (f"{optional}  {reason}", "dim"),
            )
            for line in rest:
                self._say((f"    {line}", "dim"))
            for line in _feedback(grade):
                self._block("feedback", line)

    def _transcript(self, transcript: Transcript) -> None:
        for message in transcript.messages:
            ended = message.get("finish_reason")  # told of replies that did not end by themselves: cut, refused
            role = str(message.get("role", "message"))
            self._block(f"{role} ({ended})" if ended else role, as_text(message.get("content")))
        for call in transcript.tool_calls:
            result = f" → {as_text(call.result)}" if call.result is not None else ""
            error = f" ✗ {call.error}" if call.error else ""
            arguments = "" if call.arguments in (None, "", {}) else as_text(call.arguments)
            self._block("tool", f"{call.name}({arguments}){result}{error}")
        if transcript.output is not None:
            self._block("answer", as_text(transcript.output) or "(empty)")
        if transcript.exit_code is not None:
            self._block("exit code", str(transcript.exit_code))
        if transcript.stderr:
            self._block("stderr", transcript.stderr)
        for name, text in transcript.files.items():
            self._block(f"file {name}", text)
        if transcript.truncated:
            lost = f", without {size(transcript.lost_bytes)} in between" if transcript.lost_bytes else ""
            self._say((f"  (the output was cut: only its beginning and end were kept{lost})", "yellow"))

    def _block(self, label: str, text: str) -> None:
        first, *rest = self._lines(text)
        self._say((f"  {label}: ", "dim"), first)
        for line in rest:
            self._say(f"    {line}")

    def _lines(self, text: str) -> list[str]:
        """All but the first are to be indented: no text of others may pass for a line of ours."""
        shown = self._screen.clean(text)
        cut = f"\n… {len(shown) - SHOWN} more characters" if len(shown) > SHOWN else ""
        return (shown[:SHOWN] + cut).splitlines() or [""]


def _feedback(grade: Grade) -> list[str]:
    """What a judge would change about the answer."""
    said = grade.evidence.get("specific_feedback") if isinstance(grade.evidence, Mapping) else None
    return [line for line in said if isinstance(line, str)] if isinstance(said, list) else []
