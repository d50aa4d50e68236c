"""Every exception the harness raises on purpose, and the exit code each one means.

    HarnessError                   3  something broke; the run cannot be trusted
    ├── UsageError                 2  the command or call was wrong
    │   ├── InvalidValue           2  Python code made a record from a value that it cannot have
    │   ├── InvalidFile            2  one or more files have problems; carries all of them
    │   ├── DatasetValidationError 2  a workflow dataset has issues; carries all of them
    │   ├── MissingVariable        2  {{variables}} without a value
    │   ├── UnknownName            2  no such grader, target, run, …; carries a did-you-mean
    │   │   ├── NamesNoFunction    2  a Python file where one of its functions is meant
    │   │   └── NoSuchFile         2  a Python file that does not exist
    │   ├── ImportFailed           2  a named function's module or file cannot be imported
    │   ├── NothingSelected        2  the filters left no case
    │   │   └── NothingFailed      0  only failed cases were asked for, and every case passed
    │   ├── NoVerdict              2  a judge that is being calibrated never gives a verdict
    │   ├── CannotResume           2  the run cannot be continued as asked
    │   └── RunBusy                2  another process is running this run
    ├── Interrupted              130  stopped by the user during work that `resume` cannot continue
    ├── StoreError                 3  the store cannot be read or written
    ├── IncompleteVerdict          3  a judge gave no verdict on some criteria; carries those it gave
    ├── SpendCapReached            3  the run may cost no more; what is finished is kept, the rest stays pending
    ├── ReplayMiss                 3  a replayed trial made a call that was not recorded; nothing was sent
    └── TargetUnavailable          3  the target could not be reached: a trial ends in `error`, never in `failed`
        ├── ModelUnavailable       3  a language model gave no reply: limits, faults, refused keys
        ├── ImpossibleFigure       3  an answer's cost, token count or duration is impossible: the trial ends in `error`
        └── SandboxUnavailable     3  untrusted code cannot be isolated, so it is not run

    TrialFault                        inside one trial, never leaves the engine
    ├── TargetFailed                  the target gave no usable answer: the trial is `failed` with this reason
    │   └── EndStateUnreadable        what it left in its container cannot be copied, through its own doing
    ├── TrialSkipped                  the trial cannot be judged: `skipped` with this reason
    ├── BadReply                      a model's reply is not valid, even after repairs
    ├── CallCutOff                    a replayed call was cut off by the target's time limit when it was recorded
    └── Unscored                      the grader could not decide: an `unscored` grade with this reason

This module has no behaviour beyond messages. `engine/running/attempt.py` turns an exception into a trial's state,
`cli/main.py` into an exit code.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from traceback import StackSummary, TracebackException
from typing import Any

KEPT = "finished trials are kept"
LISTED_IN_FULL = 12
LISTED_OF_MANY = 5
MOST_FRAMES = 30
_OUR_FOLDER = __file__.removesuffix("errors.py")


class Hint:
    """What to do next, if that is a command or a flag. Like findings, hints are worded in `reports/words`."""

    def __init__(self, code: str, /, **params: Any) -> None:
        """`code` is one of `domain.finding_codes.HintCode`."""
        self.code = code
        self.params = params

    def __repr__(self) -> str:
        return f"{self.code} {self.params}"


class HarnessError(Exception):
    """Something broke. `hint` says what to do next and is printed on its own line."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str | Hint = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if self.plain_hint:
            self.add_note(self.plain_hint)  # Python prints it below the message

    @property
    def plain_hint(self) -> str:
        """The hint if it is a text, else empty; for reasons of trials and grades, which are texts."""
        return self.hint if isinstance(self.hint, str) else ""


class UsageError(HarnessError):
    exit_code = 2


class InvalidValue(UsageError, ValueError):
    """Python code made a record from a value that it cannot have."""


class InvalidFile(UsageError):
    """Files with problems; `problems` has all of them (`domain.problem.Problem`).

    `rest` is what could be read anyway (a `Source` of `formats.syntax`), so that its problems can be reported too.
    """

    def __init__(self, problems: Sequence[Any], rest: Any = None) -> None:
        errors = [problem for problem in problems if problem.severity == "error"]
        count = len(errors)
        super().__init__(f"{count} problem{'' if count == 1 else 's'} found")
        self.problems = tuple(problems)
        self.rest = rest

    def __str__(self) -> str:
        return "\n".join([self.message, *map(str, self.problems)])


class DatasetValidationError(UsageError):
    """An invalid workflow dataset; `issues` has every reason (`datasets.DatasetIssue`), one per line."""

    def __init__(self, issues: Sequence[Any]) -> None:
        super().__init__("\n".join(map(str, issues)))
        self.issues = tuple(issues)


class MissingVariable(UsageError):
    def __init__(self, names: Iterable[str], where: str, case: str = "") -> None:
        """`case` is the one in which a prompt needs them."""
        self.names = sorted(set(names))
        values = f"{'a value' if len(self.names) == 1 else 'values'} for {', '.join(self.names)}"
        super().__init__(
            f"{where} needs {values}" + (f" in case '{case}'" if case else ""),
            hint=Hint("hint.give_case_variables" if case else "hint.give_variables", names=self.names),
        )


class UnknownName(UsageError):
    """`kind` and `name` as the user wrote them, with every valid choice and the most likely one.

    A kind may say where it was looked for: `function in agent.py`.
    """

    hint: str

    def __init__(self, kind: str, name: str, choices: Iterable[str], guess: str = "", what: str = "") -> None:
        """`what` replaces "unknown KIND 'NAME'"."""
        self.kind, self.name = kind, name
        self.choices = list(dict.fromkeys(choices))
        noun, place = re.fullmatch(r"(.+?)((?: (?:in|of) .+)?)", kind).groups()  # type: ignore[union-attr]
        self.what = what or f"unknown {noun} '{name}'{place}"
        self.guess = guess or closest(name, self.choices) or ""
        asked = f". Did you mean '{self.guess}'?" if self.guess else ""
        super().__init__(
            f"{self.what}{asked}",
            hint=f"known: {_listed(self.choices)}" if self.choices else "",
        )

    def guessing(self, guess: str) -> UnknownName:
        """The same, where something else is known to be meant than what resembles the name."""
        return UnknownName(self.kind, self.name, self.choices, guess, self.what)


class NamesNoFunction(UnknownName):
    """A Python file in place of one of its functions."""

    def __init__(self, file: str, functions: Sequence[str]) -> None:
        what = f"'{file}' is a file without a function; for a program, write cmd:python {file}"
        if functions:
            what = f"'{file}' is a file; name the function: {_listed(functions)}"
        super().__init__("target", file, [], what=what)
        self.message = what
        self.args = (what,)


class NoSuchFile(UnknownName):
    """The Python file of a reference; `others` are those beside it."""

    def __init__(self, file: str, others: Iterable[str], function: str = "") -> None:
        meant = closest(file, others)
        colon = ":" if function else ""
        super().__init__("file", file, [], f"{meant}{colon}{function}" if meant else "", f"no file {file}")
        self.hint = self.hint or "paths are relative to the suite file, or on the command line to the current folder"


def _listed(choices: Sequence[str]) -> str:
    """All choices if they are few, else only the first ones."""
    if len(choices) <= LISTED_IN_FULL:
        return ", ".join(map(one_word, choices))
    return f"{', '.join(map(one_word, choices[:LISTED_OF_MANY]))} and {len(choices) - LISTED_OF_MANY} more"


def one_word(name: str) -> str:
    """A name as it may stand in a list, or be copied into a command: in quotes where it has spaces."""
    return name if len(name.split()) == 1 else shlex.quote(name)


class ImportFailed(UsageError):
    """Importing a user's code raised `error`; the message ends with the place."""

    def __init__(self, error: BaseException) -> None:
        text = f"{type(error).__name__}: {error}".rstrip(": ")
        place = raised_at(error)
        super().__init__(f"{text} ({place})" if place else text, hint=Hint("hint.stack_trace"))


class NothingSelected(UsageError):
    pass


class NothingFailed(NothingSelected):
    exit_code = 0


class NoVerdict(UsageError):
    """A judge that is being calibrated never gives a verdict."""


class CannotResume(UsageError):
    pass


class RunBusy(UsageError):
    pass


class Interrupted(HarnessError):
    exit_code = 130


class StoreError(HarnessError):
    pass


class IncompleteVerdict(HarnessError):
    """`results` are the verdicts that a judge did give (`sessions.RelevanceResult`), in the order of the criteria."""

    def __init__(self, message: str, results: Sequence[Any]) -> None:
        super().__init__(message)
        self.results = tuple(results)


class ReplayMiss(HarnessError):
    """A replayed trial made a call that was not recorded: nothing was sent."""


class SpendCapReached(HarnessError):
    pass


class TargetUnavailable(HarnessError):
    """Raise this from a target if the target is not at fault: the trial becomes `error` and may be retried.

    `evidence` (a partial transcript, if there is one) is kept with the trial.
    """

    evidence: Any = None


class ModelUnavailable(TargetUnavailable):
    """A language model gave no reply after all attempts. `status` is the HTTP status of the last refusal, if any."""

    def __init__(self, message: str, *, hint: str | Hint = "", status: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class ImpossibleFigure(TargetUnavailable):
    """An answer reports an impossible cost, token count or duration; the answer itself may be right."""

    def __init__(self, field: str, value: object, *, evidence: Any = None) -> None:
        super().__init__(f"the answer's {field} cannot be {_number(value)}")
        self.evidence = evidence


def _number(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    try:
        return f"{float(value):g}"  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        return f"this {type(value).__name__}"


class SandboxUnavailable(TargetUnavailable):
    """Untrusted code cannot be isolated, so it is not run."""


class TrialFault(Exception):
    """Ends one trial or one grade; the run continues."""


class TargetFailed(TrialFault):
    """`evidence` (a partial transcript, if there is one) is kept with the trial."""

    def __init__(self, reason: str, *, evidence: Any = None) -> None:
        super().__init__(reason)
        self.evidence = evidence


class EndStateUnreadable(TargetFailed):
    pass


class TrialSkipped(TrialFault):
    pass


class BadReply(TrialFault):
    pass


class CallCutOff(TrialFault):
    """A replayed call: when it was recorded, the time limit of the target came before its reply."""


class Unscored(TrialFault):
    pass


def waited_for(error: BaseException) -> ModelUnavailable | None:
    """What a model was waiting for when its time was up, from the cause of the cancellation; None if unknown."""
    cause = error.__cause__
    while cause is not None and not isinstance(cause, ModelUnavailable):
        cause = cause.__cause__
    return cause


def raised_at(error: BaseException) -> str:
    """The last line of code involved, as file:line. An exception from another process has its own."""
    if isinstance(brought := getattr(error, "raised_at", None), str):
        return brought
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    traceback = error.__traceback__
    place = ""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(_OUR_FOLDER):  # the harness's own frames do not help users find their fault
            place = f"{file}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def trace_of(error: BaseException) -> str:
    """The stack trace without the harness's own frames; empty where no other code was involved."""
    if isinstance(brought := getattr(error, "trace", None), str):
        return brought
    seen = TracebackException.from_exception(error, limit=-MOST_FRAMES)
    return "".join(seen.format()).rstrip() if _keep_foreign_frames(seen) else ""


def _keep_foreign_frames(seen: TracebackException) -> bool:
    """Whether there were any, in the exception or in those behind it."""
    seen.stack = StackSummary.from_list([frame for frame in seen.stack if not frame.filename.startswith(_OUR_FOLDER)])
    found = bool(seen.stack)
    for behind in (seen.__cause__, seen.__context__, *(seen.exceptions or ())):
        if behind is not None:
            found = _keep_foreign_frames(behind) or found
    return found


def closest(name: str, choices: Iterable[str]) -> str | None:
    """The choice that the user most likely meant, or None if none is similar."""
    candidates = list(choices)
    by_lower = {choice.lower(): choice for choice in candidates}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    matches = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else None
