"""Choose targets: those asked for, else the suite's variants, else its target.

A suite with prompts asks each of these with each prompt. Without a target of its own, it uses all its named targets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.invalid_values import explain
from evalharness.domain.prompt import JOINED
from evalharness.domain.specification import TargetSpec, WrittenTarget
from evalharness.domain.suite import Suite, Variant
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.formats.parts import exposed_in_address, load_target, unknown_target
from evalharness.values.text import head

LONGEST_NAME = 200


def choose_targets(suite: Suite, asked: Sequence[WrittenTarget], where: str) -> tuple[Suite, list[Variant]]:
    """The variants to run. Targets asked for, and variants, replace what single cases say; the suite comes without."""
    if asked:
        named = _by_label(_asked_of_suite(written, suite) for written in asked)
        variants = _with_variants(suite, named) or [_named(label, spec) for label, spec in named.items()]
        return without_own_targets(suite), _with_prompts(suite, variants, where)
    if suite.variants:
        variants = [_complete(variant, suite, where) for variant in suite.variants]
        return without_own_targets(suite), _with_prompts(suite, variants, where)
    if suite.prompts and suite.target is None and suite.targets:
        named = {name: spec.model_copy(update={"name": name}) for name, spec in suite.targets.items()}
        return suite, _with_prompts(suite, [_named(label, spec) for label, spec in named.items()], where)
    target = _common_target(suite, where)
    return suite, _with_prompts(suite, [_named(target.label, target)], where, is_only_target=True)


def _with_prompts(suite: Suite, variants: list[Variant], where: str, *, is_only_target: bool = False) -> list[Variant]:
    """Each prompt on each target: `prompt · target`, and only `prompt` on the suite's one and only target.

    A target that does not read what it is asked is tried once, without a prompt.
    """
    if not suite.prompts:
        return variants
    crossed = []
    for variant in variants:
        target = variant.target
        assert target is not None, "chosen with its target"
        if target.takes_input_apart:
            raise UsageError(
                f"{where}: the target {target.label} uses fields of the input, but with a prompt the input is text",
                hint="write {input} in the target, or leave out `prompts`",
            )
        if not registry.load("target", target.kind).reads_input:
            crossed.append(variant)
            continue
        for prompt in suite.prompts:
            name = prompt.name if is_only_target else f"{prompt.name}{JOINED}{variant.name}"
            asked = target.model_copy(update={"prompt": prompt})
            crossed.append(variant.model_copy(update={"name": name, "target": asked}))
    return crossed


def _by_label(specs: Iterable[TargetSpec]) -> dict[str, TargetSpec]:
    """The same one asked for twice is still one; others that would be called the same are reported apart."""
    named: dict[str, TargetSpec] = {}
    for spec in specs:
        label = spec.label
        if named.get(label, spec) != spec:
            label = spec.source_file or f"{label} ({len(named) + 1})"
        named[label] = spec
    return named


def _named(label: str, target: TargetSpec) -> Variant:
    """A command line of any length is a target's label, but not a name."""
    return Variant(name=head(label, LONGEST_NAME), target=target)


def _with_variants(suite: Suite, named: Mapping[str, TargetSpec]) -> list[Variant]:
    """Variants that only tell a target something go together with every target asked for."""
    free = [variant for variant in suite.variants if variant.target is None]
    return [
        _telling(variant, spec, variant.name if len(named) == 1 else f"{variant.name} on {label}")
        for label, spec in named.items()
        for variant in free
    ]


def _complete(variant: Variant, suite: Suite, where: str) -> Variant:
    target = suite.named_target(variant.target) if variant.target else _common_target(suite, where)
    return _telling(variant, target, variant.name)


def _telling(variant: Variant, target: TargetSpec, name: str) -> Variant:
    reported = target.model_copy(update={"variant": variant.target_fields()})
    return variant.model_copy(update={"name": name, "target": reported})


def _common_target(suite: Suite, where: str) -> TargetSpec:
    """The suite's target; where every case has its own, these are it."""
    if suite.target is not None:
        return suite.named_target(suite.target)
    specs = [suite.named_target(case.target) for case in suite.cases if case.target]
    own = {spec.model_dump_json(): spec for spec in specs}
    without = [case.id for case in suite.cases if case.target is None]
    if own and not without:
        return next(iter(own.values())) if len(own) == 1 else TargetSpec(kind="null", name="each case's own")
    which = f"{where} has no target" + (f" for {_listed(without)}" if own else "")
    if suite.targets:
        raise UsageError(
            which, hint=Hint("hint.choose_target", targets=list(suite.targets)[:5], number=len(suite.targets))
        )
    raise UsageError(which, hint=Hint("hint.name_target"))


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")


def without_own_targets(suite: Suite) -> Suite:
    """Without the targets that single cases name: planning would build them."""
    if not any(case.target for case in suite.cases):
        return suite
    cases = tuple(case.model_copy(update={"target": None}) for case in suite.cases)
    return suite.model_copy(update={"cases": cases})


def _asked_of_suite(written: WrittenTarget, suite: Suite) -> TargetSpec:
    if isinstance(written, str) and written in suite.targets:
        return suite.targets[written].model_copy(update={"name": written})
    return asked_target(written, suite.secrets)


def asked_target(written: WrittenTarget, secrets: Collection[str] = ()) -> TargetSpec:
    """It is found from the current folder, and the run remembers which that was; a target file has its own folder.

    `secrets` are the suite's. Raises UsageError.
    """
    if isinstance(written, str):
        is_short_form = TargetSpec.model_validate(written).kind != written  # `cmd:agent config.yaml` is no file
        if Path(written).suffix in (".yaml", ".yml", ".json") and not is_short_form:
            return load_target(Path(written), secrets).model_copy(update={"source_file": written})
    if not isinstance(written, str | Mapping | TargetSpec) and not callable(written):
        raise UsageError(f"{written!r} is not a target: give a function, its name (agent.py:answer) or a mapping")
    try:
        spec = TargetSpec.model_validate(written)
    except ValidationError as error:
        raise UsageError(f"{written!r} is not a target: {explain(error)}") from None
    try:
        registry.load("target", spec.kind)
    except UnknownName as error:
        raise unknown_target(error, spec.kind, Path.cwd()) from None
    if spec.kind == "http" and (why := exposed_in_address(spec.options, secrets)):
        raise UsageError(f"the target's address {why}", hint=Hint("hint.key_as_variable"))
    return spec if spec.root or spec.function else spec.model_copy(update={"root": str(Path.cwd())})
