"""From evals as written, in whatever spelling, to cases: the one place where their fields get their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.problem import FieldPath
from evalharness.domain.specification import TargetSpec
from evalharness.formats.checking import check_files, check_target
from evalharness.formats.evals.expectations import Expected, comparison, is_native_form, read_expected
from evalharness.formats.evals.inputs import Asked, InputReader
from evalharness.formats.evals.rebasing import rebased_case, rebased_target
from evalharness.formats.evals.refs import Folder
from evalharness.formats.evals.regressions import Baseline, read_baseline, read_comparison
from evalharness.formats.evals.written_evals import CASE_KEYS, EVAL_KEYS, WrittenEval
from evalharness.formats.evals.written_graders import GraderReader, Origin
from evalharness.formats.problems import Findings

OWN_KEYS = CASE_KEYS - EVAL_KEYS - {"expected", "grader"}
LIFTED = ("category", "difficulty", "tags", "timeout_seconds", "retries", "weight", "criticality", "cluster")
"""Fields of a case that the documented evals keep under `metadata`."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What is said of all cases of a file: `fields` for those that do not say it themselves."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    has_graders: bool = False
    has_target: bool = False
    targets: frozenset[str] = frozenset()
    """Names that `target:` may use."""
    secrets: tuple[str, ...] | None = None
    """The suite's variables that are said to be some; None where there is no suite."""


class CaseReader:
    """Reads the cases of one suite, from however many files, and remembers which ids are taken.

    Files that cases copy lie in `folder`, the suite's own; `reach` is where inputs and baselines may be read from.
    """

    def __init__(self, folder: Folder, reach: Folder, graders: GraderReader) -> None:
        self.folder = folder
        self.reach = reach
        self.graders = graders
        self.taken: dict[str, tuple[Findings, FieldPath]] = {}

    def read(self, written: WrittenEval, defaults: Defaults) -> Case | None:
        """The case, or None; everything wrong with it is added to the findings of its file."""
        written.findings.unknown_keys(written.place, written.fields, CASE_KEYS, written.severity)
        fields, moved = _own_fields(written, defaults)
        self._take_id(written, fields, moved.get("id", written.at("id")))
        baseline = self._baseline(written, fields)
        expected = self._expected(written, fields, moved, baseline)
        asked = self._asked(written, fields, moved, baseline)
        self._target(written, fields, asked, defaults)
        if "graders" in written.fields:
            fields["graders"] = self.graders.read_list(fields["graders"], self._origin(written, "graders"), expected)
        case = written.findings.validated(written.place, Case, fields, moved)
        if case is None:
            return None
        check_files(written.findings, written.at("files"), case.files, self.folder.real)
        self._warn_if_unchecked(written, case, defaults)
        return rebased_case(case, self.folder.prefix_of(written.findings))

    def _origin(self, written: WrittenEval, *path: str) -> Origin:
        prefix = self.folder.prefix_of(written.findings)
        return Origin(written.findings, written.at(*path), prefix, written.is_native)

    def _take_id(self, written: WrittenEval, fields: dict[str, Any], place: FieldPath) -> None:
        """An id names its case in every run and every report, so it is used once."""
        if isinstance(fields["id"], int | float) and not isinstance(fields["id"], bool):
            fields["id"] = str(fields["id"])
        if not isinstance(fields["id"], str):
            return
        if "{{" in fields["id"]:
            written.findings.add(place, "must not hold {{: an id names its case in every run, whatever the variables")
        id_ = fields["id"] = written.id_prefix + fields["id"]
        if id_ in self.taken:
            findings, first = self.taken[id_]
            line = findings.source.line_of(first)
            where = f"on line {line}" if findings is written.findings else f"in {findings.source.path}:{line}"
            written.findings.add(place, f"case id '{id_}' is already used {where}")
        self.taken.setdefault(id_, (written.findings, place))

    def _baseline(self, written: WrittenEval, fields: dict[str, Any]) -> Baseline | None:
        """Of a regression eval that has one; what is known about it is kept with the case."""
        if not written.is_regression:
            return None
        baseline = read_baseline(written, self.reach)
        if baseline is not None and baseline.about and isinstance(fields.get("metadata", {}), Mapping):
            fields["metadata"] = {**fields.get("metadata", {}), "baseline": baseline.about}
        return baseline

    def _expected(
        self, written: WrittenEval, fields: dict[str, Any], moved: dict[str, FieldPath], baseline: Baseline | None
    ) -> Expected | None:
        """Sets `expected`, and tells what it was made from."""
        key = _expectation_key(written)
        if key is None:
            return None
        moved["expected"] = written.at(key)
        if written.is_regression:
            expected = read_comparison(written, baseline) if baseline else None
        else:
            expected = read_expected(written, key)
        value = None if written.is_regression else written.fields.get(key)
        if expected is None and isinstance(value, Mapping) and not is_native_form(value):
            return None  # which has been told, and leaves nothing to compare with
        if written.fields.get("grader") is not None:
            self._graded_by(written, fields, expected)
        elif isinstance(value, Mapping) and is_native_form(value):
            fields["expected"] = self.graders.read_inline(value, self._origin(written, key), None)
        elif expected is not None and (written.is_regression or isinstance(value, Mapping)):
            fields["expected"] = self.graders.read_inline(comparison(expected), self._origin(written, key), None)
        elif not isinstance(value, Mapping):
            fields["expected"] = value
        return expected

    def _graded_by(self, written: WrittenEval, fields: dict[str, Any], expected: Expected | None) -> None:
        grader, origin = written.fields["grader"], self._origin(written, "grader")
        if expected is None:
            fields["expected"] = self.graders.read(grader, origin)
            return
        spec = fields["expected"] = self.graders.compare(grader, origin, expected)
        if spec is not None and spec.kind == "function" and expected.values:
            fields.setdefault("reference", expected.values[0])  # where a function looks for what is expected

    def _asked(
        self, written: WrittenEval, fields: dict[str, Any], moved: dict[str, FieldPath], baseline: Baseline | None
    ) -> Asked | None:
        reader = InputReader(written, self.reach)
        if written.is_regression:
            asked = reader.read_current(baseline or Baseline(None))
            moved["input"] = written.at("current")
            current = written.fields.get("current")
            is_told = current is not None and not isinstance(current, Mapping)
            has_input = is_told or "input" in written.fields or "input" in written.mapping("current")
        else:
            has_input = "input" in fields
            asked = reader.read(("input",), fields["input"]) if has_input else None
        if has_input:
            fields["input"] = asked.input if asked else ""  # "" stands for what has been told
        return asked

    def _target(self, written: WrittenEval, fields: dict[str, Any], asked: Asked | None, defaults: Defaults) -> None:
        target, place = written.fields.get("target"), written.at("target")
        if target is None and asked is not None and not (asked.is_guess and defaults.has_target):
            target, place = asked.target, written.at(*asked.target_path or ("target",))
        if target is None:
            return
        spec = written.findings.validated(place, TargetSpec, target)
        if spec is None:
            fields.pop("target", None)
            return
        if spec.options is not None or spec.kind not in defaults.targets:
            check_target(written.findings, place, spec, secrets=defaults.secrets)
            spec = rebased_target(spec, self.folder.prefix_of(written.findings))
        fields["target"] = spec

    def _warn_if_unchecked(self, written: WrittenEval, case: Case, defaults: Defaults) -> None:
        by_default = defaults.has_graders and case.graders is None
        told = written.is_regression or not {"expected", "expected_output", "grader"}.isdisjoint(written.fields)
        if not (told or case.graders or by_default or case.max_rounds is not None):
            written.findings.add(
                written.place, "nothing is checked: any answer passes; add `expected` or `graders`", severity="warning"
            )


def _expectation_key(written: WrittenEval) -> str | None:
    """Where it stands what is expected; None when it stands in two places or is empty, which has then been told."""
    keys = [key for key in ("expected", "expected_output") if key in written.fields]
    if written.is_regression:
        keys.insert(0, "comparison")
    if len(keys) > 1:
        written.add((keys[1],), f"stands beside {keys[0]}, which says the same; list more checks under `graders`")
        return None
    if keys and keys[0] != "comparison" and written.fields[keys[0]] is None:
        written.add((keys[0],), "is empty; write '' for an empty text, or {json_equals: null}")
        return None
    return keys[0] if keys else "expected"


def _own_fields(written: WrittenEval, defaults: Defaults) -> tuple[dict[str, Any], dict[str, FieldPath]]:
    """The fields of a Case as written or inherited, and where those stand that are not under their own names."""
    moved = dict(written.moved)
    own = {key: value for key, value in written.fields.items() if key in OWN_KEYS}
    metadata = own.get("metadata")
    if written.lifts_metadata and isinstance(metadata, Mapping):
        lifted = {key: metadata[key] for key in LIFTED if metadata.get(key) is not None}
        moved |= {key: written.at("metadata", key) for key in lifted if key not in own}
        own = {**lifted, **own, "metadata": {key: value for key, value in metadata.items() if key not in lifted}}
    if written.eval_type:
        own.setdefault("eval_type", written.eval_type)
    fields = {"id": written.default_id, **defaults.fields, **own}
    if isinstance(fields.get("metadata"), Mapping) and "metadata" in defaults.fields:
        fields["metadata"] = {**defaults.fields["metadata"], **fields["metadata"]}
    tags = own.get("tags")
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        fields["tags"] = list(dict.fromkeys([*defaults.fields.get("tags", ()), *tags]))
    return fields, moved
