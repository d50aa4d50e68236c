"""`eval-harness reviewers`: who may rate answers, how far they are, and their reviews as files."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import Group
from evalharness.cli.flags import debug_option, json_option, option, store_option
from evalharness.cli.references import RUN, FileName
from evalharness.reports.json_text import json_text

LAYOUTS = ("jsonl", "csv", "label-studio", "argilla")


@click.group("reviewers", cls=Group)
@debug_option
def command() -> None:
    """Invite reviewers, see how far they are, and move reviews in and out.

    \b
    eval-harness reviewers invite ann
    eval-harness reviewers status latest
    eval-harness reviewers export latest -o reviews.csv
    """


@command.command("invite")
@click.argument("name")
@store_option
@json_option
@debug_option
def invite(name: str, store: str | None, as_json: bool) -> int:
    """Let NAME review, by a link that is printed once; a new invitation makes an earlier one worthless.

    The link needs a running server. Where none is running on the store, the token is printed, and how to start one.
    """
    from evalharness.actions.find_server import find_server
    from evalharness.actions.invite_reviewers import invite_reviewer
    from evalharness.harness import MEMORY, Harness, named_store
    from evalharness.reports.wording import naming

    with Harness.open(store) as harness:
        invited = harness.call(invite_reviewer, name)
        place = named_store(store)
        server = None if place == MEMORY else harness.call(find_server, place)
    link = "" if server is None else server.page("/review", invited.token)
    if as_json:
        print(json_text({"reviewer": invited.reviewer.name, "token": invited.token, "link": link or None}))
        return 0
    if link:
        print(f"{name} may review at {link}")
    else:
        print(f"{name} may review with the token {invited.token}")
        print(f"in a browser: start `eval-harness serve{naming(store)}`, and send its address with /review?token=TOKEN")
    print(f"in a terminal on this machine: eval-harness grade --reviewer {shlex.quote(name)}{naming(store)}")
    return 0


@command.command("revoke")
@click.argument("name")
@store_option
@json_option
@debug_option
def revoke(name: str, store: str | None, as_json: bool) -> int:
    """Let NAME review no more. Reviews that were given are kept."""
    from evalharness.actions.invite_reviewers import revoke_reviewer
    from evalharness.harness import Harness

    with Harness.open(store, to_read=True) as harness:
        gone = harness.call(revoke_reviewer, name)
    document = {"reviewer": gone.name, "revoked_at": gone.revoked_at}
    print(json_text(document) if as_json else f"{name} may no longer review")
    return 0


@command.command("list")
@store_option
@json_option
@debug_option
def known(store: str | None, as_json: bool) -> int:
    """List everybody who was ever invited or has rated something."""
    from evalharness.actions.invite_reviewers import list_reviewers
    from evalharness.harness import Harness
    from evalharness.reports.wording import harmless

    with Harness.open(store, to_read=True) as harness:
        reviewers = harness.call(list_reviewers)
    if as_json:
        fields = {"name", "invited_at", "revoked_at"}
        print(json_text({"reviewers": [each.model_dump(mode="json", include=fields) for each in reviewers]}))
    for each in () if as_json else reviewers:
        state = f"revoked {each.revoked_at}" if each.revoked_at else f"since {each.invited_at}"
        print(harmless(f"{each.name}  {state}"))
    if not reviewers and not as_json:
        print("nobody yet; invite somebody: eval-harness reviewers invite NAME")
    return 0


@command.command("status")
@click.argument("run", required=False, type=RUN)
@store_option
@json_option
@debug_option
def status(run: str | None, store: str | None, as_json: bool) -> int:
    """Show how far the reviews of RUN are, or those of all runs."""
    from evalharness.actions.oversee_reviews import list_reviewed_runs, oversee_reviews
    from evalharness.harness import Harness
    from evalharness.reports.terminal.review_screen import progress_lines
    from evalharness.reports.wording import harmless

    with Harness.open(store, to_read=True) as harness:
        if run is None:
            found = [(name, figures) for _, name, figures in harness.call(list_reviewed_runs)]
        else:
            overview = harness.call(oversee_reviews, run)
            found = [(overview.run_name, overview.figures)]
    if as_json:
        print(json_text({"runs": [{"run": name, **figures.model_dump(mode="json")} for name, figures in found]}))
        return 0
    for name, figures in found:
        print(name)
        for line in progress_lines(figures):
            print(harmless(f"  {line}"))
    if not found:
        print("no run waits for reviews, and none has any")
    return 0


@command.command("export")
@click.argument("run", type=RUN)
@option("-o", "--output", metavar="FILE", type=FileName(), help="Write to FILE instead of printing.")
@option(
    "--layout",
    type=click.Choice(LAYOUTS),
    help="How the reviews are written.  [default: by the extension of FILE, else jsonl]",
)
@store_option
@debug_option
def export(run: str, output: str | None, layout: Any, store: str | None) -> int:
    """Write the reviews of RUN, or its items for Label Studio or Argilla with what was said about them.

    Beside a FILE for Label Studio, the labelling config of its project is written, with the extension .xml.
    """
    from evalharness.actions.exchange_reviews import export_labelling_config, export_reviews
    from evalharness.errors import UsageError
    from evalharness.harness import Harness

    with Harness.open(store, to_read=True) as harness:
        text = harness.call(export_reviews, run, layout or _layout_of(output))
        if output is None:
            sys.stdout.write(text)
            return 0
        Path(output).write_text(text, encoding="utf-8")
        print(f"wrote {output}")
        if layout == "label-studio":
            beside = Path(output).with_suffix(".xml")
            try:
                config = harness.call(export_labelling_config, run)
            except UsageError as error:
                print(f"no labelling config is written: {error.message}")
                return 0
            beside.write_text(config, encoding="utf-8")
            print(f"wrote {beside}, the labelling config of the project")
    return 0


@command.command("import")
@click.argument("run", type=RUN)
@click.argument("file", type=FileName())
@option("--layout", type=click.Choice(LAYOUTS), help="How FILE is written.  [default: by its extension]")
@store_option
@json_option
@debug_option
def imported(run: str, file: str, layout: Any, store: str | None, as_json: bool) -> int:
    """Take in reviews of RUN that were given elsewhere. What is there already is left as it is."""
    from evalharness.actions.exchange_reviews import import_reviews
    from evalharness.domain.plain_numbers import count
    from evalharness.harness import Harness

    with Harness.open(store, to_read=True) as harness:
        found = harness.call(import_reviews, run, Path(file), layout or _layout_of(file))
    if as_json:
        print(json_text({"added": found.added, "counted": found.counted, "known": found.known}))
    else:
        known = f"; {found.known} were there already" if found.known else ""
        print(f"{count(found.added, 'review')} added, {found.counted} of them counted{known}")
    return 0


def _layout_of(file: str | None) -> Any:
    return "csv" if file is not None and file.lower().endswith(".csv") else "jsonl"
