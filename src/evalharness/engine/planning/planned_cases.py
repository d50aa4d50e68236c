"""Planned cases: which cases a run has, with which variables, and the lock that names all that decides its results."""

from __future__ import annotations

import platform
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from weakref import WeakValueDictionary

from pydantic_core import PydanticSerializationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.contracts.services import Services
from evalharness.contracts.target import Target
from evalharness.documents.session_image import image_named_by
from evalharness.domain.case import Case, input_content
from evalharness.domain.case_result import WRITTEN
from evalharness.domain.example import merge_examples
from evalharness.domain.prompt import Prompt
from evalharness.domain.run import CaseLock, Run, RunLock
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Selection, Suite
from evalharness.errors import MissingVariable, NothingSelected, UsageError, one_word
from evalharness.values.digest import digest, digest_file
from evalharness.values.json_value import Json
from evalharness.values.variables import fill, has_braces, needed
from evalharness.workspaces import confined

KEPT_CASES = 1000
"""So many cases that are tried again and again are built once; more of them take no more memory."""
ONLY_OFF = "its only grader is switched off; turn it on with `enabled: true`"


@dataclass(frozen=True, slots=True)
class Variables:
    """Values by lower-case name. Secret ones are used but written nowhere: they enter digests by name only."""

    values: Mapping[str, str] = field(default_factory=dict)
    secret: frozenset[str] = frozenset()

    def public(self) -> dict[str, str]:
        return {name: value for name, value in self.values.items() if name not in self.secret}

    def used_by(self, suite: Suite, target: TargetSpec, where: str) -> UsedVariables:
        """Raises MissingVariable for those without a value."""
        is_templated = suite.templated or target.is_templated
        by_target = _needed_by(target) if is_templated else set()
        by_all = needed([spec.model_dump(mode="json") for spec in suite.graders]) if suite.templated else set()
        read = set(by_target)
        secret_cases: set[str] = set()
        for case in suite.cases if suite.templated else ():
            spec = suite.named_target(case.target) if case.target else target
            written = case.model_dump(mode="json", exclude={"vars"})
            own = set(case.own_values)
            asked = needed(written.pop("input")) - own
            by_case = (by_all | needed(written) | (_needed_by(spec) if spec is not target else set())) - own
            if not self.secret.isdisjoint(by_case | asked):
                secret_cases.add(case.id)
            read |= by_case | (asked if registry.load("target", spec.kind).reads_input else set())
        missing = read - set(self.values)
        if missing:
            raise MissingVariable(missing, where)
        read |= self._used_by_prompt(target.prompt, suite, where) if target.prompt else set()
        locked = {name: None if name in self.secret else self.values[name] for name in sorted(read)}
        return UsedVariables(locked, not self.secret.isdisjoint(by_target), frozenset(secret_cases))

    def _used_by_prompt(self, prompt: Prompt, suite: Suite, where: str) -> set[str]:
        """Those that cases leave to the suite and to the caller."""
        names, read = prompt.variables, set[str]()
        for case in suite.cases:
            by_case = names - set(case.values_for(names))
            if missing := by_case - set(self.values):
                raise MissingVariable(missing, f"{where}: prompt '{prompt.name}'", case.id)
            read |= by_case
        return read


def _needed_by(target: TargetSpec) -> set[str]:
    """A prompt is filled in case by case."""
    return needed(target.model_dump(mode="json", exclude={"prompt"}))


class UsedVariables(NamedTuple):
    """`locked` is what the lock keeps: name → value, None for secrets.

    The others say where the value of a secret is once variables are filled in: in the target, in which cases.
    """

    locked: dict[str, str | None]
    has_secret_target: bool
    secret_cases: frozenset[str]


@dataclass(frozen=True, slots=True)
class OwnTarget:
    """The target of a case that does not leave it to its run; cases that name the same one share it."""

    spec: TargetSpec
    target: Target


class PlannedCase(NamedTuple):
    """A case ready to be tried: variables filled in, graders and its own target built."""

    case: Case
    specs: tuple[GraderSpec, ...]
    graders: list[tuple[GraderSpec, Grader]]
    timeout_s: float
    retries: int
    skip: str = ""
    target: OwnTarget | None = None
    variant: Mapping[str, Json] = MappingProxyType({})
    prompted: Case | None = None
    """The case as its target gets it, if a prompt asks; graders see the case itself, whatever the prompt."""

    @property
    def asked(self) -> Case:
        return self.prompted or self.case

    def graders_digest(self) -> str:
        return digest([[grader.digest(), spec.required, spec.weight] for spec, grader in self.graders])


def select_cases(suite: Suite, selection: Selection, file_name: str) -> Suite:
    chosen = selection.choose(suite, file_name)
    if not chosen.cases:
        if not suite.cases:
            raise NothingSelected(f"{file_name} has no cases")
        message = f"no case of {file_name} matches {selection.described()}"
        raise NothingSelected(message, hint=_choices(suite, selection))
    return chosen


def _choices(suite: Suite, selection: Selection) -> str:
    """What there is of that by which cases were chosen."""
    tags = dict.fromkeys(tag for case in suite.cases for tag in case.tags)
    is_unknown = selection.tags and tags.keys().isdisjoint(selection.tags)
    known = list(tags) if is_unknown else [case.id for case in suite.cases]
    named = ", ".join(map(one_word, known[:8])) or "none"
    return f"{'tags' if is_unknown else 'cases'}: {named}{' …' if len(known) > 8 else ''}"


def filled_suite(suite: Suite, values: Mapping[str, str]) -> Suite:
    """The suite's own graders with their variables filled in; cases are filled one by one, when they are planned."""
    if not suite.templated:
        return suite
    return suite.model_copy(update={"graders": tuple(filled_grader(spec, values) for spec in suite.graders)})


def filled_grader(spec: GraderSpec, values: Mapping[str, str]) -> GraderSpec:
    return GraderSpec.model_validate(fill(spec.model_dump(mode="json"), values))


def filled_case(case: Case, suite: Suite, values: Mapping[str, str]) -> Case:
    """The case's own variables win; their values are taken as they are."""
    if not suite.templated:
        return case
    written = case.model_dump(mode="json", exclude={"vars"})
    if not has_braces(written):
        return case
    return Case.model_validate({**fill(written, {**values, **case.own_values}), "vars": case.vars})


def prompted_case(case: Case, prompt: Prompt | None, values: Mapping[str, str]) -> Case:
    """A filled case as its target gets it: with the prompt in place of its input. A context stays beside it."""
    if prompt is None:
        return case
    asked = fill(prompt.content, {**values, **case.values_for(prompt.variables)})
    if case.context is not None:
        asked = {"type": "prompt", "content": input_content(asked), "context": case.context}
    own = {name: value for name, value in case.vars.items() if name.lower() != "input"}
    return case.model_copy(update={"input": asked, "vars": own})


def asked_case(run: Run, case: Case) -> Case:
    """A case as the target of a run got it, but for secrets, of which only the names are known."""
    filled = filled_case(case, run.suite, run.public_values)
    return prompted_case(filled, run.target.prompt, run.public_values)


def filled_target(target: TargetSpec, suite: Suite, values: Mapping[str, str]) -> TargetSpec:
    """Its prompt is filled in case by case."""
    if not (suite.templated or target.is_templated) or target.function is not None:
        return target
    filled = TargetSpec.model_validate(fill(target.model_dump(mode="json", exclude={"prompt"}), values))
    return filled.model_copy(update={"prompt": target.prompt})


def _why_skipped(case: Case, target: TargetSpec | None) -> str:
    """A case that needs an image is skipped only by targets that have no machine of their own."""
    if target is None or not case.skip or not image_named_by(case.metadata):
        return case.skip
    return "" if registry.load("target", target.kind).has_own_machine else case.skip


class PlannedCases(Mapping[str, PlannedCase]):
    """The cases of a run by id. Each is built when it is asked for; `KEPT_CASES` of them are kept, the newest ones.

    What cases share is built once and stays: the suite's own graders, and targets that cases name, which are open for
    the whole run.
    """

    def __init__(
        self,
        suite: Suite,
        values: Mapping[str, str],
        services: Services,
        *,
        target: TargetSpec | None = None,
        grader_type: str | None = None,
    ) -> None:
        """`target` is the run's, for the cases that have none of their own. Raises what building a grader raises."""
        self._written = suite
        self._suite = filled_suite(suite, values)
        self._cases = {case.id: case for case in suite.cases}
        self._values = values
        self._services = services
        self._target = target
        self._grader_type = grader_type
        by_case = {name for case in suite.cases for name in case.own_values} if suite.templated else set()
        self._shared = {
            id(spec): registry.build_grader(spec, services)
            for spec, written in zip(self._suite.graders, suite.graders, strict=True)
            if by_case.isdisjoint(needed(written.model_dump(mode="json")))
        }
        """The suite's graders that are the same for every case."""
        self._of_cases: WeakValueDictionary[int, Grader] = WeakValueDictionary()
        """Those that are in use, by the identity of their specification: a file has equal ones once."""
        self._kept: OrderedDict[str, PlannedCase] = OrderedDict()
        self.own_targets: dict[str, OwnTarget] = {}
        """Those of the cases built so far, each once."""

    def __len__(self) -> int:
        return len(self._cases)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cases)

    def __contains__(self, case_id: object) -> bool:
        return case_id in self._cases

    def __getitem__(self, case_id: str) -> PlannedCase:
        planned = self._kept.get(case_id)
        if planned is None:
            planned = self._kept[case_id] = self._built(self._cases[case_id])
            if len(self._kept) > KEPT_CASES:
                self._kept.popitem(last=False)
        return planned

    def in_turn(self) -> Iterator[PlannedCase]:
        """Every case, built for this one look at it; raises what a part that cannot be built raises."""
        return map(self._built, self._cases.values())

    def filled_with(self, values: Mapping[str, str]) -> PlannedCases:
        """The same cases with other values of variables."""
        return PlannedCases(self._written, values, self._services, target=self._target, grader_type=self._grader_type)

    def _built(self, case: Case) -> PlannedCase:
        services, target, values = self._services, self._target, self._values
        suite = self._suite_for(case)
        filled = filled_case(case, suite, values)
        specs = suite.graders_for(filled)
        graders = [(spec, self._shared.get(id(spec)) or self._own_grader(spec, case)) for spec in specs]
        own = self._own_target(filled.target) if filled.target else None
        skip = _why_skipped(filled, own.spec if own else target) or lacking_tools(filled, own.spec if own else target)
        if self._grader_type is not None:
            graders = _of_type(self._grader_type, filled, graders, services)
            specs = tuple(spec for spec, _ in graders)
            skip = skip if graders else lacks_grader(self._grader_type)
        if graders and all(grader.is_off for _, grader in graders):
            skip = skip or ONLY_OFF
        return PlannedCase(
            filled,
            specs,
            graders,
            suite.timeout_seconds_for(filled),
            suite.retries_for(filled),
            skip,
            own,
            target.variant if target else {},
            prompted_case(filled, target.prompt, values) if target and target.prompt else None,
        )

    def _own_grader(self, spec: GraderSpec, case: Case) -> Grader:
        grader = self._of_cases.get(id(spec))
        if grader is None or grader.spec is not spec:
            grader = self._of_cases[id(spec)] = _built_grader(spec, self._services, case)
        return grader

    def _suite_for(self, case: Case) -> Suite:
        """With graders of the suite that use variables of the case."""
        suite = self._suite
        if len(self._shared) == len(suite.graders):
            return suite
        values = {**self._values, **case.own_values}
        graders = (
            spec if id(spec) in self._shared else filled_grader(written, values)
            for spec, written in zip(suite.graders, self._written.graders, strict=True)
        )
        return suite.model_copy(update={"graders": tuple(graders)})

    def _own_target(self, written: TargetSpec) -> OwnTarget:
        spec = self._suite.named_target(written)
        if spec is not written:  # the case's own words were filled with the case
            spec = filled_target(spec, self._suite, self._values)
        key = spec.model_dump_json() if spec.function is None else str(id(spec.function))
        if key not in self.own_targets:
            self.own_targets[key] = OwnTarget(spec, registry.build_target(spec, self._services))
        return self.own_targets[key]


def public_plans(
    planned: Iterable[PlannedCase], cases: PlannedCases, variables: Variables, used: UsedVariables
) -> Iterator[PlannedCase]:
    """The same for their digests, which no secret may enter: a case that contains one is built again without it."""
    public = cases.filled_with(variables.public()) if used.secret_cases else cases
    for plan in planned:
        yield public[plan.case.id] if plan.case.id in used.secret_cases else plan


def _of_type(
    grader_type: str, case: Case, graders: list[tuple[GraderSpec, Grader]], services: Services
) -> list[tuple[GraderSpec, Grader]]:
    chosen = [(spec, grader) for spec, grader in graders if grader.type == grader_type]
    usual = None if chosen else usual_grader(grader_type, case, graders)
    stand_in = _built_grader(usual, services, case) if usual else None
    return [(usual, stand_in)] if usual and stand_in and stand_in.type == grader_type else chosen


def lacks_grader(grader_type: str) -> str:
    """Why a case is skipped that no grader of this type can grade."""
    return f"no {grader_type} grader"


def lacking_tools(case: Case, target: TargetSpec | None) -> str:
    """Why the case cannot be tried on a target that declares its tools; empty where it can."""
    if target is None or not case.required_tools:
        return ""
    declared = registry.declared_tools(target)
    missing = [tool for tool in case.required_tools if declared is not None and tool not in declared]
    return (
        f"the target lacks the required tool{'s' if len(missing) > 1 else ''} {', '.join(missing)}" if missing else ""
    )


def _built_grader(spec: GraderSpec, services: Services, case: Case) -> Grader:
    try:
        return registry.build_grader(spec, services)
    except UsageError as error:
        raise UsageError(f"case {case.id}: {error.message}", hint=error.hint) from error


def make_lock(
    suite: Suite,
    variables: Mapping[str, str | None],
    *,
    target: str,
    cases: dict[str, CaseLock],
    harness_version: str,
) -> RunLock:
    """Digests of what decides a result. `target` and `cases` are digests that no secret has a part in."""
    return RunLock(
        harness_version=harness_version,
        python_version=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}".lower(),
        target=target,
        seed=suite.config.seed,
        trials=suite.trials,
        cases=cases,
        variables=dict(variables),
    )


_LOCKED = {"input", "files", "reference", "metadata"}


def lock_cases(planned: Iterable[PlannedCase], root: Path) -> dict[str, CaseLock]:
    locks = {}
    digest_of = GradersDigests().of
    for plan in planned:
        case = plan.case
        try:
            content = case.model_dump(mode="json", include=_LOCKED)
        except PydanticSerializationError as error:  # only of cases that were made in Python
            raise UsageError(
                f"case {case.id} cannot be stored: {error}",
                hint="use values that JSON has: text, numbers, lists, mappings",
            ) from None
        # The rest of it counts: functions that answer or grade can read it.
        content["metadata"] = {key: value for key, value in content["metadata"].items() if key not in WRITTEN}
        content["file digests"] = {
            name: digest_file(confined(root, file.path)) for name, file in case.files.items() if file.path is not None
        }
        if case.setup:
            content["setup"] = case.setup
        if case.vars:
            content["vars"] = case.own_values
        own_target = plan.target.target.digest() if plan.target is not None else ""
        lock = CaseLock.unchecked({"case": digest(content), "graders": digest_of(plan), "target": own_target})
        locks[case.id] = lock.compact()
    return locks


class GradersDigests:
    """Of cases in turn; those with the graders of the case before need no second look."""

    def __init__(self) -> None:
        self._last: PlannedCase | None = None
        self._ids: list[int] = []
        self._digest = ""

    def of(self, plan: PlannedCase) -> str:
        ids = [id(part) for pair in plan.graders for part in pair]
        if self._last is None or ids != self._ids:
            self._last, self._ids, self._digest = plan, ids, plan.graders_digest()  # held: the ids stay theirs
        return self._digest


def trial_seed(seed: int, case_id: str, index: int) -> int:
    """The same for the same trial of every run, and unlike that of any other trial."""
    return int.from_bytes(blake2b(f"{seed}\0{case_id}\0{index}".encode(), digest_size=4).digest(), "big") >> 1


# Substituting: the grader that stands in where a case has none of the type asked for (`--grader-type`).


def usual_grader(grader_type: str, case: Case, graders: Iterable[tuple[GraderSpec, Grader]]) -> GraderSpec | None:
    """A person can rate any answer; a judge must know what a good one is; code compares with what is expected."""
    if grader_type == "human":
        return GraderSpec(kind="human")
    if grader_type == "code":
        return case.code_check
    known = _known_answer(case, graders)
    return GraderSpec(kind="model", options=known) if known else None


def _known_answer(case: Case, graders: Iterable[tuple[GraderSpec, Grader]]) -> dict[str, Json]:
    """The reference, else what the case's own graders would be pleased with."""
    if case.reference is not None:
        return {"expected": case.reference}
    example = merge_examples(grader.example() for spec, grader in graders if spec.required)
    if example is None:
        return {}
    if example.whole is not None:
        return {"expected": example.whole}
    pieces = [*example.starts, *example.holds, *example.ends]
    return {"must_include": pieces} if pieces else {}
