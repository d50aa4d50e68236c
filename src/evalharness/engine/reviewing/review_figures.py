"""Review figures: how far the people agree who rated the answers of a run, and in which order they put them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from evalharness.domain.measurement import Measurement
from evalharness.domain.rating import Rating, RatingScale, Tiers
from evalharness.domain.review import ReviewedItem, ReviewItem, as_rating, standing
from evalharness.domain.run_reviews import Agreement, RankedPlayer, Ranking, ReviewerProgress, RunReviews
from evalharness.engine.reviewing.review_decision import passes
from evalharness.stats.agreement import (
    agreement_interval,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    leading_measure,
    percent_agreement,
)
from evalharness.stats.rankings import bootstrapped_strengths, kendall_w, wins_of
from evalharness.stats.thresholds import LEVEL

RESAMPLES = 500
Rated = Sequence[Hashable | None]


def review_figures(reviewed: Sequence[ReviewedItem], stale: int = 0) -> RunReviews | None:
    """None where nobody was asked. Gold items tell about reviewers and about nothing else."""
    if not reviewed:
        return None
    asked = [each for each in reviewed if not each.item.is_gold]
    counted = {each.item.id: len(standing(each.reviews)) for each in asked}
    open_items = [each.item for each in asked if each.item.stage == "open"]
    return RunReviews(
        items=len(asked),
        decided=sum(each.item.stage == "decided" for each in asked),
        disputed=sum(each.item.stage == "disputed" for each in asked),
        pending=sum(max(0, item.wanted - counted[item.id]) for item in open_items),
        reviews=sum(counted.values()),
        stale=stale,
        interface=reviewed[0].item.task.interface,
        agreement=tuple(_agreements(asked)),
        rankings=tuple(_rankings(asked)),
        reviewers=tuple(reviewer_progress(reviewed)),
    )


def _by_grader(asked: Iterable[ReviewedItem], *, is_ranking: bool) -> Iterator[tuple[str, list[ReviewedItem]]]:
    """Graders of one name may have several scales, whose ratings cannot be compared."""
    found: dict[Hashable, list[ReviewedItem]] = defaultdict(list)
    for each in asked:
        if each.item.is_ranking == is_ranking:
            scale = each.item.task.scale
            criteria = tuple(criterion.name for criterion in scale.criteria)
            kind = (scale.description,) if is_ranking else (scale.type, scale.range, criteria)
            found[each.item.grader, kind].append(each)
    for items in found.values():
        yield items[0].item.grader, items


# Agreement


class _Ratings(NamedTuple):
    """Of each item, what each person said, None for those who were not asked."""

    items: list[list[Hashable | None]]
    categories: tuple[Hashable, ...]


def _agreements(asked: Sequence[ReviewedItem]) -> Iterator[Agreement]:
    for grader, items in _by_grader(asked, is_ranking=False):
        ratings = [{name: rating for name, (_, rating) in standing(each.reviews).items()} for each in items]
        scale = items[0].item.task.scale
        criteria = [each.name for each in scale.rated] if scale.type == "likert" else [""]
        for criterion in criteria:
            said = _said(ratings, scale, criterion)
            if any(sum(rating is not None for rating in item) > 1 for item in said.items):
                yield _agreement(grader, criterion if scale.criteria else "", said, is_ordered=scale.type == "likert")


def _said(ratings: Sequence[dict[str, Rating]], scale: RatingScale, criterion: str) -> _Ratings:
    people = sorted({name for each in ratings for name in each})

    def value(rating: Rating | None) -> Hashable | None:
        return rating.get(criterion) if isinstance(rating, dict) else rating

    low, high = scale.range
    categories: tuple[Hashable, ...] = tuple(range(low, high + 1)) if scale.type == "likert" else (True, False)
    return _Ratings([[value(each.get(name)) for name in people] for each in ratings], categories)


def _agreement(grader: str, criterion: str, said: _Ratings, *, is_ordered: bool) -> Agreement:
    several = [item for item in said.items if sum(rating is not None for rating in item) > 1]
    measures: dict[str, Callable[[Sequence[Rated]], float | None]] = {
        "percent_agreement": percent_agreement,
        "alpha_nominal": krippendorff_alpha,
        "ac1": partial(gwet_ac1, categories=said.categories),
    }
    if is_ordered:
        measures["alpha_ordinal"] = partial(krippendorff_alpha, scale="ordinal")
        measures["alpha_interval"] = partial(krippendorff_alpha, scale="interval")
    numbers = {sum(rating is not None for rating in item) for item in several}
    if len(said.items[0]) == 2:
        measures["cohen_kappa"] = _cohen
    if numbers == {max(numbers)} and max(numbers) > 1:
        measures["fleiss_kappa"] = fleiss_kappa
    figures = {name: found for name, measure in measures.items() if (found := _measured(several, measure)) is not None}
    leads = leading_measure(several) == "AC1"
    alpha = "alpha_ordinal" if is_ordered else "alpha_nominal"
    leading = next((name for name in (("ac1", alpha) if leads else (alpha, "ac1")) if name in figures), "")
    return Agreement(grader=grader, criterion=criterion, items=len(several), figures=figures, leading=leading)


def _cohen(ratings: Sequence[Rated]) -> float | None:
    found = cohen_kappa(ratings)
    return None if found is None else found.value


def _measured(items: Sequence[Rated], measure: Callable[[Sequence[Rated]], float | None]) -> Measurement | None:
    """With an interval from draws of items, where there are enough."""
    value = measure(items)
    if value is None:
        return None
    reviews = sum(rating is not None for item in items for rating in item)
    about = {"value": value, "n_cases": len(items), "n_trials": reviews}
    found = agreement_interval(items, measure, resamples=RESAMPLES)
    if found is None:
        return Measurement(**about)
    return Measurement(**about, low=found.low, high=found.high, level=found.level, method=found.method)


# Rankings


def _rankings(asked: Sequence[ReviewedItem]) -> Iterator[Ranking]:
    for grader, items in _by_grader(asked, is_ranking=True):
        names = sorted({answer.player for each in items for answer in each.item.answers})
        prompts = [[_numbered(each.item, rating, names) for rating in _orders(each)] for each in items]
        prompts = [prompt for prompt in prompts if prompt]
        if prompts:
            yield _ranking(grader, names, prompts)


def _orders(each: ReviewedItem) -> list[Tiers]:
    ratings = (as_rating(review.rating) for review, _ in standing(each.reviews).values())
    return [rating for rating in ratings if isinstance(rating, tuple)]


def _numbered(item: ReviewItem, tiers: Tiers, names: Sequence[str]) -> list[list[int]]:
    """From the letters of an item to the numbers of the players."""
    players = {chr(ord("A") + place): names.index(answer.player) for place, answer in enumerate(item.answers)}
    return [[players[letter] for letter in tier] for tier in tiers]


def _ranking(grader: str, names: Sequence[str], prompts: list[list[list[list[int]]]]) -> Ranking:
    every = [ranking for prompt in prompts for ranking in prompt]
    wins = wins_of(every, len(names))
    strengths = bootstrapped_strengths(prompts, len(names))
    method = "Bradley-Terry, bootstrap over items" if len(prompts) > 1 else "Bradley-Terry, Fisher information"
    players = []
    for place, name in enumerate(names):
        won = sum(wins[place])
        strength = None
        if strengths is not None:
            found = strengths[place]
            about = {"low": found.low, "high": found.high, "level": LEVEL, "method": method}
            strength = Measurement(value=found.value, **about, n_cases=len(prompts), n_trials=len(every))
        lost = sum(row[place] for row in wins)
        players.append(RankedPlayer(player=name, strength=strength, wins=won, comparisons=won + lost))
    players.sort(key=lambda each: (-(each.strength.value if each.strength else each.wins), each.player))
    found_w = [w for prompt in prompts if (w := kendall_w(prompt)) is not None]
    return Ranking(
        grader=grader,
        players=tuple(players),
        rankings=len(every),
        is_rankable=strengths is not None,
        concordance=sum(found_w) / len(found_w) if found_w else None,
    )


# Reviewers


def reviewer_progress(reviewed: Iterable[ReviewedItem]) -> Iterator[ReviewerProgress]:
    """Of each person: what they have done, and how often they were right where that is known."""
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    for item, reviews, _ in reviewed:
        last = {review.reviewer: review for review in reviews if review.kind != "adjudicated"}
        for name, review in last.items():
            if review.kind == "skipped":
                tally[name]["skipped"] += 1
            if review.kind == "rated":
                tally[name]["gold" if item.is_gold else "surplus" if review.is_surplus else "reviews"] += 1
                tally[name]["late"] += review.is_late
            if review.kind == "rated" and item.is_gold:
                is_right = passes(item.task, as_rating(review.rating)) == passes(item.task, as_rating(item.gold))
                tally[name]["gold_right"] += is_right
    for name in sorted(tally):
        yield ReviewerProgress(reviewer=name, **{"reviews": 0, **{k: v for k, v in tally[name].items() if v}})
