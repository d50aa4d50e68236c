"""Exchanges in rows: what is long in a request is kept once per run, however many requests repeat it."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from evalharness.domain.exchange import Exchange, ExchangeError
from evalharness.domain.trial import Trial
from evalharness.redaction import Redactor
from evalharness.stores import statements
from evalharness.stores.columns import damaged
from evalharness.stores.decoding import variant_from
from evalharness.stores.encoding import pack, unpack
from evalharness.stores.sqlite import Database
from evalharness.values.divided import divided, names_in, runs_in, whole
from evalharness.values.json_value import Json, written_json

Parts = dict[str, bytes]
PAGE = 500


class StoredExchanges:
    """The exchanges in a database, as they are read while a run is replayed and written."""

    def __init__(self, database: Database, place: str) -> None:
        self._database = database
        self._place = place

    def of_trials(self, seq: int, case_ids: Sequence[str], index: int) -> dict[str, list[Exchange]]:
        found: dict[str, list[Exchange]] = {}
        for first in range(0, len(case_ids), PAGE):
            page = case_ids[first : first + PAGE]
            rows = self._database.read_beside(statements.exchanges_of_trials(len(page)), (seq, index, *page))
            found.update(decoded(rows, lambda names: self._parts(seq, names), self._place))
        return found

    def runs(self, suite_name: str) -> list[tuple[str, str]]:
        rows = self._database.read(statements.RECORDED_RUNS, (suite_name, PAGE))
        return [(run_id, variant_from(head)) for run_id, head in rows]

    def _parts(self, seq: int, names: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for first in range(0, len(names), PAGE):
            page = names[first : first + PAGE]
            found.update(self._database.read_beside(statements.parts_named(len(page)), (seq, *page)))
        return found


def decoded(
    rows: Sequence[Sequence[Any]], read_parts: Callable[[list[str]], Mapping[str, bytes]], place: str
) -> dict[str, list[Exchange]]:
    """By case. `read_parts`: digests → the bodies of parts. Raises StoreError for rows that cannot be read."""
    found: dict[str, list[Exchange]] = {}
    try:
        bodies = [from_json(unpack(row[-1])) for row in rows]
        names = dict.fromkeys(name for body in bodies for name in names_in(body["request"]))
        parts = _parsed(read_parts(list(names))) if names else {}
        runs = dict.fromkeys(name for body in bodies for name in runs_in(body["request"]))
        inner = dict.fromkeys(name for run in runs for name in names_in(parts[run]) if name not in parts)
        parts |= _parsed(read_parts(list(inner))) if inner else {}
        for row, body in zip(rows, bodies, strict=True):
            found.setdefault(row[0], []).append(exchange_from(row, body, parts))
        return found
    except (ValueError, LookupError, TypeError, AttributeError, zlib.error) as error:
        what = f"what was recorded of trial {rows[0][1]} of case {rows[0][0]} cannot be read"
        raise damaged(place, what) from error


def _parsed(bodies: Mapping[str, bytes]) -> dict[str, Any]:
    return {name: from_json(unpack(body)) for name, body in bodies.items()}


def exchange_rows(group: Iterable[tuple[str, int, Trial, Redactor]]) -> dict[str, list[Any]]:
    """By statement: the rows of the parts that the exchanges of these trials need, and those of the exchanges."""
    rows: list[Any] = []
    found: list[Any] = []
    for _, seq, trial, redactor in group:
        if trial.tape is None:
            continue
        parts: Parts = {}
        for exchange in trial.tape.exchanges:
            rows.append(exchange_row(seq, trial.case_id, trial.index, exchange, redactor, parts))
        found += [(seq, *part) for part in parts.items()]
    return {statements.ADD_PART: found, statements.ADD_EXCHANGE: rows} if rows else {}


def exchange_row(run_seq: int, case_id: str, index: int, exchange: Exchange, redactor: Redactor, parts: Parts) -> Any:
    """The values of `statements.EXCHANGE_COLUMNS`; `parts` gets what is kept beside it."""
    body = {
        "request": divided(exchange.request, _kept_in(parts, redactor)),
        "reply": exchange.reply,
        "error": None if exchange.error is None else exchange.error.model_dump(exclude_defaults=True),
        "tries": exchange.tries,
        "duration_s": exchange.duration_s,
    }
    text = redactor.redact(written_json(body))
    about = (exchange.attempt, exchange.node, exchange.kind, exchange.digest, exchange.occurrence, exchange.position)
    return (run_seq, case_id, index, *about, pack(text.encode()))


def exchange_from(row: Sequence[Any], written: Any, parts: Mapping[str, Json]) -> Exchange:
    """`written` is the body of the row. Raises ValueError, LookupError or TypeError for what cannot be read."""
    _, _, attempt, node, kind, digest, occurrence, position, _ = row
    error = written["error"]
    return Exchange.unchecked(
        {
            "attempt": attempt,
            "node": node,
            "kind": kind,
            "digest": digest,
            "occurrence": occurrence,
            "position": position,
            "request": whole(written["request"], parts),
            "reply": written["reply"],
            "error": None if error is None else ExchangeError.model_validate(error),
            "tries": int(written["tries"]),
            "duration_s": float(written["duration_s"]),
        }
    )


def _kept_in(parts: Parts, redactor: Redactor) -> Callable[[Json], str]:
    def keep(value: Json) -> str:
        clean = redactor.redact(written_json(value)).encode()
        name = hashlib.sha256(clean).hexdigest()[:32]
        parts[name] = pack(clean)
        return name

    return keep
