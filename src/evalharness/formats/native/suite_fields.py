"""What a file says beside its cases: the suite's name, target, graders, config, …, read and checked in one place.

Also what a file that is only a part of a suite says for all its own cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evalharness import registry
from evalharness.domain.case import EVAL_TYPES, Case
from evalharness.domain.gate import METRIC, PRESETS, metric_name
from evalharness.domain.problem import FieldPath
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import NOBODY_NOTIFIED, Reporting, Suite, SuiteConfig
from evalharness.errors import Hint
from evalharness.formats.native.cases import Defaults
from evalharness.formats.native.folder import Folder, rebased_target
from evalharness.formats.native.prompts import read_prompts
from evalharness.formats.native.written_evals import Document
from evalharness.formats.native.written_graders import GraderReader, Origin
from evalharness.formats.parts import check_target, exposed, exposed_in_address, read_spec

SUITE_KEYS = (set(Suite.model_fields) - {"cases", "templated"}) | {"test_cases"}
CONFIG_KEYS = {*SuiteConfig.model_fields, "parallel_execution"}
INHERITED = ("category", "criticality", "tags")
NOT_OF_A_PART = (
    *("trials", "k", "variants", "prompts", "case_threshold", "max_error_rate", "gate", "presets"),
    *("notify", "replay", "gateway"),
)
"""What only the suite as a whole can decide."""
OF_A_PART = ("timeout_seconds", "retries", "retry_count")
"""Keys of `config` that can be said of a part's own cases; the others are about the run."""


def read_suite(
    document: Document, graders: GraderReader, name: str, prefix: str, prompt_files: Folder | None = None
) -> Suite | None:
    """The suite without its cases; None when something is wrong with it, which has then been reported.

    `prompt_files` is where prompts may be read from; None for a part of a suite, which has none.
    """
    top = _known(document)
    metadata = top.get("metadata")
    named = metadata.get("name") if isinstance(metadata, Mapping) else None
    top.setdefault("name", named or name)
    if isinstance(metadata, Mapping) and "description" in metadata:
        top.setdefault("description", metadata["description"])
    document.findings.unknown_label(document.at("eval_type"), top.get("eval_type"), EVAL_TYPES, document.severity)
    _check_targets(document, top)
    if "graders" in top:
        origin = Origin(document.findings, document.at("graders"), prefix, document.is_native)
        top["graders"] = graders.read_list(top["graders"], origin)
    written = top.pop("prompts", None)
    if written is not None and prompt_files is not None:
        top["prompts"] = read_prompts(document, written, prompt_files)
        if top["prompts"]:
            _check_prompted_targets(document, top)
    return document.findings.validated(document.place, Suite, top)


def _check_prompted_targets(document: Document, top: Mapping[str, Any]) -> None:
    known = top.get("targets")
    for place, target in _written_targets(top, known if isinstance(known, Mapping) else {}):
        spec = read_spec(TargetSpec, target)
        if spec is not None and spec.takes_input_apart:
            message = "uses fields of the input, but with a prompt the input is text: write {input}"
            document.findings.add(document.at(*place), message)


def _known(document: Document) -> dict[str, Any]:
    """The known keys of a suite. Unknown keys are reported."""
    findings = document.findings
    keys = SUITE_KEYS - {"test_cases"}
    findings.unknown_keys(document.place, document.top, keys | document.own_keys, document.severity)
    top = {key: value for key, value in document.top.items() if key in keys - document.own_keys}
    config = top.get("config")
    if isinstance(config, Mapping) and not document.is_native:
        findings.unknown_keys(document.at("config"), config, CONFIG_KEYS, "warning")
        top["config"] = {key: value for key, value in config.items() if key in CONFIG_KEYS}
    _check_reporting(document, top)
    _check_notify(document, top)
    _check_gate(document, top)
    if isinstance(top.get("targets"), list):
        document.findings.add(document.at("targets"), "must be a mapping, not a list: give each target a name")
        del top["targets"]
    return top


def _check_gate(document: Document, top: dict[str, Any]) -> None:
    """What people write first is a least pass rate, in a way that it is not written."""
    gate = top.get("gate")
    if isinstance(gate, Mapping):
        metrics = {key: value for key, value in gate.items() if METRIC.fullmatch(metric_name(str(key)))}
        for key, value in metrics.items():
            message = f"belongs under thresholds: write {_thresholds(str(key), value)}"
            document.findings.add(document.at("gate", key), message)
        top["gate"] = {key: value for key, value in gate.items() if key not in metrics}
    elif gate is not None and not (isinstance(gate, str) and _share(gate) is None):
        example = f"gate: {{{_thresholds('pass_rate', gate)}}}"
        message = f"must be a preset ({', '.join(PRESETS)}) or a mapping, such as {example}"
        document.findings.add(document.at("gate"), message)
        del top["gate"]


def _thresholds(metric: str, written: Any) -> str:
    share = _share(written)
    return f"thresholds: {{{metric}: {0.8 if share is None else share:g}}}"


def _share(written: Any) -> float | None:
    """What is meant by 0.8, 80 or 80 %."""
    text = str(written).strip()
    number = text.removesuffix("%").strip()
    if isinstance(written, bool) or not re.fullmatch(r"\d+(\.\d+)?", number):
        return None
    return float(number) / (100 if text != number or float(number) > 1 else 1)


def _check_reporting(document: Document, top: Mapping[str, Any]) -> None:
    """Its keys, and the names of its formats; everything else is left for the model."""
    written = top.get("reporting")
    if written is None:
        return
    fields = written if isinstance(written, Mapping) else {"format": written}
    findings = document.findings
    findings.unknown_keys(document.at("reporting"), fields, Reporting.model_fields, document.severity)
    written_names = fields.get("format")
    wanted = written_names if isinstance(written_names, list) else [written_names]
    known = [name for name in registry.names("reporter") if _writes_files(name, is_wanted=name in wanted)]
    for name in wanted:
        findings.unknown_label(document.at("reporting", "format"), name, known, document.severity)
    folder = fields.get("output_dir")
    if isinstance(folder, str) and "\0" not in folder and (findings.source.path.parent / folder).is_file():
        findings.add(document.at("reporting", "output_dir"), f"must be a folder, and {folder} is a file")
    if fields.get("notify_on_failure") is True and top.get("notify") is None:
        place = document.at("reporting", "notify_on_failure")
        findings.add(place, NOBODY_NOTIFIED, severity="warning", hint=Hint("hint.add_notify"))


def _writes_files(name: str, *, is_wanted: bool) -> bool:
    """A plug-in that is not wanted is believed: one that cannot be loaded stops only who wants it."""
    is_ours = name in registry.BUILT_IN["reporter"]
    return bool(registry.build_reporter(name).endings) if is_ours or is_wanted else True


def _check_notify(document: Document, top: Mapping[str, Any]) -> None:
    """Secrets in it; everything else is left for the model."""
    written = top.get("notify")
    is_list = isinstance(written, list)
    for number, entry in enumerate(written if isinstance(written, list) else [written]):
        place = document.at("notify", number) if is_list else document.at("notify")
        fields = entry if isinstance(entry, Mapping) else {"url": entry}
        if why := exposed_in_address(fields.get("url"), _secrets(top)):
            document.findings.add((*place, "url") if isinstance(entry, Mapping) else place, why)
        headers = fields.get("headers")
        for name, value in headers.items() if isinstance(headers, Mapping) else ():
            if why := exposed(str(name), value, _secrets(top)):
                document.findings.add((*place, "headers", name), why)


def _check_targets(document: Document, top: Mapping[str, Any]) -> None:
    """Targets are checked even where the suite around them is wrong: all problems at once."""
    known = top.get("targets") if isinstance(top.get("targets"), Mapping) else {}
    for place, target in _written_targets(top, known or {}):
        spec = read_spec(TargetSpec, target)
        by_name = spec is not None and spec.options is None and spec.kind in (known or {})
        if spec is not None and not (by_name and place[0] != "targets"):
            check_target(document.findings, document.at(*place), spec, secrets=_secrets(top))
    if "target" in top and top["target"] is None:
        document.findings.add(
            document.at("target"), 'is empty; for the built-in target write "null" in quotes', severity="warning"
        )


def _secrets(top: Mapping[str, Any]) -> list[str]:
    listed = top.get("secrets")
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def _written_targets(top: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[tuple[FieldPath, Any]]:
    yield ("target",), top.get("target")
    for name, target in known.items():
        yield ("targets", name), target
    variants = top.get("variants")
    if isinstance(variants, Mapping):
        for name, target in variants.items():
            yield ("variants", name), target
    for index, row in enumerate(variants if isinstance(variants, list) else []):
        if isinstance(row, Mapping):
            yield ("variants", index, "target"), row.get("target")


def own_defaults(document: Document, suite: Suite | None) -> Defaults:
    """What the suite's own file says of its cases; everything else stays with the suite."""
    targets = frozenset(suite.targets if suite else ())
    has_target = suite is not None and (suite.target is not None or bool(suite.variants))
    has_prompts = bool(document.top.get("prompts"))
    has_graders = bool(document.top.get("graders"))
    secrets = tuple(_secrets(document.top))
    return Defaults(_inherited(document), has_graders, has_target, targets, secrets, has_prompts)


def part_defaults(document: Document, suite: Suite | None, around: Defaults, prefix: str) -> Defaults:
    """What a file that is part of a suite says of its cases: all it would say to them if it were run alone."""
    fields = {**around.fields, **_inherited(document)}
    if around.fields.get("tags") and "tags" in fields:
        fields["tags"] = list(dict.fromkeys([*around.fields["tags"], *fields["tags"]]))
    metadata = document.top.get("metadata")
    if isinstance(metadata, Mapping):
        about = {key: value for key, value in metadata.items() if key not in {*Case.model_fields, "name"}}
        fields["metadata"] = {**around.fields.get("metadata", {}), **about}
    secrets = (*(around.secrets or ()), *_secrets(document.top))
    if suite is None:
        return Defaults(fields, has_graders=True, has_target=True, secrets=secrets, has_prompts=around.has_prompts)
    config = suite.config
    if "timeout_seconds" in config.model_fields_set:
        fields["timeout_seconds"] = config.timeout_seconds
    if config.model_fields_set & {"retries", "retry_count"}:
        fields["retries"] = config.retries if config.retry_count is None else config.retry_count
    if suite.eval_type:
        fields["eval_type"] = suite.eval_type
    if suite.graders:
        fields["graders"] = suite.graders
    if suite.target is not None:
        fields["target"] = rebased_target(suite.named_target(suite.target), prefix)
    _tell_unused(document)
    return Defaults(
        fields,
        has_graders=around.has_graders or bool(suite.graders),
        has_target=around.has_target or suite.target is not None,
        targets=around.targets | frozenset(suite.targets),
        secrets=secrets,
        has_prompts=around.has_prompts,
    )


def _tell_unused(document: Document) -> None:
    """What a part says of the whole run, which it is not asked about."""
    config = document.top.get("config")
    paths: list[FieldPath] = [(key,) for key in NOT_OF_A_PART if key in document.top]
    if isinstance(config, Mapping):
        usual = SuiteConfig().model_dump() | {"parallel_execution": SuiteConfig().parallel}
        unusual = [key for key, value in config.items() if key in CONFIG_KEYS and value != usual[key]]
        paths += [("config", key) for key in unusual if key not in OF_A_PART]
    for path in paths:
        message = "is ignored: the suite that includes this file decides"
        document.findings.add(document.at(*path), message, severity="warning")


def _inherited(document: Document) -> dict[str, Any]:
    """What the file's metadata says of all its cases, as far as it can be said of a case."""
    metadata = document.top.get("metadata")
    if not isinstance(metadata, Mapping):
        return {}
    fields = {key: metadata[key] for key in INHERITED if metadata.get(key) is not None}
    case = document.findings.validated(document.at("metadata"), Case, {"id": "any", "input": "", **fields})
    return {} if case is None else fields
