"""Foresee code: whether a suite runs untrusted code, as far as its files tell. Nothing is built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalharness import registry
from evalharness.domain.specification import TargetSpec, WrittenTarget
from evalharness.domain.suite import Suite


def runs_code(suite: Suite, asked: Sequence[WrittenTarget] = ()) -> bool:
    """Rather once too often: a grader inside of another is known by its name alone. `asked` are targets as flags."""
    named = {
        word for case in suite.cases for spec in suite.graders_for(case) for word in (spec.kind, *_words(spec.options))
    }
    targets = [suite.target, *suite.targets.values(), *(case.target for case in suite.cases)]
    targets += map(TargetSpec.model_validate, asked)
    sandboxed = any(found.kind == "agent" or _is_sandboxed(found.options) for found in targets if found)
    graders = named.intersection(registry.names("grader"))
    return (
        sandboxed
        or any(case.setup for case in suite.cases)
        or any(registry.load("grader", name).needs_sandbox for name in graders)
    )


def _is_sandboxed(options: Any) -> bool:
    return isinstance(options, dict) and options.get("sandbox") is True


def _words(options: Any) -> Iterator[str]:
    """Keys, and the values of `type`."""
    if isinstance(options, dict):
        yield from options
        yield str(options.get("type"))
    for inner in (
        options.values() if isinstance(options, dict) else options if isinstance(options, list | tuple) else ()
    ):
        yield from _words(inner)
