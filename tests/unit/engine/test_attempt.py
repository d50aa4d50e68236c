from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from evalharness.contracts.target import Target
from evalharness.engine.running.attempt import open_target
from evalharness.errors import HarnessError, TargetUnavailable, UsageError
from evalharness.reports.words.say import say


class Closed:
    """A target that cannot be opened."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def open(self) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (UsageError("no port", hint="give one"), "no port", "give one"),
        (TargetUnavailable("nobody is there", hint="wait"), "nobody is there", "wait"),
    ],
)
def test_a_target_that_cannot_be_opened_says_why(error: HarnessError, message: str, hint: str) -> None:
    """A mistake in the command or a file is reported as such: it is not the target's fault."""
    with pytest.raises(type(error)) as caught:
        asyncio.run(open_target(cast(Target, Closed(error)), "mine"))
    assert (caught.value.message, say(caught.value.hint)) == (message, hint)


def test_what_a_target_raises_on_opening_is_named_with_its_place() -> None:
    target: Any = Closed(ZeroDivisionError("by design"))
    with pytest.raises(TargetUnavailable, match=r"cannot be opened: ZeroDivisionError: by design \(.+:\d+\)"):
        asyncio.run(open_target(target, "mine"))
