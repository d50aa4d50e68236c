"""What people were asked and how far they agree, as labelled lines: label, text, and what is less important."""

from __future__ import annotations

from collections.abc import Iterator

from evalharness.domain.measurement import Measurement
from evalharness.domain.plain_numbers import count
from evalharness.domain.run_reviews import AGREEMENT_FIGURES, Agreement, Ranking, RunReviews
from evalharness.reports.terminal.review_screen import reviewer_line

Line = tuple[str, str, str]


def review_figures(reviews: RunReviews, *, verbose: bool) -> Iterator[Line]:
    """The first figure of each scale; with `verbose` all of them, and what each reviewer did."""
    yield "reviews", _progress(reviews), ""
    for agreement in reviews.agreement:
        yield from _agreement(agreement, verbose=verbose)
    for ranking in reviews.rankings:
        yield from _ranking(ranking)
    if verbose:
        for person in reviews.reviewers:
            yield "reviewer", reviewer_line(person), ""


def _progress(reviews: RunReviews) -> str:
    parts = [f"{reviews.reviews} of {reviews.reviews + reviews.pending} are in" if reviews.pending else "all are in"]
    parts += [f"{count(reviews.disputed, 'item')} disputed"] if reviews.disputed else []
    parts += [f"{count(reviews.stale, 'review')} of the earlier run no longer fit"] if reviews.stale else []
    return ", ".join(parts)


def _agreement(agreement: Agreement, *, verbose: bool) -> Iterator[Line]:
    what = f"{agreement.grader}, {agreement.criterion}" if agreement.criterion else agreement.grader
    basis = count(agreement.items, "item")
    first = agreement.leading or "percent_agreement"
    figure = f" {_figure(agreement.figures[first])}" if first in agreement.figures else ""
    variation = "" if agreement.leading else ", no variation in the ratings"
    yield "agreement", f"{what}: {AGREEMENT_FIGURES[first]}{figure}{variation}", f"({basis})"
    for name, title in AGREEMENT_FIGURES.items() if verbose else ():
        if name in agreement.figures and name != first:
            found = agreement.figures[name]
            yield "", f"{title} {_figure(found)}", f"({found.method})" if found.method else ""


def _figure(found: Measurement) -> str:
    """A plain number, since it may be below 0, with its interval."""
    ends = "" if found.low is None or found.high is None else f" ({_plain(found.low)} to {_plain(found.high)})"
    return f"{_plain(found.value)}{ends}"


def _plain(number: float) -> str:
    """With two decimals, and nothing below 0 that is shown as 0."""
    return f"{round(number, 2) + 0.0:.2f}"


def _ranking(ranking: Ranking) -> Iterator[Line]:
    agree = "" if ranking.concordance is None else f"Kendall's W {ranking.concordance:.2f}, "
    basis = f"({agree}{count(ranking.rankings, 'ranking')})"
    if not ranking.is_rankable:
        wins = ", ".join(f"{each.player} {each.wins:g} of {each.comparisons:g}" for each in ranking.players)
        yield "ranking", f"{ranking.grader}: not rankable, because not everybody won and lost: {wins}", basis
        return
    places = [
        f"{place}. {each.player} {_figure(each.strength)}"
        for place, each in enumerate(ranking.players, 1)
        if each.strength is not None
    ]
    yield "ranking", f"{ranking.grader}: {', '.join(places)}", basis
