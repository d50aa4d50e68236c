"""What is asked about the cases of one run, line by line: of what was kept when it came to a stop, or of its trials.

Both have the same columns, so that conditions and orders are the same: what is kept is what the trials said.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic_core import to_json

from evalharness.domain.case_line import TRIAL_MARKS, URGENCY, CaseOrder, CaseQuery
from evalharness.stats.thresholds import SAME
from evalharness.stores.dialect import insert, marks

LIST_COLUMNS = "position, case_id, case_name, category, tags, words"
ASKED_COLUMNS = f"run_seq, {LIST_COLUMNS}"
FOUND_COLUMNS = "case_id, COUNT(*) OVER () AS found"
_RESULT_COLUMNS = (
    "case_state, case_score, marks, case_passed, graded, latency_s, mean_cost_usd, spent_usd, spent_tokens, calls, "
    "first_not_passed"
)
LINE_COLUMNS = f"{LIST_COLUMNS}, {_RESULT_COLUMNS}"

ADD_ASKED = insert("asked_cases", ASKED_COLUMNS)
ADD_PART = insert("run_parts", "run_seq, start, body")
PART = "SELECT body FROM run_parts WHERE run_seq = ? AND start = ?"
POSITION = "SELECT position FROM asked_cases WHERE run_seq = ? AND case_id = ?"
LABELS = "SELECT DISTINCT category, tags FROM asked_cases WHERE run_seq = ?"
SET_SHAPE = "UPDATE runs SET case_threshold = ?, trials_per_case = ? WHERE seq = ?"
SHAPE = (
    "SELECT seq, name, planned, trials_per_case, case_threshold, lines_change, "
    "(SELECT COALESCE(MAX(change), 0) FROM trials WHERE run_seq = runs.seq) AS last_change FROM runs WHERE id = ?"
)
REMOVE_LINES = "DELETE FROM case_lines WHERE run_seq = ?"
LINES_ARE_CURRENT = (
    "UPDATE runs SET counts = ?, tallies = ?, "
    "lines_change = (SELECT COALESCE(MAX(change), 0) FROM trials WHERE run_seq = runs.seq) WHERE seq = ?"
)
REMOVE_PAGES = tuple(f"DELETE FROM {table} WHERE run_seq = ?" for table in ("asked_cases", "run_parts", "case_lines"))

MEDIANS = (
    "SELECT case_id, AVG(duration_s) AS latency_s FROM (SELECT case_id, duration_s, "
    "ROW_NUMBER() OVER (PARTITION BY case_id ORDER BY duration_s) AS place, "
    "COUNT(*) OVER (PARTITION BY case_id) AS number FROM trials "
    "WHERE run_seq = ? AND state IN ('passed', 'failed') AND case_id IN ({ids})) AS placed "
    "WHERE place IN ((number + 1) / 2, (number + 2) / 2) GROUP BY case_id"
)

_MARK = " ".join(f"WHEN '{state}' THEN '{mark}'" for state, mark in TRIAL_MARKS.items())
_IS_GRADED = "state IN ('passed', 'failed')"
_COUNTS = (
    "case_id, COUNT(*) AS finished, "
    "SUM(CASE WHEN state = 'passed' THEN 1 ELSE 0 END) AS case_passed, "
    f"SUM(CASE WHEN {_IS_GRADED} THEN 1 ELSE 0 END) AS graded, "
    "SUM(CASE WHEN state = 'error' THEN 1 ELSE 0 END) AS erred, "
    "SUM(CASE WHEN state = 'awaiting' THEN 1 ELSE 0 END) AS awaited"
)
_MEANS = (
    f"{_COUNTS}, "
    "AVG(CASE WHEN score IS NULL AND state = 'failed' THEN 0.0 ELSE score END) AS case_score, "
    f"AVG(CASE WHEN {_IS_GRADED} THEN duration_s END) AS latency_s, "
    f"AVG(CASE WHEN {_IS_GRADED} THEN cost_usd END) AS mean_cost_usd"
)
"""Of an answer that failed without a score, the score is 0: leaving it out would reward a target for crashing."""
_ALL = (
    f"{_MEANS}, SUM(cost_usd) AS spent_usd, "
    "SUM(CASE WHEN input_tokens IS NOT NULL OR output_tokens IS NOT NULL "
    "THEN 1.0 * COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0) END) AS spent_tokens, "
    "CASE WHEN COUNT(tool_calls) = COUNT(*) THEN SUM(tool_calls) END AS calls, "
    "MIN(CASE WHEN state <> 'passed' THEN idx END) AS first_not_passed, "
    f"group_concat(CASE state {_MARK} END, '') AS marks"
)
"""Tokens are added as numbers with a fraction, because a target may claim so many that their sum is too large for a
whole one."""
_TRIALS = "SELECT * FROM trials WHERE run_seq = ?{among}"
_TRIALS_IN_ORDER = (
    "SELECT case_id, idx, state, score, duration_s, cost_usd, input_tokens, output_tokens, tool_calls "
    "FROM trials WHERE run_seq = ?{among} ORDER BY case_id, idx"
)
_STATE = (
    "CASE WHEN COALESCE(finished, 0) < ? THEN 'pending' WHEN awaited > 0 THEN 'awaiting' "
    f"WHEN graded > 0 AND 1.0 * case_passed / graded >= ? - {SAME} THEN 'passed' WHEN graded > 0 THEN 'failed' "
    "WHEN erred > 0 THEN 'error' ELSE 'skipped' END AS case_state, COALESCE(case_passed, 0) AS case_passed, "
    "COALESCE(graded, 0) AS graded"
)
_FROM_TRIALS = (
    "SELECT position, asked_cases.case_id AS case_id, case_name, category, tags, words, {shown} "
    "FROM asked_cases LEFT JOIN (SELECT {results} FROM ({trials}) AS one_by_one GROUP BY case_id) AS results "
    "ON results.case_id = asked_cases.case_id WHERE asked_cases.run_seq = ?{among}"
)
_KEPT = f"SELECT {LINE_COLUMNS} FROM case_lines WHERE run_seq = ?"

_IS_FLAKY = "(case_state IN ('passed', 'failed') AND case_passed > 0 AND case_passed < graded)"
_MARKED = f"CASE WHEN {_IS_FLAKY} THEN 'flaky' ELSE case_state END"
_URGENCY = " ".join(f"WHEN '{state}' THEN {place}" for place, state in enumerate(URGENCY))
_ORDERS: Mapping[CaseOrder, str] = MappingProxyType(
    {
        "position": "position",
        "urgency": f"CASE {_MARKED} {_URGENCY} END",
        "id": "case_id",
        "name": "case_name",
        "score": "case_score",
        "rate": "CASE WHEN graded > 0 THEN 1.0 * case_passed / graded END",
        "cost": "mean_cost_usd",
        "latency": "latency_s",
    }
)


class LineSource:
    """Where the lines of one run come from: a query with its values."""

    def __init__(self, sql: str, values: tuple[Any, ...]) -> None:
        self.sql = sql
        self.values = values

    @classmethod
    def kept(cls, run_seq: int) -> LineSource:
        return cls(_KEPT, (run_seq,))

    @classmethod
    def from_trials(
        cls, run_seq: int, trials_per_case: int, threshold: float, case_ids: tuple[str, ...] | None = None
    ) -> LineSource:
        """Of all cases, or of some."""
        found = case_ids or ()
        among = "" if case_ids is None else " AND {}case_id IN (" + marks(len(found)) + ")"
        shown = (
            f"{_STATE}, case_score, COALESCE(marks, '') AS marks, latency_s, mean_cost_usd, spent_usd, spent_tokens, "
            "calls, first_not_passed"
        )
        trials = _TRIALS_IN_ORDER.format(among=among.format(""))
        sql = _FROM_TRIALS.format(shown=shown, results=_ALL, trials=trials, among=among.format("asked_cases."))
        return cls(sql, (trials_per_case, threshold, run_seq, *found, run_seq, *found))

    @classmethod
    def sorting(cls, run_seq: int, trials_per_case: int, threshold: float, query: CaseQuery) -> LineSource:
        """Of trials, only what it takes to find the cases that a query wants: often an index has it."""
        with_means = query.sort in ("score", "cost", "latency")
        shown = f"{_STATE}, case_score, latency_s, mean_cost_usd" if with_means else _STATE
        trials = _TRIALS.format(among="")
        sql = _FROM_TRIALS.format(shown=shown, results=_MEANS if with_means else _COUNTS, trials=trials, among="")
        return cls(sql, (trials_per_case, threshold, run_seq, run_seq))

    @classmethod
    def asked(cls, run_seq: int) -> LineSource:
        """What the suite says of them."""
        return cls(f"SELECT {LIST_COLUMNS} FROM asked_cases WHERE run_seq = ?", (run_seq,))

    def page(self, query: CaseQuery, columns: str = LINE_COLUMNS) -> LineSource:
        """Cases without what they are ordered by come last, whichever way the others are ordered."""
        conditions, values = _conditions(query)
        order, way = _ORDERS[query.sort], " DESC" if query.descending else ""
        last = "" if query.sort == "position" else f"{order} IS NULL, "
        sql = (
            f"SELECT {columns} FROM ({self.sql}) AS source{conditions} "
            f"ORDER BY {last}{order}{way}, position LIMIT ? OFFSET ?"
        )
        return LineSource(sql, (*self.values, *values, query.limit, query.offset))

    def count(self, query: CaseQuery) -> LineSource:
        conditions, values = _conditions(query)
        return LineSource(f"SELECT COUNT(*) FROM ({self.sql}) AS source{conditions}", (*self.values, *values))

    def tallies(self) -> LineSource:
        sql = (
            "SELECT category, case_state, COUNT(*), COALESCE(SUM(case_score), 0.0), COUNT(case_score) "
            f"FROM ({self.sql}) AS source GROUP BY category, case_state ORDER BY category, case_state"
        )
        return LineSource(sql, self.values)

    def insertion(self, run_seq: int) -> LineSource:
        """Keeps these lines."""
        sql = (
            f"INSERT INTO case_lines (run_seq, {LINE_COLUMNS}) "
            f"SELECT ?, {LINE_COLUMNS} FROM ({self.sql}) AS source ORDER BY position"
        )
        return LineSource(sql, (run_seq, *self.values))


def tag_mark(tag: str) -> str:
    """How a tag is found in the tags of a case, which are a JSON list."""
    return to_json(tag).decode()


def _conditions(query: CaseQuery) -> tuple[str, list[Any]]:
    found: list[tuple[str, tuple[Any, ...]]] = []
    if query.state == "flaky":
        found.append((_IS_FLAKY, ()))
    elif query.state == "not_passed":
        found.append(("case_state <> 'passed'", ()))
    elif query.state:
        found.append(("case_state = ?", (query.state,)))
    if query.category:
        found.append(("category = ?", (query.category,)))
    if query.tag:
        found.append(("instr(tags, ?) > 0", (tag_mark(query.tag),)))
    if query.q:
        found.append(("instr(words, ?) > 0", (query.words,)))
    sql = f" WHERE {' AND '.join(condition for condition, _ in found)}" if found else ""
    return sql, [value for _, values in found for value in values]
