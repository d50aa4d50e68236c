"""Flags by which a run records its calls, replays them, or lets targets ask their models through the gateway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from evalharness.cli.command import EXECUTION
from evalharness.cli.flags import option, refuse

MODES = ("live", "record", "replay", "auto")


def recording_options(command: Callable[..., Any]) -> Callable[..., Any]:
    mode = option(
        "--mode",
        type=click.Choice(MODES),
        default=None,
        heading=EXECUTION,
        help="live sends every call and stores none; record stores them; replay sends nothing; auto replays what is "
        "recorded and records the rest.  [default: live]",
    )
    recordings = option(
        "--recordings",
        metavar="RUN|DIR",
        default="",
        heading=EXECUTION,
        help="With --mode replay or auto: the recorded run, or a folder with recordings.  [default: the suite's newest "
        "recorded run]",
    )
    with_options: Callable[..., Any] = mode(recordings(command))
    return with_options


def gateway_options(command: Callable[..., Any]) -> Callable[..., Any]:
    gateway = option(
        "--gateway",
        is_flag=True,
        heading=EXECUTION,
        help="Let command, http and function targets ask their models through a local proxy, which records, meters and "
        "limits what they ask.",
    )
    timing = option(
        "--replay-timing",
        is_flag=True,
        heading=EXECUTION,
        help="With --mode replay or auto: replay streams of the gateway as slowly as they were recorded.",
    )
    with_options: Callable[..., Any] = gateway(timing(command))
    return with_options


def recording_wishes(flags: dict[str, Any]) -> dict[str, Any]:
    """Of a run's options: how its calls are recorded or replayed."""
    mode = flags["mode"] or "live"
    if flags["recordings"] and mode in ("live", "record"):
        refuse("recordings", "--recordings needs --mode replay or --mode auto")
    if flags["replay_timing"] and mode in ("live", "record"):
        refuse("replay_timing", "--replay-timing needs --mode replay or --mode auto")
    return {"mode": mode, "recordings": flags["recordings"]}
