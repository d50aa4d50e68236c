"""A table as a suite: one case for each row, its fields taken from the columns that a mapping names.

The texts of a table hold no variables: `{{` in them is escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from evalharness import registry
from evalharness.domain.case import Case, as_text
from evalharness.domain.problem import FieldPath, quoted
from evalharness.domain.specification import GraderSpec
from evalharness.domain.suite import Suite
from evalharness.errors import Hint, InvalidFile
from evalharness.formats.parts import check_grader, kind_of
from evalharness.formats.problems import Findings
from evalharness.formats.tables.columns import FAMILIES, KEYS, TEXT_KEYS, Cell, check_columns, is_empty, usual_mapping
from evalharness.formats.tables.rows import CASE_KEYS, rows_of
from evalharness.syntax.json_source import parse_json
from evalharness.syntax.source import DELIMITED, Source
from evalharness.syntax.yaml_source import plain_scalar
from evalharness.values.json_value import Json
from evalharness.values.variables import escape, has_braces

GRADED_BY = CASE_KEYS - {"input"}
NUMBERS = ("numeric", "exit_code", "max_length")
TEXTS = ("exact", "semantic_similarity")
JSON_VALUES = ("json_equals", "json_schema")
ENOUGH_PROBLEMS = 20
_GROUPED_NUMBER = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")


def suite_from_rows(
    source: Source, mapping: Mapping[str, Cell], *, name: str, limit: int | None = None
) -> tuple[Suite | None, Findings]:
    """One case for each row; rows without a question or without an answer are left out, which is reported."""
    findings = Findings(source)
    rows: list[Mapping[str, Json]] = source.data
    if not rows:
        findings.add((), "the table has no rows")
        return None, findings
    check_columns(mapping, rows)
    reading = _Reading(findings, mapping)
    for position, row in enumerate(rows):
        if len(reading.cases) == limit or reading.gave_up():
            break
        reading.add(position, row)
    reading.tell_of_rows_left_out()
    if not reading.cases or findings.has_errors:
        return None, findings
    suite = Suite(name=name, templated=reading.is_templated or has_braces(name))
    return suite.model_copy(update={"cases": tuple(reading.cases)}), findings


def load_usual_table(source: Source) -> tuple[Suite | None, Findings]:
    """A table whose columns have the usual names, as a suite with the file's name."""
    rows = rows_of(source)
    return suite_from_rows(rows, usual_mapping(rows.data), name=source.path.name.partition(".")[0])


def looks_like_usual_table(data: Json) -> bool:
    """Rows with a question, and no case of ours: those say under `expected` or `graders` what is right."""
    is_rows = isinstance(data, list) and bool(data) and all(isinstance(row, Mapping) for row in data)
    if not is_rows or not (mapping := usual_mapping(data)):
        return False
    if all("input" not in row for row in data):
        return True
    return "expected" in mapping and all(GRADED_BY.isdisjoint(row) for row in data)


@dataclass(slots=True)
class _Reading:
    """One pass over the rows."""

    findings: Findings
    mapping: Mapping[str, Cell]
    cases: list[Case] = field(default_factory=list)
    is_templated: bool = False
    first_with: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, list[int]] = field(default_factory=dict)
    """The rows without a question or an answer, by what they lack."""
    families: dict[str, dict[str, str]] = field(init=False)
    """The mapped keys of each family: what stands behind the dot (nothing for the family's own name) → the key."""

    def __post_init__(self) -> None:
        self.families = {}
        for key in self.mapping:
            family, _, name = key.partition(".")
            if family in FAMILIES:
                self.families.setdefault(family, {})[name] = key

    def add(self, position: int, row: Mapping[str, Json]) -> None:
        given = {key: value for key, cell in self.mapping.items() if not is_empty(value := cell.read(row))}
        for family in ("input", "expected"):
            if family in self.families and given.keys().isdisjoint(self.families[family].values()):
                self.left_out.setdefault(self._what_lacks(family, row), []).append(position)
                return
        fields = self._fields(position, given)
        id_ = fields.setdefault("id", f"case-{position + 1}")
        if isinstance(id_, str) and not self._is_new(position, id_):
            return
        if has_braces(fields):
            self.is_templated = True
            fields = escape(fields)
        if (case := self.findings.validated((position,), Case, fields)) is not None:
            self.cases.append(case)
            self.findings.case_at(case.id, (position,))

    def _what_lacks(self, family: str, row: Mapping[str, Json]) -> str:
        cells = [self.mapping[key] for key in self.families[family].values()]
        for cell in cells:
            if cell.pattern is not None and cell.finds_nothing(row):
                return f"{quoted(cell.pattern.pattern)} matches nothing in {cell.columns[0]}"
        return f"nothing in {', '.join(dict.fromkeys(column for cell in cells for column in cell.columns))}"

    def _fields(self, position: int, given: Mapping[str, Json]) -> dict[str, Json]:
        fields = {key: _case_value(key, value) for key, value in given.items() if key in KEYS and key != "expected"}
        graders: list[Json] = []
        for family, keys in self.families.items():
            members = {name: given[key] for name, key in keys.items() if key in given}
            if family == "expected":
                graders = [self._grader(position, name or "exact", value) for name, value in members.items()]
            elif members and "" not in members:
                fields[family] = {n: as_text(v) for n, v in members.items()} if family == "files" else members
        if len(graders) == 1:
            fields["expected"] = graders[0]
        elif graders:
            fields["graders"] = graders
        return fields

    def _grader(self, position: int, kind: str, value: Json) -> Json:
        """In the form of a file, so that it can be escaped with the rest of the case."""
        if kind == "exact" and isinstance(value, Mapping | list):
            place = self._place(position, "expected")
            self.findings.add(place, f"is {kind_of(value)}, not text", hint=Hint("hint.map_json"))
            return {"kind": kind}
        options = self._option(kind, value)
        spec = GraderSpec(kind=kind, options=options)
        check_grader(self.findings, self._place(position, f"expected.{kind}"), spec)
        return {"kind": kind, "options": options}

    def _option(self, kind: str, value: Json) -> Json:
        if isinstance(value, str) and kind in NUMBERS:
            text = value.strip()
            number = plain_scalar(text.replace(",", "") if _GROUPED_NUMBER.fullmatch(text) else text)
            return number if isinstance(number, int | float) else value
        if kind in JSON_VALUES:
            if isinstance(value, str) and self.findings.source.path.suffix.lower() in DELIMITED:
                try:
                    value, _ = parse_json(value, "")
                except InvalidFile:
                    return value  # a text is a JSON value, too
            return {registry.load("grader", kind).Options.main: value}
        return json.dumps(value) if kind in TEXTS and not isinstance(value, str | list | Mapping) else value

    def _is_new(self, position: int, id_: str) -> bool:
        place = self._place(position, "id")
        if "{{" in id_:
            self.findings.add(place, f"the id {quoted(id_)} must not contain {{{{")
            return False
        if id_ in self.first_with:
            line = self.findings.source.line_of((self.first_with[id_],))
            used = f"the id {quoted(id_)} is already used on line {line}"
            self.findings.add(place, used, hint=Hint("hint.number_rows"))
            return False
        self.first_with[id_] = position
        return True

    def _place(self, position: int, key: str) -> FieldPath:
        cell = self.mapping.get(key) or self.mapping.get(key.partition(".")[0])
        return (position, cell.columns[0]) if cell else (position,)

    def gave_up(self) -> bool:
        if len(self.findings.problems) < ENOUGH_PROBLEMS:
            return False
        self.findings.add((), f"stopped after {ENOUGH_PROBLEMS} problems; there may be more")
        return True

    def tell_of_rows_left_out(self) -> None:
        for lacks, positions in self.left_out.items():
            many = f"{len(positions)} rows are skipped, starting here" if len(positions) > 1 else "the row is skipped"
            severity = "warning" if self.cases else "error"
            self.findings.add((positions[0],), f"{many}: {lacks}", severity=severity)
        if "expected" not in self.families:
            unchecked = "nothing is checked: any answer passes"
            self.findings.add((), unchecked, severity="warning", hint=Hint("hint.map_expected"))


def _is_conversation(value: Json) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, Mapping) and {"role", "content"} <= set(each) for each in value
    )


def _case_value(key: str, value: Json) -> Json:
    if key == "tags":
        tags = [as_text(tag) for tag in value] if isinstance(value, list) else as_text(value).split(",")
        return list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    if key == "input" and _is_conversation(value):
        return {"messages": value}
    if key == "weight" and isinstance(value, str):
        number = plain_scalar(value.strip())
        return number if isinstance(number, int | float) else value
    if key not in TEXT_KEYS or isinstance(value, Mapping | list):
        return value
    text = as_text(value).strip()
    return text.lower() if key == "criticality" else text
