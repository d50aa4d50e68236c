"""`python -m benchmarks.peers.pydantic_evals_run CASES`: pydantic-evals as a process, which keeps nothing on disk."""

from __future__ import annotations

import sys

from benchmarks.peers.pydantic_evals_peer import passed

if __name__ == "__main__":
    cases = int(sys.argv[1])
    if (found := passed(cases)) != cases:
        raise SystemExit(f"pydantic-evals passed {found} of {cases} cases")
