"""A program for tests: writes trials into a store and prints which are safely stored.

    store_writer.py PLACE RUN_ID CASE_ID COUNT

After each flush it writes the number of the trial to stdout; COUNT 0 means forever.
"""

from __future__ import annotations

import itertools
import sys
from random import Random

from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore


def open_store(place: str, timeout_s: float = 30.0) -> SqlStore:
    return SqlStore(place, redactor=Redactor.none(), timeout_s=timeout_s)


def bulky_trial(case_id: str, index: int, size: int = 3000) -> Trial:
    """A trial of about `size` bytes that cannot be compressed much."""
    output = Random(f"{case_id} {index}").randbytes(size // 2).hex()
    return Trial(
        case_id=case_id,
        index=index,
        seed=index,
        attempts=(Attempt(state="passed", transcript=Transcript(output=output)),),
    )


def main(place: str, run_id: str, case_id: str, count: str) -> None:
    store = open_store(place)
    for index in range(int(count)) if int(count) else itertools.count():
        store.put(run_id, bulky_trial(case_id, index))
        store.flush()
        sys.stdout.write(f"{index}\n")
        sys.stdout.flush()
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
