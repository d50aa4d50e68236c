"""Requests of others, sent to a provider as they are: at the run's pace, within its budget, retried like its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from evalharness.contracts.model import Relay, Relayed
from evalharness.domain.transcript import Usage
from evalharness.llms.access import Access
from evalharness.llms.metered import Meter, guessed_tokens
from evalharness.values.json_value import Json


class ProviderRelay(Relay):
    def __init__(self, name: str, wire: str, access: Access, meter: Meter) -> None:
        self.name = name
        self.wire = wire
        self._access = access
        self._meter = meter

    async def send(
        self,
        path: str,
        body: Json,
        usage_of: Callable[[Any], Usage | None],
        heard: Callable[[bytes], None] | None = None,
    ) -> Relayed:
        access = self._access
        sent = Usage(input_tokens=guessed_tokens(len(json.dumps(body))))

        async with self._meter.call(sent, _most_output(body)) as took:
            reply = await access.posting.post(
                self.name, access.endpoint, path, body, lambda reply: reply, lost=access.lost, heard=heard
            )
            usage = usage_of(reply)
            cost_usd = self._meter.cost_usd(usage)
            took(usage or sent.model_copy(update={"output_tokens": _guessed_output(reply)}), cost_usd)
        return Relayed(reply, usage, cost_usd)


def _guessed_output(reply: Json) -> int:
    return guessed_tokens(len(reply if isinstance(reply, str) else json.dumps(reply)))


def _most_output(body: Any) -> int:
    """As the request limits it; 0 where it does not."""
    named = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    given = [body.get(name) for name in named] if isinstance(body, dict) else []
    return max((number for number in given if isinstance(number, int)), default=0)
