"""A suite as a native YAML file that loads back to an equal suite, in short forms wherever they say the same.

Only what differs from its default is written. A suite whose texts hold `{{` but no variables (one built in Python) is
written with escapes, so that it means the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from functools import cache
from typing import Any

from evalharness.domain.case import Case, CaseFile
from evalharness.domain.gate import EachCase, Gate
from evalharness.domain.prompt import Prompt
from evalharness.domain.record import Record
from evalharness.domain.specification import GraderSpec, TargetSpec, is_live
from evalharness.domain.suite import Suite, Variant
from evalharness.errors import UsageError
from evalharness.formats.native.prompts import names_a_file
from evalharness.formats.native.suite_fields import INHERITED
from evalharness.syntax.yaml_writer import indented, yaml_lines
from evalharness.values.json_value import Json
from evalharness.values.variables import escape

ALWAYS = ("schema_version", "name")
NOT_A_KIND = ("kind", "type", "required", "weight", "name", "tools")
LEFT_OUT = ("cases", "templated", "function", "code_check")
WHOLE_BELOW = 1e15
Form = Callable[[Any], Json]


def dump_suite(suite: Suite) -> str:
    """Raises UsageError for what no file can hold: functions of the running program, infinite numbers."""
    top = suite_fields(suite)
    if suite.metadata.get("description") is not None:
        top.setdefault("description", suite.description)
    fields = {key: suite.metadata[key] for key in INHERITED if suite.metadata.get(key) is not None}
    return file_text(top, [case_fields(case, fields) for case in suite.cases], templated=suite.templated)


def suite_fields(suite: Suite) -> dict[str, Json]:
    return {key: getattr(suite, key) for key in ALWAYS} | _fields(suite, SUITE_FORMS)


def file_text(top: dict[str, Json], cases: list[dict[str, Json]], *, templated: bool) -> str:
    text = _text(top, cases)
    if "{{" in text and not templated:
        text = _text(escaped_fields(top), [escaped_fields(case) for case in cases])
    if not text.isascii():
        _check_characters(text)
    return text


def _text(top: dict[str, Json], cases: list[dict[str, Json]]) -> str:
    lines = yaml_lines(top)
    lines.append("test_cases:" if cases else "test_cases: []")
    for position, case in enumerate(cases):
        lines += [""] if position else []
        lines += indented(_case_lines(case))
    return "\n".join(lines) + "\n"


def _case_lines(case: dict[str, Json]) -> list[str]:
    try:
        return yaml_lines([case])
    except UsageError as error:
        raise UsageError(f"case '{case['id']}': {error.message}", hint=error.hint) from None


def case_fields(case: Case, reported: Mapping[str, Json]) -> dict[str, Json]:
    """A case repeats nothing that the file's metadata says of all cases, and says so where it differs from it."""
    own = _fields(case, CASE_FORMS)
    if case.input is None and case.vars:
        del own["input"]
    if case.code_check is not None and case.expected is not None:
        compared = {"expected": _expected(case.code_check), "grader": _grader(case.expected)}
        first = ("id", "name", "description", "input")
        own = {key: own[key] for key in first if key in own} | compared | {**own, **compared}
    for key, of_all in reported.items():
        value = _plain(getattr(case, key))
        if value == _plain(of_all):
            own.pop(key, None)
        elif key == "tags" and list(dict.fromkeys([*of_all, *value])) != value:
            raise UsageError(f"metadata.tags apply to every case, but those of case '{case.id}' do not start with them")
        else:
            own[key] = value
    return own


def _fields(record: Record, forms: Mapping[str, Form]) -> dict[str, Json]:
    """What differs from its default, in the order in which it is declared."""
    written: dict[str, Json] = {}
    for name, default, is_json in _defaults(type(record)):
        value = getattr(record, name)
        if value is default or (value == default and not is_json):
            continue
        form = forms.get(name)
        written[name] = form(value) if form else _plain(value) if is_json else _whole(_plain(value))
    return written


@cache
def _defaults(model: type[Record]) -> list[tuple[str, Any, bool]]:
    """Each field with its default; a JSON value is the default only if it is the very same."""
    return [
        (name, field.get_default(call_default_factory=True), field.annotation is Any)
        for name, field in model.model_fields.items()
        if name not in LEFT_OUT
    ]


def _plain(value: Any) -> Json:
    if isinstance(value, Record):
        return _fields(value, {})
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _whole(value: Json) -> Json:
    """60.0 s as 60: the field makes it a float again."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < WHOLE_BELOW
    return int(value) if is_whole else value


def _expected(spec: GraderSpec) -> Json:
    """A bare text means `exact`."""
    shared = _shared(spec)
    if spec.kind == "exact" and isinstance(spec.options, str) and not shared:
        return spec.options
    return _part(spec, shared)


def _grader(spec: GraderSpec) -> Json:
    shared = _shared(spec)
    if shared or spec.kind in NOT_A_KIND:
        return _part(spec, shared)
    if spec.kind == "function" and isinstance(spec.options, str) and ":" in spec.options:
        return spec.options
    return spec.kind if spec.options is None and ":" not in spec.kind else _part(spec, shared)


def _target(spec: TargetSpec) -> Json:
    shared = _shared(spec)
    options = spec.options
    if not shared and spec.kind not in NOT_A_KIND:
        if options is None and ":" not in spec.kind:
            return spec.kind
        is_web = isinstance(options, str) and options.startswith(("http://", "https://"))
        if spec.kind == "http" and is_web:
            return options
        if spec.kind == "function" and isinstance(options, str) and ":" in options:
            return options if TargetSpec.model_validate(options).kind == "function" else _part(spec, shared)
    return _part(spec, shared)


def _shared(spec: GraderSpec | TargetSpec) -> dict[str, Json]:
    """What stands beside the part's own options; raises for a function that only the running program has."""
    if is_live(spec):
        raise UsageError(
            f"{spec.kind} '{spec.label}' is a Python function of this program and cannot be written to a file",
            hint="name it as module:attr or file.py:attr",
        )
    return {name: value for name, value in _fields(spec, {}).items() if name not in ("kind", "options")}


def _part(spec: GraderSpec | TargetSpec, shared: dict[str, Json]) -> Json:
    """`{contains: Ada, weight: 2}`; the long form where that would be read as something else."""
    kind, options = spec.kind, _plain(spec.options)
    is_short = isinstance(spec, GraderSpec) or shared.keys() <= {"name", "tools"}
    if kind in NOT_A_KIND or not is_short:
        return {"kind": kind, "options": options, **shared}
    if _can_be_spread(kind, options):
        return {kind: options[kind], **options, **shared}
    return {kind: options, **shared}


def _can_be_spread(kind: str, options: Json) -> bool:
    """`{regex: a+, flags: i}` was kept with the kind as a key."""
    if not isinstance(options, dict) or kind not in options or len(options) == 1:
        return False
    return not isinstance(options[kind], dict) and not options.keys() & set(NOT_A_KIND)


def _files(files: Mapping[str, CaseFile]) -> Json:
    if all(file.path == name for name, file in files.items()):
        return list(files)
    return {name: {"path": file.path} if file.text is None else file.text for name, file in files.items()}


def _variants(variants: tuple[Variant, ...]) -> Json:
    if all(variant.target and not variant.target_fields() for variant in variants):
        return {variant.name: _target(variant.target) for variant in variants if variant.target}
    return [_fields(variant, {"target": _target}) for variant in variants]


def _prompts(prompts: tuple[Prompt, ...]) -> Json:
    forms = [_prompt(prompt) for prompt in prompts]
    if all(prompt.name == f"prompt {number}" for number, prompt in enumerate(prompts, start=1)):
        return forms
    return {prompt.name: form for prompt, form in zip(prompts, forms, strict=True)}


def _prompt(prompt: Prompt) -> Json:
    """A text that would be taken for the name of a file is said to be one."""
    if prompt.messages is not None:
        return [message.model_dump() for message in prompt.messages]
    return {"text": prompt.text} if names_a_file(prompt.text or "") else prompt.text


def _targets(targets: Mapping[str, TargetSpec]) -> Json:
    return {name: _target(spec) for name, spec in targets.items()}


def _graders(specs: tuple[GraderSpec, ...]) -> Json:
    return [_grader(spec) for spec in specs]


def _gate(gate: Gate) -> Json:
    written = _fields(gate, {"each_case": _each_case})
    return gate.preset if written.keys() == {"preset"} else written


def _each_case(rule: EachCase) -> Json:
    return rule.passed if rule.of is None else f"{rule.passed} of {rule.of}"


SUITE_FORMS: Mapping[str, Form] = {
    "gate": _gate,
    "target": _target,
    "targets": _targets,
    "variants": _variants,
    "prompts": _prompts,
    "graders": _graders,
}
CASE_FORMS: Mapping[str, Form] = {"expected": _expected, "graders": _graders, "files": _files, "target": _target}


def escaped_fields(written: dict[str, Json]) -> dict[str, Json]:
    """Names of a suite are shown, never filled in, and so are values of variables: they stay as they are.

    Prompts are filled in whatever the suite is.
    """
    if "{{" in str(written.get("id", "")):
        raise UsageError(f"the case id {written['id']!r} contains {{{{ and cannot be written to a file")
    names = ("vars",) if "id" in written else ("name", "description", "prompts")
    kept = {key: written[key] for key in names if key in written}
    return {**escape(written), **kept}


def _check_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("the suite contains half of a surrogate pair, which is not a character") from None
