"""What a selftest found, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from evalharness.domain.plain_numbers import count, percent
from evalharness.reports.wording import Words, listed

SHOWN = 3
WHY = {
    "no reference": "no reference says what is right",
    "no person": "a person has to grade the answer",
    "no judge": "no judge is set",
}


def answer_text(what: Mapping[str, Any]) -> str:
    """`"yes"`, `its own input`: an answer that was tried."""
    texts = {
        "null": "an empty answer",
        "constant": f'"{what.get("text")}"',
        "input": "its own input",
        "no_op": "a command that does nothing",
        "gold_of": f"the right answer of {what.get('case')}",
        "trick": f"a trick text ({what.get('name')})",
    }
    return texts.get(str(what["kind"]), str(what["kind"]))


def _right_fails(case: str, graders: Sequence[str], reason: str) -> str:  # noqa: ARG001
    return f"{case}: the right answer does not pass: {_first_line(reason)}"


def _right_raises(case: str, graders: Sequence[str], always: bool, reason: str) -> str:
    breaks = f"{_named(graders)} {'breaks' if len(graders) == 1 else 'break'}"
    return f"{case}: {breaks} on {'every' if always else 'the right'} answer: {_first_line(reason)}"


def _nothing_fails(case: str, graders: Sequence[str], reason: str) -> str:  # noqa: ARG001
    return f"{case}: doing nothing should pass (`null_passes`), but does not: {_first_line(reason)}"


def _named(graders: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in graders)


def _first_line(reason: str) -> str:
    first, *others = reason.strip().splitlines() or [""]
    return f"{first}{'…' if others else ''}"


def _wrong_passes(case: str, graders: Sequence[str], answers: Sequence[Mapping[str, Any]]) -> str:
    """One of each kind first: they say most. Tricks come last: a plain answer is the stronger evidence."""
    of_kind = {str(what["kind"]): what for what in reversed(answers)}
    kinds = [of_kind[kind] for kind in dict.fromkeys(str(what["kind"]) for what in answers)]
    shown = sorted(answers, key=lambda what: (what["kind"] == "trick", what not in kinds))[:SHOWN]
    let_through = listed([answer_text(what) for what in shown], len(answers))
    if not graders:
        return f"{case}: no grader has to pass, so every answer does: {let_through}"
    return f"{case}: {_named(graders)} {'lets' if len(graders) == 1 else 'let'} {let_through} pass"


def _guessable(answer: Mapping[str, Any], share: float, cases: int, of: int) -> str:
    return f"{answer_text(answer)} passes {percent(share, 0)} ({cases:,} of {count(of, 'case')})"


def _not_provable(why: str, skip: str, cases: Sequence[str], number: int) -> str:
    if why == "skipped":
        return f"skipped ({skip}): {listed(cases, number)}"
    return f"{count(number, 'case')}: {WHY[why]}: {listed(cases, number)}"


def _cannot_fail(grader: str, cases: Sequence[str], number: int) -> str:
    return f"`{grader}` passes every answer, in {count(number, 'case')}: {listed(cases, number)}"


def _grader_raised(
    grader: str, answer: Mapping[str, Any], always: bool, reason: str, cases: Sequence[str], number: int
) -> str:
    where = f"in {count(number, 'case')}: {listed(cases, number)}"
    return f"`{grader}` breaks on {'every answer' if always else answer_text(answer)}, {where} ({reason})"


def _judge_flips(grader: str, repeats: int, tried: int, flip_rate: float, cases: Sequence[str], number: int) -> str:
    asked = f"asked {repeats} times about the same answer"
    if not number:
        return f"{grader}: the same verdict each time, {asked} ({count(tried, 'case')})"
    where = f"in {number:,} of {count(tried, 'case')} (flip rate {percent(flip_rate, 0)})"
    return f"{grader} contradicts itself {where}, {asked}: {listed(cases, number)}"


def _never(what: str) -> Words:
    def words(runs: int, of: int, cases: Sequence[str], number: int) -> str:
        where = f"{number:,} of {count(of, 'case')} {what} in {count(runs, 'earlier run')}"
        return f"{where}: {listed(cases, number)}"

    return words


def _no_verdict(answers: int, of: int, reason: str) -> str:
    return f"{answers:,} of {count(of, 'answer')} got no verdict: {reason}"


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "selftest.right_fails": _right_fails,
        "selftest.right_raises": _right_raises,
        "selftest.nothing_fails": _nothing_fails,
        "selftest.wrong_passes": _wrong_passes,
        "selftest.guessable": _guessable,
        "selftest.not_provable": _not_provable,
        "selftest.cannot_fail": _cannot_fail,
        "selftest.grader_raised": _grader_raised,
        "selftest.judge_flips": _judge_flips,
        "selftest.never_failed": _never("never failed"),
        "selftest.never_passed": _never("never passed"),
        "selftest.no_verdict": _no_verdict,
    }
)
