"""Regression evals: a known-good answer (`baseline`), how to get today's (`current`), and how they are compared.

Here they become what every case has: an input, a target, something expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalharness.documents.http_messages import is_response
from evalharness.domain.case import as_text
from evalharness.errors import UnknownName
from evalharness.formats.native.expectations import Expected
from evalharness.formats.native.folder import REF, Folder, is_ref
from evalharness.formats.native.written_evals import WrittenEval
from evalharness.syntax.source import ENDINGS
from evalharness.values.json_value import Json
from evalharness.values.variables import MATCHER

BASELINE_KEYS = ("output", "response", "version", "captured_at", "environment")
COMPARISONS = ("exact", "numeric", "structural", "semantic")
STRUCTURAL_OPTIONS = (
    "ignore_fields",
    "ignore_values",
    "require_keys",
    "allow_additional_fields",
    "allow_field_reordering",
    "strict",
)
SEMANTIC_OPTIONS = ("threshold", "model")


@dataclass(frozen=True, slots=True)
class KnownGoodAnswer:
    """`about` is what is known of the known-good answer beside itself."""

    output: Json
    about: dict[str, Json] = field(default_factory=dict)

    @property
    def is_response(self) -> bool:
        """Whether it is a whole HTTP response, so that today's answer must be one too."""
        return is_response(self.output)

    @property
    def is_plain(self) -> bool:
        """Whether it can be compared as it is: nothing in it stands for many values."""
        return not self.is_response and not MATCHER.search(as_text(self.output))


def read_baseline(written: WrittenEval, folder: Folder) -> KnownGoodAnswer | None:
    """None when there is none, or when it is wrong, which has then been reported."""
    value = written.fields.get("baseline")
    if value is None:
        written.add(("baseline",), "is missing: a regression eval compares the answer with it")
        return None
    if is_ref(value):
        written.findings.unknown_keys(written.at("baseline"), value, (REF, *BASELINE_KEYS), written.severity)
        found = _referred(written, folder, ("baseline",), value)
        if found is None:
            return None
        [referred] = found
        is_whole = isinstance(referred, Mapping) and not {"output", "response"}.isdisjoint(referred)
        value = {**(referred if is_whole else {"output": referred}), **value}
    elif not isinstance(value, Mapping):
        value = {"output": value}
    else:
        written.findings.unknown_keys(written.at("baseline"), value, BASELINE_KEYS, written.severity)
    return _read(written, folder, value)


def _read(written: WrittenEval, folder: Folder, value: Mapping[str, Any]) -> KnownGoodAnswer | None:
    key = "output" if "output" in value else "response"
    if key not in value:
        written.add(("baseline",), "has no output")
        return None
    output = value[key]
    if is_ref(output):
        written.findings.unknown_keys(written.at("baseline", key), output, (REF,), written.severity)
        found = _referred(written, folder, ("baseline", key), output)
        if found is None:
            return None
        [output] = found
    about = {name: value[name] for name in ("version", "captured_at", "environment") if value.get(name) is not None}
    if written.fields.get("baseline_version") is not None:
        about["version"] = written.fields["baseline_version"]
    return KnownGoodAnswer(output, about)


def _referred(
    written: WrittenEval, folder: Folder, path: tuple[str, ...], value: Mapping[str, Any]
) -> list[Json] | None:
    """What a file of the suite's folder holds, as the one element of a list: it may hold nothing at all.

    A file of an ending that is no data is the text that it holds.
    """
    place = written.at(*path, REF)
    file = folder.find(written.findings, place, value[REF])
    if file is not None and file.suffix.lower() not in ENDINGS:
        text = folder.read_text(written.findings, place, value[REF])
        return None if text is None else [text]
    source = folder.read(written.findings, place, file) if file else None
    return None if source is None else [source.data]


def read_comparison(written: WrittenEval, baseline: KnownGoodAnswer) -> Expected | None:
    """What is expected of today's answer; None when `comparison` is wrong, which has then been reported."""
    value = written.mapping("comparison")
    type_ = value.get("type") or _method(written)
    if type_ not in COMPARISONS:
        known = UnknownName("comparison", str(type_), COMPARISONS)
        written.findings.unknown_name(written.at("comparison", "type"), known)
        return None
    options = _options(written, value, type_)
    if type_ == "semantic":
        return Expected("semantic_similarity", (baseline.output,), options, decides=True)
    if type_ == "numeric":
        return Expected("numeric_deltas", (baseline.output,), options, decides=True)
    if type_ == "exact":
        if not options and baseline.is_plain:
            return Expected("exact", (baseline.output,), decides=True)
        options = {"allow_additional_fields": False, **options}
    return Expected("structural_match", (baseline.output,), options, decides=True)


def _method(written: WrittenEval) -> str:
    """A grader beside the baseline may say how to compare, too."""
    grader = written.fields.get("grader")
    config = grader.get("config") if isinstance(grader, Mapping) else None
    is_structural = isinstance(config, Mapping) and config.get("method") == "structural_match"
    return "structural" if is_structural else "exact"


def _options(written: WrittenEval, value: Mapping[str, Any], type_: str) -> dict[str, Json]:
    """Options stand in `tolerance`, in `options`, or beside them; only numbers have a tolerance that is one."""
    used = {"numeric": ("ignore_fields",), "semantic": SEMANTIC_OPTIONS}.get(type_, STRUCTURAL_OPTIONS)
    known = (*STRUCTURAL_OPTIONS, *SEMANTIC_OPTIONS)
    found: dict[str, Json] = {}
    for path in (("comparison", "tolerance"), ("comparison", "options"), ("comparison",)):
        group = written.mapping(*path) if path[-1] != "tolerance" or type_ != "numeric" else {}
        beside = ("type", "tolerance", "options") if len(path) == 1 else ("tolerance",)
        written.findings.unknown_keys(written.at(*path), group, (*beside, *known), written.severity)
        for key in [key for key in group if key in known]:
            if key in used:
                found[key] = group[key]
            else:
                written.add((*path, key), f"has no effect in a {type_} comparison", severity="warning")
    if type_ == "numeric":
        beside_type = written.mapping("comparison", "options").get("tolerance")
        found["tolerance"] = value.get("tolerance", beside_type) or {}
    return found
