"""From evals as written, in whatever spelling, to cases: the one place where their fields get their meaning."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, field_validator

from evalharness.documents.http_messages import PLACES, ApiCall
from evalharness.domain.case import DIFFICULTIES, EVAL_TYPES, Case, is_typed_input
from evalharness.domain.problem import FieldPath, quoted
from evalharness.domain.record import Record
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.errors import closest
from evalharness.formats.native.expectations import JUDGES, Expected, comparison, is_native_form, read_expected
from evalharness.formats.native.folder import Folder, rebased_case, rebased_target
from evalharness.formats.native.regression_evals import KnownGoodAnswer, read_baseline, read_comparison
from evalharness.formats.native.written_evals import CASE_KEYS, EVAL_KEYS, WrittenEval
from evalharness.formats.native.written_graders import GraderReader, Origin
from evalharness.formats.parts import check_files, check_target, exposed, kind_of, known_options
from evalharness.formats.problems import Findings
from evalharness.values.json_value import Json
from evalharness.values.variables import escape

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
    has_prompts: bool = False
    """Whether prompts ask, so that a case needs no input."""


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
        _check_keys(written)
        fields, moved = _own_fields(written, defaults)
        self._take_id(written, fields, moved.get("id", written.at("id")))
        _check_labels(written, fields, moved)
        _check_history(written)
        baseline = self._baseline(written, fields)
        expected = self._expected(written, fields, moved, baseline)
        asked = self._asked(written, fields, moved, baseline)
        self._target(written, fields, asked, defaults)
        if "graders" in written.fields:
            fields["graders"] = self.graders.read_list(fields["graders"], self._origin(written, "graders"), expected)
        if defaults.has_prompts:
            fields.setdefault("input", None)
        _check_secrets(written, defaults)
        case = written.findings.validated(written.place, Case, fields, moved)
        if case is None:
            return None
        check_files(written.findings, written.at("files"), case.files, self.folder.real)
        self._warn_if_unchecked(written, case, defaults)
        written.findings.case_at(case.id, written.place)
        return rebased_case(case, self.folder.prefix_of(written.findings)).compact()

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
            written.findings.add(place, "must not contain {{: variables are not allowed in ids")
        id_ = fields["id"] = written.id_prefix + fields["id"]
        if id_ in self.taken:
            findings, first = self.taken[id_]
            line = findings.source.line_of(first)
            where = f"on line {line}" if findings is written.findings else f"in {findings.source.path}:{line}"
            written.findings.add(place, f"case id '{id_}' is already used {where}")
        self.taken.setdefault(id_, (written.findings, place))

    def _baseline(self, written: WrittenEval, fields: dict[str, Any]) -> KnownGoodAnswer | None:
        """Of a regression eval that has one; what is known about it is kept with the case."""
        if not written.is_regression:
            return None
        baseline = read_baseline(written, self.reach)
        if baseline is not None and baseline.about and isinstance(fields.get("metadata", {}), Mapping):
            fields["metadata"] = {**fields.get("metadata", {}), "baseline": baseline.about}
        return baseline

    def _expected(
        self,
        written: WrittenEval,
        fields: dict[str, Any],
        moved: dict[str, FieldPath],
        baseline: KnownGoodAnswer | None,
    ) -> Expected | None:
        """Sets `expected`, and tells what it was made from."""
        key = _expectation_key(written)
        if key is None:
            return None
        moved["expected"] = written.at(key)
        if written.is_regression:
            expected = read_comparison(written, baseline) if baseline else None
        elif _says_all(written, key):
            fields["expected"] = self.graders.read_inline(written.fields[key], self._origin(written, key), None)
            return None
        else:
            expected = read_expected(written, key)
        value = None if written.is_regression else written.fields.get(key)
        if expected is None and isinstance(value, Mapping) and not is_native_form(value):
            return None  # which has been reported, and leaves nothing to compare with
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
        if spec is not None and spec.kind in JUDGES and expected.kind not in JUDGES:
            fields["code_check"] = self._code_check(written, expected)
        if spec is not None and spec.kind == "function" and expected.values:
            fields.setdefault("reference", expected.values[0])  # where a function looks for what is expected

    def _code_check(self, written: WrittenEval, expected: Expected) -> GraderSpec | None:
        """None where code cannot compare so: a judge was asked for, and nothing is wrong with the case."""
        origin = replace(self._origin(written, "expected"), findings=Findings(written.findings.source))
        value = written.fields.get("expected", written.fields.get("expected_output"))
        by_name = isinstance(value, Mapping) and is_native_form(value) and not written.is_regression
        spec = self.graders.read_inline(value if by_name else comparison(expected), origin, None)
        return None if origin.findings.problems else spec

    def _asked(
        self,
        written: WrittenEval,
        fields: dict[str, Any],
        moved: dict[str, FieldPath],
        baseline: KnownGoodAnswer | None,
    ) -> CaseQuestion | None:
        reader = InputReader(written, self.reach)
        if written.is_regression:
            asked = reader.read_current(baseline or KnownGoodAnswer(None))
            moved["input"] = written.at("current")
            current = written.fields.get("current")
            is_told = current is not None and not isinstance(current, Mapping)
            has_input = is_told or "input" in written.fields or "input" in written.mapping("current")
        else:
            has_input = "input" in fields
            asked = reader.read(("input",), fields["input"]) if has_input else None
        if has_input:
            fields["input"] = asked.input if asked else ""  # "" stands for what has been reported
        return asked

    def _target(
        self, written: WrittenEval, fields: dict[str, Any], asked: CaseQuestion | None, defaults: Defaults
    ) -> None:
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
        reported = written.is_regression or not {"expected", "expected_output", "grader"}.isdisjoint(written.fields)
        if not (reported or case.graders or by_default or case.max_rounds is not None):
            written.findings.add(
                written.place, "nothing is checked: any answer passes; add `expected` or `graders`", severity="warning"
            )


def _expectation_key(written: WrittenEval) -> str | None:
    """Where it stands what is expected; None when it stands in two places or is empty, which has then been reported."""
    keys = [key for key in ("expected", "expected_output") if key in written.fields]
    if written.is_regression:
        keys.insert(0, "comparison")
    if len(keys) > 1:
        written.add(
            (keys[1],), f"cannot be combined with {keys[0]}, which means the same; list more checks under `graders`"
        )
        return None
    if keys and keys[0] != "comparison" and written.fields[keys[0]] is None:
        written.add((keys[0],), "is empty; write '' for an empty text, or {json_equals: null}")
        return None
    return keys[0] if keys else "expected"


def _says_all(written: WrittenEval, key: str) -> bool:
    """Whether it is a grader in its own form, and no other grader asks what is expected."""
    value = written.fields.get(key)
    return type(value) is dict and is_native_form(value) and {"grader", "graders"}.isdisjoint(written.fields)


def _check_secrets(written: WrittenEval, defaults: Defaults) -> None:
    """Variables of a case are stored with it, so none of them may be secret."""
    values, listed = written.fields.get("vars"), {name.lower() for name in defaults.secrets or ()}
    for name, value in values.items() if isinstance(values, Mapping) else ():
        if str(name).lower() in listed:
            written.add(("vars", name), "is listed under `secrets`, but would be stored in plain text: leave it out")
        elif why := exposed(str(name), value):
            written.add(("vars", name), why)


def _check_labels(written: WrittenEval, fields: Mapping[str, Any], moved: Mapping[str, FieldPath]) -> None:
    """They group the report and select cases. Tables have difficulties of their own, so these are only a warning."""
    findings = written.findings
    if eval_type := written.fields.get("eval_type"):
        findings.unknown_label(written.at("eval_type"), eval_type, EVAL_TYPES, written.severity)
    if difficulty := fields.get("difficulty"):
        place = moved.get("difficulty", written.at("difficulty"))
        findings.unknown_label(place, difficulty, DIFFICULTIES)


class _History(Record):
    """Where the store starts to count: what it could not count from would be dropped without a word."""

    failure_count: Annotated[int, Field(ge=0, strict=True)] | None = None
    last_passed: Json = None

    @field_validator("last_passed")
    @classmethod
    def _is_a_moment(cls, written: Json) -> Json:
        try:
            return written if written is None else datetime.fromisoformat(written).isoformat()
        except (TypeError, ValueError):
            raise ValueError("must be a date or a time such as 2024-01-20T14:00:00Z") from None


def _check_keys(written: WrittenEval) -> None:
    """The history of a case has known names; only its place is wrong."""
    if written.fields.keys() <= CASE_KEYS:
        return
    misplaced = [key for key in _History.model_fields if key in written.fields]
    for key in misplaced:
        written.add((key,), "belongs under `metadata`", severity=written.severity)
    others = [key for key in written.fields if key not in misplaced]
    written.findings.unknown_keys(written.place, others, CASE_KEYS, written.severity)


def _check_history(written: WrittenEval) -> None:
    metadata = written.fields.get("metadata")
    if isinstance(metadata, Mapping):
        known = {key: metadata[key] for key in _History.model_fields if key in metadata}
        written.findings.validated(written.at("metadata"), _History, known)


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


# Inputs beyond plain text and data: a file's text (`type: file`), an HTTP request (`type: api_call`).
#
# Also what `current` of a regression eval asks, and of which target. What a target makes of an input is its own affair.

KeyPath = tuple[str, ...]
DEFAULT_URL = "{{api_base_url}}"
TYPES = ("prompt", "file", "api_call")
_WHOLE_URL = re.compile(r"(https?://[^/?#]+|\{\{[^{}]+\}\})([/?#].*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CaseQuestion:
    """What a case asks, and of which target where the question itself says so, or `execution` does."""

    input: Json
    target: Any = None
    target_path: KeyPath = ()
    is_guess: bool = False
    """Whether the target only stands in where nobody names one."""


class InputReader:
    """Reads the input of one eval; None is returned for what is wrong, which has then been reported."""

    def __init__(self, written: WrittenEval, folder: Folder) -> None:
        self.written = written
        self.folder = folder

    def read(self, path: KeyPath, value: Any) -> CaseQuestion | None:
        """`input` as it stands in a case."""
        if not isinstance(value, Mapping):
            return CaseQuestion(value)
        if self._lacks_content(value):
            meant = closest("content", [key for key in value if key not in ("type", "context")])
            self.written.add((*path, "content"), f"is missing{f'; it is spelled {quoted(meant)}' if meant else ''}")
            return None
        if not is_typed_input(value):
            return CaseQuestion(value)
        if value["type"] == "file":
            text = self.folder.read_text(self.written.findings, self.written.at(*path, "content"), value["content"])
            return None if text is None else CaseQuestion({**value, "type": "prompt", "content": escape(text)})
        if value["type"] == "api_call":
            return self._request((*path, "content"), value["content"], context=value.get("context"))
        return CaseQuestion(value)

    def read_current(self, baseline: KnownGoodAnswer) -> CaseQuestion | None:
        """What a regression eval asks again, and how: `current: {input, execution}`, or `input` alone."""
        current = self.written.mapping("current")
        self.written.findings.unknown_keys(
            self.written.at("current"), current, ("input", "execution"), self.written.severity
        )
        path = ("current", "input") if "input" in current else ("input",)
        value = current.get("input", self.written.fields.get("input"))
        execution = current.get("execution")
        kind = _kind(execution)
        looks_sent = isinstance(value, Mapping) and any(key in value for key in PLACES)
        if looks_sent and (kind == "http" or (execution is None and "method" in value)):
            asked = self._request(path, value, answer="response" if baseline.is_response else "body")
        else:
            asked = self.read(path, value)
        if asked is None or execution is None:
            return asked
        return self._executed(asked, kind, execution)

    def _lacks_content(self, value: Mapping[str, Any]) -> bool:
        """In native files, a mapping that holds more than the keys of a typed input is data, whatever its `type` is."""
        is_typed = value.get("type") in TYPES and "content" not in value
        return is_typed and (not self.written.is_native or value.keys() <= {"type", "context"})

    def _executed(self, asked: CaseQuestion, kind: str, execution: Any) -> CaseQuestion | None:
        path = ("current", "execution")
        if kind == "skill":
            name = execution.get("skill_name")
            if not isinstance(name, str):
                self.written.add(path, "has no skill: add skill_name")
                return None
            question = {"input": asked.input, "parameters": execution.get("parameters") or {}}
            return CaseQuestion(question, {"kind": "skill", "options": name}, path)
        if kind == "http":
            default = asked.target["http"]["url"] if asked.target else DEFAULT_URL
            options = self._known("http", execution, ("type", "base_url"))
            return CaseQuestion(asked.input, {"http": {"url": execution.get("base_url") or default, **options}}, path)
        if kind:
            own = {key: execution[key] for key in ("type", "name", "tools") if key in execution}
            execution = {**own, **self._known(kind, execution, own)}
        return CaseQuestion(asked.input, execution, path)

    def _known(self, kind: str, execution: Mapping[str, Any], own: Container[str]) -> dict[str, Json]:
        """The options of a target; what a file of another format says beyond them has been reported, and is left
        out."""
        options = {key: item for key, item in execution.items() if key not in own}
        place = self.written.at("current", "execution")
        return known_options(self.written.findings, place, ("target", kind), options, self.written.severity)

    def _request(self, path: KeyPath, value: Any, *, context: Json = None, answer: str = "body") -> CaseQuestion | None:
        written = self.written
        if not isinstance(value, Mapping):
            written.add(path, f"an api_call must be a mapping with method and path, not {kind_of(value)}")
            return None
        known = {*ApiCall.model_fields, *PLACES}
        written.findings.unknown_keys(written.at(*path), value, known, written.severity)
        fields = {"answer": answer, **{key: value[key] for key in value if key in known}}
        request = written.findings.validated(written.at(*path), ApiCall, fields)
        if request is None:
            return None
        whole = _WHOLE_URL.fullmatch(request.path)
        place = {"method": request.method, "path": (whole[2] or "") if whole else request.path}
        content = {**request.model_dump(exclude_defaults=True), **place, "answer": request.answer}
        values = {} if context is None else {"context": context}
        target = {"http": {"url": whole[1] if whole else DEFAULT_URL}}
        return CaseQuestion({"type": "api_call", "content": content, **values}, target, path, is_guess=True)


def _kind(execution: Any) -> str:
    """The kind of target that `execution` means, as far as it is one of the documented ones."""
    if not isinstance(execution, Mapping):
        return ""
    if "type" not in execution:
        return "http" if "base_url" in execution else "skill" if "skill_name" in execution else ""
    return str(execution["type"])
