"""The statements about reviews: who is asked, what, and what they said."""

from __future__ import annotations

from collections.abc import Iterable

from evalharness.domain.review import EVIDENCE
from evalharness.stores.dialect import insert_once, taken_over, upsert

REVIEWERS = "SELECT body FROM reviewers ORDER BY name"
PUT_REVIEWER = upsert("reviewers", "name, body", "name", taken_over(["body"]))

ADD_ITEM = insert_once("review_items", "item_id, key, stage, wanted, role, body", "key")
FIND_KEY = "SELECT item_id FROM review_items WHERE key = ?"
ITEM_COLUMNS = "item_id, stage, wanted, body"
READ_ITEM = f"SELECT {ITEM_COLUMNS} FROM review_items WHERE item_id = ?"
SET_STAGE = "UPDATE review_items SET stage = ?, wanted = ? WHERE item_id = ?"
_SEQ = "(SELECT item_seq FROM review_items WHERE item_id = ?)"
OPEN_ITEMS = (
    "SELECT item_id, role, wanted, (SELECT COUNT(*) FROM review_assignments AS taken "
    "WHERE taken.item_seq = review_items.item_seq AND taken.doing = 'counted') AS counted FROM review_items "
    "WHERE stage = 'open' AND EXISTS (SELECT 1 FROM review_links JOIN runs ON runs.seq = run_seq "
    "WHERE review_links.item_seq = review_items.item_seq AND (? IS NULL OR runs.id = ?)) "
    "AND NOT EXISTS (SELECT 1 FROM review_assignments AS own WHERE own.item_seq = review_items.item_seq "
    "AND own.reviewer = ? AND own.doing IN ('counted', 'surplus', 'skipped'))"
)

ADD_LINK = (
    "INSERT INTO review_links (item_seq, run_seq, case_id, idx, place, is_applied) "
    f"SELECT {_SEQ}, seq, ?, ?, ?, ? FROM runs WHERE id = ? ON CONFLICT DO NOTHING"
)
_LINKS = (
    "SELECT item_id, runs.id AS run_id, case_id, idx, place, is_applied FROM review_links "
    "JOIN review_items ON review_items.item_seq = review_links.item_seq JOIN runs ON runs.seq = run_seq"
)
LINKS_OF_ITEM = f"{_LINKS} WHERE item_id = ? ORDER BY run_seq, case_id, idx, place"
LINKS_OF_RUN = f"{_LINKS} WHERE runs.id = ? ORDER BY review_links.item_seq, case_id, idx, place"
UNAPPLIED_LINKS = f"{_LINKS} WHERE is_applied = 0 AND (? IS NULL OR runs.id = ?) ORDER BY run_seq, case_id, idx, place"
MARK_LINK = (
    f"UPDATE review_links SET is_applied = ? WHERE item_seq = {_SEQ} AND run_seq = (SELECT seq FROM runs WHERE id = ?) "
    "AND case_id = ? AND idx = ? AND place = ?"
)
RUNS_IN_REVIEW = "SELECT id FROM runs WHERE seq IN (SELECT run_seq FROM review_links) ORDER BY seq DESC"
UNASKED_RUNS = (
    "SELECT id FROM runs WHERE regrade_of = '' AND EXISTS (SELECT 1 FROM trials WHERE trials.run_seq = runs.seq "
    f"AND change > COALESCE(lines_change, 0) AND grades LIKE '%\"{EVIDENCE}\":%' "
    "AND NOT EXISTS (SELECT 1 FROM review_links AS asked WHERE asked.run_seq = trials.run_seq "
    "AND asked.case_id = trials.case_id AND asked.idx = trials.idx)) ORDER BY seq"
)
"""An outstanding grade of a person, also inside another grade, keeps its task under this key."""
FINISHED_RUNS = (
    "SELECT DISTINCT runs.name FROM review_links JOIN runs ON runs.seq = run_seq "
    f"WHERE item_seq = {_SEQ} AND finished_at IS NOT NULL"
)

_ASSIGNMENT = (
    "SELECT item_id, reviewer, doing, boot, begun_s, expires_s, draft, role FROM review_assignments "
    "JOIN review_items ON review_items.item_seq = review_assignments.item_seq"
)
LEASES = f"{_ASSIGNMENT} WHERE doing = 'leased'"
PUT_ASSIGNMENT = (
    "INSERT INTO review_assignments (item_seq, reviewer, doing, boot, begun_s, expires_s, draft) "
    f"VALUES ({_SEQ}, ?, ?, ?, ?, ?, ?) ON CONFLICT (item_seq, reviewer) DO UPDATE SET "
    + taken_over(["doing", "boot", "begun_s", "expires_s", "draft"])
)

ADD_REVIEW = f"INSERT INTO reviews (item_seq, reviewer, body) VALUES ({_SEQ}, ?, ?)"
REVIEWED_BY = (
    "SELECT item_id FROM reviews JOIN review_items ON review_items.item_seq = reviews.item_seq "
    "JOIN review_assignments AS own ON own.item_seq = reviews.item_seq AND own.reviewer = reviews.reviewer "
    "WHERE own.reviewer = ? GROUP BY item_id ORDER BY MAX(review_seq) DESC"
)
REVIEWS_OF_ITEM = f"SELECT body FROM reviews WHERE item_seq = {_SEQ} ORDER BY review_seq"
_OF_RUN = "(SELECT item_seq FROM review_links WHERE run_seq = (SELECT seq FROM runs WHERE id = ?))"
ITEMS_OF_RUN = f"SELECT {ITEM_COLUMNS} FROM review_items WHERE item_seq IN {_OF_RUN} ORDER BY item_seq"
WAITING = (
    "SELECT 1 FROM review_links JOIN review_items ON review_items.item_seq = review_links.item_seq "
    "WHERE run_seq = (SELECT seq FROM runs WHERE id = ?) AND role = 'rate' AND stage IN ('open', 'disputed') LIMIT 1"
)
ITEMS_OF_TRIAL = (
    "SELECT DISTINCT item_id FROM review_links JOIN review_items ON review_items.item_seq = review_links.item_seq "
    "WHERE run_seq = (SELECT seq FROM runs WHERE id = ?) AND case_id = ? AND idx = ?"
)
REVIEWS_OF_RUN = f"SELECT body FROM reviews WHERE item_seq IN {_OF_RUN} ORDER BY review_seq"

ADD_REMARK = "INSERT INTO review_remarks (run_seq, body) SELECT seq, ? FROM runs WHERE id = ?"
REMARKS = (
    "SELECT review_remarks.body FROM review_remarks JOIN runs ON runs.seq = run_seq WHERE runs.id = ? "
    "ORDER BY remark_seq"
)


def assignments(columns: Iterable[str]) -> str:
    """Those with these values; each column is named by itself, since only then its index is used."""
    conditions = " AND ".join(f"{column} = ?" for column in columns)
    return f"{_ASSIGNMENT}{f' WHERE {conditions}' if conditions else ''} ORDER BY reviewer"


_UNUSED = "SELECT item_seq FROM review_items WHERE item_seq NOT IN (SELECT item_seq FROM review_links)"
REMOVE_OF_RUN = (
    "DELETE FROM review_remarks WHERE run_seq = ?",
    "DELETE FROM review_links WHERE run_seq = ?",
)
REMOVE_UNUSED = tuple(
    f"DELETE FROM {table} WHERE item_seq IN ({_UNUSED})" for table in ("reviews", "review_assignments", "review_items")
)
"""Items go with the last run that needs them, and their reviews with them."""
