"""Exchange: one call that left the harness (model, judge, embedder, tool, command, HTTP), as recorded and replayed."""

from __future__ import annotations

from typing import Literal

from evalharness.domain.record import Record
from evalharness.values.json_value import Json

Mode = Literal["live", "record", "replay", "auto"]
"""live stores nothing; record stores every call; replay sends nothing; auto replays what is recorded and records the
rest."""
MODES: tuple[Mode, ...] = ("live", "record", "replay", "auto")
ExchangeKind = Literal["chat", "embed", "tool", "answer", "latency", "verdict", "gateway"]
"""answer: a whole attempt of a target that is not executed in a replay. latency: how long an attempt of any other
target took. verdict: one that the judge cache had. The others are calls."""
TARGET = "target"
"""The node of what a target asks itself; a grader's is `judge.NAME` or `embed.NAME`, a tool's `tool.NAME`."""
PLACE_OF_WORKSPACE = "{workspace}"
"""Stands for the folder of the trial in requests and replies: it has another name in every run."""


class ExchangeError(Record):
    """Why a call got no reply. `kind` is the class of the exception, or `cut_off` for the target's time limit."""

    kind: Literal["ModelUnavailable", "TargetUnavailable", "SpendCapReached", "cut_off"]
    message: str = ""
    status: int | None = None


class Exchange(Record):
    """`request` is as it is compared: see `exchanges/canonical.py`. `digest` is that of the request.

    `occurrence` counts equal requests of one node in one attempt, from 0. `position` orders the exchanges of a trial.
    `tries` counts how often a provider was asked until it gave this reply, or none.
    """

    attempt: int = 0
    node: str = TARGET
    kind: ExchangeKind = "chat"
    digest: str = ""
    occurrence: int = 0
    position: int = 0
    request: Json = None
    reply: Json = None
    error: ExchangeError | None = None
    tries: int = 1
    duration_s: float = 0.0

    @property
    def key(self) -> tuple[int, str, str, str, int]:
        return self.attempt, self.node, self.kind, self.digest, self.occurrence

    @property
    def is_call(self) -> bool:
        """Whether somebody outside was asked; the others are what the harness needs to repeat an attempt."""
        return self.kind not in ("latency", "verdict")


class Replayed(Record):
    """What the replay of one trial found.

    `answers`: attempts whose target was not executed. `differing`: tools that ran again and returned something else.
    `unasked`: recorded calls that nobody asked for. `missed`: why a call had no recorded reply; empty if all had one.
    """

    exchanges: int = 0
    answers: int = 0
    differing: int = 0
    unasked: int = 0
    missed: str = ""
