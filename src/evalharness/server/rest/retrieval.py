"""What a retrieval of documents came to, without a run."""

from __future__ import annotations

from fastapi import APIRouter

from evalharness.actions.evaluate_retrieval import evaluate_retrieval
from evalharness.server.context import Server
from evalharness.server.rest.answering import ERRORS, PREFIX
from evalharness.server.rest.records import RetrievalRequest, Retrieved

router = APIRouter(prefix=PREFIX, tags=["retrieval"])


@router.post("/rag", response_model=Retrieved, responses=dict(ERRORS))
def post_rag(server: Server, asked: RetrievalRequest) -> Retrieved:
    """Compare what was retrieved for a query with what was expected, by rank. Nothing is stored."""
    found = server.harness.call(evaluate_retrieval, asked.query, asked.retrieved_docs, asked.expected_doc, asked.k)
    return Retrieved(
        query=found.query,
        retrieved_count=found.retrieved_count,
        k=found.k,
        hit_at1=found.hit_at_1,
        hit_at_k=found.hit_at_k,
        recall=found.recall,
        precision_at_k=found.precision_at_k,
        mrr=found.mrr,
        ndcg=found.ndcg,
        ranks=dict(found.ranks),
    )
