"""Every statement of the store, table by table; what a database says in its own words is `dialect.py`.

Trials are read by pages, so that a run of any size takes little memory. Each page is a query of its own: a cursor left
open would keep the connection from writing once another process has written, and the log from being folded into the
file.
"""

from __future__ import annotations

from evalharness.domain.trial import Outcome
from evalharness.stores.dialect import insert, insert_once, marks, taken_over, upsert

# Schema

MAKE_VERSIONS = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)"
ADD_VERSION = insert("schema_version", "version")
LAST_VERSION = "SELECT MAX(version) FROM schema_version"

# The store itself

READ_IDENTITY = "SELECT id FROM store_identity"
SET_IDENTITY = "INSERT INTO store_identity SELECT ? WHERE NOT EXISTS (SELECT 1 FROM store_identity)"

# Runs

RUN_COLUMNS = "id, name, matrix_id, created_at, finished_at, planned, body, report"
OUTLINE_COLUMNS = ("id", "name", "matrix_id", "suite_name", "created_at", "finished_at", "regrade_of")
_RUN = f"SELECT {RUN_COLUMNS} FROM runs"
_COMPLETE = (
    "(regrade_of = '' OR NOT EXISTS "
    "(SELECT 1 FROM runs AS other WHERE other.matrix_id = runs.matrix_id AND other.report IS NULL))"
)
"""Regrades that were started together are found by nobody until the last of them has its report."""

ADD_RUN = insert("runs", "id, name, matrix_id, suite_name, mode, created_at, planned, regrade_of, body")
FIND_NAMES = "SELECT 1 FROM runs WHERE id = ? OR name = ?"
FIND_ID = f"SELECT id FROM runs WHERE (id = ? OR name = ?) AND {_COMPLETE}"
FIND_SEQ = "SELECT seq, name FROM runs WHERE id = ?"
INCOMPLETE_REGRADES = f"SELECT id, name FROM runs WHERE NOT {_COMPLETE}"
NEWEST_NAMES = f"SELECT name FROM runs WHERE {_COMPLETE} ORDER BY seq DESC LIMIT 50"
READ_RUN = f"{_RUN} WHERE id = ?"
NEWEST_RUNS = f"{_RUN} WHERE suite_name = ? AND {_COMPLETE} ORDER BY seq DESC LIMIT ?"
NTH_NEWEST = (
    "SELECT id FROM runs WHERE regrade_of = '' AND (? IS NULL OR suite_name = ?) ORDER BY seq DESC LIMIT 1 OFFSET ?"
)
MATRIX = f"{_RUN} WHERE matrix_id = ? AND {_COMPLETE} ORDER BY seq"
RUNS_BEFORE = f"{_RUN} WHERE created_at < ? AND {_COMPLETE} ORDER BY seq"
READ_BODY = "SELECT name, body FROM runs WHERE id = ?"
_HEAD = "substr(CAST(body AS BLOB), 1, 4096)"
"""The beginning of what is stored of a run: enough to read its variant."""
_FRESH = "regrade_of = '' AND mode IN ('live', 'record')"
"""A regrade and a replay look at old answers again: they are no new evidence."""
_OUTLINE = f"{', '.join(OUTLINE_COLUMNS)}, {_HEAD}, report, cases"
ABOUT_RUN = "SELECT id, name, matrix_id, created_at, finished_at FROM runs WHERE id = ?"
READ_OUTLINE = f"SELECT {_OUTLINE} FROM runs WHERE id = ?"
OUTLINES_BEFORE = (
    f"SELECT seq, {_OUTLINE} FROM runs WHERE suite_name = ? AND seq < ? AND {_FRESH} ORDER BY seq DESC LIMIT ?"
)
BRIEF_OUTLINES_BEFORE = OUTLINES_BEFORE.replace("report, cases", "COALESCE(brief, report) AS report, NULL AS cases")
_LISTED = f"{_COMPLETE} AND (suite_name = ? OR ? IS NULL)"
_LINE = (
    f"seq, id, name, suite_name, created_at, finished_at, planned, regrade_of, mode, {_HEAD}, "
    "COALESCE(brief, report) AS brief, counts, tallies, lines_change, "
    "(SELECT COALESCE(MAX(change), 0) FROM trials WHERE run_seq = runs.seq) AS last_change"
)
LINES_OF_RUNS = f"SELECT {_LINE} FROM runs WHERE {_LISTED} AND seq < ? ORDER BY seq DESC LIMIT ?"
OVERVIEWS = (
    f"SELECT matrix_id, stopped, elapsed_s, {_LINE} FROM runs WHERE {_LISTED} AND seq < ? ORDER BY seq DESC LIMIT ?"
)
OVERVIEW = f"SELECT matrix_id, stopped, elapsed_s, {_LINE} FROM runs WHERE id = ?"
REVISIONS = (
    "SELECT id, finished_at, stopped, lines_change, "
    "COALESCE(lines_change = (SELECT COALESCE(MAX(change), 0) FROM trials WHERE run_seq = runs.seq), 0) "
    f"FROM runs WHERE suite_name = ? AND {_COMPLETE} ORDER BY seq"
)
COUNT_RUNS = f"SELECT COUNT(*) FROM runs WHERE {_LISTED}"
LINKS_SINCE = (
    "SELECT id, name, matrix_id, finished_at IS NOT NULL FROM runs WHERE suite_name = ? AND regrade_of = '' "
    "AND seq > COALESCE((SELECT seq FROM runs WHERE id = ?), 0) ORDER BY seq DESC"
)
ENDS = "SELECT id, name, finished_at IS NOT NULL, stopped FROM runs WHERE matrix_id = ? ORDER BY seq"
PAST_RUN_BEFORE = (
    "SELECT seq, id, name, planned, CAST(body AS BLOB) FROM runs WHERE suite_name = ? AND seq < ? "
    f"AND {_FRESH} AND finished_at IS NOT NULL ORDER BY seq DESC LIMIT 1"
)
READ_PAST_RUN = "SELECT id, name, planned, CAST(body AS BLOB) FROM runs WHERE id = ? AND regrade_of = ''"
PAST_RUN_HEADS = (
    f"SELECT {_HEAD} FROM runs WHERE suite_name = ? AND {_FRESH} AND finished_at IS NOT NULL ORDER BY seq DESC LIMIT ?"
)
RECORDED_RUNS = (
    f"SELECT id, {_HEAD} FROM runs WHERE suite_name = ? AND mode IN ('record', 'auto') ORDER BY seq DESC LIMIT ?"
)
SUITE_NAMES = f"SELECT DISTINCT suite_name FROM runs WHERE {_COMPLETE} ORDER BY suite_name"
PROGRESS = "SELECT stopped, elapsed_s FROM runs WHERE id = ?"
FINISH_RUN = (
    "UPDATE runs SET finished_at = ?, report = ?, brief = ?, cases = ?, stopped = ?, elapsed_s = elapsed_s + ? "
    "WHERE id = ?"
)
DROP_CASES = "UPDATE runs SET cases = NULL WHERE seq = ? AND cases IS NOT NULL"
"""They are derived from trials, and must never be those of other trials."""
REMOVE_RUN = "DELETE FROM runs WHERE id = ?"


def newest_run(*, of_suite: bool, unfinished: bool) -> str:
    conditions = [_COMPLETE]
    if of_suite:
        conditions.append("suite_name = ?")
    if unfinished:
        conditions.append("regrade_of = '' AND planned > (SELECT COUNT(*) FROM trials WHERE run_seq = runs.seq)")
    return f"{_RUN} WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT 1"


# Trials

TRIAL_COLUMNS = (
    "run_seq, case_id, idx, seed, state, first_state, score, reason, duration_s, cost_usd, "
    "input_tokens, output_tokens, attempts, tool_calls, judging, cause, replayed, grades, body"
)
_TRIAL_KEY = "run_seq, case_id, idx"
_WRITTEN_COLUMNS = f"{TRIAL_COLUMNS}, change"

ADD_TRIAL = insert_once("trials", _WRITTEN_COLUMNS, _TRIAL_KEY)
REPLACE_UNFINISHED = (
    upsert("trials", _WRITTEN_COLUMNS, _TRIAL_KEY, taken_over(_WRITTEN_COLUMNS.split(", ")[3:]))
    + " WHERE trials.state IN ('error', 'awaiting')"
)
REPLACE_REVIEWED = upsert("trials", _WRITTEN_COLUMNS, _TRIAL_KEY, taken_over(_WRITTEN_COLUMNS.split(", ")[3:]))
LAST_CHANGE = "SELECT COALESCE(MAX(change), 0) FROM trials WHERE run_seq = ?"
STATES = "SELECT state, COUNT(*) FROM trials WHERE run_seq = ? GROUP BY state"
JUDGED = (
    "SELECT case_id, COUNT(*), SUM(CASE WHEN first_state = 'passed' THEN 1 ELSE 0 END) FROM trials "
    "WHERE run_seq = ? AND first_state IN ('passed', 'failed') GROUP BY case_id"
)


def page_of_trials(columns: str, *, of_case: bool) -> str:
    """The rows after a case and an index; `columns` begin with these two, by which the next page is found."""
    # Of one case alone the index is only used up to its end if the case is named by itself.
    after = "case_id = ? AND idx > ?" if of_case else "(case_id, idx) > (?, ?)"
    return f"SELECT {columns} FROM trials WHERE run_seq = ? AND {after} ORDER BY case_id, idx LIMIT ?"


def _columns(fields: tuple[str, ...]) -> str:
    return ", ".join(fields).replace("trial_index", "idx")


BODY_COLUMNS = "case_id, idx, seed, body, cause"
OUTCOME_COLUMNS = _columns(Outcome._fields)
READ_TRIAL = f"SELECT {BODY_COLUMNS} FROM trials WHERE run_seq = ? AND case_id = ? AND idx = ?"
CHANGES = (
    f"SELECT change, {OUTCOME_COLUMNS} FROM trials WHERE run_seq = ? AND (change, case_id, idx) > (?, ?, ?) "
    "ORDER BY change, case_id, idx LIMIT ?"
)

# Exchanges

EXCHANGE_COLUMNS = "run_seq, case_id, idx, attempt, node, kind, digest, occurrence, position, body"
_EXCHANGE_KEY = "run_seq, case_id, idx, attempt, node, kind, digest, occurrence"
_READ_EXCHANGES = "SELECT case_id, idx, attempt, node, kind, digest, occurrence, position, body FROM exchanges"

ADD_EXCHANGE = upsert("exchanges", EXCHANGE_COLUMNS, _EXCHANGE_KEY, taken_over(["position", "body"]))
"""A call that had no reply for lack of money takes place when the trial is taken up again."""
ADD_PART = insert_once("exchange_parts", "run_seq, digest, body", "run_seq, digest")
_ROWS_OF_RUN = ("exchanges", "exchange_parts", "trials")
REMOVE_ROWS_OF_RUN = tuple(f"DELETE FROM {table} WHERE run_seq = ?" for table in _ROWS_OF_RUN)


def exchanges_of_trials(count: int) -> str:
    return (
        f"{_READ_EXCHANGES} WHERE run_seq = ? AND idx = ? AND case_id IN ({marks(count)}) "
        "ORDER BY case_id, attempt, position"
    )


def parts_named(count: int) -> str:
    return f"SELECT digest, body FROM exchange_parts WHERE run_seq = ? AND digest IN ({marks(count)})"


# Baselines

BASELINES = (
    "SELECT baselines.suite_name, baselines.name, run_id, runs.name AS run_name, set_at "
    "FROM baselines LEFT JOIN runs ON runs.id = run_id ORDER BY baselines.seq DESC"
)
FREE_BASELINE = "DELETE FROM baselines WHERE name = ? AND suite_name = (SELECT suite_name FROM runs WHERE id = ?)"
"""Removed and added again, so that the last one set has the last number."""
ADD_BASELINE = (
    "INSERT INTO baselines (suite_name, name, run_id, set_at) SELECT suite_name, ?, id, ? FROM runs WHERE id = ?"
)
REMOVE_BASELINE = "DELETE FROM baselines WHERE suite_name = ? AND name = ?"
ADDED_RUNS = (
    "SELECT baseline_runs.suite_name, baseline_runs.name, run_id, runs.name AS run_name "
    "FROM baseline_runs LEFT JOIN runs ON runs.id = run_id ORDER BY baseline_runs.seq"
)
ADD_BASELINE_RUN = (
    "INSERT INTO baseline_runs (suite_name, name, run_id) SELECT suite_name, ?, id FROM runs "
    "WHERE id = ? AND suite_name = ? ON CONFLICT DO NOTHING"
)
REMOVE_ADDED_RUNS = "DELETE FROM baseline_runs WHERE suite_name = ? AND name = ?"

# Suites and the histories of their cases

_SUITE_COLUMNS = "name, body, path, root, format, registered_at, cases"
_HISTORY_KEY = "suite_name, target, case_id"
_HISTORY = ("case_history", f"{_HISTORY_KEY}, failure_count, last_passed", _HISTORY_KEY)

REGISTER_SUITE = upsert("suites", _SUITE_COLUMNS, "name", taken_over(_SUITE_COLUMNS.split(", ")[1:]))
LINES_OF_SUITES = "SELECT name, cases AS case_count, path, format, registered_at FROM suites ORDER BY name"
READ_SUITE = "SELECT body, root, path, format, registered_at FROM suites WHERE name = ?"
UNFINISHED_SUITE = "SELECT suite_name FROM runs WHERE id = ? AND finished_at IS NULL"
CASE_FAILED = upsert(*_HISTORY, "failure_count = case_history.failure_count + 1")
CASE_PASSED = upsert(*_HISTORY, taken_over(["last_passed"]))
HISTORIES = (
    "SELECT case_id, failure_count, last_passed FROM case_history WHERE suite_name = ? AND target IN ('', ?) "
    "ORDER BY target"
)
"""Histories of all targets, which earlier versions kept, come first: a target's own takes their place."""

# What selftests found

_MARK_COLUMNS = "suite_name, case_id, key, tested_at, body"

MARK_CASE = upsert("case_marks", _MARK_COLUMNS, "suite_name, case_id, key", taken_over(["tested_at", "body"]))
CASE_MARKS = "SELECT body FROM case_marks WHERE suite_name = ? ORDER BY case_id, key"

# The judge cache

KEEP_VERDICT = upsert("judge_cache", "key, body, kept_at", "key", taken_over(["body"]))
FIND_VERDICT = "SELECT body AS verdict FROM judge_cache WHERE key = ?"
MANY_VERDICTS = "SELECT key, body AS verdict FROM judge_cache LIMIT ?"
REMOVE_VERDICTS = "DELETE FROM judge_cache"
REMOVE_OLD_VERDICTS = "DELETE FROM judge_cache WHERE kept_at < ?"
LINE_OF_CACHE = (
    "SELECT COUNT(*), COALESCE(SUM(LENGTH(key) + LENGTH(body)), 0), COALESCE(MIN(kept_at), '') FROM judge_cache"
)


def find_verdicts(count: int) -> str:
    return f"SELECT key, body AS verdict FROM judge_cache WHERE key IN ({marks(count)})"


# Jobs

ADD_JOB = insert_once("jobs", "run_id, state, body", "run_id")
CHANGE_JOB = "UPDATE jobs SET state = ?, body = ? WHERE run_id = ? AND state = ?"
FIND_JOB = "SELECT body AS job FROM jobs WHERE run_id = ?"
REMOVE_JOB = "DELETE FROM jobs WHERE run_id = ?"


def list_jobs(states: int) -> str:
    """In the order in which they were asked for."""
    return f"SELECT body AS job FROM jobs WHERE state IN ({marks(states)}) ORDER BY seq"


# What budgets have paid

RECORD_SPENT = upsert("spending", "purse, cost_usd, tokens", "purse", taken_over(["cost_usd", "tokens"]))
SPENT = "SELECT cost_usd, tokens FROM spending WHERE purse = ?"
REMOVE_UNUSED_BUDGETS = "DELETE FROM spending WHERE purse NOT IN (SELECT id FROM runs UNION SELECT matrix_id FROM runs)"
