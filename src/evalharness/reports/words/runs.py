"""What a run and its figures come to, in words: its verdict, how it came about, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evalharness.domain.grade import Judging
from evalharness.domain.plain_numbers import beside_limit, count, spent_of
from evalharness.reports.wording import Words, first_names, judging_text, listed, money

_STOPS = ("spend cap", "time limit")
"""What stopped a run; all other limits are keys of a gate."""
_WORST_CASE = {
    "spend cap": "{case} cost the most, ${value}",
    "time limit": "{case} took the longest, {value} s in all",
    "max_cost_usd": "{case} cost the most, ${value}",
    "max_cost_usd_per_trial": "{case} has the most expensive trial, ${value}",
    "max_latency_s": "{case} has the slowest trial, {value} s",
    "max_median_latency_s": "{case} is the slowest, {value} s a trial",
}


def _spend_cap(pending: int, awaiting: int) -> str:
    undone = [f"{count(pending, 'trial')} not run"] if pending else []
    undone += [f"{count(awaiting, 'trial')} not graded"] if awaiting else []
    return f"the spend cap was reached: {', '.join(undone)}"


def _not_skipped(tried: int, skipped: int) -> str:
    return f" that {'was' if tried == 1 else 'were'} not skipped" if skipped else ""


def _replay_missed(trials: int, first: str) -> str:
    others = f" (and {trials - 1} more)" if trials > 1 else ""
    return f"{first}{others}; record it again: eval-harness run … --mode record, or record what is missing: --mode auto"


def _all_in_error(tried: int, skipped: int) -> str:
    each = "the only trial" if tried == 1 else "both trials" if tried == 2 else f"all {tried:,} trials"
    return f"{each}{_not_skipped(tried, skipped)} ended in error, so nothing is known about the target"


def _too_many_errors(errors: int, tried: int, skipped: int, allowed: float) -> str:
    share = f"{errors:,} of {count(tried, 'trial')}{_not_skipped(tried, skipped)} ended in error"
    return f"{share}, more than the {allowed * 100:g} % allowed"


def _no_such_grader(grader_type: str, cases: Sequence[str], number: int) -> str:
    them = "it" if number == 1 else "them"
    return f"{count(number, 'case')} skipped, because no {grader_type} grader can grade {them}: {listed(cases, number)}"


def _containers_at_once(at_once: int, each_bytes: int, share: float, asked: int) -> str:
    """`asked` is 0 where it became clear only when a container had to wait."""
    each = f"{each_bytes / 2**30:.3g} GiB"
    narrowed = f"-j {at_once:,} instead of {asked:,}" if asked else f"{count(at_once, 'container')} ran at a time"
    return f"{narrowed}: each container may use {each}, and all together {share:.0%} of the memory"


def _failed_too(cases: int) -> str:
    return f"; {count(cases, 'case')} failed" if cases else ""


def _gate_inconclusive(checks: Sequence[str], passes: bool, failed: int, awaiting: int) -> str:
    if passes:
        text = f"the gate is undecided on {', '.join(checks)}{_failed_too(failed)}"
        return f"{text} (inconclusive: pass, so exit code 0)"
    pending = f"; {count(awaiting, 'case')} not graded yet" if awaiting else ""
    return f"the gate is undecided on {', '.join(checks)}{pending}{_failed_too(failed)}"


def _score_left_out(lacking: int, judged: int) -> str:
    has = "has" if lacking == 1 else "have"
    return f"the score leaves out {lacking:,} of {count(judged, 'judged trial')}, which {has} none"


def _preparing_image(number: int, images: int, image: str, files: int) -> str:
    added = f" with {count(files, 'file')}" if files else ""
    return f"preparing image {number} of {images}: {image}{added}"


def _without_score(what: str) -> Words:
    def words(grader: str, trials: int, cases: Sequence[str], number: int, reason: str) -> str:
        first, *others = reason.strip().splitlines() or [""]
        where = f"{count(trials, 'trial')} of {listed(cases, number)}"
        return f"{grader}: {what} in {where}: {first}{'…' if others else ''}"

    return words


def _grades_capped(trials: int, run: str) -> str:
    decided = f"{count(trials, 'trial')} decided without all grades, because the spend cap was reached"
    return f"{decided}; get them with: eval-harness regrade {shlex.quote(run)}"


def _unattributed(cost_usd: float, tokens: int) -> str:
    parts = [money(cost_usd)] if cost_usd else []
    parts += [f"{tokens:,} tokens"] if tokens else []
    why = "interrupted trials, judge checks at an earlier start, discarded replies or replies without token counts"
    return f"{' and '.join(parts)} of that are neither in `cost` nor in `judges`: {why}"


def _cases_changed(changes: Sequence[tuple[str, str, str]], number: int) -> str:
    if not number:
        return "no case changed"
    shown = [f"{case_id}: {was} → {now}" for case_id, was, now in changes]
    return f"{count(number, 'case')} changed: {first_names(shown, number)}"


def _on_redacted_text(trials: int, cases: Sequence[str], number: int) -> str:
    graded = f"{count(trials, 'trial')} graded on redacted text, because secrets are not stored"
    return f"{graded}: {first_names(cases, number)}"


def _left_out(why: str, cases: Sequence[str], number: int) -> str:
    return f"{count(number, 'case')} left out ({why}): {listed(cases, number)}"


def _unmatched(dataset: str, places: Sequence[str], number: int, has_variants: bool) -> str:
    whose = "case or variant" if has_variants else "case"
    return f"{count(number, 'artifact')} left out, matching no {whose} of {dataset}: {first_names(places, number)}"


def _waiting(judge: str, answered: int, heard: str) -> str:
    waiting = f"waiting for {judge}: {count(answered, 'question')} answered"
    return f"{waiting}; last message: {heard}" if heard else waiting


# What to do next.


def _over_limit(number: int, limit: str) -> str:
    over = f"{'goes' if number == 1 else 'go'} over the {limit.replace('_', ' ')} limit"
    return f"{count(number, 'case')} {over}: make the target leaner, or raise the limit"


def _never_passes(number: int) -> str:
    verb, them = ("fails", "it") if number == 1 else ("fail", "them")
    return (
        f"{count(number, 'case')} {verb} in every trial: look at {them} before the flaky ones; "
        "either the target cannot do it or the case is wrong"
    )


def _flaky(number: int, case: str, passed: int, trials: int) -> str:
    sometimes = f"{count(number, 'case')} {'passes' if number == 1 else 'pass'} only sometimes"
    seen = f"{passed:,} of {trials:,} trials of {case} passed"
    return f"{sometimes} ({seen}): compare a passing and a failing transcript"


def _leaner_case(limit: str, case: str, value: float, most: float) -> str:
    worst = _WORST_CASE[limit]
    shown, _ = beside_limit(value, most, 4 if "$" in worst else 3)
    return f"{worst.format(case=case, value=shown)}: make it leaner, or raise {_limit_name(limit)}"


def _limit_name(limit: str) -> str:
    return f"the {limit}" if limit in _STOPS else limit


def _quarantine(number: int) -> str:
    verb, them = ("counts", "it") if number == 1 else ("count", "them")
    return (
        f"{count(number, 'flaky case')} {verb} in the gate, so chance may decide it: fix {them}, "
        f"or list {them} under the gate's `quarantine:` for a while, with reason, owner and expiry"
    )


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "run.unfinished": lambda pending, planned: f"{pending:,} of {count(planned, 'trial')} not run yet",
        "run.not_finished": "it is not finished",
        "notify.not_sent": "could not notify {where}: {why}",
        "notify.nobody": "nobody was notified: the suite {suite} has no `notify:`; add one, or set EVALHARNESS_NOTIFY",
        "run.time_limit": lambda pending: f"the global time limit was reached: {count(pending, 'trial')} not run",
        "run.spend_cap": _spend_cap,
        "run.all_in_error": _all_in_error,
        "run.too_many_errors": _too_many_errors,
        "run.cases_in_error": lambda cases: f"{count(cases, 'case')} could not be judged because of errors",
        "run.all_skipped": "every case was skipped",
        "run.cases_failed": lambda cases: f"{count(cases, 'case')} failed",
        "run.stopped_after_failures": "stopped after failures",
        "run.cases_ungraded": lambda cases: f"{count(cases, 'case')} not graded yet",
        "run.no_such_grader": _no_such_grader,
        "run.replay_missed": _replay_missed,
        "run.cases_left": lambda cases, number: f"recorded, but no longer in the suite: {listed(cases, number)}",
        "run.judge_not_needed": "{judge} was not used: no case has a grader that asks a model",
        "run.containers_at_once": _containers_at_once,
        "run.container_limits_not_kept": (
            "{runtime} cannot limit the memory and processes of this user's containers; run as root, or delegate "
            "version 2 control groups to this user"
        ),
        "run.preparing_images": lambda images: f"preparing {count(images, 'image')} for containers",
        "run.preparing_image": _preparing_image,
        "run.gate_invalid": lambda checks: f"the gate could not check {', '.join(checks)}",
        "run.gate_failed": lambda checks, failed: f"the gate failed on {', '.join(checks)}{_failed_too(failed)}",
        "run.gate_passed": lambda failed: f"the gate passed{_failed_too(failed)}",
        "run.gate_inconclusive": _gate_inconclusive,
        "score.left_out": _score_left_out,
        "score.missing": _without_score("no score"),
        "score.zero": _without_score("scored 0"),
        "grades.capped": _grades_capped,
        "reviews.no_gold": "the gold answers of {grader} were left out: {why}",
        "reviews.nothing_to_rank": lambda grader, cases, least: (
            f"{grader}: {count(cases, 'case')} with fewer than {least} answers to rank; "
            "run more trials or variants, or run the suite again"
        ),
        "model.field_left_out": "{model} does not accept {field}, so it was left out",
        "spending.spent": spent_of,
        "spending.unpriced": lambda answers: f"{count(answers, 'answer')} without a known cost, not counted by the cap",
        "spending.broken_off": lambda requests: (
            f"{count(requests, 'request')} without a complete reply: what was sent is counted, the cost is not known"
        ),
        "spending.judge_check": lambda judging: f"checking the judge took {judging_text(Judging(**judging))}",
        "spending.unattributed": _unattributed,
        "regrade.graded": lambda run, old, graded, planned: (
            f"{run} regrades {old}: {graded:,} of {count(planned, 'trial')} graded again; the target was not run"
        ),
        "regrade.cases_changed": _cases_changed,
        "regrade.kept_unanswered": lambda trials: (
            f"{count(trials, 'trial')} without an answer to grade, kept as before"
        ),
        "regrade.kept_verdicts": lambda grades: (
            f"{count(grades, 'grade')} of judges kept as before; --no-cache judges all again"
        ),
        "regrade.on_redacted_text": _on_redacted_text,
        "regrade.on_truncated_text": lambda trials: (
            f"{count(trials, 'trial')} graded on text that was cut to its beginning and end"
        ),
        "regrade.pending": lambda trials, run: f"{count(trials, 'trial')} of {run} not run yet, so pending here too",
        "regrade.not_in_suite": lambda suite, cases, number: _left_out(f"not in {suite}", cases, number),
        "regrade.not_asked": lambda run, cases, number: _left_out(f"not in {run}", cases, number),
        "regrade.question_changed": lambda cases, number: _left_out("the question has changed", cases, number),
        "artifacts.missing": lambda cases, number: f"cases without an artifact, left out: {listed(cases, number)}",
        "artifacts.unmatched": _unmatched,
        "artifacts.without_variant": lambda places, number, runs: (
            f"{count(number, 'artifact')} without a variant, graded in each of {runs} runs: "
            f"{first_names(places, number)}"
        ),
        "capture.not_passed": (
            "{case}: trial {trial} did not pass ({state}), but from now on its answer is the expected one"
        ),
        "capture.built_in_target": (
            "{case}: the answer is from the built-in target '{target}', which always gives it, so this eval always "
            "passes; capture a run of your own target, or name your target in the file"
        ),
        "capture.redacted": (
            "{case}: a secret was removed from the answer, so no later answer can equal it and this eval will fail: "
            "replace {mark}…] with {{{{any_string}}}} in the file, or leave that field out"
        ),
        "capture.flaky": ("{case}: flaky (passed in {passed} of {trials} trials), so this eval may fail by chance"),
        "capture.several_answers": (
            "{case}: its {passed} passed trials gave {answers} different answers, and one of them was captured: "
            "loosen the comparison where they may differ"
        ),
        "capture.unread": lambda number: f"{count(number, 'line')} could not be read as part of the log",
        "capture.nothing_expected": (
            "{case}: no tool was called, so any answer passes: say in the file what the answer must be"
        ),
        "capture.redacted_call": (
            "{case}: a secret was removed from the question or from an argument of a tool: replace {mark}…] in the file"
        ),
        "calibration.in_cache": "verdicts so far are in the cache and will not be paid for again",
        "calibration.waiting": _waiting,
        "advice.errors": "fix what kept {trials} of the trials from being judged: {reason}",
        "advice.over_limit": _over_limit,
        "advice.alike": "{number:,} cases fail in the same way, so they may have one cause: {reason}",
        "advice.never_passes": _never_passes,
        "advice.passed_before": lambda number: (
            f"{count(number, 'case')} {'fails' if number == 1 else 'fail'} in every trial of this run but passed in "
            "earlier runs of the same target: compare a passing and a failing transcript"
        ),
        "advice.flaky": _flaky,
        "advice.leaner_case": _leaner_case,
        "advice.fewer_trials": lambda limit, number: (
            f"{count(number, 'case')} use about the same: run fewer of them, or fewer trials, "
            f"or raise {_limit_name(limit)}"
        ),
        "advice.quarantine": _quarantine,
    }
)
