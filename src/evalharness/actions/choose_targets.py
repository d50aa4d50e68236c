"""Choose targets: what a run is run on: the targets asked for, else the suite's variants, else its target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite, Variant
from evalharness.errors import UsageError
from evalharness.formats.targets import load_target

WrittenTarget: TypeAlias = str | TargetSpec | Mapping[str, Any] | Callable[..., Any]
"""Whatever `--target` takes, and from Python also a function, a mapping or a specification."""


def choose_targets(suite: Suite, asked: Sequence[WrittenTarget], where: str) -> list[Variant]:
    if asked:
        specs = [_asked_target(written, suite) for written in asked]
        named = {spec.label: spec for spec in specs}  # the same one twice is still one
        return [Variant(name=name, target=spec) for name, spec in named.items()]
    if suite.variants:
        return [v.model_copy(update={"target": suite.named_target(v.target)}) for v in suite.variants]
    if suite.target is None:
        raise UsageError(
            f"{where} names no target",
            hint="add `target:` to the suite or give --target file.py:attr, cmd:COMMAND, a URL or oracle",
        )
    target = suite.named_target(suite.target)
    return [Variant(name=target.label, target=target)]


def _asked_target(written: WrittenTarget, suite: Suite) -> TargetSpec:
    """It is found from the current folder, and the run remembers which that was; a target file has its own folder."""
    if isinstance(written, str):
        if written in suite.targets:
            return suite.targets[written].model_copy(update={"name": written})
        if Path(written).suffix in (".yaml", ".yml", ".json"):
            return load_target(Path(written))
    try:
        spec = TargetSpec.model_validate(written)
    except ValidationError as error:
        raise UsageError(f"{written!r} is no target: {error.errors()[0]['msg']}") from None
    registry.load("target", spec.kind)
    return spec if spec.root or spec.function else spec.model_copy(update={"root": str(Path.cwd())})
