"""The tape of one trial: its calls, recorded as they are made, or replayed without being made."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections import Counter, deque
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from evalharness.contracts.exchange import (
    BYTES_OF_NONCE,
    TRIES,
    Call,
    Tape,
    Taping,
    TrialRecording,
    Tries,
    Value,
    Workspace,
)
from evalharness.domain.exchange import TARGET, Exchange, ExchangeError, ExchangeKind, Replayed
from evalharness.domain.invalid_values import explain
from evalharness.domain.transcript import Transcript
from evalharness.errors import (
    CallCutOff,
    ModelUnavailable,
    ReplayMiss,
    SpendCapReached,
    TargetUnavailable,
    waited_for,
)
from evalharness.exchanges.canonical import Canon, first_difference, likeness, placed
from evalharness.exchanges.foreign import answer_of_nodes, foreign_reply
from evalharness.exchanges.links import with_links
from evalharness.values.digest import canonical_json
from evalharness.values.json_value import Json
from evalharness.values.text import head

SHOWN = 160


class RecordedTape(Tape):
    def __init__(self, taping: Taping, case_id: str, index: int, recording: TrialRecording) -> None:
        self.grader = ""
        self._attempt = 0
        self._taping = taping
        self._canon = canon_of(taping)
        self._case_id = case_id
        self._index = index
        self._workspace: Workspace | None = None
        self._recorded = {exchange.key: exchange for exchange in recording.exchanges if exchange.digest}
        self._by_order: dict[str, deque[Exchange]] = {}
        for exchange in recording.exchanges:
            if not exchange.digest:  # recorded by another tool, which did not say what was asked
                self._by_order.setdefault(exchange.node, deque()).append(exchange)
        self._attempts = {exchange.attempt for exchange in recording.exchanges}
        self._asked: Counter[tuple[int, str, str, str]] = Counter()
        self._nonces: Counter[str] = Counter()
        self._used: set[tuple[int, str, str, str, int]] = set()
        self._kept: list[Exchange] = []
        self._differing = 0
        self._answers = 0
        self._missed = ""

    @property
    def is_replay(self) -> bool:
        return self._taping.mode == "replay"

    @property
    def missed(self) -> str:
        return self._missed

    def begin(self, attempt: int, workspace: Workspace) -> None:
        self._attempt = attempt
        self._workspace = workspace
        self.grader = ""

    @property
    def _folder(self) -> str:
        made = self._workspace.made_workspace if self._workspace is not None else None
        return "" if made is None else str(made)

    def _make_folder(self) -> Path:
        assert self._workspace is not None, "no call before the first attempt"
        return self._workspace.workspace

    def has_attempt(self, number: int) -> bool:
        return number in self._attempts

    async def pass_on(self, call: Call[Value]) -> Value:
        node = call.node or self._node(call.kind)
        request, digest = self._canon.request(call.request(), self._folder)
        key = (self._attempt, node, call.kind, digest)
        occurrence = self._asked[key]
        self._asked[key] += 1
        found = self._recorded.get((*key, occurrence)) if self._taping.mode != "record" else None
        if found is not None:
            return await self._replay(call, found)
        about = {"attempt": self._attempt, "node": node, "kind": call.kind, "digest": digest}
        asked = Exchange.model_validate({**about, "occurrence": occurrence, "request": request})
        if self._by_order and (known := self._next_by_order(asked)) is not None:
            self._recorded[known.key] = known
            return await self._replay(call, known)
        if self.is_replay:
            raise self.miss(asked, occurrence)
        return await self._record(call, asked)

    def _next_by_order(self, asked: Exchange) -> Exchange | None:
        """The next recording of another tool for this node; an answer may be put together from all of its nodes."""
        waiting = self._by_order.get(asked.node)
        if waiting:
            found = waiting.popleft()
            reply = foreign_reply(asked.kind, found.reply)
        elif asked.kind == "answer":
            nodes = [each for waiting in self._by_order.values() for each in waiting]
            if not nodes:
                return None
            self._by_order.clear()
            found, reply = nodes[0], answer_of_nodes(nodes)
        else:
            return None
        return asked.model_copy(update={"reply": reply, "error": found.error})

    async def _replay(self, call: Call[Value], found: Exchange) -> Value:
        self._use(found)
        self._answers += found.kind == "answer"
        if call.is_repeated and found.error is None:
            again = self._canon.reply(call.write(await call.send()), self._folder)
            self._differing += canonical_json(again) != canonical_json(found.reply)
        if found.error is not None:
            raise replayed_error(found.error)
        try:
            return call.read(placed(found.reply, self._make_folder))
        except (ValueError, TypeError, LookupError, AttributeError) as error:  # the file was changed by hand
            raise self._unreadable(found, error) from error

    def _use(self, found: Exchange) -> None:
        self._used.add(found.key)
        if not self.is_replay:
            self._add(found)

    async def _record(self, call: Call[Value], asked: Exchange) -> Value:
        tries = Tries()
        token = TRIES.set(tries)
        began = time.perf_counter()
        reply: Json = None
        error: ExchangeError | None = None
        try:
            value = await call.send()
            reply = self._canon.reply(call.write(value), self._folder)
            return value
        except (TargetUnavailable, SpendCapReached, asyncio.CancelledError) as raised:
            error = recorded_error(raised)
            raise
        finally:
            TRIES.reset(token)
            if error is not None or reply is not None:  # else something raised that is no reply of anybody
                took = {"tries": max(1, tries.count), "duration_s": round(time.perf_counter() - began, 6)}
                self._add(asked.model_copy(update={"reply": reply, "error": error, **took}))

    def add(self, exchange: Exchange) -> None:
        """A call that somebody else made, such as the gateway."""
        self._add(exchange)

    def _add(self, exchange: Exchange) -> None:
        self._kept.append(exchange.model_copy(update={"position": len(self._kept)}))

    def _node(self, kind: ExchangeKind) -> str:
        if not self.grader:
            return TARGET
        return f"embed.{self.grader}" if kind == "embed" else f"judge.{self.grader}"

    def linked(self, answer: Transcript, run_id: str) -> Transcript:
        taping = self._taping
        return with_links(answer, run_id, taping.mode, (taping.dataset, self._case_id, taping.variant), self._index)

    # What is kept without being a call

    def latency(self, measured_s: float) -> float:
        known = self.recall("latency", None)
        if isinstance(known, float | int):
            return float(known)
        self.keep("latency", None, measured_s)
        return measured_s

    def recall(self, kind: ExchangeKind, request: Json) -> Json:
        if self._taping.mode == "record":
            return None
        found = self._recorded.get(self._silent(kind, request).key)
        if found is None:
            return None
        self._use(found)
        return found.reply

    def keep(self, kind: ExchangeKind, request: Json, reply: Json) -> None:
        if not self.is_replay:
            self._add(self._silent(kind, request).model_copy(update={"reply": reply}))

    def _silent(self, kind: ExchangeKind, request: Json) -> Exchange:
        written, digest = self._canon.request(request, self._folder)
        return Exchange(attempt=self._attempt, node=self._node(kind), kind=kind, digest=digest, request=written)

    def nonce(self, about: str) -> str:
        """By what is asked, not by when: calls at the same time come in any order."""
        asked = canonical_json([self._case_id, self._index, self._attempt, self.grader, about])
        number = self._nonces[asked.hex()]
        self._nonces[asked.hex()] += 1
        secret = bytes.fromhex(self._taping.secret)
        return hmac.new(secret, asked + b" %d" % number, hashlib.sha256).hexdigest()[: 2 * BYTES_OF_NONCE]

    # What comes of it

    def kept(self) -> tuple[Exchange, ...]:
        return tuple(self._kept)

    def replayed(self) -> Replayed | None:
        if self._taping.mode in ("live", "record"):
            return None
        used, recorded = self._used, self._recorded
        asked = sum(1 for key in used if recorded[key].is_call)
        calls = asked if len(used) == len(recorded) else sum(1 for each in recorded.values() if each.is_call)
        return Replayed.unchecked(
            {
                "exchanges": asked,
                "answers": self._answers,
                "differing": self._differing,
                "unasked": 0 if self._missed else calls - asked,
                "missed": self._missed,
            }
        )

    def miss(self, asked: Exchange, occurrence: int) -> ReplayMiss:
        """The call that was not recorded, the nearest one that was, and where they differ first."""
        what = f"call {sum(self._asked.values())} of trial {self._index + 1} of case {self._case_id}"
        who = f"{what} ({asked.node}: {asked.kind})"
        why = self._why_missed(asked, occurrence)
        message = f"replay miss: {who} was not recorded; nothing was sent; {why}"
        self._missed = self._missed or message
        return ReplayMiss(message)

    def _unreadable(self, found: Exchange, error: Exception) -> ReplayMiss:
        what = f"a call of trial {self._index + 1} of case {self._case_id} ({found.node}: {found.kind})"
        why = explain(error) if isinstance(error, ValidationError) else f"{type(error).__name__}: {error}"
        message = f"replay miss: the recorded reply to {what} cannot be read: {head(why, SHOWN)}"
        self._missed = self._missed or message
        return ReplayMiss(message)

    def _why_missed(self, asked: Exchange, occurrence: int) -> str:
        if occurrence:
            times = "once" if occurrence == 1 else f"{occurrence} times"
            return f"it was asked {times} when it was recorded, and now once more"
        kinds = [each for each in self._recorded.values() if each.kind == asked.kind]
        others = [each for each in kinds if each.node == asked.node and each.attempt == asked.attempt] or kinds
        if not others:
            return "no call of this kind was recorded in this trial"
        nearest = max(others, key=lambda each: (each.key not in self._used, likeness(each.request, asked.request)))
        found = first_difference(nearest.request, asked.request)
        if found is None:
            return f"the nearest recorded call is the same one, of {nearest.node} in attempt {nearest.attempt + 1}"
        path, before, now = found
        if nearest.kind == "answer" and path == TARGET:
            return "the target has changed since it was recorded"
        number = 1 + sorted(each.position for each in self._recorded.values() if each.is_call).index(nearest.position)
        difference = f"the first difference is at {path}: recorded {_shown(before)}, now {_shown(now)}"
        return f"the nearest recorded one is call {number} ({nearest.node}); {difference}"


def _shown(value: Json) -> str:
    return "nothing" if value is None else head(canonical_json(value).decode(), SHOWN)


@lru_cache(maxsize=16)
def canon_of(taping: Taping) -> Canon:
    """Its patterns are compiled once for all trials of a run."""
    return Canon(taping)


def recorded_error(error: BaseException) -> ExchangeError:
    if isinstance(error, asyncio.CancelledError):
        waited = waited_for(error)
        return recorded_error(waited) if waited is not None else ExchangeError(kind="cut_off")
    if isinstance(error, SpendCapReached):
        return ExchangeError(kind="SpendCapReached", message=error.message)
    assert isinstance(error, TargetUnavailable)
    status = error.status if isinstance(error, ModelUnavailable) else None
    kind = "ModelUnavailable" if isinstance(error, ModelUnavailable) else "TargetUnavailable"
    return ExchangeError(kind=kind, message=error.message, status=status)


def replayed_error(error: ExchangeError) -> Exception:
    if error.kind == "ModelUnavailable":
        return ModelUnavailable(error.message, status=error.status)
    if error.kind == "TargetUnavailable":
        return TargetUnavailable(error.message)
    if error.kind == "SpendCapReached":
        return SpendCapReached(error.message)
    return CallCutOff("the call was cut off when it was recorded")
