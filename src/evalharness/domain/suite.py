"""Suite: a versioned set of cases with defaults; a Selection of its cases; LoadedFile: a suite as it was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AliasChoices,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from evalharness.domain.case import Case, Name, Seconds, is_typed_input, session_file
from evalharness.domain.gate import Gate, Presets, Share
from evalharness.domain.notification import Notifications
from evalharness.domain.phase import Phase
from evalharness.domain.problem import Problem, quoted
from evalharness.domain.prompt import Prompt, named_prompts
from evalharness.domain.record import Record
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.errors import UsageError
from evalharness.values.json_value import Json
from evalharness.values.variables import has_braces, scalar_values

Count = Annotated[int, Field(ge=0, strict=True)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
Trials = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


def _either(name: str, other: str) -> Any:
    return Field(default_factory=dict, validation_alias=AliasChoices(name, other))


class SuiteConfig(Record):
    """How trials are run. `parallel_execution` and `retry_count` are other spellings of `parallel` and `retries`."""

    timeout_seconds: Seconds = 300.0
    timeout_global: Seconds | None = None
    retries: Count = 1
    retry_failed: bool = False
    retry_count: Count | None = None
    parallel: bool = Field(default=True, validation_alias=AliasChoices("parallel", "parallel_execution"))
    max_workers: Count | None = None
    seed: int = 0
    judge_model: str = ""
    """Who judges where a grader names no model."""
    max_cost_usd: Amount | None = None
    max_tokens: Annotated[int, Field(ge=1, strict=True)] | None = None

    @field_validator("judge_model")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if has_braces(name):
            raise ValueError("cannot be a variable: write the model's name, or name the judge when you start the run")
        return name


NOBODY_NOTIFIED = "nobody is notified: the suite has no `notify:`"
"""Said of `notify_on_failure`, unless the settings say who is."""


class Reporting(Record):
    """Which report files a run writes, and where. The keys are those of `reporting:` in a suite file."""

    model_config = ConfigDict(extra="ignore")  # keys that a file may not have are reported where files are read

    format: tuple[str, ...] = ("json", "markdown")
    """Names of reporters."""
    output_dir: str = "results"
    """From the suite's folder, which it cannot leave."""
    include_details: bool = True
    """Whether reports show outputs, transcripts and evidence."""
    notify_on_failure: bool | None = None
    """False: nobody is notified of a failure, whatever `notify:` says."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        """`reporting: json` and `reporting: [json, markdown]` name formats."""
        return {"format": written} if isinstance(written, str | list | tuple) else written

    @field_validator("format", mode="before")
    @classmethod
    def _one_or_several(cls, written: Any) -> Any:
        return (written,) if isinstance(written, str) else written

    @field_validator("format")
    @classmethod
    def _each_format_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names))

    @field_validator("output_dir")
    @classmethod
    def _inside(cls, folder: str) -> str:
        path = PurePath(folder)
        if path.is_absolute() or ".." in path.parts or "\0" in folder:
            raise ValueError("must be a folder inside the suite's own, such as results")
        return folder


class Variant(Record):
    """A target of its own, or settings for the suite's target: provider and model by workflow node, tags."""

    name: Name = Field(validation_alias=AliasChoices("name", "id"))
    target: TargetSpec | None = None
    provider_type_by_node: dict[str, str] = _either("provider_type_by_node", "providerTypeByNode")
    model_by_node: dict[str, str] = _either("model_by_node", "modelByNode")
    tags: tuple[str, ...] = ()

    def target_fields(self) -> dict[str, Json]:
        """What a target hears of its variant; nothing where the variant is only a target with a name."""
        said = self.model_dump(mode="json", exclude={"name", "target"}, exclude_defaults=True)
        return {"id": self.name, **said} if said or self.target is None else {}


class ReplayOptions(Record):
    """`ignore`: where a request may differ from the recorded one: JSON paths (`$.metadata`), regular expressions."""

    ignore: tuple[str, ...] = ()

    @field_validator("ignore", mode="before")
    @classmethod
    def _one_or_several(cls, written: Any) -> Any:
        return (written,) if isinstance(written, str) else written


class GatewayOptions(Record):
    """`models`: the names that agents may ask for, each with the provider's model that is asked in its place. Without
    any, every model may be asked."""

    models: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _switched_on(cls, written: Any) -> Any:
        """`gateway: true`"""
        return {} if written is True else written

    @field_validator("models", mode="before")
    @classmethod
    def _by_name(cls, written: Any) -> Any:
        """A list has names that stand for themselves."""
        if isinstance(written, str):
            written = (written,)
        return {name: name for name in written} if isinstance(written, list | tuple) else written


class Suite(Record):
    schema_version: Literal["1.0"] = "1.0"
    name: Name
    version: str = ""
    description: str = ""
    eval_type: str = ""
    target: TargetSpec | None = None
    targets: dict[str, TargetSpec] = Field(default_factory=dict)
    variants: tuple[Variant, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    """What targets are asked, as templates that cases fill in; each prompt on each target is a variant."""
    trials: Trials = 1
    k: tuple[Trials, ...] = ()
    """Values of k to report for pass@k and pass^k; empty: 1, 3 and half the number of trials."""
    vars: dict[str, str] = Field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    infrastructure_errors: tuple[str, ...] = ()
    case_threshold: Share = 1.0
    max_error_rate: Share = 0.02
    gate: Gate | None = None
    presets: Presets = Field(default_factory=dict)
    """What presets of gates ask for in this suite, where that is not the usual."""
    graders: tuple[GraderSpec, ...] = ()
    config: SuiteConfig = Field(default_factory=SuiteConfig)
    reporting: Reporting | None = None
    notify: Notifications = None
    replay: ReplayOptions | None = None
    gateway: GatewayOptions | None = None
    metadata: dict[str, Json] = Field(default_factory=dict)
    cases: tuple[Case, ...] = Field(
        validation_alias=AliasChoices("test_cases", "cases"), serialization_alias="test_cases", default=()
    )
    templated: bool = False
    """Whether `{{name}}` in this suite's texts is a variable: true for files, false for suites built in Python."""

    @field_validator("cases")
    @classmethod
    def _named_by_position(cls, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        if all(case.id for case in cases):
            return cases
        return tuple(
            case if case.id else case.model_copy(update={"id": f"case-{number}"})
            for number, case in enumerate(cases, start=1)
        )

    @field_validator("schema_version", mode="before")
    @classmethod
    def _unquoted(cls, written: Any) -> Any:
        return str(written) if isinstance(written, float) else written

    @field_validator("reporting", mode="wrap")
    @classmethod
    def _of_earlier_versions(cls, written: Any, read: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """They stored whatever a file said, without looking at it: what cannot be read asks for nothing."""
        try:
            return read(written)
        except ValidationError:
            if info.mode == "json":  # from a store
                return None
            raise

    @field_validator("gateway", mode="before")
    @classmethod
    def _switched_off(cls, written: Any) -> Any:
        return None if written is False else written

    @field_validator("k", mode="before")
    @classmethod
    def _one_or_several(cls, written: Any) -> Any:
        return written if isinstance(written, list | tuple) else (written,)

    @field_validator("k")
    @classmethod
    def _each_k_once(cls, k: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(k)))

    @field_validator("vars", mode="before")
    @classmethod
    def _scalars_as_text(cls, written: Any) -> Any:
        return scalar_values(written)

    @field_validator("prompts", mode="before")
    @classmethod
    def _prompts_by_name(cls, written: Any) -> Any:
        return named_prompts(written)

    @field_validator("prompts")
    @classmethod
    def _prompts_named_by_position(cls, prompts: tuple[Prompt, ...]) -> tuple[Prompt, ...]:
        return tuple(
            prompt if prompt.name else prompt.model_copy(update={"name": f"prompt {number}"})
            for number, prompt in enumerate(prompts, start=1)
        )

    @field_validator("variants", mode="before")
    @classmethod
    def _variants_by_name(cls, written: Any) -> Any:
        if isinstance(written, Mapping):
            return [{"name": name, "target": target} for name, target in written.items()]
        return written

    @model_validator(mode="after")
    def _unique_names(self) -> Suite:
        for noun, names in (
            ("case id", [case.id for case in self.cases]),
            ("variant", [v.name for v in self.variants]),
            ("prompt", [prompt.name for prompt in self.prompts]),
            ("variable", [name.lower() for name in self.vars]),
        ):
            name, count = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
            if count > 1:
                raise ValueError(f"{noun} '{name}' is used {count} times")
        return self

    @model_validator(mode="after")
    def _asked_by_prompts(self) -> Suite:
        if self.prompts:
            for case in self.cases:
                if why := not_for_prompts(case):
                    raise ValueError(f"case '{case.id}': {why}")
        return self

    @property
    def variant_count(self) -> int:
        """How many runs it makes, unless other targets are chosen."""
        targets = len(self.variants) or (len(self.targets) if self.prompts and self.target is None else 1)
        return max(1, targets) * max(1, len(self.prompts))

    def graders_for(self, case: Case) -> tuple[GraderSpec, ...]:
        """`expected` and `graders` together; the suite's graders stand in for a case that lists none of its own."""
        listed = self.graders if case.graders is None else case.graders
        expected = () if case.expected is None else (case.expected,)
        rounds = () if case.max_rounds is None else (GraderSpec(kind="max_rounds", options=case.max_rounds),)
        return (*expected, *listed, *rounds)

    def category_of(self, case: Case) -> str:
        """What it is reported under: its eval type, else the category it gives itself."""
        return case.eval_type or self.eval_type or case.category

    def timeout_seconds_for(self, case: Case) -> float:
        return case.timeout_seconds or self.config.timeout_seconds

    def retries_for(self, case: Case) -> int:
        """The case's own `retries`, else the suite's `retry_count`, else the suite's `retries`."""
        if case.retries is not None:
            return case.retries
        return self.config.retries if self.config.retry_count is None else self.config.retry_count

    def named_target(self, target: TargetSpec) -> TargetSpec:
        """`target: fast` and `target: {skill: fast}` mean the entry `fast` of `targets:`, if there is one."""
        name = target.options if target.kind == "skill" else target.kind if target.options is None else None
        if isinstance(name, str) and name in self.targets:
            return self.targets[name].model_copy(update={"name": name})
        return target


def not_for_prompts(case: Case) -> str:
    """Why no prompt can ask a case; empty if one can."""
    if isinstance(case.input, Mapping) and is_typed_input(case.input) and case.input["type"] == "api_call":
        return "an api_call is already a request, so it takes no prompt: leave out `prompts`"
    if case.target is not None:
        return "a case cannot have its own target in a suite with `prompts`, which go to the suite's targets"
    return ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases of a suite are meant. Several values of one filter: any of them; several filters: all of them."""

    only: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    difficulties: tuple[str, ...] = ()
    limit: int | None = None
    ids: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for name, texts in (("only", self.only), ("tags", self.tags), ("categories", self.categories)):
            if isinstance(texts, str):
                raise UsageError(f"{name} must be a tuple of texts, not one text", hint=f"write {name}=({texts!r},)")
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"limit must be at least 1, not {self.limit}")

    def choose(self, suite: Suite, file_name: str) -> Suite:
        chosen = [case for case in suite.cases if self._keeps(case, suite, file_name)]
        if self.limit is not None:
            chosen = chosen[: self.limit]
        return suite.model_copy(update={"cases": tuple(chosen)})

    def _keeps(self, case: Case, suite: Suite, file_name: str) -> bool:
        if self.ids is not None and case.id not in self.ids:
            return False
        if self.only and not any(matches_case(pattern, case, file_name) for pattern in self.only):
            return False
        if self.tags and not set(self.tags) & set(case.tags):
            return False
        if self.difficulties and not _names(self.difficulties, case.difficulty):
            return False
        return not self.categories or _names(self.categories, case.category, case.eval_type or suite.eval_type)

    def described(self) -> str:
        chosen = (
            ("the name", self.only),
            ("the tag", self.tags),
            ("the category", self.categories),
            ("the difficulty", self.difficulties),
        )
        named = (f"{what} {' or '.join(map(quoted, texts))}" for what, texts in chosen if texts)
        return " and ".join(named) or "the selection"


def _names(wanted: Iterable[str], *labels: str) -> bool:
    """Whether one of the labels is wanted; in any case."""
    lowered = {word.lower() for word in wanted}
    return any(label.lower() in lowered for label in labels if label)


def matches_case(pattern: str, case: Case, file_name: str) -> bool:
    """A glob or a substring of the case's id or name, or of the file's name without its ending; in any case.

    Of a suite that is a folder of recorded sessions, each case has a file of its own.
    """
    lowered = pattern.lower()
    file_name = session_file(case) or file_name
    stem = PurePath(file_name).stem
    if fnmatchcase(file_name.lower(), lowered):
        return True
    texts = [text.lower() for text in (case.id, case.name, stem) if text]
    return any(lowered in text or fnmatchcase(text, lowered) for text in texts)


PYTHON = "python"
"""The format of a suite that was built in Python."""


class CasePlace(NamedTuple):
    """Where a case is written; lines begin at 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class LoadedFile:
    path: Path
    suite: Suite | None
    problems: tuple[Problem, ...] = ()
    format: str = ""
    """Empty where none was recognised."""
    parts: frozenset[Path] = field(default_factory=frozenset)
    """Other files that the suite was put together from."""
    thresholds_from: str = ""
    """The file of the `config` folder that its gate takes thresholds from."""
    is_passed_over: bool = False
    """Whether it was only met in a folder, and is no suite."""
    places: Mapping[str, CasePlace] = field(default_factory=dict)
    """Where each case is written, by its id; only if it was loaded with them. Neither stored nor part of a digest."""
    phase: Phase | None = None
    """Of a phase file, which is no suite either."""

    @property
    def label(self) -> str:
        """What messages call it: the file's path, or the suite's name where there is no file."""
        return self.path.name if self.format == PYTHON else str(self.path)

    @property
    def root(self) -> Path:
        """What relative paths in the file are relative to; a folder of recorded sessions is its own."""
        path = self.path.resolve()
        return path if path.is_dir() else path.parent


class ListedSuite(NamedTuple):
    """A suite that can be run by its name or its file; a broken file has neither name nor cases."""

    suite: str
    where: str
    """file, registered or ready-made"""
    cases: int | None = None
    trials: int | None = None
    target: str = ""
    category: str = ""
    file: str = ""
    registered: str = ""
    """When it was registered; empty where it was not."""
    description: str = ""
    variants: int | None = None
    """How many runs it makes; None where that is not known."""
