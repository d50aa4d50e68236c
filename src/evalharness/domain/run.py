"""Run: one suite × one variant × one lock. The lock names everything that decides a result, by digest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any, Literal, TypedDict, get_args

from pydantic import Field, ValidationError

from evalharness.domain.case import Case
from evalharness.domain.exchange import Mode
from evalharness.domain.gate import GateOverrides
from evalharness.domain.grade import GraderType, named_apart
from evalharness.domain.invalid_values import explain
from evalharness.domain.record import Record
from evalharness.domain.report import Failure, Report
from evalharness.domain.sequential import SequentialPlan
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Selection, Suite
from evalharness.domain.trial import Trial
from evalharness.errors import UnknownName, UsageError
from evalharness.values.json_value import Json
from evalharness.values.variables import fill


class CaseLock(Record):
    """By digest: what is asked, who judges the answer, and the case's own target where it has one."""

    case: str
    graders: str
    target: str = ""

    @property
    def key(self) -> str:
        """Two cases with this key can be compared, whatever was asked."""
        return self.joined(self.case, self.graders)

    @staticmethod
    def joined(case: str, graders: str) -> str:
        return f"{case} {graders}"

    @staticmethod
    def asks_the_same(key: str, other: str) -> bool:
        """Whatever graders they have."""
        return key.partition(" ")[0] == other.partition(" ")[0]


class RunLock(Record):
    """Two runs are comparable where these are equal. `variables` holds secret ones by name only (value None)."""

    harness_version: str
    python_version: str
    platform: str
    target: str
    seed: int
    trials: int
    cases: dict[str, CaseLock]
    variables: dict[str, str | None] = Field(default_factory=dict)
    unpinned: tuple[str, ...] = ()
    """What decides results and has no digest: models of providers, servers, programs of the machine."""
    images: dict[str, str] = Field(default_factory=dict)
    """The digests of the container images of its targets and graders, by name."""

    @property
    def keys(self) -> dict[str, str]:
        """By case: what it is compared by."""
        return {case_id: lock.key for case_id, lock in self.cases.items()}


class Origin(Record):
    """How the user named what was run, so that it can be run again."""

    suite: str = ""
    """A path or a name; empty for a suite that was made in Python."""
    has_words: bool = True
    """Whether words can name all of it: not a target that was handed in with its options."""
    format_name: str = ""
    target: str = ""
    """Empty where it is the suite's own."""
    trials: int | None = None
    """None where the suite says how many."""
    timeout_s: float | None = None
    """None where it is the suite's own, like the two that follow."""
    seed: int | None = None
    fail_under: float | None = None
    baseline: str = ""
    """Empty where it is the suite's own, or none."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Those that were given with it, without secrets."""


class ContainerOptions(Record):
    """How containers are run, by whatever part of a run needs them."""

    runtime: Literal["", "docker", "podman"] = ""
    """Empty for the first one that answers."""
    keep: bool = False
    """Whether they are left for the user to look at."""
    pull: Literal["missing", "always", "never"] = "missing"
    """When images are fetched."""


class RunOptions(Record):
    """What the command line or the caller decided about a run, as far as `resume` needs it again."""

    max_concurrency: int | None = None
    max_failures: int | None = None
    grader_type: str | None = None
    sandbox: str = "bubblewrap"
    env: dict[str, str | None] = Field(default_factory=dict)
    sequential: SequentialPlan | None = None
    """When the run may stop early; None for a fixed number of trials."""
    judge_model: str = ""
    """Judges in place of whatever the graders name; `none` leaves their grades outstanding."""
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    use_cache: bool = True
    """Whether verdicts that a judge gave before are used again."""
    run_name: str = ""
    """What the run is called; empty for a name that the store makes up."""
    mode: Mode = "live"
    """Whether calls are recorded or replayed."""
    recordings: str = ""
    """Where `replay` and `auto` look: a run or a folder; empty for the newest recorded run of the suite."""
    recording_name: str = ""
    """What reports call that run or folder."""
    gateway: bool = False
    """Whether targets ask their models through the gateway, also where the suite does not say so."""
    keeps_pace: bool = False
    """Whether streams are replayed as slowly as they were recorded."""
    recording_secret: str = Field(default="", repr=False)
    """What the words are made from that judges must echo; hex, the same in the recording and in its replays."""
    containers: ContainerOptions = ContainerOptions()
    sessions_folder: str = ""
    """Where its sessions and results are saved, also when it is resumed; empty if they are not."""
    origin: Origin = Origin()

    @property
    def is_capped(self) -> bool:
        return self.max_cost_usd is not None or self.max_tokens is not None


class GradingOptions(TypedDict, total=False):
    """What Python callers may ask of a run and of a regrade; the command line has a flag for each."""

    variables: Mapping[str, str] | None
    """Values for `{{names}}` of a suite file."""
    env: Mapping[str, str] | None
    """Environment variables of this call."""
    selection: Selection
    gate: GateOverrides
    """Over the gate that the suite has."""
    grader_type: GraderType | None
    """Use only the graders of this type."""
    max_concurrency: int | None
    """Trials at the same time; 0: the number of CPUs."""
    judge_model: str
    """Judges in place of whatever the graders name; `none` leaves their grades outstanding."""
    max_cost_usd: float | None
    max_tokens: int | None
    use_cache: bool
    sandbox: str
    """Where to run untrusted code."""
    run_name: str
    """What the run is called, in place of a made-up name."""


class EvaluateOptions(GradingOptions, total=False):
    """What Python callers may ask of a run."""

    trials: int | None
    timeout_s: float | None
    """The time limit of each trial; a case's own wins."""
    seed: int | None
    k: Sequence[int]
    """For which k to compute pass@k and pass^k."""
    scorers: Sequence[Any]
    """Instead of the suite's own."""
    failed_of: str | None
    """A run: only cases that did not pass in it; empty: those that did not pass when they were last run."""
    sequential: float | None
    """Stop as soon as the gate is decided. The value is how much lower is too low: 0.1 is 10 points."""
    max_failures: int | None
    """Stop after so many failed trials."""
    mode: Mode
    """Whether calls are recorded or replayed."""
    recordings: str
    """Where `replay` and `auto` look: a run or a folder."""
    gateway: bool
    """Whether targets ask their models through the gateway."""
    resume: str | None
    """A run to continue."""


class Run(Record):
    """A run as planned and stored; `report` and `trials` are filled in once it has been executed."""

    id: str
    name: str
    matrix_id: str
    variant: str = ""
    root: str
    created_at: str
    finished_at: str | None = None
    suite: Suite
    target: TargetSpec
    lock: RunLock
    options: RunOptions = Field(default_factory=RunOptions)
    regrade_of: str = ""
    """The id of the run whose transcripts this one grades again; empty for a run that asked for itself."""
    regrade_of_name: str = ""
    """What that run is called; also empty in stores that earlier versions wrote."""
    report: Report | None = None
    trials: tuple[Trial, ...] = ()

    @property
    def planned_trials(self) -> int:
        return len(self.suite.cases) * self.lock.trials

    @property
    def regraded_run(self) -> str:
        """The name of the run that this one grades again, or its id where only that is known; else empty."""
        return self.regrade_of_name or self.regrade_of

    @property
    def budget_id(self) -> str:
        """Who shares its spend cap: all runs of one command where the cap was given to that command."""
        return self.matrix_id if self.options.is_capped else self.id

    @property
    def has_fresh_trials(self) -> bool:
        """Whether its target was asked; a regrade, a replay and the grading of stored artifacts look at old answers."""
        return not self.regrade_of and self.target.kind != "artifact" and not self.is_replayed

    @property
    def is_replayed(self) -> bool:
        """Whether its replies come from a recording, all of them or those that there were."""
        return self.options.mode in ("replay", "auto")

    def target_of(self, case: Case) -> TargetSpec:
        """Who answers a case: its own target, which may be one of those that the suite names, or the run's."""
        return self.suite.named_target(case.target) if case.target else self.target

    @property
    def passed(self) -> bool:
        return self.report is not None and self.report.exit_code == 0

    @property
    def pass_rate(self) -> float | None:
        return self.report.summary.pass_rate if self.report else None

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The cases that did not pass, each with its first reason."""
        return self.report.failures if self.report else ()

    def to_records(self) -> list[dict[str, Json]]:
        """One flat row per trial, for a data frame: `pandas.DataFrame(run.to_records())`."""
        return [self._record(trial) for trial in self.trials]

    def _record(self, trial: Trial) -> dict[str, Json]:
        return {
            "run_name": self.name,
            "suite_name": self.suite.name,
            "variant": self.variant,
            "case_id": trial.case_id,
            "trial": trial.index + 1,
            "state": trial.state,
            "score": trial.score,
            "reason": trial.reason,
            "output": trial.output,
            "duration_s": trial.duration_s,
            "cost_usd": trial.cost_usd,
            "input_tokens": trial.input_tokens,
            "output_tokens": trial.output_tokens,
            "attempts": len(trial.attempts),
            **{f"grade.{name}": grade.score for name, grade in named_apart(trial.grades)},
        }

    @property
    def exit_code(self) -> int | None:
        return self.report.exit_code if self.report else None

    @property
    def public_values(self) -> dict[str, str]:
        """The variables it was run with, without secrets."""
        return {name: value for name, value in self.lock.variables.items() if value is not None}

    def environment(self) -> dict[str, Json]:
        model = fill(self.target.model, self.public_values)
        return {
            "target": self.target.described(),
            **({"prompt": self.target.prompt.name} if self.target.prompt else {}),
            **({"model": model} if model else {}),
            "variant": self.variant,
            "version": self.lock.harness_version,
            "python": self.lock.python_version,
            "platform": self.lock.platform,
        }


class PlannedRun(Record):
    """A run that would be started, and what the same trials cost last time, where that is known."""

    suite: str
    variant: str
    target: str
    cases: int
    trials_per_case: int
    trials: int
    known_cost_usd: float | None
    sequential: SequentialPlan | None = Field(default=None, exclude=True)


ADJECTIVES = (
    "amber", "bold", "brave", "bright", "calm", "clever", "crisp", "eager", "fair", "gentle",
    "jolly", "keen", "lively", "mellow", "noble", "quick", "quiet", "steady", "sunny", "witty",
)  # fmt: skip
NOUNS = (
    "badger", "beacon", "cedar", "comet", "falcon", "fjord", "harbor", "heron", "lantern", "maple",
    "meadow", "otter", "panda", "pebble", "raven", "river", "sparrow", "summit", "tiger", "willow",
)  # fmt: skip


def generate_run_name(rng: Random) -> str:
    return f"{rng.choice(ADJECTIVES)}-{rng.choice(NOUNS)}-{rng.randrange(1000):03d}"


def generate_run_id(now: datetime, rng: Random) -> str:
    return f"eval-{now:%Y%m%d-%H%M%S}-{rng.randrange(16**4):04x}"


LONGEST_RUN_NAME = 60
"""Characters: files are named after runs, and a file's name has at most 255 bytes."""
RUN_NAME = re.compile(rf"({'|'.join(ADJECTIVES)})-({'|'.join(NOUNS)})-\d{{3}}")
"""What a generated name looks like."""
_GIVEN_NAME = re.compile(r"\w[\w.@+-]*")
_RUN_ID = re.compile(r"eval-\d{8}-\d{6}-[0-9a-f]{4}")
_TAKEN = ("none", "list", "set", "add", "rm", "latest")
"""Words that commands take where they take a name."""


def check_given_name(name: str, kind: str, longest: int) -> None:
    """Raises UsageError for a name that would also be a file's, a command's word or the id of a run."""
    if len(name) > longest:
        raise UsageError(f"the name of a {kind} can have at most {longest} characters, but this one has {len(name):,}")
    is_fit = _GIVEN_NAME.fullmatch(name) and not name.lower().endswith(".json") and not _RUN_ID.fullmatch(name)
    if not is_fit or name in _TAKEN:
        raise UsageError(
            f"'{name}' cannot be the name of a {kind}",
            hint="use letters, digits and . _ - + @; not none, list, set, add, rm or latest, not the id of a run, and "
            "nothing that ends in .json",
        )


def check_run_id(run_id: str) -> None:
    """Raises UsageError for what `generate_run_id` cannot have made."""
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"{run_id!r:.80} is not the id of a run", hint="an id looks like eval-20260131-235959-0a1b")


def name_taken(name: str) -> UsageError:
    return UsageError(f"there is a run named {name} already", hint="choose another name")


_FLAGS_AS_OPTIONS = {"repeat": "trials", "epochs": "trials", "concurrency": "max_concurrency", "timeout": "timeout_s"}
"""Flags of the command line that have another name in Python."""


def request_fields(asked: GradingOptions, known: type) -> dict[str, Any]:
    """The options that a request for a run and one for a regrade share, checked, as their fields are called.

    `known` is the type of `asked`, whose keys are the options there are.
    """
    given: dict[str, Any] = {**asked}
    if unknown := given.keys() - known.__annotations__.keys():
        name = min(unknown)
        refused = UnknownName("option", name, known.__annotations__, _FLAGS_AS_OPTIONS.get(name, ""))
        raise TypeError(f"{refused} (options: {', '.join(known.__annotations__)})")
    kept = (RunOptions.model_fields.keys() - {"env", "sequential"}) & given.keys()
    try:
        options = RunOptions.model_validate({name: given[name] for name in kept})
    except ValidationError as error:
        raise UsageError(explain(error)) from None
    for name, least in (("max_concurrency", 0), ("trials", 1), ("max_failures", 1)):
        number = given.get(name)
        if number is not None and (type(number) is not int or number < least):
            raise UsageError(f"{name} must be a whole number, at least {least}, not {number!r:.80}")
    caps = (("max_cost_usd", options.max_cost_usd), ("max_tokens", options.max_tokens))
    for name, cap in (*caps, ("timeout_s", given.get("timeout_s"))):
        if cap is not None and not cap > 0:
            raise UsageError(f"{name} must be above 0, not {cap}")
    if given.get("grader_type") not in (None, *get_args(GraderType)):
        known_types = ", ".join(get_args(GraderType))
        raise UsageError(f"grader_type must be one of {known_types}, not {given['grader_type']!r}")
    return {
        "variables": checked_variables(given.get("variables")),
        "env": dict(given.get("env") or {}),
        "selection": given.get("selection") or Selection(),
        "gate": given.get("gate") or GateOverrides(),
        "options": options,
    }


def checked_variables(given: Mapping[str, str] | None) -> dict[str, str]:
    for name, value in (given or {}).items():
        if not isinstance(value, str):
            raise UsageError(f"the value of the variable {name} must be text, not {type(value).__name__}")
    return dict(given or {})
