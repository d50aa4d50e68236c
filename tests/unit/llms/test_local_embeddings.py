"""Embeddings on this machine: close if texts mean the same, and without output from the library."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from real_models import access, need_wordllama

from evalharness.contracts.model import Embedded
from evalharness.errors import UnknownName, UsageError
from evalharness.llms.local_embeddings import PIECE_CHARACTERS, LocalEmbeddings, OfflineVectors
from evalharness.values.nearness import cosine

CAT = "The cat sat on the mat."


@pytest.fixture(scope="module")
def vectors() -> OfflineVectors:
    need_wordllama()
    return OfflineVectors()


def test_texts_that_mean_the_same_are_near(vectors: OfflineVectors) -> None:
    cat, sitting, market = vectors.embed([CAT, "A cat was sitting on the mat.", "The stock market fell sharply today."])
    assert len(cat) == len(sitting) == len(market) == 256
    assert cosine(cat, sitting) > 0.85
    assert cosine(cat, market) < 0.2


def test_texts_of_every_kind_have_a_vector(vectors: OfflineVectors) -> None:
    empty, letters, long, half = vectors.embed(["", "日本語 😀", CAT * 3000, CAT * 1500])
    assert set(empty) == {0.0}
    assert any(letters)
    assert len(CAT) * 1500 > PIECE_CHARACTERS
    assert cosine(long, half) > 0.999, "pieces of a long text are combined again"


def test_an_embedder_answers_many_at_once() -> None:
    need_wordllama()
    embedder = LocalEmbeddings("wordllama", access("local"))
    assert embedder.name == "local/wordllama"

    async def ask() -> list[Embedded]:
        answers = await asyncio.gather(*(embedder.embed([CAT]) for _ in range(8)))
        await embedder.close()
        return answers

    answers = asyncio.run(ask())
    assert all(answer == answers[0] for answer in answers)


QUIET = """
import logging
from evalharness.llms.local_embeddings import OfflineVectors
OfflineVectors().embed(["a"])
root = logging.getLogger()
assert (root.handlers, root.level) == ([], logging.WARNING), (root.handlers, root.level)
"""


def test_the_logging_of_the_program_stays_as_it_is() -> None:
    need_wordllama()
    done = subprocess.run([sys.executable, "-W", "error", "-c", QUIET], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'wordllama'"):
        LocalEmbeddings("wordlama", access("local"))
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(UsageError) as told:
        LocalEmbeddings("wordllama", access("local"))
    assert told.value.hint == 'pip install "evalharness[local]"'
