"""`eval-harness baseline set RUN…` (also without `set`), `add RUN…`, `list` and `rm NAME`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, json_option, option, store_option
from evalharness.cli.references import RUN
from evalharness.reports.json_text import json_text

_FLAGS = {"list": (), "rm": ("suite",), "add": ("name", "output"), "set": ("name", "output")}


@click.command("baseline", cls=Command)
@click.argument("words", nargs=-1, type=RUN, metavar="[set] RUN... | add RUN... | list | rm NAME")
@option("--name", metavar="NAME", help="With set and add: name of the baseline.  [default: default]")
@option("-o", "--output", metavar="FILE", help="With set and add: also write it to FILE (.json).")
@option("--suite", metavar="S", help="With rm: the suite, if several have a baseline of this name.")
@store_option
@json_option
@debug_option
def command(words: tuple[str, ...], **flags: Any) -> int:
    """Choose the run that later runs of its suite are compared with.

    \b
    baseline set RUN...    make these runs the baseline (also: baseline RUN)
    baseline add RUN...    add runs of the same target to it
    baseline list          list all baselines
    baseline rm NAME       remove a baseline; its runs are kept

    Three or more runs of one unchanged target also show how much results vary from run to run.

    \b
    eval-harness baseline set latest -o baselines/greeting.json
    eval-harness run suite.yaml --baseline baselines/greeting.json
    """
    from evalharness.actions.set_baseline import (
        DEFAULT_NAME,
        add_to_baseline,
        list_baselines,
        remove_baseline,
        set_baseline,
    )
    from evalharness.harness import Harness
    from evalharness.reports.wording import baseline_text
    from evalharness.reports.words.say import say, with_texts

    verb, *names = words if words[:1] and words[0] in _FLAGS else ("set", *words)
    _check_usage(verb, names, flags)
    with Harness.open(flags["store"], to_read=True) as harness:
        if verb == "list":
            return _list(harness.call(list_baselines), flags)
        if verb == "rm":
            gone = harness.call(remove_baseline, names[0], flags["suite"])
            return _tell(gone, baseline_text(gone, is_removed=True), flags)
        output = Path(flags["output"]) if flags["output"] is not None else None
        name = DEFAULT_NAME if flags["name"] is None else flags["name"]
        done = harness.call(add_to_baseline if verb == "add" else set_baseline, names, name, output)
    was = done.replaced.run_names if done.replaced and done.replaced.run_ids != done.baseline.run_ids else ""
    wrote = f"\nwrote {output}" if output else ""
    notes = "".join(f"\nnote: {say(note)}" for note in done.notes)
    text = f"{baseline_text(done.baseline)}{f' (previously {was})' if was else ''}{wrote}{notes}"
    return _tell(done.baseline, text, flags, {"notes": [with_texts(note) for note in done.notes]})


def _check_usage(verb: str, names: Sequence[str], flags: dict[str, Any]) -> None:
    if not names if verb in ("set", "add") else len(names) != (0 if verb == "list" else 1):
        raise click.UsageError("write: baseline set RUN..., baseline add RUN..., baseline list or baseline rm NAME")
    for flag in ("name", "output", "suite"):
        if flags[flag] is not None and flag not in _FLAGS[verb]:
            raise click.UsageError(f"--{flag} cannot be used with baseline {verb}")


def _list(known: Sequence[Any], flags: dict[str, Any]) -> int:
    if flags["as_json"]:
        print(json_text({"baselines": [asdict(each) for each in known]}))
    elif known:
        _print_table([row for each in known for row in _rows(each)])
    else:
        print("no baselines yet; set one: eval-harness baseline set RUN")
    return 0


def _rows(baseline: Any) -> Iterator[dict[str, str]]:
    """One for each of its runs."""
    for run in baseline.runs:
        yield {
            "baseline": baseline.name,
            "suite": baseline.suite_name,
            "run": run.run_name,
            "set": baseline.set_at.partition("T")[0],
        }


def _print_table(rows: Sequence[dict[str, str]]) -> None:
    """The keys of the first row are the headings."""
    from evalharness.reports.wording import harmless

    cells = [list(rows[0]), *(list(map(harmless, row.values())) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def _tell(baseline: Any, text: str, flags: dict[str, Any], more: Mapping[str, Any] | None = None) -> int:
    from evalharness.reports.wording import harmless

    if flags["as_json"]:
        print(json_text({"baseline": asdict(baseline) | dict(more or {})}))
    else:
        print(harmless(text))
    return 0
