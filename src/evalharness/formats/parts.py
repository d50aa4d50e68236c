"""The parts of a suite as files name them: graders and targets with their options, functions, files, secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.model import split_name
from evalharness.domain.case import CaseFile
from evalharness.domain.options import Options
from evalharness.domain.problem import FieldPath, Severity
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.errors import InvalidFile, NamesNoFunction, NoSuchFile, UnknownName, UsageError
from evalharness.formats.problems import Findings
from evalharness.redaction import SHORTEST_SECRET, is_secret_name
from evalharness.references import missing_function, names_in, no_such_file, split_reference, syntax_error_in
from evalharness.syntax.source import read_source
from evalharness.values.json_value import Json
from evalharness.values.variables import needed
from evalharness.workspaces import confined, is_workspace_path

Spec = TypeVar("Spec", GraderSpec, TargetSpec)


def read_spec(model: type[Spec], written: Any) -> Spec | None:
    """None where the short form itself is wrong, which the model around it reports."""
    try:
        return None if written is None else model.model_validate(written)
    except ValidationError:
        return None


def check_grader(findings: Findings, place: FieldPath, spec: GraderSpec) -> None:
    _check_part(findings, place, "grader", spec)


class CaseNeeds(NamedTuple):
    """What a grader needs of its case."""

    reference: bool = False
    expected: bool = False


def needs_of(spec: GraderSpec) -> CaseNeeds:
    """Options that never need anything are not looked into: there may be many cases."""
    try:
        kind = registry.load("grader", spec.kind).Options
        if kind.needs_reference is Options.needs_reference and kind.needs_expected is Options.needs_expected:
            return CaseNeeds()
        options = registry.parse_options("grader", spec)
        return CaseNeeds(options.needs_reference, options.needs_expected)
    except (UnknownName, ValidationError):
        return CaseNeeds()  # which has been reported


def check_target(
    findings: Findings,
    place: FieldPath,
    spec: TargetSpec,
    *,
    has_variables: bool = True,
    secrets: Collection[str] | None = None,
) -> None:
    """A secret in a header or an address is refused: a run that was stored without it could not be resumed.

    `secrets` names the variables that are said to be some, where that is known.
    """
    _check_part(findings, place, "target", spec)
    options = spec.options if isinstance(spec.options, Mapping) else {"url": spec.options}
    headers = options.get("headers")
    where = "" if has_variables else ", in a target file"
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        if why := exposed(str(name), value, secrets):
            findings.add((*place, spec.kind, "headers", name), f"{why}{where}")
    if spec.kind == "http" and (why := exposed_in_address(options.get("url"), secrets)):
        findings.add((*place, spec.kind, "url"), f"{why}{where}")


def is_grader(name: str) -> bool:
    """Built-ins are looked up first: looking for those of other packages takes a thousand times as long."""
    return name in registry.BUILT_IN["grader"] or name in registry.names("grader")


def check_files(findings: Findings, place: FieldPath, files: Mapping[str, CaseFile], root: Path) -> None:
    """Paths are relative to the file that names them; what they name lies in `root`, the suite's folder."""
    for name, file in files.items():
        where = (*place, name)
        if not is_workspace_path(name):
            findings.add(where, "must be a relative path inside the workspace")
        if file.path is None:
            continue
        try:
            confined(root, file.path, start=findings.source.path.parent)
        except UsageError as error:
            findings.add(where, error.message)


def is_file(path: Path) -> bool:
    """Also for paths that cannot be: too long, with a NUL character, behind a folder that may not be entered."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def kind_of(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true/false", type(None): "null"}
    return names.get(type(value), "a number")


def _check_part(findings: Findings, place: FieldPath, noun: registry.Noun, spec: GraderSpec | TargetSpec) -> None:
    try:
        options: type[Options] = registry.load(noun, spec.kind).Options
    except UnknownName as error:
        if noun == "target":
            error = unknown_target(error, spec.kind, findings.source.path.parent)
        findings.unknown_name(place, error)
        return
    _check_options(findings, (*place, spec.kind), options, registry.written_options(options, spec))
    if spec.kind == "function":
        reference = spec.options.get("function") if isinstance(spec.options, Mapping) else spec.options
        if isinstance(reference, str):
            _check_reference(findings, place, reference, noun)


def _check_options(findings: Findings, place: FieldPath, options: type[Options], written: Json) -> None:
    try:
        options.model_validate(written)
    except UnknownName as error:  # of a part inside of this one
        findings.unknown_name(place, error)
    except ValidationError as error:
        # Of a part that is only named, the options are missing; none of them is null.
        is_told = written is None and not options.main_may_be_mapping and not findings.validated(place, options, {})
        if not is_told:
            findings.invalid(place, error, options)


def known_options(
    findings: Findings, place: FieldPath, part: tuple[registry.Noun, str], written: Mapping[str, Json], level: Severity
) -> dict[str, Json]:
    """The options that a part has; others have been reported and are left out.

    Files that come from elsewhere may say more than our parts understand: `level` is how grave that is.
    """
    if not written:
        return {}
    try:
        known = registry.load(*part).Options.known_keys()
    except UnknownName:
        return dict(written)
    findings.unknown_keys(place, written, known, level)
    return {key: value for key, value in written.items() if key in known}


def with_known_options(findings: Findings, place: FieldPath, noun: registry.Noun, spec: Spec) -> Spec:
    """The same of a part that stands in a file from elsewhere, where its options have names at all."""
    try:
        options: type[Options] = registry.load(noun, spec.kind).Options
    except UnknownName:
        return spec
    written = registry.written_options(options, spec)
    is_named = isinstance(written, Mapping) and options.are_named(written)
    if not is_named or written.keys() <= options.known_keys():
        return spec
    return spec.model_copy(update={"options": known_options(findings, place, (noun, spec.kind), written, "warning")})


def _check_reference(findings: Findings, place: FieldPath, reference: str, noun: str) -> None:
    """A target's file is looked for only by `validate`: when a run is started, another target may be named."""
    if "{{" in reference:
        return
    try:
        missing = missing_function(reference, findings.source.path.parent) if noun == "grader" else None
        split_reference(reference)
    except UsageError as error:
        findings.add(place, f"{error.message}; {error.plain_hint}")
        return
    if isinstance(missing, NoSuchFile) and not missing.guess:
        findings.add(place, f"the {noun}'s file {reference.rpartition(':')[0]} does not exist")
    elif missing is not None:
        findings.unknown_name(place, missing)


def unknown_target(error: UnknownName, written: str, root: Path) -> UnknownName:
    """The same error, with what was probably meant: a function of a file, a model, or a program."""
    if len(written.split()) > 1 and not is_file(root / written):
        return error.guessing(f"cmd:{written}")
    if written.endswith(".py"):
        return _without_function(written, root)
    if split_name(written) and not is_file(root / written):
        return error.guessing(f"chat:{written}")
    return error.guessing(f"cmd:{written}") if is_file(root / written) else error


def _without_function(written: str, root: Path) -> UnknownName:
    if not is_file(root / written):
        return no_such_file(written, root)
    known = names_in(root / written)
    if known is None:
        what = f"'{written}' cannot be read as Python: {syntax_error_in(root / written)}"
        return UnknownName("target", written, [], what=what)
    public = [name for name in known.functions or known.imported if not name.startswith("_")]
    return NamesNoFunction(written, [f"{written}:{name}" for name in public])


# A target file: a YAML or JSON file that describes a target in full, alone or under the key `target`.


def load_target(path: Path, secrets: Collection[str] = ()) -> TargetSpec:
    """Its own paths are relative to the file; `secrets` are the suite's. Raises InvalidFile with every problem."""
    source = read_source(path)
    findings = Findings(source)
    inside = isinstance(source.data, Mapping) and "target" in source.data
    place = ("target",) if inside else ()
    spec = findings.validated(place, TargetSpec, source.data["target"] if inside else source.data)
    if spec is not None:
        check_target(findings, place, spec, secrets=secrets)
    if spec is None or findings.has_errors:
        raise InvalidFile(findings.problems)
    return spec.model_copy(update={"name": spec.name or path.stem, "root": str(path.resolve().parent)})


# Secrets that somebody wrote into a file, told by the name of what holds them: a header, a parameter, a login.
#
# Not those that were given as values and turn up in a text: these are the redactor's.

_PLACE = re.compile(r"\{\s*\w[\w.-]*\s*\}")
_NEXT_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET = re.compile(
    r"(?<![a-z])(?:api|access|auth|refresh|session|client|secret)?[-_]?"
    r"(?:keys?|tokens?|secrets?|passw\w*|credentials?|auth|authorization|cookies?|sig|signature)(?![a-z])",
    re.IGNORECASE,
)
"""A whole word of a name: neither `author` nor `keyword`."""
_NO_SECRET = re.compile(
    r"\b(?:idempotency|sort|order|partition|primary|public|cache)[-_]key|\bauth[-_](?:method|type)", re.IGNORECASE
)
_SCHEME = re.compile(r"\A\s*(?:bearer|basic|digest|token)\s", re.IGNORECASE)


def exposed(name: str, value: Any, secrets: Collection[str] | None = None) -> str:
    """Why a value of this name would be stored in plain text; empty where it would not.

    `secrets` are the variables said to be some; None where that is not known, and variables are taken on trust.
    """
    words = _NEXT_WORD.sub("-", name)
    if not isinstance(value, str) or not _SECRET.search(words) or _NO_SECRET.search(words):
        return ""
    variables, known = sorted(needed(value)), {each.lower() for each in secrets or ()}
    if secrets is not None and variables and not any(is_secret_name(each) or each in known for each in variables):
        return f"the variable {variables[0]} would be stored in plain text: list it under `secrets:`, or name it …_key"
    if _PLACE.search(value) or len(_SCHEME.sub("", value, count=1).strip()) < SHORTEST_SECRET:
        return ""
    return "would be stored in plain text: write {{api_key}} and pass the value as a variable"


def exposed_in_address(url: Any, secrets: Collection[str] | None = None) -> str:
    """The same of a password, of a login that is nothing but a token, and of parameters by their names."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
    except ValueError:  # no address at all, which is described elsewhere
        return ""
    if parts is None:
        return ""
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    held = [("password", password or user), *parse_qsl(parts.query)]
    return next(filter(None, (exposed(name, value, secrets) for name, value in held)), "")
