"""The templates of all pages, and the one way texts get into them: cleaned, then escaped.

Every value that a template writes is redacted and freed of control characters before it is escaped. What is already
HTML (`Markup`) comes from templates and plots alone.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from evalharness.domain.plain_numbers import count
from evalharness.reports.pages.case_panel import CasePanel, GradeLine, TrialButton, folded, readable
from evalharness.reports.pages.case_rows import STATES
from evalharness.reports.terminal.screen import MARKS
from evalharness.reports.wording import clean

SHORT = 40
"""Characters: short texts come up again and again, names of graders and states among them."""
SHORT_GRADE = 500
"""The same of what a grade says."""
Link = Callable[..., str]
"""The address of something in the same home: `link(run="eval-…", case="peru", trial=2)`."""


def fragment(*, case: str = "", key: str = "", trial: int = 0, message: int = 0, **_where: object) -> str:
    """Where a page is one file: its own state is behind the `#`, and a case goes by its key."""
    numbers = (("trial", trial), ("message", message))
    parts = [_case_in_fragment(key or case), *(f"{name}={number}" for name, number in numbers if number)]
    return f"#{'&'.join(part for part in parts if part)}"


@lru_cache(maxsize=1_000)
def _case_in_fragment(case: str) -> str:
    """Every trial and message of a case has it in its address."""
    return urlencode({"case": case}) if case else ""


class Frame(NamedTuple):
    """What surrounds every page of a home: a file contains what the page needs, a server says where it is."""

    beginning: Markup
    head: Markup
    foot: Markup = Markup()
    places: Sequence[tuple[str, str]] = ()
    """The main pages of a server with their addresses; a file has none."""


class PageTemplates:
    """Of one home, with its secrets: a report in a file, or a server. `link` says where things are."""

    def __init__(self, redact: Callable[[str], str], link: Link = fragment, frame: Frame | None = None) -> None:
        self._redact = redact
        self._link = link
        self._clean_short = lru_cache(maxsize=10_000)(self.clean)
        self._short_grade_row = lru_cache(maxsize=1_000)(self._new_grade_row)
        self._trial_button = lru_cache(maxsize=1_000)(self._new_trial_button)
        self._environment = Environment(
            loader=FunctionLoader(_source),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=self._clean,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            link=link,
            frame=frame,
            on_server=bool(frame and frame.places),
            mark={state: _mark(state, mark) for state, (mark, _) in MARKS.items()},
            marks={state: mark for state, (mark, _) in MARKS.items()},
            states=STATES,
            count=count,
        )
        self._environment.filters.update(  # quicker than functions, which matters where a page has very many trials
            readable=readable,
            with_code=self._with_code,
            text=self._text,
            grade_row=self._grade_row,
            link_to=self._link_to,
            trial_button=self._trial_button,
        )

    def render(self, template: str, **values: Any) -> str:
        return self._environment.get_template(template).render(values)

    def compile_all(self) -> None:
        """For a server: or else whoever comes first waits for it."""
        for each in files(__package__).joinpath("templates").iterdir():
            if each.name.endswith(".html"):
                self._environment.get_template(each.name)

    def clean(self, text: str) -> str:
        return clean(text, self._redact)

    def _grade_row(self, grade: GradeLine) -> Markup:
        """Most trials have grades that read the same; making each row again took a fifth of the time of a report."""
        is_short = len(grade.reason) + len(grade.evidence) + len(grade.trace) <= SHORT_GRADE
        return self._short_grade_row(grade) if is_short else self._new_grade_row(grade)

    def _new_grade_row(self, grade: GradeLine) -> Markup:
        return Markup(self.render("grade_row.html", grade=grade))

    def _link_to(self, panel: CasePanel, trial: int, message: int = 0) -> str:
        return self._link(run=panel.run, case=panel.id, key=panel.key, trial=trial, message=message)

    def _new_trial_button(self, button: TrialButton, opened: int) -> Markup:
        """Without its address: that alone differs from case to case."""
        return Markup(self.render("trial_button.html", button=button, is_opened=button.group == opened))

    def _text(self, value: str) -> Markup:
        """Nearly every trial has one, and nearly all are short: without a template they take half the time."""
        text = folded(value)
        if text.rest:
            return Markup(self.render("long_text.html", text=text))
        return Markup(f"<pre>{escape(self._clean(text.head))}</pre>")

    def _clean(self, value: Any) -> Any:
        if type(value) is str or (isinstance(value, str) and not isinstance(value, Markup)):
            return self._clean_short(value) if len(value) <= SHORT else self.clean(value)
        return value

    def _with_code(self, text: str) -> Markup:
        """Of a sentence of ours, what is between backticks as code."""
        parts = [escape(part) for part in self.clean(text).split("`")]
        if len(parts) % 2 == 0:
            return Markup("`").join(parts)
        return Markup().join(
            Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts)
        )


def _mark(state: str, mark: str) -> Markup:
    return Markup('<span class="mark is-{}" aria-hidden="true">{}</span>').format(state, mark)


def _source(name: str) -> str:
    return page_source(f"templates/{name}")


@cache
def page_source(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def content_policy(script: str, style: str, form_action: str = "'none'") -> str:
    """What a page in one file may do: its own script and style, by their hashes, and nothing else."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        f"base-uri 'none'; form-action {form_action}"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
