"""Vectors in the order of the texts, from a server that may misbehave."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from loop_server import Handler, serving
from misbehaving_server import QUIET, RATES, MisbehavingServer, hurried

from evalharness.contracts.model import Embedded
from evalharness.domain.transcript import Usage
from evalharness.errors import ModelUnavailable
from evalharness.llms.access import Access
from evalharness.llms.embeddings import OpenAiEmbeddings, vectors_of
from evalharness.llms.endpoints import Endpoint
from evalharness.llms.post import Posting


def embed(server: MisbehavingServer, texts: list[str]) -> tuple[list[list[float]], int]:
    async def run() -> Embedded:
        posting = Posting(clock=hurried(400), deadline_s=100_000)
        async with server.here() as url:
            access = Access("openai", Endpoint(url), {}, Path(), posting)
            try:
                return await OpenAiEmbeddings("m", access).embed(texts)
            finally:
                await posting.close()

    embedded = asyncio.run(run())
    return embedded.vectors, (embedded.usage or Usage()).input_tokens


def test_many_texts_come_back_in_order() -> None:
    server = MisbehavingServer(RATES, clock=hurried(400), seed=5)
    texts = ["x" * (1 + number % 7) for number in range(200)]
    vectors, tokens = embed(server, texts)
    assert vectors == [[float(len(text)), 1.0] for text in texts]
    assert tokens == 200


def test_an_empty_text_is_sent_as_a_blank() -> None:
    server = MisbehavingServer(QUIET)
    embed(server, [""])
    assert server.bodies[0]["input"] == [" "]


def embed_at(handler: Handler, used: list[Usage]) -> Embedded:
    async def run() -> Embedded:
        posting = Posting(clock=hurried(100))
        async with serving(handler) as url:
            try:
                access = Access("openai", Endpoint(url), {}, Path(), posting, used.append)
                return await OpenAiEmbeddings("m", access).embed(["x" * 400])
            finally:
                await posting.close()

    return asyncio.run(run())


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "total_tokens": 0}])
def test_where_a_server_does_not_count_tokens_they_are_unknown(usage: Any) -> None:
    async def handler(_request: web.Request) -> web.Response:
        return web.json_response({"data": [item(0, [1.0])], "usage": usage})

    used: list[Usage] = []
    assert embed_at(handler, used) == Embedded([[1.0]], None)
    assert used == []


def test_a_server_that_cannot_embed_is_asked_three_times_and_what_it_took_is_paid_for() -> None:
    async def handler(_request: web.Request) -> web.Response:
        return web.json_response({"data": [], "usage": {"prompt_tokens": 7}})

    used: list[Usage] = []
    with pytest.raises(ModelUnavailable, match=r"is not valid: expected 1 vectors \(3 attempts"):
        embed_at(handler, used)
    assert [each.input_tokens for each in used] == [7, 7, 7]


def item(index: Any, vector: Any) -> dict[str, Any]:
    return {"index": index, "embedding": vector}


def test_the_servers_order_does_not_matter() -> None:
    assert vectors_of({"data": [item(1, [2]), item(0, [1])]}, 2) == [[1.0], [2.0]]
    assert vectors_of({"data": [item(None, [1]), item(None, [2])]}, 2) == [[1.0], [2.0]]


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
