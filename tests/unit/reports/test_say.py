"""One table of words: every code has its own words, is used, and accepts the parameters it is given."""

from __future__ import annotations

import ast
import inspect
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

import evalharness
from evalharness.domain.finding import Finding, finding
from evalharness.domain.finding_codes import Code, HintCode
from evalharness.errors import Hint
from evalharness.reports.words.say import WORDS, say

SOURCE = Path(evalharness.__file__).parent
CODES = {*get_args(Code), *get_args(HintCode)}


class Made(NamedTuple):
    code: str
    keywords: frozenset[str]
    is_whole: bool
    """Whether all keywords are written out; others come out of a mapping."""
    place: str


def made() -> Iterator[Made]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            if node.func.id not in ("finding", "Hint"):
                continue
            keywords = [keyword.arg for keyword in node.keywords]
            for code in codes_in(node.args[0]):
                named = frozenset(name for name in keywords if name is not None)
                yield Made(code, named, None not in keywords, f"{path.relative_to(SOURCE)}:{node.lineno}")


def codes_in(node: ast.expr) -> Iterator[str]:
    """A literal, or one of two: `"a" if … else "b"`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from codes_in(node.body)
        yield from codes_in(node.orelse)


def literals() -> set[str]:
    """Every text of the source that is a code, except the lists of all codes and of all words."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        if path.parent.name == "reports" or path.name == "finding_codes.py":
            continue
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        found |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return found


def parameters(words: str | Callable[..., str]) -> set[str]:
    if isinstance(words, str):
        return {name for _, name, _, _ in string.Formatter().parse(words) if name}
    signature = inspect.signature(words)
    assert all(each.kind is not each.VAR_KEYWORD for each in signature.parameters.values()), words
    return set(signature.parameters)


def test_every_code_has_words_and_all_words_have_a_code() -> None:
    assert set(WORDS) == CODES


def test_every_code_is_concluded_somewhere() -> None:
    assert CODES - literals() == set()


def test_words_take_what_they_are_handed() -> None:
    known = list(made())
    wanted = [(each, parameters(WORDS[each.code])) for each in known]
    assert len({each.code for each in known}) > 200
    assert [each for each, names in wanted if not each.keywords <= names] == []
    assert [each for each, names in wanted if each.is_whole and each.keywords != names] == []


FIGURE = {"value": 0.87, "low": 0.7, "high": 0.95, "level": 0.95}
CHANCE = {"p": 0.003, "unit": "points", "loss": True, "together": False}
CASES = {"cases": ["a", "b"], "number": 7}
LISTED = {"cases": ["a", "b"], "states": [], "number": 2}
MOVED = finding("comparison.moved", metric="pass_rate", old=0.64, new=0.52, value=-0.12, half_width=0.05, apart=None)
SAMPLES: dict[str, Any] = {
    "fewer": 1,
    "critical": 2,
    "pass_hat_k": 0.9,
    "where": "http://127.0.0.1:8080",
    "steps": ["Run capability evals"],
    "not_run": ["Run slow evals"],
    "total": 45,
    "file": "runs/run.json",
    "accepted": 0.1,
    "added": 1,
    "alarm": [0.13, 0.42],
    "allowed": 0.02,
    "alpha": 0.05,
    "answered": 3,
    "answers": 2,
    "apart": None,
    "at_the_cap": False,
    "awaiting": 2,
    "awaits": True,
    "before": "x",
    "better": 1,
    "cap": 40,
    "case": "a",
    "changed": 3,
    "changes": [["a", "failed", "passed"]],
    "chance": CHANCE,
    "check": "pass_rate",
    "checks": ["pass_rate", "cases"],
    "columns": ["question"],
    "compared": 17,
    "comparisons": 3,
    "cost_usd": 0.25,
    "dataset": "suite.yaml",
    "days_left": 3,
    "decided": True,
    "doubt": "sequential",
    "doubts": [["invalid", 2], ["sequential", 1]],
    "effect": 0.05,
    "errors": 3,
    "expires": "2027-01-01",
    "failed": 1,
    "fallen": 2,
    "field": "seed",
    "figure": FIGURE,
    "findings": [MOVED, MOVED],
    "first": "check the key",
    "flipped": LISTED,
    "floor": 0.9,
    "found": MOVED,
    "given_up": 1,
    "graded": 9,
    "grader": "judge",
    "grader_type": "code",
    "grades": 4,
    "group": "search",
    "half_width": 0.05,
    "has_steps": True,
    "has_variants": False,
    "heard": "HTTP 529",
    "high": 0.95,
    "hint": finding("text", text="choose another"),
    "histogram": [1, 2, 3],
    "how": MOVED,
    "in_all_trials": True,
    "is_only_one": False,
    "is_worse": True,
    "judge": "scripted/judge.yaml",
    "mode": "replay",
    "judged": 10,
    "judging": {"model": "m", "calls": 1, "cached": 0, "input_tokens": 7, "output_tokens": 3, "cost_usd": None},
    "k": 3,
    "kind": "category",
    "lacking": 3,
    "lacks": "score",
    "left_out": finding("comparison.left_out", changed=1, removed=2, unjudged=0, added=0, compared=17),
    "level": 0.95,
    "low": 0.7,
    "margin": 0.05,
    "mark": "[redacted",
    "max_cost_usd": 0.5,
    "max_tokens": None,
    "may_be_chance": True,
    "may_go_on": True,
    "message": "they have no case in common",
    "method": "Bayesian bootstrap plus one case",
    "missed": {"cases": ["a"], "states": [None], "number": 1},
    "model": "anthropic/m",
    "most": 1000,
    "moved": MOVED,
    "name": "main",
    "names": ["KEY"],
    "needed": 3,
    "new": 0.52,
    "note": finding("rates.read_as_shares"),
    "number": 7,
    "of": 3,
    "old": 0.64,
    "only_first": True,
    "owner": "Ada",
    "p": 0.25,
    "p_adjusted": 0.3,
    "pairs": 12,
    "partly": True,
    "parts": 456,
    "pass_rate": 0.04,
    "passed": 2,
    "passes": True,
    "path": "report.json",
    "pending": 4,
    "places": ["runs.jsonl:3 (caseId x)"],
    "planned": 9,
    "possible": 0.08,
    "baseline": "brave-otter-042",
    "figures": [{"name": "sizes", "before": 1.0, "now": 0.5, "regressed": True, "informational": False}],
    "tolerance": 0.1,
    "image": "agent:1",
    "runtime": "podman",
    "at_once": 3,
    "asked": 10,
    "images": 2,
    "each_bytes": 2**31,
    "share": 0.8,
    "rate": "1.4",
    "reason": "no key\nat all",
    "regraded": 1,
    "removed": 2,
    "requests": 2,
    "preset": "mbpp",
    "run": "brave-otter-042",
    "runs": 3,
    "sd": 0.03,
    "settle": MOVED,
    "short": 1,
    "skipped": 2,
    "state": "failed",
    "step": 3,
    "steps_before": 2,
    "suite": "greeting",
    "target": "oracle",
    "targets": ["a", "b"],
    "tasks": 114,
    "text": "anything at all",
    "times": 2,
    "together": False,
    "tokens": 900,
    "too_low": 0.8,
    "trial": 2,
    "trials": 5,
    "tried": 8,
    "undecided": LISTED,
    "unit": "points",
    "unjudged": 1,
    "single": True,
    "always": True,
    "excused": {"cases": ["c"], "states": [], "number": 1},
    "files": 3,
    "too_few": {"cases": ["d"], "states": [], "number": 1},
    "lost": {"cases": ["a", "b"], "states": [], "number": 9},
    "flag": "--env",
    "j": 1,
    "key": "KEY",
    "least": 0.78,
    "package": "bubblewrap",
    "value": 0.87,
    "verdict": "INCONCLUSIVE",
    "wanted": 0.9,
    "weightless": 2,
    "what": "tasks",
    "which": "old",
    "why": MOVED,
    "worse": 4,
    "worst": MOVED,
    "written": "forty",
    "wrong_of_100": 15,
}
OTHERWISE: dict[str, dict[str, Any]] = {
    "comparison.regraded": {"before": ["A"], "now": []},
    "comparison.runs_vary": {"cases": 9, "left_out": 1},
    "comparison.stopped_early": {"runs": ["brave-otter-042"]},
    "choice.exact_long": {"words": 8},
    "choice.metric": {"goal": "reliable", "metric": "pass^3"},
    "choice.other_metric": {"asks": ["pass^3"], "metric": "pass@3"},
    "choice.critical_cases": {"critical": 2, "cases": 10, "pass_hat_k": 0.9},
    "choice.preset": {"why": "reliable", "pass_at_1": 0.9, "pass_at_k": 0.99, "pass_hat_k": 0.8},
    "choice.preset_lower": {"has": "staging"},
    "comparison.two_suites": {"old": "one", "new": "other"},
    "hint.choose_target": {"number": 9},
    "plan.hardly_differ": {"unit": "case"},
    "plan.noise_between_runs": {"by_chance": 0.03, "alarms": 0.2, "low": 0.01, "high": 0.1, "level": 0.95},
    "rates.least": {"rate": 0.95},
    "rates.no_number": {"number": "2.5"},
    "regrade.graded": {"old": "quiet-sparrow-023"},
    "selftest.grader_raised": {"answer": {"kind": "null"}},
    "selftest.guessable": {"answer": {"kind": "constant", "text": "yes"}, "share": 0.48, "cases": 12, "of": 25},
    "selftest.judge_flips": {"repeats": 3, "flip_rate": 0.1},
    "selftest.nothing_fails": {"graders": ["exact"]},
    "selftest.not_provable": {"why": "skipped", "skip": "later"},
    "selftest.right_fails": {"graders": ["exact"]},
    "selftest.right_raises": {"graders": ["exact"]},
    "selftest.wrong_passes": {"graders": ["exact"], "answers": [{"kind": "input"}, {"kind": "gold_of", "case": "b"}]},
}
"""Where a parameter means something else than elsewhere."""
NUMBERS = {
    "cases": (
        *("run.cases_in_error", "run.cases_failed", "run.cases_ungraded", "measure.not_estimable", "gate.basis"),
        *("comparison.worst_possible", "comparison.by_name_alone", "settle.more_cases", "settle.more_clusters"),
        *("plan.fewer_cases", "rates.cases", "reviews.nothing_to_rank", "choice.critical_cases"),
    ),
    "passes": ("rates.cases",),
    "clusters": ("comparison.worst_possible", "settle.more_clusters"),
    "now": ("settle.more_trials", "settle.more_cases", "settle.more_clusters", "settle.too_many_cases"),
}
"""Codes for which a parameter is a number."""
METRICS = {"comparison.": "cost", "settle.": "cost", "hint.": "cost"}
LIMITS = {"advice.over_limit": "cost", "advice.leaner_case": "spend cap", "advice.fewer_trials": "time limit"}


def sample(code: str, name: str) -> Any:
    if name in OTHERWISE.get(code, {}):
        return OTHERWISE[code][name]
    if code in NUMBERS.get(name, ()) or name == "clusters_now":
        return 20
    if name == "metric":
        return next((metric for start, metric in METRICS.items() if code.startswith(start)), "pass_hat_3")
    if name == "limit":
        return LIMITS.get(code, "max_cost_usd")
    return {"cases": ["a", "b"], "now": "y"}.get(name, SAMPLES.get(name))


@pytest.mark.parametrize(
    ("hint", "command"),
    [
        (Hint("hint.which_run", suite="my suite"), "eval-harness regressions 'my suite' --run RUN"),
        (Hint("hint.resume", run="my run"), "eval-harness resume 'my run'"),
        (Hint("hint.new_baseline", run="my run"), "eval-harness baseline set 'my run'"),
        (Hint("hint.verify_file", path="my report.json"), "eval-harness verify 'my report.json'"),
        (Hint("hint.remove_baseline", name="a b", suite="my suite"), "baseline rm 'a b' --suite 'my suite'"),
        (Hint("hint.which_case", cases=["a b", "c"]), "one of: 'a b', c"),
        (Hint("hint.resume", run="brave-otter-042"), "eval-harness resume brave-otter-042"),
    ],
)
def test_names_with_spaces_are_quoted_in_commands(hint: Hint, command: str) -> None:
    assert command in say(hint)


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_worded(code: str) -> None:
    names = parameters(WORDS[code])
    assert not [name for name in names if sample(code, name) is None and name not in ("apart", "max_tokens")]
    params = {name: sample(code, name) for name in names}
    text = say(Finding.model_validate({"code": code, "params": params}))
    assert text and not text.startswith(f"{code} {{"), "this is the text for a broken finding"
    assert "Finding(" not in text and "None" not in text


def test_what_a_hint_and_a_text_say() -> None:
    assert say(Hint("hint.resume", run="brave-otter-042")) == "eval-harness resume brave-otter-042"
    assert (say("as it is"), say(None)) == ("as it is", "")


def test_a_finding_that_is_broken_is_still_shown() -> None:
    for params in ({}, {"pending": "many", "planned": []}, {"pending": 1, "planned": 2, "more": 3}):
        broken = Finding(code="run.unfinished", params=params)
        assert say(broken).startswith("run.unfinished {")
        quoted = say(finding("gate.not_compared", awaits=False, why=broken))
        assert quoted.startswith("not compared with a baseline: run.unfinished")


def test_two_trials_are_both() -> None:
    assert say(finding("run.all_in_error", "error", tried=2, skipped=0)).startswith("both trials ended in error")
