"""What we computed, compared with what was published: one row per figure, and whether chance explains the gap."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

REFERENCE_DRAWS = 2_000
"""The published simulations do not say how often they drew; their error is reckoned as if it had been this often."""
MOST_ERRORS = 3
HEAD = "| what | ours | error | published | its error | off by | within 3 errors |\n|---|---|---|---|---|---|---|\n"


@dataclass(frozen=True, slots=True)
class Finding:
    """`published` is as printed, so that its rounding is known; None if nothing comparable was published.

    Errors are standard errors; 0 is exact.
    """

    what: str
    ours: float
    published: str | None
    error: float = 0.0
    published_error: float = 0.0

    @property
    def errors_off(self) -> float:
        """How many standard errors the two differ by, beyond what rounding explains."""
        apart = max(0.0, abs(self.ours - float(self.published or self.ours)) - self._half_digit)
        together = math.hypot(self.error, self.published_error)
        if apart <= 1e-9:
            return 0.0
        return apart / together if together else math.inf

    @property
    def within(self) -> bool:
        return self.errors_off <= MOST_ERRORS

    @property
    def decimals(self) -> int:
        return len((self.published or "").partition(".")[2])

    @property
    def _half_digit(self) -> float:
        return 0.5 * 10.0**-self.decimals


def rate_error(rate: float, draws: int = REFERENCE_DRAWS) -> float:
    """The error of a drawn share; at 0 and 1, that of the smallest share that such draws could miss."""
    share = min(max(rate, 1 / draws), 1 - 1 / draws)
    return math.sqrt(share * (1 - share) / draws)


def simulated(what: str, ours: float, draws: int, published: str | None = None) -> Finding:
    """A share that both sides drew, or we alone."""
    return Finding(what, ours, published, rate_error(ours, draws), rate_error(ours))


def against_simulation(what: str, ours: float, published: str) -> Finding:
    """A share that we know exactly and the published table drew."""
    return Finding(what, ours, published, 0.0, rate_error(ours))


def as_markdown(findings: Iterable[Finding]) -> str:
    return HEAD + "".join(_row(finding) for finding in findings)


def _row(finding: Finding) -> str:
    digits = max(finding.decimals, 3 if finding.ours <= 1 else 0) + 1
    cells = (
        finding.what,
        f"{finding.ours:.{digits}f}",
        f"{finding.error:.{digits}f}" if finding.error else "exact",
        *(_beside(finding, digits) if finding.published else ("", "", "", "")),
    )
    return f"| {' | '.join(cells)} |\n"


def _beside(finding: Finding, digits: int) -> tuple[str, ...]:
    return (
        str(finding.published),
        f"{finding.published_error:.{digits}f}" if finding.published_error else "exact",
        _off(finding.errors_off),
        "yes" if finding.within else "**no**",
    )


def _off(errors: float) -> str:
    if not errors:
        return "rounding"
    return f"{errors:.1f} errors" if errors < math.inf else "more than rounding"
