"""Sequential runs in words: what is announced before one starts, and what it came to."""

from __future__ import annotations

from evalharness.domain.plain_numbers import count, percent, points
from evalharness.domain.sequential import SequentialPlan, SequentialResult


def announced(plan: SequentialPlan, cap: int) -> str:
    asked = []
    if plan.floor is not None:
        asked.append(f"whether {percent(plan.floor)} pass, or only {percent(plan.floor - plan.effect)},")
    if plan.baseline:
        asked.append(f"whether it is worse than {plan.baseline_name}")
    told = (
        f"stops as soon as it is decided {' and '.join(asked).removesuffix(',')}, after at most {count(cap, 'trial')}"
    )
    fixed = f"a number fixed before would have to be {plan.fixed_n:,}"
    if cap < plan.fixed_n:
        return f"{told}; {fixed}, so it may well end undecided (more: --repeat N)"
    return f"{told}; {fixed}"


def outcome_of(result: SequentialResult) -> tuple[str, str]:
    """The sentence, and what it rests on."""
    trials = f"{result.trials_used:,} of {count(result.cap, 'trial')}"
    if result.decision != "UNDECIDED":
        told = f"decided after {trials}: {result.why}"
    elif result.is_over or result.trials_used == result.cap:
        told = f"not decided by {trials}: {result.why}"
    else:
        told = f"not decided so far, after {trials}: {result.why}"
    basis = [f"saved {percent(result.saved, 0)}"] if result.saved else []
    basis.append(f"{result.rule}, α {result.alpha:g}{f', β {result.beta:g}' if result.floor is not None else ''}")
    basis += [f"E {result.e_value:.3g}"] if result.e_value is not None else []
    basis.append(f"for {points(result.effect)} a fixed number would be {result.fixed_n:,}")
    return told, f"({'; '.join(basis)}; seed {result.seed})"
