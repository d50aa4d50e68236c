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
    (
        "ALTER TABLE trials ADD COLUMN change INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE trials ADD COLUMN tool_calls INTEGER",
        "CREATE INDEX trials_by_change ON trials (run_seq, change, case_id, idx, state)",
        "ALTER TABLE runs ADD COLUMN brief BLOB",
        "ALTER TABLE runs ADD COLUMN counts TEXT",
        "ALTER TABLE runs ADD COLUMN tallies TEXT",
        "ALTER TABLE runs ADD COLUMN case_threshold REAL",
        "ALTER TABLE runs ADD COLUMN trials_per_case INTEGER",
        "ALTER TABLE runs ADD COLUMN lines_change INTEGER",
        """CREATE TABLE run_parts (
            run_seq INTEGER NOT NULL,
            start INTEGER NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (run_seq, start)
        )""",
        """CREATE TABLE asked_cases (
            run_seq INTEGER NOT NULL,
            case_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            case_name TEXT NOT NULL,
            category TEXT NOT NULL,
            tags TEXT NOT NULL,
            words TEXT NOT NULL,
            PRIMARY KEY (run_seq, case_id)
        ) WITHOUT ROWID""",
        """CREATE TABLE case_lines (
            run_seq INTEGER NOT NULL,
            position INTEGER NOT NULL,
            case_id TEXT NOT NULL,
            case_name TEXT NOT NULL,
            category TEXT NOT NULL,
            tags TEXT NOT NULL,
            words TEXT NOT NULL,
            case_state TEXT NOT NULL,
            case_score REAL,
            marks TEXT NOT NULL,
            case_passed INTEGER NOT NULL,
            graded INTEGER NOT NULL,
            latency_s REAL,
            mean_cost_usd REAL,
            spent_usd REAL,
            spent_tokens REAL,
            calls INTEGER,
            first_not_passed INTEGER,
            PRIMARY KEY (run_seq, position)
        ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE jobs (
            seq INTEGER PRIMARY KEY,
            run_id TEXT NOT NULL UNIQUE,
            state TEXT NOT NULL,
            body TEXT NOT NULL
        )""",
    ),
    (
        """CREATE TABLE reviewers (
            name TEXT PRIMARY KEY,
            body BLOB NOT NULL
        )""",
        """CREATE TABLE review_items (
            item_seq INTEGER PRIMARY KEY,
            item_id TEXT NOT NULL UNIQUE,
            key TEXT NOT NULL UNIQUE,
            stage TEXT NOT NULL,
            wanted INTEGER NOT NULL,
            role TEXT NOT NULL,
            body BLOB NOT NULL
        )""",
        """CREATE TABLE review_links (
            item_seq INTEGER NOT NULL REFERENCES review_items (item_seq),
            run_seq INTEGER NOT NULL REFERENCES runs (seq),
            case_id TEXT NOT NULL,
            idx INTEGER NOT NULL,
            place TEXT NOT NULL,
            is_applied INTEGER NOT NULL,
            PRIMARY KEY (item_seq, run_seq, case_id, idx, place)
        )""",
        "CREATE INDEX review_links_by_run ON review_links (run_seq, is_applied)",
        """CREATE TABLE review_assignments (
            item_seq INTEGER NOT NULL REFERENCES review_items (item_seq),
            reviewer TEXT NOT NULL,
            doing TEXT NOT NULL,
            boot TEXT NOT NULL,
            begun_s REAL NOT NULL,
            expires_s REAL NOT NULL,
            draft TEXT NOT NULL,
            PRIMARY KEY (item_seq, reviewer)
        )""",
        """CREATE TABLE reviews (
            review_seq INTEGER PRIMARY KEY,
            item_seq INTEGER NOT NULL REFERENCES review_items (item_seq),
            reviewer TEXT NOT NULL,
            body BLOB NOT NULL
        )""",
        "CREATE INDEX reviews_by_item ON reviews (item_seq)",
        "CREATE INDEX reviews_by_reviewer ON reviews (reviewer)",
        """CREATE TABLE review_remarks (
            remark_seq INTEGER PRIMARY KEY,
            run_seq INTEGER NOT NULL REFERENCES runs (seq),
            body BLOB NOT NULL
        )""",
    ),
    (
        "ALTER TABLE runs ADD COLUMN mode TEXT NOT NULL DEFAULT 'live'",
        "ALTER TABLE trials ADD COLUMN replayed TEXT",
        """CREATE TABLE exchanges (
            run_seq INTEGER NOT NULL REFERENCES runs (seq),
            case_id TEXT NOT NULL,
            idx INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            node TEXT NOT NULL,
            kind TEXT NOT NULL,
            digest TEXT NOT NULL,
            occurrence INTEGER NOT NULL,
            position INTEGER NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (run_seq, case_id, idx, attempt, node, kind, digest, occurrence)
        )""",
        """CREATE TABLE exchange_parts (
            run_seq INTEGER NOT NULL REFERENCES runs (seq),
            digest TEXT NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (run_seq, digest)
        )""",
    ),
    ("CREATE TABLE store_identity (id TEXT NOT NULL)",),
    (
        "CREATE INDEX review_links_by_trial ON review_links (run_seq, case_id, idx)",
        "CREATE INDEX review_assignments_by_reviewer ON review_assignments (reviewer)",
    ),
)
"""`trials.body` has every attempt with its transcript; the other columns are the last attempt's, for quick totals.

`cost_usd`, the tokens and `judging` (what the judges took, a JSON list with one entry per model) are of all attempts.
`runs.report` and `runs.cases` are derived from a run's trials when it comes to a stop; a trial written later takes
`cases` away again, so that they are never those of other rows. `baseline_runs` are further runs of a baseline, besides
the one in `baselines`. `case_marks` has what selftests found about each version of a case: `key` changes with it.
`trials.change` grows with each row written in a run. `runs.brief` is the beginning of the report, `counts` are the
trials by state, `tallies` the cases by category and state. `run_parts` has the run without its cases (at -1), and its
cases by the hundred, so that one is read without the others; `asked_cases` says what a list says of them. `counts`,
`tallies` and `case_lines` are derived from trials when a run comes to a stop: they are those of its trials as long as
`runs.lines_change` is the highest change. `runs.trials_per_case` is NULL for runs of earlier versions, until their
parts are made.
`trials.cause` is NULL in rows of earlier versions: there the reason says it. `jobs` has the processes that a server
started for runs, which need not be there yet.
`review_links` say which trials wait for a review item; a regrade's trials wait for the items of the run that it grades
again. There is one assignment for each item and reviewer; `reviews` are only ever added.
`exchanges` has the calls of recorded trials, written together with them; long parts of requests (messages, tools) are
in `exchange_parts` once per run, by digest. `trials.replayed` says what the replay of a trial found.
`store_identity` has one row, made with the first run.
"""
