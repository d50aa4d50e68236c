"""One programming problem: a right solution, calls to judge it by, and possible mistakes.

The expected result of a call is what the solution returns; a mistake replaces a piece of its source.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    solution: Callable[..., Any]
    calls: tuple[list[Any], ...]
    mistakes: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return self.solution.__name__

    @property
    def right(self) -> str:
        source = inspect.getsource(self.solution)
        return source[source.index("def ") :]

    @property
    def wrong(self) -> list[str]:
        return [self._spoilt(*mistake) for mistake in self.mistakes]

    @property
    def cases(self) -> list[dict[str, Any]]:
        return [{"args": arguments, "expected": self.solution(*arguments)} for arguments in self.calls]

    def _spoilt(self, piece: str, other: str) -> str:
        if piece not in self.right:
            raise SystemExit(f"{self.name} does not contain {piece!r}")
        return self.right.replace(piece, other, 1)
