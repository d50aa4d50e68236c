"""What could be chosen better in a suite, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evalharness.domain.plain_numbers import percent
from evalharness.reports.wording import Words

_WHY = {
    "critical": "every case is critical",
    "reliable": "every answer has to be right",
    "retries": "a wrong answer can be tried again",
    "regression": "the suite protects what works already",
    "unknown": "nothing says that it guards a release",
}


def _metric(goal: str, metric: str, k: int) -> str:
    if goal == "retries":
        return f"{metric}: the chance that at least one of {k} answers is right, since a wrong one can be tried again"
    return f"{metric}: the chance that all of {k} answers are right, since every one of them counts"


def _goal_unknown(k: int) -> str:
    return (
        f"pass@1, unless you say which: pass@{k} if a wrong answer can be tried again (--goal retries), "
        f"pass^{k} if every answer has to be right (--goal reliable)"
    )


def _more_trials(trials: int, needed: int) -> str:
    if needed == 2:
        return "with one trial per case nothing says how often an answer changes: set `trials: 3`"
    return f"it takes {needed} trials per case, and the suite has {trials}: set `trials: {needed}`"


def _other_metric(asks: Sequence[str], metric: str) -> str:
    return f"the gate asks for {', '.join(asks)}, which answers another question: ask for {metric}"


def _preset(preset: str, why: str, k: int, pass_at_1: float, pass_at_k: float, pass_hat_k: float) -> str:
    minima = f"pass@1 {percent(pass_at_1)}, pass@{k} {percent(pass_at_k)}, pass^{k} {percent(pass_hat_k)}"
    return f"{preset}, because {_WHY[why]}: at least {minima}"


def _critical_cases(critical: int, cases: int, pass_hat_k: float) -> str:
    are = "is" if critical == 1 else "are"
    asked = f"thresholds: {{criticality: {{critical: {{pass^k: {pass_hat_k:.3g}}}}}}}"
    return f"{critical:,} of {cases:,} cases {are} critical: ask more of them, with `{asked}` in the gate"


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "choice.no_grader": "no grader: any answer passes; add `expected:` or `graders:`",
        "choice.only_limits": "only limits on time, cost or length: wrong answers pass; add a grader of the answer",
        "choice.exact_long": (
            "exact on a text of {words} words or more: any other wording fails; use contains, semantic_similarity or a "
            "judge"
        ),
        "choice.exact_json": "exact on JSON: order and spaces decide; use json_equals or json_schema",
        "choice.exact_decimal": "exact on a decimal number: 0.50 fails where 0.5 is expected; use numeric",
        "choice.contains_number": "contains on a number: 12 is also found in 120; use numeric, or regex with \\b",
        "choice.contains_short": "contains on a short word: no is also found in know; use exact, or regex with \\b",
        "choice.regex_any": "the regex is found in every text, even an empty one: any answer passes; tighten it",
        "choice.regex_none": "the forbidden regex is found in every text: no answer can pass; tighten it",
        "choice.code_as_text": "code is compared as text: run it; use function_output or code_tests",
        "choice.judge_for_value": "a judge compares a short value: code does it for free; use exact or numeric",
        "choice.person_for_value": "a person compares a short value: code does it at once; use exact or numeric",
        "choice.judge_no_rubric": (
            "a judge without a rubric: it decides by itself what is good; add `rubric:`, `criteria:` or a `reference:`"
        ),
        "choice.critical_alone": "critical, and a judge alone decides: add a grader of another type, human or code",
        "choice.creative": "creative work without a person: taste differs; add a human grader",
        "choice.metric": _metric,
        "choice.goal_unknown": _goal_unknown,
        "choice.more_trials": _more_trials,
        "choice.other_metric": _other_metric,
        "choice.preset": _preset,
        "choice.critical_cases": _critical_cases,
        "choice.no_gate": "the suite has no gate: add `gate: {preset}`",
        "choice.preset_lower": "the gate asks for less ({has}): use `gate: {preset}`",
    }
)
