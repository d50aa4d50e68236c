"""The native suite file: `schema_version`, `metadata`, `config`, `test_cases`, and the short forms of cases."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from evalharness.domain.case import EVAL_TYPES, Case
from evalharness.domain.gate import Gate, Presets, Thresholds, merged
from evalharness.domain.problem import FieldPath
from evalharness.domain.specification import GraderSpec
from evalharness.domain.suite import Suite
from evalharness.errors import closest
from evalharness.formats.native.cases import CaseReader, Defaults
from evalharness.formats.native.folder import THRESHOLDS, Folder, Layout, WrittenThresholds, rebased_target
from evalharness.formats.native.prompts import check_prompted
from evalharness.formats.native.suite_fields import own_defaults, part_defaults, read_suite
from evalharness.formats.native.written_evals import EVAL_KEYS, Document, WrittenEval, is_regression
from evalharness.formats.native.written_graders import GraderReader
from evalharness.formats.parts import CaseNeeds, kind_of, needs_of
from evalharness.formats.problems import Findings
from evalharness.syntax.source import Source


def looks_native(data: Any) -> bool:
    if isinstance(data, Mapping):
        return "test_cases" in data and "eval_suite" not in data
    rows = [row for row in data if isinstance(row, Mapping)] if isinstance(data, list) else []
    # One row that asks something is enough: what the others lack is then told row by row.
    return any("input" in row for row in rows) and all(EVAL_KEYS.isdisjoint(row) for row in rows)


def load_native(source: Source) -> tuple[Suite | None, Findings]:
    """The suite, or None; and everything found wrong with the file, all at once."""
    assembly = Assembly(source)
    data = source.data
    if isinstance(data, list):
        document = Document(assembly.findings, evals=_evals(assembly.findings, (), data))
        if not data:
            assembly.findings.add((), "is empty: a suite needs at least one case")
    elif isinstance(data, Mapping):
        document = native_document(assembly.findings, data, ())
    else:
        assembly.findings.add((), f"a suite must be a mapping with test_cases, not {kind_of(data)}")
        return None, assembly.findings
    assembly.add(document, assembly.open(document))
    return assembly.finish()


def native_document(
    findings: Findings, data: Mapping[str, Any], place: FieldPath, *, id_prefix: str = "", default_prefix: str = ""
) -> Document:
    """A mapping with `test_cases`, taken apart. `default_prefix` leads the ids of cases that name none."""
    written = data.get("test_cases")
    where = (*place, "test_cases") if "test_cases" in data else place
    if not isinstance(written, list):
        is_there = "test_cases" in data
        message = f"test_cases must be a list, not {kind_of(written)}" if is_there else "test_cases is missing"
        findings.add(where, message)
        written = []
    elif not written:
        findings.add(where, "is empty: a suite needs at least one case")
    evals = _evals(findings, where, written, id_prefix, default_prefix, data.get("eval_type"))
    return Document(findings, data, place, evals, own_keys=frozenset(("test_cases",)))


def _evals(
    findings: Findings,
    where: FieldPath,
    rows: list[Any],
    id_prefix: str = "",
    default_prefix: str = "",
    around: Any = "",
) -> Iterator[WrittenEval]:
    """`around` is the `eval_type` of the document."""
    for position, row in enumerate(rows):
        place = (*where, position)
        if isinstance(row, Mapping):
            yield WrittenEval(
                row,
                place,
                findings,
                f"{default_prefix}case-{position + 1}",
                eval_type="regression" if not around and is_regression(row) else "",
                lifts_metadata=not EVAL_KEYS.isdisjoint(row) or around in EVAL_TYPES,
                id_prefix=id_prefix,
            )
        else:
            findings.add(place, f"a case must be a mapping with id and input, not {kind_of(row)}")


# Assembling: documents → one suite. A native file is one document; an eval suite refers to as many as it likes.


class Assembly:
    """One suite on its way; `files` are the findings of all files it is made of, in the order they were read."""

    def __init__(self, source: Source, *, reach_is_layout: bool = True) -> None:
        self.findings = Findings(source)
        self.files = [self.findings]
        self.folder = Folder(source.path.parent)
        self.layout = Layout(source.path)
        self.graders = GraderReader(self.layout)
        self.reader = CaseReader(self.folder, self.layout.folder if reach_is_layout else self.folder, self.graders)
        self.suite: Suite | None = None
        self.place: FieldPath = ()
        self.cases: list[Case] = []
        self._comparing: dict[int, tuple[GraderSpec, CaseNeeds]] = {}
        """By identity, whether a grader needs a reference: most cases share those of the suite."""
        self.secrets: dict[str, None] = {}
        self.infrastructure_errors: dict[str, None] = {}
        self.named: dict[tuple[str, str], tuple[Any, str]] = {}
        """Variables and targets of the parts, by kind and name, each with the file that says so."""

    def open(self, document: Document) -> Defaults:
        """The suite's own document: what it says decides for all."""
        name = document.findings.source.path.stem
        self.suite = read_suite(document, self.graders, name, ".", prompt_files=self.reader.reach)
        self.place = document.at("gate")
        return own_defaults(document, self.suite)

    def open_part(self, document: Document, around: Defaults) -> Defaults:
        """A document that the suite is partly made of: what it says goes to its own cases."""
        if not document.top:
            return around
        prefix = self.folder.prefix_of(document.findings)
        part = read_suite(document, self.graders, document.findings.source.path.stem, prefix)
        if part is not None:
            self._merge(document, part, prefix)
        return part_defaults(document, part, around, prefix)

    def add(self, document: Document, defaults: Defaults) -> None:
        for written in document.evals:
            case = self.reader.read(written, defaults)
            if case is not None:
                self.cases.append(case)
                self._check_reference(written, case)
                if self.suite is not None and self.suite.prompts:
                    check_prompted(written, case, self.suite)

    def _check_reference(self, written: WrittenEval, case: Case) -> None:
        """The suite's own graders count as well: a case may leave it to them."""
        if self.suite is None or (case.reference is not None and case.expected is not None):
            return
        for spec in self.suite.graders_for(case):
            needs = self._needs_of(spec)
            if needs.reference and case.reference is None:
                message = f"there is nothing for '{spec.kind}' to compare the answer with: add `reference`"
                written.findings.add(written.place, message)
            if needs.expected and case.expected is None:
                message = f"the rubric of '{spec.label}' has {{requirements}}, but the case has no `expected`"
                written.findings.add(written.place, message)

    def _needs_of(self, spec: GraderSpec) -> CaseNeeds:
        if id(spec) not in self._comparing:
            self._comparing[id(spec)] = spec, needs_of(spec)  # held, so that no other gets its identity
        return self._comparing[id(spec)][1]

    def finish(self) -> tuple[Suite | None, Findings]:
        """The suite, or None; and the findings of all its files in those of the first."""
        around = self.layout.thresholds(self.findings) if self.suite else WrittenThresholds()
        if self.suite is not None and self.suite.gate is not None:
            self._check_names(self.suite.gate, self.suite.eval_type)
        others = [*self.files[1:], self.layout.graders] if "graders" in vars(self.layout) else self.files[1:]
        self.findings.problems.sort(key=lambda problem: problem.line)
        for file in others:
            self.findings.problems += sorted(file.problems, key=lambda problem: problem.line)
            self.findings.parts |= file.parts
            self.findings.cases |= file.cases
        self.findings.problems = list(dict.fromkeys(self.findings.problems))
        if self.suite is not None and not self.cases and not self.findings.has_errors:
            self.findings.add((), "contains no cases")
        if self.suite is None or self.findings.has_errors:
            return None, self.findings
        suite = self._with_parts(self.suite)
        presets = merged(around.presets, suite.presets)
        gate = _gate(around.thresholds, suite.gate, presets)
        if gate != suite.gate:
            self.findings.thresholds_from = str(self.layout.folder.path / THRESHOLDS)
        suite = suite.model_copy(update={"gate": gate, "presets": presets})
        return suite.model_copy(
            update={"templated": "{{" in suite.model_dump_json(exclude_defaults=True)}
        ), self.findings

    def _check_names(self, gate: Gate, eval_type: str) -> None:
        """Cases and categories that the suite's own gate names, and that the suite does not have."""
        ids = [case.id for case in self.cases]
        kinds = {kind for case in self.cases for kind in (case.category, case.eval_type or eval_type) if kind}
        named: list[tuple[FieldPath, str, str, Collection[str]]] = [
            *((("required_cases", at), "case", id_, ids) for at, id_ in enumerate(gate.required_cases)),
            *((("quarantine", at, "case"), "case", entry.case, ids) for at, entry in enumerate(gate.quarantine)),
            *((("thresholds", "categories", name), "category", name, kinds) for name in gate.thresholds.categories),
        ]
        for place, noun, name, known in named:
            if name not in known and "{{" not in name:
                meant = closest(name, known) or ""
                message = f"the suite has no {noun} '{name}'"
                self.findings.add((*self.place, *place), message, severity="warning", suggestion=meant)
        held = [entry.case for entry in gate.quarantine]
        for at, name in enumerate(held):
            if name in held[:at]:
                message = f"'{name}' is already in quarantine (entry {held.index(name) + 1}): list it only once"
                self.findings.add((*self.place, "quarantine", at, "case"), message)

    def _merge(self, document: Document, part: Suite, prefix: str) -> None:
        """What cases of a part need, but only a suite can hold. Where parts disagree, the suite itself must decide."""
        self.secrets |= dict.fromkeys(part.secrets)
        self.infrastructure_errors |= dict.fromkeys(part.infrastructure_errors)
        targets = {name: rebased_target(spec, prefix) for name, spec in part.targets.items()}
        for key, said in (("vars", part.vars), ("targets", targets)):
            decided = {_same_name(key, name) for name in getattr(self.suite, key, ())}
            for name, value in said.items():
                where = str(document.findings.source.path)
                first, other = self.named.setdefault((key, _same_name(key, name)), (value, where))
                if first != value and _same_name(key, name) not in decided:
                    message = f"'{name}' is different in {other}; define it in the suite's own `{key}`"
                    document.findings.add(document.at(key, name), message)

    def _with_parts(self, suite: Suite) -> Suite:
        """What the suite says itself wins over its parts."""
        found: dict[str, dict[str, Any]] = {"vars": dict(suite.vars), "targets": dict(suite.targets)}
        for (key, name), (value, _) in self.named.items():
            if name not in {_same_name(key, known) for known in found[key]}:
                found[key][name] = value
        return suite.model_copy(
            update={
                **found,
                "cases": tuple(self.cases),
                "secrets": tuple(dict.fromkeys((*suite.secrets, *self.secrets))),
                "infrastructure_errors": tuple(
                    dict.fromkeys((*suite.infrastructure_errors, *self.infrastructure_errors))
                ),
            }
        )


def _same_name(key: str, name: str) -> str:
    """Names of variables are the same in upper and lower case; those of targets are taken as they are."""
    return name.lower() if key == "vars" else name


def _gate(thresholds: Thresholds, gate: Gate | None, presets: Presets) -> Gate | None:
    """What the suite's own file says, its preset included, wins over `config/thresholds.yaml`."""
    if gate is None:
        return Gate(thresholds=thresholds) if thresholds != Thresholds() else None
    around = Gate(k=gate.k, thresholds=thresholds)
    if gate.preset is not None:
        around = around.with_preset(gate.preset, presets)
    return gate.model_copy(update={"thresholds": gate.thresholds.over(around.thresholds)})
