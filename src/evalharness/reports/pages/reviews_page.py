"""What the owner of a store sees of reviews: how far people are, how far they agree, and what has to be decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalharness.domain.review import Review, ReviewedItem, standing
from evalharness.domain.review_queue import ReviewOverview
from evalharness.domain.run_reviews import AGREEMENT_FIGURES, Agreement, ReviewerProgress, RunReviews
from evalharness.domain.seen_item import SeenItem
from evalharness.reports.pages.review_page import ReviewPage, page_of
from evalharness.reports.terminal.review_screen import progress_lines, rating_text

LAYOUTS = ("jsonl", "csv", "label-studio", "argilla")
MOST_DISPUTES = 20


@dataclass(frozen=True, slots=True)
class RunLine:
    run: str
    name: str
    about: str
    state: str
    """passed where everything is decided, else awaiting."""


@dataclass(frozen=True, slots=True)
class Said:
    who: str
    rating: str
    comment: str


@dataclass(frozen=True, slots=True)
class Dispute:
    case_id: str
    trial: int
    page: ReviewPage
    said: Sequence[Said]


@dataclass(frozen=True, slots=True)
class AgreementLine:
    of: str
    figures: Sequence[tuple[str, str]]
    """The one to read first comes first."""


@dataclass(frozen=True, slots=True)
class ReviewsPage:
    run: str
    name: str
    suite: str
    about: Sequence[str]
    people: Sequence[ReviewerProgress]
    at_work: Sequence[str]
    agreement: Sequence[AgreementLine]
    disputes: Sequence[Dispute]
    more_disputes: int
    remarks: Sequence[tuple[str, str, str]]
    """Case, grade, and what was said about it."""
    layouts: Sequence[str] = LAYOUTS


def run_line(run: str, name: str, figures: RunReviews) -> RunLine:
    state = "awaiting" if figures.disputed or figures.pending else "passed"
    return RunLine(run, name, next(progress_lines(figures)), state)


def reviews_page(overview: ReviewOverview, disputed: Sequence[tuple[ReviewedItem, SeenItem]], more: int) -> ReviewsPage:
    """`more` are the disputed items that are not shown."""
    figures = overview.figures
    return ReviewsPage(
        run=overview.run_id,
        name=overview.run_name,
        suite=overview.suite_name,
        about=[next(progress_lines(figures))],
        people=figures.reviewers,
        at_work=sorted({lease.reviewer for lease in overview.leases}),
        agreement=[_agreement(each) for each in figures.agreement],
        disputes=[_dispute(each, seen) for each, seen in disputed],
        more_disputes=more,
        remarks=[
            (each.case_id, each.grader, f"{'agrees' if each.agrees else 'disagrees'}: {each.comment}".rstrip(": "))
            for each in overview.remarks
        ],
    )


def _agreement(found: Agreement) -> AgreementLine:
    names = sorted(found.figures, key=lambda name: name != found.leading)
    shown = [(AGREEMENT_FIGURES[name], _measured(found, name)) for name in names]
    of = " · ".join(part for part in (found.grader, found.criterion) if part)
    return AgreementLine(of, shown or [("no variation", "all ratings are equal")])


def _measured(found: Agreement, name: str) -> str:
    figure = found.figures[name]
    interval = "" if figure.low is None or figure.high is None else f" ({figure.low:.2f} to {figure.high:.2f})"
    return f"{figure.value:.2f}{interval}"


def _dispute(each: ReviewedItem, seen: SeenItem) -> Dispute:
    place = each.links[0]
    return Dispute(place.case_id, place.trial_index + 1, page_of(seen), [*_said(each.reviews, seen)])


def _said(reviews: Sequence[Review], seen: SeenItem) -> Iterator[Said]:
    for review, rating in standing(tuple(reviews)).values():
        yield Said(review.reviewer, rating_text(seen, rating), review.comment)
