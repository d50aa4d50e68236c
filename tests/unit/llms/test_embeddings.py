"""Vectors in the order of the texts, in batches, from a server that may misbehave."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from misbehaving_server import QUIET, RATES, MisbehavingServer, hurried

from evalharness.domain.transcript import Usage
from evalharness.llms.access import Access
from evalharness.llms.embeddings import OpenAiEmbeddings, vectors_of
from evalharness.llms.endpoints import Endpoint
from evalharness.llms.posting import Posting


def embed(server: MisbehavingServer, texts: list[str]) -> tuple[list[list[float]], int]:
    used: list[Usage] = []

    async def run() -> list[list[float]]:
        posting = Posting(clock=hurried(400), deadline_s=100_000)
        async with server.here() as url:
            access = Access("openai", Endpoint(url), {}, Path(), posting, used.append)
            try:
                return await OpenAiEmbeddings("m", access).embed(texts)
            finally:
                await posting.close()

    return asyncio.run(run()), sum(usage.input_tokens for usage in used)


def test_many_texts_go_in_batches_and_come_back_in_order() -> None:
    server = MisbehavingServer(RATES, clock=hurried(400), seed=5)
    texts = ["x" * (1 + number % 7) for number in range(200)]
    vectors, tokens = embed(server, texts)
    assert vectors == [[float(len(text)), 1.0] for text in texts]
    assert tokens == 200
    assert {len(body["input"]) for body in server.bodies} == {64, 8}


def test_nothing_is_asked_for_no_texts_and_an_empty_one_is_sent_as_a_blank() -> None:
    server = MisbehavingServer(QUIET)
    assert embed(server, []) == ([], 0)
    assert server.requests == 0
    embed(server, [""])
    assert server.bodies[0]["input"] == [" "]


def item(index: Any, vector: Any) -> dict[str, Any]:
    return {"index": index, "embedding": vector}


def test_the_servers_order_does_not_matter() -> None:
    assert vectors_of({"data": [item(1, [2]), item(0, [1])]}, 2).vectors == [[1.0], [2.0]]
    assert vectors_of({"data": [item(None, [1]), item(None, [2])]}, 2).vectors == [[1.0], [2.0]]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [item(0, [1])],
        [item(0, [1]), item(0, [2])],
        [item(0, [1]), item(2, [2])],
        [item(0, [1]), item(1, [2]), item(1, [2])],
        [item(0, [1]), item(1, [2, 3])],
        [item(0, [1]), item(1, [])],
        [item(0, [1]), item(1, "AAAA")],
        [item(0, [1]), item(1, [True])],
        [item(0, [1]), item("1", [1])],
        [item(0, [1]), item(-1, [1])],
    ],
)
def test_anything_but_one_vector_for_each_text_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        vectors_of({"data": data}, 2)
