"""Deciding: from a difference to REGRESSION, NO REGRESSION or INCONCLUSIVE, and why in a sentence for everybody.

REGRESSION     the loss is larger than chance explains, and larger than is accepted
NO REGRESSION  a loss as large as the margin is ruled out
INCONCLUSIVE   neither
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evalharness.domain.comparison import Change, Difference
from evalharness.domain.gate import RegressionRule
from evalharness.domain.plain_numbers import chance, chances, change, count, digits, percent, points
from evalharness.engine.detecting import Figures
from evalharness.engine.differing import Evidence
from evalharness.stats.thresholds import SAME

NAMED = 5
"""Cases that a sentence names."""
_OF_CASES = {"score": "scores", "latency": "times", "cost": "costs"}


def decide(evidence: Evidence, rule: RegressionRule) -> Difference:
    """The difference with its verdict; `p_adjusted` is there already where it is gated."""
    found = evidence.difference
    verdict = verdict_of(found, rule)
    if verdict == "REGRESSION":
        why = f"{moved(found)}: {_by_chance(found)}"
    elif verdict == "NO REGRESSION":
        why = f"{moved(found)}: {_ruled_out(found, rule)}"
    else:
        why = _undecided(evidence, rule)
    return found.model_copy(update={"verdict": verdict, "why": why, "detectable": evidence.detectable(rule)})


def asked(differences: Mapping[str, Difference], critical: Difference | None) -> list[Difference]:
    """The differences that can decide.

    Critical cases are few: where they lost nothing, they would hardly ever let a comparison be conclusive, so then
    they do not count. Where they lost, they are never passed over.
    """
    gated = [difference for difference in differences.values() if difference.gated]
    return [critical, *gated] if critical is not None and critical.value < -SAME else gated


def decisive(figures: Sequence[Difference]) -> list[Difference]:
    """Those of all asked that the verdict rests on. A loss counts wherever it is; that there is none, everywhere."""
    for verdict in ("REGRESSION", "INCONCLUSIVE"):
        if found := [difference for difference in figures if difference.verdict == verdict]:
            return found
    return [difference for difference in figures if difference.metric != "critical"][:1]


def of_critical(evidence: Evidence, decided: Difference, lost: Sequence[str], rule: RegressionRule) -> str:
    """Why, where critical cases were lost: which ones, and that too few of them can prove nothing."""
    names = _listed(lost)
    if decided.ends[1] < SAME and not evidence.can_fail(rule.alpha):
        told = f"every critical case that passed before fails now ({names}), but so few trials prove nothing"
        return f"{told}: {_even_the_worst(evidence, rule)}"
    moved = "got worse" if decided.verdict == "REGRESSION" else "passed less often"
    return f"critical cases {moved} ({names}): {decided.why}"


def incomparable(found: Difference) -> str:
    """Which cases have no difference, and why; empty where there are none."""
    if not found.incomparable:
        return ""
    how = "not told whole by both runs" if found.lacking else "told by one of the runs only"
    if found.metric == "score":
        return _apart(found, found.incomparable, f"are {how}")
    if not found.from_nothing:
        return _apart(found, found.incomparable, f"cannot be compared: 0 before, or {how}")
    rose, untold = found.incomparable[: found.risen], found.incomparable[found.risen :]
    told = [_apart(found, rose, "rose from 0")]
    return "; ".join([*told, _apart(found, untold, f"are {how}")] if untold else told)


def _apart(found: Difference, ids: Sequence[str], what: str) -> str:
    return f"{_OF_CASES[found.metric]} of {count(len(ids), 'case')} {what} ({_listed(ids)})"


def _fallen(found: Difference) -> str:
    if not found.to_nothing:
        return ""
    return f"{_OF_CASES[found.metric]} of {count(len(found.to_nothing), 'case')} fell to 0"


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else "")


def moved(found: Difference) -> str:
    """`12 points fewer trials pass than before (64 % → 52 %)`."""
    width = found.half_width
    if found.unit == "ratio":
        return _moved_ratio(found, digits(width))
    if not found.n_cases:
        return incomparable(found)
    old, new = found.ends
    size, rates = change(old, new, width) if found.value else ("", percent(new, digits(width)))
    if found.metric == "score":
        told = f"{size} {'lower' if found.value < 0 else 'higher'} than" if found.value else "the same as"
        apart = f"{incomparable(found)}; in the others " if found.incomparable else ""
        return f"{apart}the score is {told} before ({rates})"
    trials = "trials of critical cases" if found.metric == "critical" else "trials"
    if not found.value:
        return f"as many {trials} pass as before ({rates})"
    return f"{size} {'fewer' if found.value < 0 else 'more'} {trials} pass than before ({rates})"


def _moved_ratio(found: Difference, shown: int) -> str:
    of_time = found.metric == "latency"
    apart = [part for part in (incomparable(found), _fallen(found)) if part]
    if found.from_nothing and not found.old:
        return apart[0]
    answers = f"{'; '.join(apart)}; in the others answers" if apart else "answers"
    verb, much, more, less = ("take", "long", "longer", "less time") if of_time else ("cost", "much", "more", "less")
    if abs(found.value) < SAME:
        return f"{answers} {verb} as {much} as before"
    return f"{answers} {verb} {percent(abs(found.value), shown)} {more if found.value > 0 else less} than before"


def verdict_of(found: Difference, rule: RegressionRule) -> Change:
    if _is_significant(found, rule) and loss_of(found) > rule.tolerance + SAME:
        return "REGRESSION"
    possible = _possible_loss(found)
    is_free = found.unit == "ratio" and found.new == 0
    is_ruled_out = is_free or (possible is not None and possible < rule.least_loss)
    is_doubtful = found.incomparable or found.lacking or (loss_of(found) <= SAME and _is_rare(found, rule))
    return "NO REGRESSION" if is_ruled_out and not is_doubtful else "INCONCLUSIVE"


def is_hidden(found: Difference, rule: RegressionRule) -> bool:
    """Whether nothing but what trials lack keeps a loss from being ruled out."""
    return found.lacking > 0 and verdict_of(found.model_copy(update={"lacking": 0}), rule) == "NO REGRESSION"


def _is_significant(found: Difference, rule: RegressionRule) -> bool:
    return _is_rare(found, rule) and loss_of(found) > SAME


def _is_rare(found: Difference, rule: RegressionRule) -> bool:
    """By the test of a loss, which may be of amounts where the loss that is told is a ratio."""
    p = found.p if found.p_adjusted is None else found.p_adjusted
    return p is not None and p <= rule.alpha


def loss_of(found: Difference) -> float:
    if found.from_nothing:
        return math.inf
    return found.value if found.unit == "ratio" else -found.value


def _possible_loss(found: Difference) -> float | None:
    """The largest loss that is not ruled out."""
    worst = found.at_worst
    return -worst if worst is not None and found.unit == "points" else worst


def _size_of(loss: float, found: Difference) -> str:
    return percent(loss, 1) if found.unit == "ratio" else points(loss)


def _word(found: Difference, loss: bool = True) -> str:
    return "rise" if loss == (found.unit == "ratio") else "drop"


def _by_chance(found: Difference, loss: bool = True) -> str:
    p = found.p if loss else found.p_better
    return _would_come_up(found, chance(p or 0.0), loss)


def _would_come_up(found: Difference, often: str, loss: bool = True) -> str:
    what = f"a {_word(found, loss)} this large"
    if found.to_nothing:  # the test counts them, and what is told of the others does not
        what = f"all cases together, a result this {'bad' if loss else 'good'}"
    return f"{what} would come up in {often} runs if nothing had changed"


def _ruled_out(found: Difference, rule: RegressionRule) -> str:
    told = f"a {_word(found)} of {_size_of(rule.least_loss, found)} or more is ruled out"
    if _is_significant(found, rule):
        return f"{told}, and this one is within the {_size_of(rule.tolerance, found)} that are accepted"
    if found.p_better is not None and found.p_better <= rule.alpha and loss_of(found) < -SAME:
        return f"{_by_chance(found, loss=False)}; {told}"
    return told


def _undecided(evidence: Evidence, rule: RegressionRule) -> str:
    found = evidence.difference
    if found.incomparable and not found.from_nothing:
        return moved(found)
    if is_hidden(found, rule):
        lacking = f"{found.lacking:,} judged trial{'' if found.lacking == 1 else 's'} of the two runs without a"
        return f"{lacking} {'cost' if found.metric == 'cost' else 'whole score'} may hide a loss; {moved(found)}"
    if not evidence.can_fail(rule.alpha):
        return f"{_cannot_fail(evidence, rule)}; {moved(found)}"
    possible = _possible_loss(found)
    left_open = "" if possible is None else f"a {_word(found)} of up to {_size_of(possible, found)} is not ruled out"
    if _is_significant(found, rule):
        within = f"within the {_size_of(rule.tolerance, found)} that are accepted"
        return f"{moved(found)}, more than chance explains but {within}; {left_open}"
    if loss_of(found) <= SAME and _is_rare(found, rule):
        return f"{moved(found)}, but {_by_chance(found)}"
    if loss_of(found) <= SAME:
        return f"{moved(found)}, but {left_open or 'there are too few cases to rule a loss out'}"
    start = f"{moved(found)}, which may be chance"
    if found.p is not None and found.p <= rule.alpha and found.p_adjusted is not None:
        alone, together = chances(found.p, found.p_adjusted)
        of_all = f"in {together} runs for one of all the figures that are checked"
        return f"{start}: {_would_come_up(found, alone)}, and {of_all}"
    return f"{start}: {_by_chance(found)}"


def _cannot_fail(evidence: Evidence, rule: RegressionRule) -> str:
    """Too little was run for any loss to be told from chance: said instead of letting it look well."""
    if evidence.smallest_p >= 1 - SAME:
        return "no trial passed before, so this comparison can never show a loss"
    return f"too small to ever show a loss: {_even_the_worst(evidence, rule)}"


def _even_the_worst(evidence: Evidence, rule: RegressionRule) -> str:
    found = evidence.difference
    trials = found.n_trials_new / found.n_cases
    size = f"{count(found.n_cases, 'case')} × {trials:.3g} trial{'' if trials == 1 else 's'}"
    if isinstance(evidence.size, Figures) and evidence.size.number < found.n_cases:
        size += f" in {count(evidence.size.number, 'cluster')}"
    worst = "the worst result possible" if found.metric in ("score", "latency", "cost") else "a drop to 0 %"
    raised = evidence.smallest_p_adjusted
    least, together, limit = chances(evidence.smallest_p, raised or evidence.smallest_p, rule.alpha)
    of_all = f", in {together} for one of all the figures that are checked" if together != least else ""
    return f"with {size} even {worst} would come up in {least} runs by chance{of_all}, and the limit is {limit}"
