"""Sequential runs in words: what is announced before one starts, and what it came to."""

from __future__ import annotations

from evalharness.domain.plain_numbers import count, percent, points
from evalharness.domain.sequential import SequentialPlan, SequentialResult
from evalharness.reports.words.say import say


def announced(plan: SequentialPlan, cap: int) -> str:
    asked = []
    if plan.floor is not None:
        asked.append(f"whether {percent(plan.floor)} pass, or only {percent(plan.floor - plan.effect)},")
    if plan.baseline:
        asked.append(f"whether it is worse than {plan.baseline_name}")
    text = f"stops as soon as it is clear {' and '.join(asked).removesuffix(',')}, after at most {count(cap, 'trial')}"
    fixed = f"a fixed plan would need {plan.fixed_n:,}"
    if cap < plan.fixed_n:
        return f"{text}; {fixed}, so it may well end undecided (more: --repeat N)"
    return f"{text}; {fixed}"


def outcome_of(result: SequentialResult) -> tuple[str, str]:
    """The sentence, and what it rests on."""
    trials = f"{result.trials_used:,} of {count(result.cap, 'trial')}"
    if result.at_the_cap:
        return f"the rule had not decided after {trials}: {say(result.why)}", f"({result.rule}; seed {result.seed})"
    if result.decision != "UNDECIDED":
        text = f"decided after {trials}: {say(result.why)}{_beside_the_interval(result)}"
    elif result.is_over or result.trials_used == result.cap:
        text = f"not decided by {trials}: {say(result.why)}"
    else:
        text = f"not decided so far, after {trials}: {say(result.why)}"
    basis = [
        _spent(result),
        f"{result.rule}, α {result.alpha:g}{f', β {result.beta:g}' if result.floor is not None else ''}",
    ]
    basis += [f"E {result.e_value:.3g}"] if result.e_value is not None else []
    return text, f"({'; '.join(basis)}; seed {result.seed})"


def _spent(result: SequentialResult) -> str:
    """Against the number of trials that would decide the same if it were fixed before."""
    fixed = f"a fixed {result.fixed_n:,} for {points(result.effect)}"
    uncounted = result.trials_run - result.trials_used
    parts = [f"{uncounted:,} more run but not counted"] if uncounted > 0 else []
    whose = "its" if result.given_up == 1 else "their"
    parts += [f"{result.given_up:,} more started and abandoned, {whose} cost not known"] if result.given_up else []
    if not result.saved:
        return ", ".join([f"instead of {fixed}", *parts])
    share = f"{percent(abs(result.saved), 0)} {'fewer' if result.saved > 0 else 'more'} than {fixed}"
    return ", ".join([share, *parts])


def _beside_the_interval(result: SequentialResult) -> str:
    """Why a decision and the interval printed above it may disagree; at the cap, the interval itself was asked."""
    if result.floor is None or result.floor_met is None or result.trials_used == result.cap:
        return ""
    too_low = result.floor - result.effect
    is_inside = (result.low or 0.0) <= too_low if result.floor_met else (result.high or 1.0) >= result.floor
    rates = f"{percent(result.floor)} against {percent(too_low)}"
    return f"; the test considers only {rates}, the interval every rate" if is_inside else ""
