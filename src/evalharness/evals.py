"""Eval-harness files in Python: the graders of their document for single answers, and its metrics.

A grader takes the configuration that stands under `config:` in a file and returns `{passed, score, details}`. Running
such files is not done here: `evalharness.evaluate("eval-suite.yaml", target)` does it, as for every other suite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, TypeVar

from pydantic import ValidationError

from evalharness.domain.case import Case, as_text
from evalharness.domain.options import Options
from evalharness.domain.specification import GraderSpec
from evalharness.domain.suite import Suite, SuiteConfig
from evalharness.errors import HarnessError, Unscored, UsageError
from evalharness.formats.problems import problems_text
from evalharness.graders.function_cases import FunctionOutputOptions
from evalharness.graders.patterns import RegexOptions, captures, search_slowly
from evalharness.graders.text import ExactOptions
from evalharness.harness import MEMORY, evaluate
from evalharness.stats import pass_k
from evalharness.stats.pass_k import pass_at_k
from evalharness.values.json_value import Json

__all__ = [
    "Graded",
    "exact_match_grader",
    "function_output_grader",
    "pass_at_k",
    "pass_hat_k",
    "regex_grader",
]

Config = Mapping[str, Any]
Checked = TypeVar("Checked", bound=Options)


class Graded(TypedDict):
    passed: bool
    score: float
    details: dict[str, Json]


def exact_match_grader(output: Json, expected: Json, config: Config | None = None) -> Graded:
    """`config`: case_sensitive, trim_whitespace, normalize_newlines, all true unless told otherwise.

    What is no text is compared as JSON, and no output as an empty one. `details` show both texts as they were compared.
    """
    options = _checked(ExactOptions, config, value=as_text(expected))
    actual, target = options.folded("" if output is None else as_text(output)), options.folded(options.value)
    return _graded(actual == target, {"expected": target, "actual": actual})


def regex_grader(output: Json, config: Config) -> Graded:
    """`config`: pattern, flags, must_match, capture_groups. The score follows `must_match`, too.

    Raises UsageError for a pattern that is no regular expression, or that takes too long.
    """
    options = _checked(RegexOptions, config)
    try:
        found = search_slowly(options.compiled(), as_text(output), options.pattern)
    except Unscored as error:
        raise UsageError(str(error)) from None
    details: dict[str, Json] = {"pattern": options.pattern, "matched": found is not None}
    if found is not None and options.capture_groups:
        details["captures"] = captures(found, options.capture_groups)
    return _graded((found is not None) == options.must_match, details)


def function_output_grader(code: str, config: Config, *, sandbox: str = "bubblewrap") -> Graded:
    """`config`: function_name, test_cases, executor, timeout_per_case. The score is the share of calls that return
    what they should; `details` has each of them.

    The code is run in a sandbox, each call in a process of its own; `sandbox="none"` runs it unprotected. Raises
    HarnessError where it cannot be run at all.
    """
    options = _checked(FunctionOutputOptions, config)
    grader = GraderSpec(kind="function_output", options=options.model_dump(mode="json", exclude_unset=True))
    case = Case(id="code", input="", graders=(grader,))
    suite = Suite(name="function_output", cases=(case,), config=SuiteConfig(retries=0))
    [trial] = evaluate(suite, lambda _: code, store=MEMORY, sandbox=sandbox).trials
    [grade] = trial.grades or (None,)
    if grade is None or grade.score is None or not isinstance(grade.evidence, dict):
        raise HarnessError(f"the code could not be graded: {trial.reason}")
    return {"passed": grade.passed, "score": grade.score, "details": grade.evidence}


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """The document's pass^k, (c/n)^k; None if n trials cannot tell.

    It overstates how reliable the target is: reports, gates and `evalharness.pass_hat_k` use the unbiased estimator.
    """
    return pass_k.pass_hat_k(n, c, k, estimator="plugin")


def _checked(options: type[Checked], config: Config | None, **more: Json) -> Checked:
    """`method` names the grader in a file; here the function does."""
    if config is not None and not isinstance(config, Mapping):
        raise UsageError(f"the configuration of a grader must be a mapping, not {config!r:.80}")
    written = {key: value for key, value in (config or {}).items() if key != "method"}
    try:
        return options.model_validate(written | more)
    except ValidationError as error:
        raise UsageError(problems_text(error, options)) from None


def _graded(passed: bool, details: dict[str, Json]) -> Graded:
    return {"passed": passed, "score": 1.0 if passed else 0.0, "details": details}
