"""The tables, as ordered migrations. A migration is never edited once released: a change is a new one at the end."""

from __future__ import annotations

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL UNIQUE,
            matrix_id TEXT NOT NULL,
            suite_name TEXT NOT NULL,
            created_at TEXT NOT NULL,
            finished_at TEXT,
            planned INTEGER NOT NULL,
            elapsed_s REAL NOT NULL DEFAULT 0,
            stopped TEXT NOT NULL DEFAULT '',
            body BLOB NOT NULL,
            report BLOB
        )""",
        "CREATE INDEX runs_by_matrix ON runs (matrix_id)",
        "CREATE INDEX runs_by_suite ON runs (suite_name, seq)",
        """CREATE TABLE trials (
            run_seq INTEGER NOT NULL REFERENCES runs (seq),
            case_id TEXT NOT NULL,
            idx INTEGER NOT NULL,
            seed INTEGER NOT NULL,
            state TEXT NOT NULL,
            first_state TEXT NOT NULL,
            score REAL,
            reason TEXT NOT NULL,
            duration_s REAL NOT NULL,
            cost_usd REAL,
            input_tokens INTEGER,
            output_tokens INTEGER,
            attempts INTEGER NOT NULL,
            grades TEXT NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (run_seq, case_id, idx)
        )""",
    ),
    (
        """CREATE TABLE suites (
            name TEXT PRIMARY KEY,
            body BLOB NOT NULL,
            path TEXT NOT NULL,
            root TEXT NOT NULL,
            format TEXT NOT NULL,
            registered_at TEXT NOT NULL,
            cases INTEGER NOT NULL
        )""",
        """CREATE TABLE case_history (
            suite_name TEXT NOT NULL,
            case_id TEXT NOT NULL,
            failure_count INTEGER NOT NULL,
            last_passed TEXT,
            PRIMARY KEY (suite_name, case_id)
        )""",
    ),
    ("ALTER TABLE runs ADD COLUMN regrade_of TEXT NOT NULL DEFAULT ''",),
    (
        """CREATE TABLE baselines (
            seq INTEGER PRIMARY KEY,
            suite_name TEXT NOT NULL,
            name TEXT NOT NULL,
            run_id TEXT NOT NULL REFERENCES runs (id),
            set_at TEXT NOT NULL,
            UNIQUE (suite_name, name)
        )""",
    ),
    (
        """CREATE TABLE judge_cache (
            key TEXT PRIMARY KEY,
            body TEXT NOT NULL,
            kept_at TEXT NOT NULL
        ) WITHOUT ROWID""",
        "ALTER TABLE trials ADD COLUMN judging TEXT",
        "CREATE TABLE spending (purse TEXT PRIMARY KEY, cost_usd REAL NOT NULL, tokens INTEGER NOT NULL)",
    ),
    ("ALTER TABLE runs ADD COLUMN cases BLOB",),
    (
        """CREATE TABLE baseline_runs (
            seq INTEGER PRIMARY KEY,
            suite_name TEXT NOT NULL,
            name TEXT NOT NULL,
            run_id TEXT NOT NULL REFERENCES runs (id),
            UNIQUE (suite_name, name, run_id)
        )""",
    ),
    (
        """CREATE TABLE case_marks (
            suite_name TEXT NOT NULL,
            case_id TEXT NOT NULL,
            key TEXT NOT NULL,
            tested_at TEXT NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (suite_name, case_id, key)
        )""",
    ),
    ("ALTER TABLE trials ADD COLUMN cause TEXT",),
    (
        "ALTER TABLE case_history RENAME TO case_history_of_all_targets",
        """CREATE TABLE case_history (
            suite_name TEXT NOT NULL,
            target TEXT NOT NULL,
            case_id TEXT NOT NULL,
            failure_count INTEGER NOT NULL,
            last_passed TEXT,
            PRIMARY KEY (suite_name, target, case_id)
        )""",
        "INSERT INTO case_history SELECT suite_name, '', case_id, failure_count, last_passed "
        "FROM case_history_of_all_targets",
        "DROP TABLE case_history_of_all_targets",
    ),
    ("CREATE TABLE store_identity (id TEXT NOT NULL)",),
)
"""`trials.body` has every attempt with its transcript; the other columns are the last attempt's, for quick totals.

`cost_usd`, the tokens and `judging` (what the judges took, a JSON list with one entry per model) are of all attempts.
`runs.report` and `runs.cases` are derived from a run's trials when it comes to a stop; a trial written later takes
`cases` away again, so that they are never those of other rows. `baseline_runs` are further runs of a baseline, besides
the one in `baselines`. `case_marks` has what selftests found about each version of a case: `key` changes with it.
`trials.cause` is NULL in rows of earlier versions: there the reason says it. `store_identity` has one row, made with
the first run.
"""
