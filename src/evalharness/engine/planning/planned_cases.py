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

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.contracts.services import Services
from evalharness.contracts.target import Target
from evalharness.domain.case import Case
from evalharness.domain.case_result import WRITTEN
from evalharness.domain.example import merge_examples
from evalharness.domain.run import CaseLock, RunLock
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Selection, Suite
from evalharness.errors import MissingVariable, NothingSelected, UsageError, one_word
from evalharness.values.digest import digest, digest_file
from evalharness.values.json_value import Json
from evalharness.values.variables import fill, has_braces, needed
from evalharness.workspaces import confined

KEPT_CASES = 1000
"""So many cases that are tried again and again are built once; more of them take no more memory."""
ONLY_OFF = "its only grader is switched off: `enabled: true` asks it"


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
        by_target = needed(target.model_dump(mode="json")) if is_templated else set()
        by_all = needed([spec.model_dump(mode="json") for spec in suite.graders]) if suite.templated else set()
        read = by_target | by_all
        secret_cases: set[str] = set()
        for case in suite.cases if suite.templated else ():
            spec = suite.named_target(case.target) if case.target else target
            written = case.model_dump(mode="json")
            asked = needed(written.pop("input"))
            by_case = needed(written) | (needed(spec.model_dump(mode="json")) if spec is not target else set())
            if not self.secret.isdisjoint(by_all | by_case | asked):
                secret_cases.add(case.id)
            read |= by_case | (asked if registry.load("target", spec.kind).reads_input else set())
        missing = read - set(self.values)
        if missing:
            raise MissingVariable(missing, where)
        locked = {name: None if name in self.secret else self.values[name] for name in sorted(read)}
        return UsedVariables(locked, not self.secret.isdisjoint(by_target), frozenset(secret_cases))


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

    def graders_digest(self) -> str:
        return digest([[grader.digest(), spec.required, spec.weight] for spec, grader in self.graders])


def select_cases(suite: Suite, selection: Selection, file_name: str) -> Suite:
    chosen = selection.choose(suite, file_name)
    if not chosen.cases:
        if not suite.cases:
            raise NothingSelected(f"{file_name} has no cases")
        known = ", ".join(one_word(case.id) for case in suite.cases[:8])
        raise NothingSelected(
            f"no case of {file_name} matches {selection.described()}",
            hint=f"cases: {known}{' …' if len(suite.cases) > 8 else ''}",
        )
    return chosen


def filled_suite(suite: Suite, values: Mapping[str, str]) -> Suite:
    """The suite's own graders with their variables filled in; cases are filled one by one, when they are planned."""
    if not suite.templated:
        return suite
    graders = fill([spec.model_dump(mode="json") for spec in suite.graders], values)
    return suite.model_copy(update={"graders": tuple(GraderSpec.model_validate(spec) for spec in graders)})


def filled_case(case: Case, suite: Suite, values: Mapping[str, str]) -> Case:
    if not suite.templated:
        return case
    written = case.model_dump(mode="json")
    return Case.model_validate(fill(written, values)) if has_braces(written) else case


def filled_target(target: TargetSpec, suite: Suite, values: Mapping[str, str]) -> TargetSpec:
    if not (suite.templated or target.is_templated) or target.function is not None:
        return target
    return TargetSpec.model_validate(fill(target.model_dump(mode="json"), values))


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
        self._shared = {id(spec): registry.build_grader(spec, services) for spec in self._suite.graders}
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
        suite, services, target = self._suite, self._services, self._target
        filled = filled_case(case, suite, self._values)
        specs = suite.graders_for(filled)
        graders = [(spec, self._shared.get(id(spec)) or _built_grader(spec, services, case)) for spec in specs]
        own = self._own_target(filled.target) if filled.target else None
        skip = filled.skip or lacking_tools(filled, own.spec if own else target)
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
        )

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
    for plan in planned:
        case = plan.case
        content = case.model_dump(mode="json", include=_LOCKED)
        # The rest of it counts: functions that answer or grade can read it.
        content["metadata"] = {key: value for key, value in content["metadata"].items() if key not in WRITTEN}
        content["file digests"] = {
            name: digest_file(confined(root, file.path)) for name, file in case.files.items() if file.path is not None
        }
        if case.setup:
            content["setup"] = case.setup
        own_target = plan.target.target.digest() if plan.target is not None else ""
        locks[case.id] = CaseLock.unchecked(
            {"case": digest(content), "graders": plan.graders_digest(), "target": own_target}
        )
    return locks


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
