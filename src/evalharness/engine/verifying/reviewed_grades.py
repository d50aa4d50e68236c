"""Reviewed grades: whether the grades of people in stored trials follow from their reviews, and so do the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from evalharness.domain.report import Mismatch
from evalharness.domain.review import ReviewedItem, ReviewLink
from evalharness.domain.run_reviews import RunReviews
from evalharness.domain.trial import Trial
from evalharness.engine.reviewing.review_decision import reviewed_grade

FIGURES = ("items", "decided", "disputed", "reviews", "agreement")
"""They stand when a run is finished. What comes later is surplus, or a ranking."""


def odd_grades(reviewed: Sequence[ReviewedItem], trial_of: Callable[[ReviewLink], Trial | None]) -> Iterator[Mismatch]:
    """Grades that people gave directly; those inside graders made of graders follow from them."""
    for item, reviews, links in reviewed:
        if item.is_gold or item.is_ranking or not reviews:
            continue
        found = reviewed_grade(item.task, reviews)
        for link in (link for link in links if link.is_applied and len(link.path) == 1):
            trial = trial_of(link)
            grade = trial.grades[link.path[0]] if trial and link.path[0] < len(trial.grades) else None
            place = f"trials.{link.case_id}#{link.trial_index + 1}.grades.{item.grader}"
            for name in ("state", "score") if grade is not None else ():
                if getattr(grade, name) != getattr(found, name):
                    yield Mismatch(figure=f"{place}.{name}", reported=getattr(grade, name), found=getattr(found, name))


def odd_figures(reported: RunReviews | None, found: RunReviews | None) -> Iterator[Mismatch]:
    """Of a finished run."""
    if reported is None or found is None:
        return
    for name in FIGURES:
        was, now = (each.model_dump(mode="json", include={name})[name] for each in (reported, found))
        if was != now:
            yield Mismatch(figure=f"reviews.{name}", reported=was, found=now)
