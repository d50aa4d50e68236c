"""`eval-harness grade`: rate answers in a terminal, one item per screen. Over a pipe it is the same, line by line.

What is typed is kept at once: the values of an item as its draft, and the review when it is submitted.
"""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, option, store_option
from evalharness.cli.references import RUN

SOURCE = "cli"


@click.command("grade", cls=Command)
@click.argument("run", required=False, type=RUN)
@option("--reviewer", metavar="NAME", required=True, help="Who rates. The same name goes on where it stopped.")
@option("--disputed", is_flag=True, help="Decide the items on which reviewers disagree.")
@store_option
@debug_option
def command(run: str | None, reviewer: str, disputed: bool, store: str | None) -> int:
    """Rate answers that wait for a person, one at a time.

    Without RUN, those of all runs. Whatever you type is kept at once: leave with /quit or Ctrl-C whenever you like, and
    type the same command to go on. You see neither who answered nor what others said, unless the suite says
    `blind_evaluation: false`.

    \b
    eval-harness grade latest --reviewer ann
    """
    from evalharness.actions.rate_answers import open_queue
    from evalharness.cli.stdout import screen_on
    from evalharness.harness import Harness

    with Harness.open(store, to_read=True) as harness:
        screen = screen_on(sys.stdout, harness.redact)
        run_id = harness.call(open_queue, run)
        session: Any = _Session(harness, screen, reviewer, run_id)
        try:
            return _adjudicate(harness, screen, reviewer, run) if disputed else int(session.rate())
        except _LeaveError:
            screen.say("Everything you submitted or typed is kept. The same command goes on from here.")
            return 0
        except KeyboardInterrupt:
            screen.say("")
            screen.say("interrupted; everything you submitted or typed is kept. The same command goes on from here.")
            return 130


class _LeaveError(Exception):
    """The reviewer has had enough, or there is no more to read."""


class _CommandError(Exception):
    """`/undo` or `/skip`, in place of a rating."""


class _Session:
    def __init__(self, harness: Any, screen: Any, reviewer: str, run_id: str | None) -> None:
        self._harness = harness
        self._screen = screen
        self._reviewer = reviewer
        self._run_id = run_id

    def rate(self) -> int:
        from evalharness.actions.rate_answers import lease_item
        from evalharness.reports.terminal.review_screen import show_item

        number = 0
        while leased := self._harness.call(lease_item, self._reviewer, self._run_id, source=SOURCE):
            number += 1
            _clear()
            show_item(self._screen, leased)
            try:
                self._one(leased.item)
            except _CommandError as asked:
                self._do(str(asked), leased.item)
        self._screen.say("That was the last one. Thank you." if number else "There is nothing to rate for you now.")
        return 0

    def _one(self, item: Any) -> None:
        from evalharness.actions.rate_answers import submit_review
        from evalharness.errors import UsageError

        draft = _draft(item.draft)
        while True:
            rating = self._rating(item, draft)
            comment = draft.get("comment") or self._ask("comment (or nothing)")
            self._keep(item, {**draft, "comment": comment})
            try:
                done = self._harness.call(submit_review, self._reviewer, item.id, rating, comment, source=SOURCE)
            except UsageError as error:  # what was typed is no such rating: ask again
                self._screen.say((f"error: {error.message}", "red"))
                draft = {}
                continue
            notes = [] if done.is_counted else ["somebody else was faster, so it is kept but not counted"]
            notes += ["after the time limit"] if done.is_late else []
            self._screen.say("; ".join(["submitted", *notes]))
            return

    def _rating(self, item: Any, draft: dict[str, Any]) -> Any:
        """What a draft has already is not asked again."""
        from evalharness.reports.terminal.review_screen import rating_text, scale_texts

        kept = draft.get("rating")
        if item.scale != "likert":
            [(_, words, what)] = scale_texts(item)
            if kept is not None:
                self._screen.say(f"typed before: {rating_text(item, kept)}")
                return kept
            typed = self._valid(item, "", words, what)
            draft["rating"] = typed
            self._keep(item, draft)
            return typed
        values: dict[str, Any] = dict(kept) if isinstance(kept, dict) else {}
        for name, words, what in scale_texts(item):
            if name in values:
                self._screen.say(f"typed before: {name} {values[name]}")
                continue
            values[name] = self._valid(item, name, words, what)
            draft["rating"] = values
            self._keep(item, draft)
        return values

    def _valid(self, item: Any, name: str, words: str, what: str) -> Any:
        """Asked until it is something that this scale has."""
        while True:
            self._screen.say("")
            self._screen.say(words)
            typed = self._ask(what)
            value = _value(item, typed)
            if value is not None:
                return value
            self._screen.say((f"please type {what}{f' for {name}' if name else ''}, not '{typed}'", "red"))

    def _keep(self, item: Any, draft: dict[str, Any]) -> None:
        from evalharness.actions.rate_answers import heartbeat

        self._harness.call(heartbeat, self._reviewer, item.id, json.dumps(draft, ensure_ascii=False))

    def _ask(self, what: str) -> str:
        return _ask(what)

    def _do(self, asked: str, item: Any) -> None:
        from evalharness.actions.rate_answers import skip_item, undo_review
        from evalharness.errors import UsageError
        from evalharness.reports.terminal.review_screen import rating_text

        word, _, rest = asked.partition(" ")
        try:
            if word == "/skip":
                self._harness.call(skip_item, self._reviewer, item.id, rest, source=SOURCE)
                self._screen.say("skipped")
            elif word == "/undo":
                back = self._harness.call(undo_review, self._reviewer, source=SOURCE)
                said = _draft(back.draft)
                self._keep(back, {})
                rating = f"; you said {rating_text(back, said['rating'])}" if "rating" in said else ""
                comment = f": {said['comment']}" if said.get("comment") else ""
                self._screen.say(f"taken back{rating}{comment}")
            else:
                raise UsageError(f"unknown command {word}", hint="type /skip REASON, /undo or /quit")
        except UsageError as error:
            self._screen.say((f"error: {error.message}", "red"))


def _ask(what: str) -> str:
    """One line of standard input, without the space around it."""
    print(f"{what} > ", end="", flush=True)
    line = sys.stdin.readline()
    if not line or line.strip() == "/quit":
        print()
        raise _LeaveError
    if line.startswith("/"):
        _command(line.strip())
    return line.strip()


def _ask_owner(screen: Any, what: str) -> str:
    """Whoever decides can leave, but neither skip nor undo."""
    while True:
        try:
            return _ask(what)
        except _CommandError as asked:
            screen.say((f"error: {asked} cannot be used here; type a rating, or /quit", "red"))


def _command(typed: str) -> NoReturn:
    raise _CommandError(typed)


def _draft(kept: str) -> dict[str, Any]:
    """It may have been typed anywhere, so it may be anything."""
    try:
        found = json.loads(kept or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _value(item: Any, typed: str) -> Any:
    """What was typed as a rating; None for what is none. Whether a ranking is complete is decided on submission."""
    if item.scale == "likert":
        low, high = item.range
        is_number = typed.lstrip("-").isdecimal()
        return int(typed) if is_number and low <= int(typed) <= high else None
    if item.scale == "binary":
        labels = {choice.label.casefold(): choice.value for choice in item.choices}
        found = [value for label, value in labels.items() if typed and label.startswith(typed.casefold())]
        return labels.get(typed.casefold(), found[0] if len(found) == 1 else None)
    letters = {answer.letter for answer in item.answers}
    tiers = [tier.split("=") for tier in typed.upper().split()]
    named = [letter for tier in tiers for letter in tier]
    return tiers if sorted(named) == sorted(letters) and (item.tie_allowed or len(tiers) == len(letters)) else None


def _clear() -> None:
    if sys.stdout.isatty() and sys.stdin.isatty():
        click.clear()


def _adjudicate(harness: Any, screen: Any, name: str, run: str | None) -> int:
    """The owner decides, and so sees what the others said."""
    from evalharness.actions.oversee_reviews import oversee_reviews
    from evalharness.actions.rate_answers import adjudicate_item, item_to_adjudicate
    from evalharness.domain.review import standing
    from evalharness.reports.terminal.review_screen import rating_text, scale_texts, show_task

    if run is None:
        raise click.UsageError("--disputed needs RUN: eval-harness grade RUN --reviewer NAME --disputed")
    disputed = harness.call(oversee_reviews, run, "disputed").items
    for each in disputed:
        item = harness.call(item_to_adjudicate, each.item.id)
        _clear()
        show_task(screen, item)
        screen.say("")
        for review, given in standing(each.reviews).values():
            said = f": {review.comment}" if review.comment else ""
            screen.say(f"{review.reviewer} said {rating_text(item, given)}{said}")
        rating: Any = {}
        for criterion, words, what in scale_texts(item):
            value = None
            while value is None:
                screen.say(words)
                value = _value(item, _ask_owner(screen, what))
            rating = {**rating, criterion: value} if criterion else value
        comment = _ask_owner(screen, "comment (or nothing)")
        harness.call(adjudicate_item, name, item.id, rating, comment, source=SOURCE)
        screen.say("decided")
    screen.say("That was the last one. Thank you." if disputed else "No item is disputed.")
    return 0
