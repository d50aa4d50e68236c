"""A calibration as people read it: every example with both scores, then what they say about the judge."""

from __future__ import annotations

from collections.abc import Iterator

from evalharness.domain.calibration import (
    ENOUGH_EXAMPLES,
    AttackCalibration,
    Calibration,
    ExampleCalibration,
    ExampleScore,
)
from evalharness.domain.case import as_text
from evalharness.domain.plain_numbers import chance, count, interval
from evalharness.reports.terminal.screen import Part, Screen
from evalharness.reports.wording import judging_text
from evalharness.reports.words.say import say
from evalharness.values.json_value import Json

SHOWN_CASES = 3


class CalibrationReport:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, calibration: Calibration) -> None:
        for examples in calibration.examples:
            self._examples(examples)
        for attacks in calibration.attacks:
            self._attacks(attacks)
        for reported in calibration.without_verdict:
            self._screen.line("no verdict", reported)
        for position, took in enumerate(calibration.judging):
            self._screen.line("cost" if position == 0 else "", judging_text(took))
        for note in calibration.notes:
            self._screen.line("note", say(note))

    def _examples(self, found: ExampleCalibration) -> None:
        self._screen.say((found.grader, "bold"), f"  {_where(found)}, judged by {found.judge}", _dim(found.scale))
        self._screen.table(["example", "wanted", "judge", "difference"], [_row(each) for each in found.examples])
        self._screen.say()
        for label, text, small in example_lines(found):
            self._screen.line(label, text, small)
        self._screen.say()

    def _attacks(self, found: AttackCalibration) -> None:
        self._screen.say(
            ("attacks", "bold"), f"  {found.attacks:,} known tricks in a wrong answer, judged by {found.judge}"
        )
        rows = [[each.family, f"{each.attacks}", f"{each.succeeded}", f"{each.bad_replies}"] for each in found.families]
        self._screen.table(["kind", "tricks", "succeeded", "no verdict"], rows)
        self._screen.say()
        for label, text, small in attack_lines(found):
            self._screen.line(label, text, small)
        self._screen.say()


def example_lines(found: ExampleCalibration) -> Iterator[tuple[str, str, str]]:
    """What the scores come to: a label, a sentence, and what stands dimmed behind it."""
    if found.bad_replies:
        yield "no score", f"{found.bad_replies:,} of {len(found.examples):,}: the judge gave no usable reply", ""
    if found.mean_distance is None or found.mean_difference is None:
        yield "too few", "no example has a score, so nothing is known about this judge", ""
        return
    n = count(found.scored, "example")
    away, same = f"{found.mean_distance:.2f} on the scale", f"{found.agreeing:,} of {n} scored as wanted"
    if found.mean_distance_low is None or found.mean_distance_high is None:
        yield "distance", f"{away} on average", ""
        yield "agreement", same, ""
        yield "direction", f"{_leaning(found.mean_difference)} on average", ""
        yield (
            "too few",
            f"{n} cannot show how far this judge is off in general: add examples, at least {ENOUGH_EXAMPLES}",
            "",
        )
        return
    ends = f"{found.mean_distance_low:.2f} to {found.mean_distance_high:.2f}"
    yield "distance", f"{away} on average   95 % CI {ends}", f"({n})"
    share = interval(found.agreeing_low or 0.0, found.agreeing_high or 0.0)
    yield "agreement", f"{same}   95 % CI {share}", "(Wilson)"
    reported = {"neither": "neither too kind nor too strict as far as these can show"}.get(
        found.direction, found.direction
    )
    by_chance = f"(by chance alone in {chance(found.p_value)})" if found.p_value is not None else ""
    yield "direction", f"{reported}: {_leaning(found.mean_difference)} on average", by_chance


def attack_lines(found: AttackCalibration) -> Iterator[tuple[str, str, str]]:
    if found.low is None or found.high is None:
        yield "success", "not known: the judge gave no verdict at all", ""
    else:
        k = f"{found.succeeded:,} of {found.attacks - found.bad_replies:,}"
        yield "success", f"{k}, Wilson 95 % CI {interval(found.low, found.high, 0)}", ""
    if found.bad_replies:
        yield "no verdict", f"on {found.bad_replies:,} of {found.attacks:,} tricks, which do not count", ""
    if found.fooled_by:
        yield "fooled by", "; ".join(found.fooled_by), ""
    words = {"pass": "passes", "fail": "fails", "none": "gives no verdict on"}
    wrong, right = words[found.wrong_without_a_trick], words[found.right_without_a_trick]
    yield "without any", f"it {wrong} the wrong answer, and {right} a right one", ""
    if (found.wrong_without_a_trick, found.right_without_a_trick) != ("fail", "pass"):
        yield "note", "it cannot tell right from wrong without a trick either, so these tricks may not be the cause", ""


def _where(found: ExampleCalibration) -> str:
    listed = ", ".join(found.cases[:SHOWN_CASES])
    return f"of {count(len(found.cases), 'case')}" if len(found.cases) > SHOWN_CASES else f"of {listed}"


def _row(example: ExampleScore) -> list[Part]:
    if example.difference is None:
        return [example.text, _number(example.wanted), "no score", ("", "")]
    shown = "same" if abs(example.difference) < 0.005 else f"{example.difference:+.2f}"
    return [example.text, _number(example.wanted), _number(example.judged), (shown, "" if shown == "same" else "bold")]


def _number(value: Json) -> str:
    return f"{value:.4g}" if isinstance(value, float) else as_text(value)


def _leaning(mean_difference: float) -> str:
    if abs(mean_difference) < 0.005:
        return "neither kinder nor stricter than wanted"
    return f"{abs(mean_difference):.2f} {'kinder' if mean_difference > 0 else 'stricter'} than wanted"


def _dim(scale: str) -> Part:
    return (f"   scale {scale}", "dim")
