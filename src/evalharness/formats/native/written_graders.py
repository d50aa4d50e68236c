"""Graders as people ask for them, in `grader:` and `graders:` → specifications, checked.

A grader is asked for by its documented form (`{type: code, config: {method: …}}`), by a name of
`config/graders.yaml`, or in any native form. What the answer is compared with comes from `expectations.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.problem import FieldPath, Severity
from evalharness.domain.specification import GraderSpec
from evalharness.errors import UnknownName
from evalharness.formats.native.expectations import JUDGES, KINDS, SHARED, Expected, comparison
from evalharness.formats.native.folder import HERE, Layout, rebased_grader, with_parts
from evalharness.formats.parts import (
    check_grader,
    is_grader,
    kind_of,
    known_options,
    with_known_options,
)
from evalharness.formats.problems import Findings
from evalharness.values.json_value import Json

PROMPT = "model_grader_prompt"
MOST_KNOWN = 1000
METHODS = ("exact_match", "regex", "structural_match", "function_output")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a grader was asked for. `prefix` leads from the suite's folder to the files that it names."""

    findings: Findings
    place: FieldPath
    prefix: str = HERE
    is_native: bool = True

    @property
    def severity(self) -> Severity:
        """How grave it is that a key is not known."""
        return "error" if self.is_native else "warning"

    def add(self, message: str, *path: str | int, **more: Any) -> None:
        self.findings.add((*self.place, *path), message, **more)


class GraderReader:
    """Reads the graders of one suite; None is returned for what is wrong, which has then been reported."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._known: dict[tuple[str, str, str, bool], GraderSpec] = {}
        """Sound graders with nothing but a text, `{contains: Ada}`, the first so many: cases often say the same."""

    def read(self, grader: Any, origin: Origin, expected: Expected | None = None) -> GraderSpec | None:
        """One entry of `graders:`; what is expected goes only to forms that say nothing of it themselves."""
        named = self._definition(grader)
        if named is not None:
            return self.read_inline(self.layout.named[grader], named, expected)
        return self.read_inline(grader, origin, expected)

    def read_list(self, graders: Any, origin: Origin, expected: Expected | None = None) -> Any:
        """A list of specifications; anything but a list is left for the model around it to refuse."""
        if not isinstance(graders, list):
            return graders
        places = [replace(origin, place=(*origin.place, index)) for index in range(len(graders))]
        read = [self.read(grader, place, expected) for grader, place in zip(graders, places, strict=True)]
        return [spec for spec in read if spec is not None]

    def compare(self, grader: Any, origin: Origin, expected: Expected) -> GraderSpec | None:
        """`grader:` beside what is expected: it says how the two are compared."""
        named = self._definition(grader)
        if named is not None:
            grader, origin = self.layout.named[grader], named
        if not _is_documented(grader):
            grader = self._with_value(grader, origin, expected)
        return None if grader is None else self.read_inline(grader, origin, expected)

    def read_inline(self, grader: Any, origin: Origin, expected: Expected | None) -> GraderSpec | None:
        """A grader in any form but a name of `config/graders.yaml`."""
        key = _key_of(grader, origin)
        if key is not None and (known := self._known.get(key)) is not None:
            return known
        before = len(origin.findings.problems)
        spec = self._read_inline(grader, origin, expected)
        is_sound = spec is not None and len(origin.findings.problems) == before
        if key is not None and spec is not None and is_sound and len(self._known) < MOST_KNOWN:
            self._known[key] = spec
        return spec

    def _read_inline(self, grader: Any, origin: Origin, expected: Expected | None) -> GraderSpec | None:
        if _is_documented(grader):
            grader = self._documented({"type": "code"} if grader == "code" else grader, origin, expected)
            if grader is None:
                return None
        elif (unknown := _unknown_kind(grader)) is not None:
            self._tell_unknown(unknown, origin)
            return None
        spec = origin.findings.validated(origin.place, GraderSpec, grader)
        if spec is None:
            return None
        if not origin.is_native:
            spec = with_known_options(origin.findings, origin.place, "grader", spec)
        if self._prompt:
            spec = _with_prompt(spec, self._prompt)
        check_grader(origin.findings, origin.place, spec)
        if _contains_nothing(spec):
            origin.findings.add(origin.place, "an empty text matches every answer", severity="warning")
        return rebased_grader(spec, origin.prefix).compact()

    @cached_property
    def _prompt(self) -> str:
        """`model_grader_prompt` of `config/graders.yaml`, for model graders without one; empty where it is wrong."""
        written, findings = self.layout.named.get(PROMPT), self.layout.graders
        if written is None:
            return ""
        spec = GraderSpec(kind="model", options={PROMPT: written})
        before = len(findings.problems)
        check_grader(findings, (), spec)
        return "" if len(findings.problems) > before else str(written)

    def _tell_unknown(self, name: str, origin: Origin) -> None:
        in_config = origin.findings is self.layout.graders
        if in_config and name in self.layout.named:
            origin.add(f"'{name}' is another name of this file; describe the grader here instead")
            return
        choices = ["code", *(() if in_config else self.layout.named), *registry.names("grader")]
        origin.findings.unknown_name(origin.place, UnknownName("grader", name, choices))

    def _definition(self, grader: Any) -> Origin | None:
        """Where a name of `config/graders.yaml` is defined."""
        if not isinstance(grader, str) or grader not in self.layout.named:
            return None
        return Origin(self.layout.graders, (grader,), self.layout.config_prefix)

    def _documented(self, grader: Mapping[str, Any], origin: Origin, expected: Expected | None) -> Any:
        """`{type: code | model | human, config: {…}}` as a native form."""
        origin.findings.unknown_keys(origin.place, grader, ("type", "config", *SHARED), origin.severity)
        config = {} if grader.get("config") is None else grader["config"]
        if not isinstance(config, Mapping):
            origin.add(f"must be a mapping, not {kind_of(config)}", "config")
            return None
        kind = self._kind(grader, config, origin, expected)
        if kind is None:
            return None
        options = {key: value for key, value in config.items() if key != "method"}
        options = known_options(origin.findings, (*origin.place, "config"), ("grader", kind), options, origin.severity)
        shared = {key: grader[key] for key in SHARED if key in grader}
        if expected is None:
            return {"kind": kind, "options": options, **shared}
        return {**comparison(expected, kind, options), **shared}

    def _kind(
        self, grader: Mapping[str, Any], config: Mapping[str, Any], origin: Origin, expected: Expected | None
    ) -> str | None:
        type_, method = grader.get("type"), config.get("method")
        if type_ in JUDGES:
            return str(type_)
        if method is not None and method not in METHODS:
            known = UnknownName("method", str(method), METHODS)
            origin.findings.unknown_name((*origin.place, "config", "method"), known)
            return None
        if expected is not None and (expected.decides or not method):
            return expected.kind
        kind = KINDS.get(str(method), str(method))
        has_value = expected is not None or not {"value", "pattern", "test_cases"}.isdisjoint(config)
        if method is None or not has_value:
            origin.add("there is nothing to compare the answer with: add `expected`")
            return None
        return kind

    def _with_value(self, grader: Any, origin: Origin, expected: Expected) -> Any:
        """A native grader that is to compare with what is expected."""
        try:
            spec = GraderSpec.model_validate(grader)
            options = registry.load("grader", spec.kind).Options
        except (ValidationError, UnknownName):
            return grader  # which will be reported where it is read
        if spec.kind == "function":
            return grader
        if spec.kind in JUDGES or (spec.options is None and "value" in options.known_keys()):
            return _as_form(comparison(expected, spec.kind, spec.options), spec)
        if isinstance(spec.options, Mapping) and spec.kind not in spec.options and "value" in options.known_keys():
            return _as_form(comparison(expected, spec.kind, spec.options), spec)
        origin.add(f"'{spec.kind}' does not look at `expected`; list it under `graders` instead")
        return None


def _key_of(grader: Any, origin: Origin) -> tuple[str, str, str, bool] | None:
    """By which a grader of one text is found again, wherever it means the same."""
    if type(grader) is not dict or len(grader) != 1 or _is_documented(grader):
        return None
    [(kind, text)] = grader.items()
    return (kind, text, origin.prefix, origin.is_native) if type(kind) is str and type(text) is str else None


def _contains_nothing(spec: GraderSpec) -> bool:
    value = spec.options.get("value") if isinstance(spec.options, Mapping) else spec.options
    return spec.kind == "contains" and "" in (value if isinstance(value, list | tuple) else [value])


def _with_prompt(spec: GraderSpec, prompt: str) -> GraderSpec:
    """Of a model grader, at any depth of graders made of graders. Its own goes first."""
    if spec.kind != "model":
        return with_parts(spec, lambda part: _with_prompt(part, prompt))
    options = {} if spec.options is None else spec.options
    if not isinstance(options, Mapping):
        options = {"model": options}
    if {"prompt", PROMPT} & options.keys():
        return spec
    return spec.model_copy(update={"options": {**options, "prompt": prompt}})


def _as_form(compared: dict[str, Any], spec: GraderSpec) -> dict[str, Json]:
    return {**compared, **{key: getattr(spec, key) for key in SHARED}}


def _is_documented(grader: Any) -> bool:
    if isinstance(grader, Mapping):
        return bool(grader.get("type") == "code" or (grader.get("type") in JUDGES and "config" in grader))
    return bool(grader == "code")


def _unknown_kind(grader: Any) -> str | None:
    """The name of a grader that nobody knows, where a name is what was written."""
    name = grader.get("type") if isinstance(grader, Mapping) else grader
    return name if isinstance(name, str) and ":" not in name and not is_grader(name) else None
