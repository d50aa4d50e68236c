"""Suite soundness: what graded probes say about the cases and graders of a suite. Nothing is graded here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evalharness.domain.finding import Finding, finding
from evalharness.domain.grade import SPEND_CAP, VERDICTS, Grade
from evalharness.domain.trial import Attempt
from evalharness.engine.planning.planned_cases import PlannedCase
from evalharness.engine.running.attempt import decisive_grades
from evalharness.engine.verifying.probe_answers import CONSTANTS, Probe
from evalharness.stats.flip_rate import flip_rate
from evalharness.values.json_value import Json

SHOWN = 5
Ending: TypeAlias = Literal["passed", "failed", "raised", "no verdict", "outstanding", "skipped"]


@dataclass(frozen=True, slots=True)
class GradedProbe:
    plan: PlannedCase
    probe: Probe
    attempt: Attempt

    @property
    def case_id(self) -> str:
        return self.plan.case.id

    @property
    def ending(self) -> Ending:
        """`raised` is a grader's own fault; `no verdict` a judge's, or there was no money left for it."""
        state = self.attempt.state
        if state == "error":
            missing = [grade for grade in decisive_grades(self.attempt.grades) if grade.state == "unscored"]
            return "no verdict" if any(grade.type == "model" for grade in missing) else "raised"
        if state == "awaiting":
            return "no verdict" if SPEND_CAP in self.attempt.reason else "outstanding"
        return state

    def graders(self, *states: str) -> list[str]:
        return [grade.grader for grade in self.attempt.grades if grade.required and grade.state in states]


class Soundness:
    """All that was graded of a suite."""

    def __init__(self, planned: Sequence[PlannedCase], graded: Iterable[GradedProbe]) -> None:
        self._planned = planned
        self._by_case: dict[str, list[GradedProbe]] = {plan.case.id: [] for plan in planned}
        for each in graded:
            self._by_case[each.case_id].append(each)
        self._graded = [each for found in self._by_case.values() for each in found]
        self.untested = {each.case_id for each in self._graded if each.ending == "no verdict"}
        """Cases of which an answer got no verdict."""

    @property
    def wrong_answers(self) -> int:
        wrong = [each for each in self._graded if not each.probe.may_pass and not each.probe.is_right]
        return sum(each.ending in ("passed", "failed", "raised") for each in wrong)

    def unsound(self, case_id: str) -> Iterator[Finding]:
        found = self._by_case[case_id]
        for each in found:
            if each.probe.is_right and each.ending == "failed":
                graders, reason = each.graders("fail"), each.attempt.reason
                yield finding("selftest.right_fails", "error", case=case_id, graders=graders, reason=reason)
        nothing = [each for each in found if each.probe.is_nothing]
        if nothing and all(each.ending == "failed" for each in nothing):
            graders, reason = nothing[-1].graders("fail"), nothing[-1].attempt.reason
            yield finding("selftest.nothing_fails", "error", case=case_id, graders=graders, reason=reason)
        for each in self._right_raised(case_id)[:1]:
            graders = each.graders("unscored")
            reason = next(grade.reason for grade in each.attempt.grades if grade.grader in graders)
            about = {"graders": graders, "always": self._raises_always(case_id, graders), "reason": reason}
            yield finding("selftest.right_raises", "error", case=case_id, **about)
        let_through = [each for each in found if _is_let_through(each)]
        if let_through:
            answers: Json = [each.probe.what for each in let_through]
            graders = let_through[0].graders("pass")
            yield finding("selftest.wrong_passes", "error", case=case_id, graders=graders, answers=answers)

    def _right_raised(self, case_id: str) -> list[GradedProbe]:
        """Of doing nothing, where that is right, one way must pass: an empty answer, or a command without output."""
        right = [each for each in self._by_case[case_id] if each.probe.is_right]
        nothing = [each for each in self._by_case[case_id] if each.probe.is_nothing]
        right += [] if any(each.ending == "passed" for each in nothing) else nothing
        return [each for each in right if each.ending == "raised"]

    def _raises_always(self, case_id: str, graders: Sequence[str]) -> bool:
        return all(set(graders) <= set(each.graders("unscored")) for each in self._by_case[case_id])

    def guessable(self) -> Iterator[Finding]:
        """Constants that pass only where they are right, the most successful first."""
        hits: dict[str, tuple[Json, int]] = {}
        for each in self._graded:
            if each.probe.kind in CONSTANTS and each.probe.may_pass and each.ending == "passed":
                what = each.probe.what
                hits[str(what)] = (what, hits.get(str(what), (what, 0))[1] + 1)
        for what, number in sorted(hits.values(), key=lambda hit: -hit[1]):
            share = number / len(self._planned)
            yield finding("selftest.guessable", answer=what, share=share, cases=number, of=len(self._planned))

    def not_provable(self) -> dict[str, tuple[str, str]]:
        """By case: why no right answer could be seen to pass; of a skipped one also why it is skipped."""
        return {plan.case.id: why for plan in self._planned if (why := self._why_not_provable(plan))}

    def _why_not_provable(self, plan: PlannedCase) -> tuple[str, str] | None:
        if plan.skip:
            return "skipped", plan.skip
        right = [each for each in self._by_case[plan.case.id] if each.probe.is_right or each.probe.is_nothing]
        if not right:
            return "no reference", ""
        due = [grade for grade in right[0].attempt.grades if grade.state == "awaiting"]
        if right[0].ending != "outstanding":
            return None
        return "no person" if any(grade.type == "human" for grade in due) else "no judge", ""

    def always_passing(self) -> dict[str, list[int]]:
        """By case: the places of the required graders that every wrong answer passed, whatever the others said."""
        found: dict[str, list[int]] = {}
        for plan in self._planned:
            wrong = [each.attempt.grades for each in self._by_case[plan.case.id] if not each.probe.is_right]
            wrong = [grades for grades in wrong if grades]
            places = [
                place
                for place, (spec, grader) in enumerate(plan.graders)
                if wrong
                and spec.required
                and not grader.is_off
                and all(grades[place].state == "pass" for grades in wrong)
            ]
            if places:
                found[plan.case.id] = places
        return found

    def cannot_fail(self) -> Iterator[Finding]:
        """Each grader once, with its cases; asked once the ruinous answer was graded, too."""
        cases: dict[str, list[str]] = {}
        plans = {plan.case.id: plan for plan in self._planned}
        for case_id, places in self.always_passing().items():
            for place in places:
                cases.setdefault(plans[case_id].specs[place].label, []).append(case_id)
        for grader, ids in cases.items():
            yield finding("selftest.cannot_fail", "warning", grader=grader, **_listed(ids))

    def raised(self) -> Iterator[Finding]:
        """Graders that raise on a wrong answer: in a run that is an error, not a failure.

        Where one also raises on the right answer, the case is unsound, which says enough.
        """
        found: dict[str, list[tuple[GradedProbe, Grade]]] = {}
        for each in self._graded:
            is_new = each.ending == "raised" and not self._right_raised(each.case_id)
            for grade in each.attempt.grades if is_new else ():
                if grade.state == "unscored":
                    found.setdefault(grade.grader, []).append((each, grade))
        for grader, raised in found.items():
            (first, grade), ids = raised[0], list(dict.fromkeys(each.case_id for each, _ in raised))
            always = all(self._raises_always(case_id, [grader]) for case_id in ids)
            about = {"answer": first.probe.what, "always": always, "reason": grade.reason}
            yield finding("selftest.grader_raised", "warning", grader=grader, **about, **_listed(ids))

    def without_verdict(self) -> Iterator[Finding]:
        missing = [each for each in self._graded if each.ending == "no verdict"]
        if missing:
            reason = missing[0].attempt.reason
            yield finding("selftest.no_verdict", "warning", answers=len(missing), of=len(self._graded), reason=reason)


def _is_let_through(each: GradedProbe) -> bool:
    return each.ending == "passed" and not each.probe.is_right and not each.probe.may_pass


def _listed(ids: Sequence[str]) -> dict[str, Json]:
    return {"cases": list(ids[:SHOWN]), "number": len(ids)}


def grouped(why_by_case: dict[str, tuple[str, str]]) -> Iterator[Finding]:
    """Cases that are not provable, by the reason they share."""
    for why in dict.fromkeys(why_by_case.values()):
        ids = [case_id for case_id, each in why_by_case.items() if each == why]
        yield finding("selftest.not_provable", why=why[0], skip=why[1], **_listed(ids))


def judge_flips(graded: Sequence[GradedProbe], repeats: int) -> Iterator[Finding]:
    """How often judges contradict themselves about one and the same answer, grader by grader."""
    verdicts: dict[str, dict[str, list[bool]]] = {}
    for each in graded:
        for grade in each.attempt.grades:
            if grade.type == "model" and grade.state in VERDICTS:
                verdicts.setdefault(grade.grader, {}).setdefault(each.case_id, []).append(grade.passed)
    for grader, by_case in verdicts.items():
        rates = {id_: rate for id_, said in by_case.items() if (rate := flip_rate(len(said), sum(said))) is not None}
        if rates:
            flipping = [id_ for id_, rate in rates.items() if rate]
            about = {"repeats": repeats, "tried": len(rates), "flip_rate": sum(rates.values()) / len(rates)}
            severity: Literal["warning", "info"] = "warning" if flipping else "info"
            yield finding("selftest.judge_flips", severity, grader=grader, **about, **_listed(flipping))


def unvarying(judged: dict[str, tuple[int, int]], runs: int) -> Iterator[Finding]:
    """Cases that no earlier run ever failed, or ever passed: by case how many trials were judged, and how many passed.

    They tell no target from another.
    """
    failed_never = [case_id for case_id, (trials, passed) in judged.items() if trials == passed]
    passed_never = [case_id for case_id, (_, passed) in judged.items() if passed == 0]
    if failed_never:
        yield finding("selftest.never_failed", runs=runs, of=len(judged), **_listed(failed_never))
    if passed_never:
        yield finding("selftest.never_passed", runs=runs, of=len(judged), **_listed(passed_never))
