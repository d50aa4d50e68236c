"""Calls to a server that misbehaves: each gets its own reply, or an error that says why; none asks too often."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from aiohttp import web
from loop_server import serving
from misbehaving_server import QUIET, RATES, MisbehavingServer, hurried

from evalharness.errors import ModelUnavailable, SpendCapReached
from evalharness.llms.endpoints import Endpoint
from evalharness.llms.pace import FIRST_LIMIT, Clock
from evalharness.llms.post import Posting
from evalharness.values.json_value import Json

KEY = "canary-key-2f6b1c"


def spoken(body: Json) -> str:
    """The reply's text, as strict as a wire format must be."""
    if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
        raise ValueError("'choices' is no list")
    text = body["choices"][0]["message"]["content"]
    assert isinstance(text, str)
    return text


async def ask(posting: Posting, base_url: str, text: str = "hello") -> str:
    endpoint = Endpoint(base_url, {"Authorization": f"Bearer {KEY}"})
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return await posting.post("openai/m", endpoint, "chat/completions", body, spoken)


async def ask_all(posting: Posting, base_url: str, count: int) -> list[str | BaseException]:
    try:
        asked = (ask(posting, base_url, f"question {number}") for number in range(count))
        return await asyncio.gather(*asked, return_exceptions=True)
    finally:
        await posting.close()


async def test_every_call_gets_its_own_reply_and_no_request_is_wasted() -> None:
    clock = hurried(400)
    server = MisbehavingServer(RATES, clock=clock)
    posting = Posting(clock=clock, rng=Random(1), ceiling=40, deadline_s=100_000)

    async with server.here() as url:
        replies = await ask_all(posting, url, 300)
    assert replies == [f"question {number}" for number in range(300)]
    assert set(server.faults) == set(RATES), "every kind of fault occurred"
    assert server.requests <= 1.1 * (300 + server.injected_faults)
    assert server.most_under_way <= 40


async def test_an_outage_of_five_minutes_is_lived_through_without_a_stampede() -> None:
    clock = hurried(150)
    start = clock.now()
    server = MisbehavingServer(QUIET, clock=clock, latency_s=1.0, outage=(start, start + 300))
    posting = Posting(clock=clock, rng=Random(2), ceiling=30)

    async with server.here() as url:
        replies = await ask_all(posting, url, 60)
    assert replies == [f"question {number}" for number in range(60)]
    assert server.faults["outage"] >= 60
    assert clock.now() - start > 300
    assert server.requests <= 1.1 * (60 + server.injected_faults)
    assert server.most_under_way <= 30


async def test_nothing_is_sent_while_the_server_says_not_before() -> None:
    clock = hurried(100)
    asked_at: list[float] = []

    async def handler(request: web.Request) -> web.Response:
        asked_at.append(clock.now())
        if len(asked_at) == 1:
            return web.json_response({}, status=429, headers={"Retry-After": "60"})
        return web.json_response({"choices": [{"message": {"content": "fine"}}]})

    posting = Posting(clock=clock, rng=Random(3))
    async with serving(handler) as url:
        first = asyncio.create_task(ask(posting, url))
        while not asked_at:
            await asyncio.sleep(0)
        await clock.sleep(5)  # the refusal has arrived
        others = await ask_all(posting, url, 20)
        replies = [await first, *others]
    assert replies == ["fine"] * 21
    assert min(asked_at[1:]) - asked_at[0] >= 60


async def test_exhausted_is_unavailable_and_says_what_the_server_said() -> None:
    clock = hurried(60)
    server = MisbehavingServer({**QUIET, "503": 1.0}, clock=clock)
    posting = Posting(clock=clock, deadline_s=120, rng=Random(4))

    async with server.here() as url:
        replies = await ask_all(posting, url, 3)
    for error in replies:
        assert isinstance(error, ModelUnavailable)
        assert error.message.startswith("openai/m: HTTP 503: too much at once (")
        assert error.status == 503
    assert server.requests > 3, "it was tried again"


async def test_what_keeps_everybody_waiting_is_known_until_there_is_a_reply() -> None:
    heard: list[str] = []

    async def sleep(_: float) -> None:
        heard.append(posting.trouble)

    posting = Posting(clock=Clock(sleep=sleep), rng=Random(4))

    async def reply(request: web.Request) -> web.Response:
        if not heard:
            return web.json_response({"error": {"message": f"busy, {KEY}"}}, status=503)
        return web.json_response({"choices": [{"message": {"content": "hi"}}]})

    async with serving(reply) as url:
        replies = await ask_all(posting, url, 1)
    assert replies == ["hi"]
    assert [line.startswith("openai/m: ") and "busy" in line and KEY not in line for line in heard] == [True]
    assert posting.trouble == ""


async def test_a_wait_that_is_longer_than_the_deadline_is_not_waited_for() -> None:
    server = MisbehavingServer({**QUIET, "429 seconds": 1.0}, retry_after_s=500)

    async with server.here() as url:
        replies = await ask_all(Posting(deadline_s=100), url, 1)
    (error,) = replies
    assert isinstance(error, ModelUnavailable)
    assert server.requests == 1


async def test_the_deadline_applies_to_requests_that_come_while_the_server_says_not_before() -> None:
    server = MisbehavingServer({**QUIET, "429 seconds": 1.0}, retry_after_s=100_000)

    posting = Posting(deadline_s=100)
    async with server.here() as url:
        with pytest.raises(ModelUnavailable):
            await ask(posting, url)
        replies = await asyncio.wait_for(ask_all(posting, url, 2), 60)
    for error in replies:
        assert isinstance(error, ModelUnavailable)
        assert "HTTP 429 (Retry-After: 100000)" in error.message
        assert error.status == 429
    assert server.requests == 1


async def test_nothing_is_sent_again_once_nothing_may_be_spent() -> None:
    clock = hurried(500)
    server = MisbehavingServer({**QUIET, "garbage": 1.0}, clock=clock)

    def check() -> None:
        if server.requests >= 3:
            raise SpendCapReached("no more")

    async with server.here() as url:
        replies = await ask_all(Posting(clock=clock, may_ask_again=check), url, 1)
    (error,) = replies
    assert isinstance(error, SpendCapReached)
    assert server.requests == 3


@pytest.mark.parametrize("kind", ["garbage", "wrong types", "nan", "two objects"])
async def test_a_server_that_only_gives_garbage_is_not_paid_forever(kind: str) -> None:
    clock = hurried(500)
    server = MisbehavingServer({**QUIET, kind: 1.0}, clock=clock)

    async with server.here() as url:
        replies = await ask_all(Posting(clock=clock, rng=Random(5)), url, 1)
    (error,) = replies
    assert isinstance(error, ModelUnavailable)
    assert "the reply is not valid" in error.message
    assert server.requests == 8


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (
            401,
            {"error": {"message": f"Incorrect API key provided: {KEY}"}},
            "HTTP 401: Incorrect API key provided: [key]",
        ),
        (400, {"error": "bad\nrequest"}, "HTTP 400: bad request"),
        (404, {"detail": [{"msg": "no such model"}]}, 'HTTP 404: [{"msg": "no such model"}]'),
        (403, None, "HTTP 403: null"),
        (307, None, "HTTP 307: the server redirects"),
        (429, {"error": {"message": "no money", "code": "insufficient_quota"}}, "HTTP 429: no money"),
    ],
)
async def test_what_will_not_pass_is_reported_at_once(status: int, body: Json, said: str) -> None:
    requests: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        requests.append(request.path)
        return web.json_response(body, status=status, headers={"Location": "http://127.0.0.1:1/"})

    posting = Posting()
    async with serving(handler) as url:
        with pytest.raises(ModelUnavailable) as caught:
            await ask(posting, url)
        await posting.close()
        assert caught.value.status == status
        message = caught.value.message
    assert message.startswith(f"openai/m: {said}")
    assert KEY not in message
    assert len(requests) == 1


async def test_a_server_that_never_spoke_is_given_up_soon() -> None:
    clock = hurried(20)

    async with MisbehavingServer().here() as url:
        pass
    replies = await ask_all(Posting(clock=clock, rng=Random(6)), url, 5)
    for error in replies:
        assert isinstance(error, ModelUnavailable)
        assert "no connection to 127.0.0.1:" in error.message
    assert clock.now() < 450, "not the whole deadline"


async def test_a_hanging_connection_is_retried_within_the_deadline() -> None:
    requests: list[int] = []

    async def handler(request: web.Request) -> web.Response:
        requests.append(1)
        if len(requests) == 1:
            await asyncio.sleep(30)
        return web.json_response({"choices": [{"message": {"content": "fine"}}]})

    async with serving(handler) as url:
        replies = await ask_all(Posting(deadline_s=3), url, 1)
    assert replies == ["fine"]


async def test_a_server_that_takes_one_after_another_is_not_silent_to_those_in_line() -> None:
    """A request that is refused after waiting in line has not used up its time either."""
    in_turn = asyncio.Lock()
    requests: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        asked = (await request.json())["messages"][0]["content"]
        async with in_turn:
            await asyncio.sleep(0.3)
        requests.append(asked)
        if len(requests) == 10:
            return web.json_response({}, status=503)
        return web.json_response({"choices": [{"message": {"content": asked}}]})

    async with serving(handler) as url:
        replies = await ask_all(Posting(deadline_s=2, rng=Random(7)), url, 10)
    assert replies == [f"question {number}" for number in range(10)]
    assert len(requests) == 11


async def test_a_connection_that_hangs_is_retried_though_others_get_replies() -> None:
    asked: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        question = (await request.json())["messages"][0]["content"]
        asked.append(question)
        if question == "first" and asked.count("first") == 1:
            await asyncio.sleep(60)
        await asyncio.sleep(0.05)
        return web.json_response({"choices": [{"message": {"content": question}}]})

    posting = Posting(deadline_s=2, rng=Random(7))
    async with serving(handler) as url:
        hanging = asyncio.create_task(ask(posting, url, "first"))
        for _ in range(1000):
            await ask(posting, url, "other")
            if hanging.done():
                break
        assert await hanging == "first"
        await posting.close()
    assert asked.count("first") == 2
    assert asked[-1] == "other" and asked.count("other") < 1000


async def test_a_server_that_says_nothing_at_all_is_given_up_by_all_at_once() -> None:
    async def handler(_: web.Request) -> web.Response:
        await asyncio.sleep(60)
        raise AssertionError("nobody waits so long")

    ended_at: list[float] = []

    async def one(posting: Posting, url: str, number: int) -> None:
        with pytest.raises(ModelUnavailable, match="no answer within"):
            await ask(posting, url, f"question {number}")
        ended_at.append(asyncio.get_running_loop().time())

    posting = Posting(deadline_s=2, rng=Random(7))
    async with serving(handler) as url:
        await asyncio.wait_for(asyncio.gather(*(one(posting, url, number) for number in range(20))), 30)
        await posting.close()
    assert max(ended_at) - min(ended_at) < 0.5


async def test_refusals_that_are_long_in_coming_use_up_the_deadline_of_all() -> None:
    clock = hurried(200)

    async def handler(_: web.Request) -> web.Response:
        await clock.sleep(60)
        return web.Response(status=504, text="gateway timeout")

    async with serving(handler) as url:
        errors = await ask_all(Posting(deadline_s=300, clock=clock, rng=Random(7)), url, 20)
    assert all(isinstance(error, ModelUnavailable) and "HTTP 504" in error.message for error in errors)
    assert clock.now() < 600


async def test_a_server_of_our_own_is_sent_one_request_at_a_time_and_given_all_the_time_there_is() -> None:
    server = MisbehavingServer(QUIET, latency_s=1.2)

    posting = Posting(deadline_s=2)
    async with server.here() as url:
        endpoint = Endpoint(url, is_own=True)
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
        asked = (posting.post("local/m", endpoint, "chat/completions", body, spoken) for _ in range(3))
        try:
            replies = await asyncio.gather(*asked)
        finally:
            await posting.close()
    assert replies == ["hello"] * 3
    assert (server.most_under_way, server.requests) == (1, 3)


async def test_a_cancelled_call_gives_its_turn_to_the_next() -> None:
    release = asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        await release.wait()
        return web.json_response({"choices": [{"message": {"content": "fine"}}]})

    posting = Posting(ceiling=1)
    async with serving(handler) as url:
        stuck = asyncio.create_task(ask(posting, url))
        waiting = asyncio.create_task(ask(posting, url))
        last = asyncio.create_task(ask(posting, url))
        await asyncio.sleep(0.05)
        waiting.cancel()
        stuck.cancel()
        await asyncio.gather(stuck, waiting, return_exceptions=True)
        release.set()
        reply = await last
        await posting.close()
        said = reply
    assert said == "fine"


@pytest.mark.parametrize(
    ("status", "before_it", "waited_for"),
    [(429, 0, "HTTP 429"), (503, 0, "HTTP 503"), (None, 1, "still queued"), (None, 0, None)],
)
async def test_the_code_that_ends_a_call_is_told_what_it_waited_for(
    status: int | None, before_it: int, waited_for: str | None
) -> None:
    waits = asyncio.Event()

    async def sleep(_wait_s: float) -> None:
        waits.set()
        await asyncio.Event().wait()

    async def handler(request: web.Request) -> web.Response:
        if status is None:
            await sleep(0)
        return web.json_response({}, status=status or 200, headers={"Retry-After": "60"})

    posting = Posting(ceiling=1, clock=Clock(sleep=sleep))
    async with serving(handler) as url:
        *others, call = [asyncio.create_task(ask(posting, url)) for _ in range(before_it + 1)]
        await waits.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await call
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await posting.close()
        found = caught.value
    cause = found.__cause__
    if waited_for is None:
        assert cause is None, "the model itself was slow"
    else:
        assert isinstance(cause, ModelUnavailable) and waited_for in str(cause)


async def test_text_that_is_not_utf_8_is_not_a_reply() -> None:
    bodies = [b'{"choices": [{"message": {"content": "\xff"}}]}', b'{"choices": [{"message": {"content": "fine"}}]}']

    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=bodies.pop(0), content_type="application/json")

    async with serving(handler) as url:
        replies = await ask_all(Posting(clock=hurried(100)), url, 1)
    assert replies == ["fine"]


async def test_a_long_reply_is_read_whole() -> None:
    text = "word " * 400_000

    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"choices": [{"message": {"content": text}}]})

    async with serving(handler) as url:
        replies = await ask_all(Posting(), url, 1)
    assert replies == [text]


def test_a_server_in_a_thread_of_its_own_can_be_asked() -> None:
    with MisbehavingServer(QUIET).in_thread() as url:
        assert asyncio.run(ask_all(Posting(), url, 2)) == ["question 0", "question 1"]


class Longest(Random):
    """The maximum."""

    def uniform(self, a: float, b: float) -> float:
        return max(a, b)


class WaitedClock:
    """Its time passes only by waiting, and it records every wait."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []
        self.clock = Clock(now=lambda: sum(self.waits_s), wall=lambda: sum(self.waits_s), sleep=self._sleep)

    async def _sleep(self, wait_s: float) -> None:
        self.waits_s.append(wait_s)
        await asyncio.sleep(0)


def waits_s(*refusals: tuple[int, dict[str, str]]) -> list[float]:
    """How long a call waits between refusals."""
    left, waited = list(refusals), WaitedClock()

    async def handler(_request: web.Request) -> web.Response:
        if left:
            status, headers = left.pop(0)
            return web.json_response({"error": {"message": "no"}}, status=status, headers=headers)
        return web.json_response({"choices": [{"message": {"content": "fine"}}]})

    async def run() -> list[str | BaseException]:
        async with serving(handler) as url:
            return await ask_all(Posting(clock=waited.clock, rng=Longest()), url, 1)

    assert asyncio.run(run()) == ["fine"]
    return waited.waits_s


def test_waits_double_where_the_server_says_nothing() -> None:
    assert waits_s(*[(502, {})] * 8) == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_waits_that_the_server_asked_for_make_the_next_ones_no_longer() -> None:
    assert waits_s(*[(429, {"Retry-After": "1"})] * 4, (502, {}))[-1] == 0.5


async def test_a_server_that_is_full_but_replies_to_others_is_not_waited_for_long() -> None:
    waited = WaitedClock()
    refused: list[str] = []
    is_done, other_replied = asyncio.Event(), asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        text = (await request.json())["messages"][-1]["content"]
        if text == "unlucky" and len(refused) < 5:
            refused.append(text)
            other_replied.clear()
            await other_replied.wait()
            return web.json_response({}, status=503)
        return web.json_response({"choices": [{"message": {"content": text}}]})

    async def others(posting: Posting, url: str) -> None:
        while not is_done.is_set():
            assert await ask(posting, url, "lucky") == "lucky"
            other_replied.set()

    posting = Posting(clock=waited.clock, rng=Longest())
    async with serving(handler) as url:
        asking = [asyncio.create_task(others(posting, url)) for _ in range(2)]
        try:
            said = await ask(posting, url, "unlucky")
        finally:
            is_done.set()
            await asyncio.gather(*asking)
            await posting.close()
    assert said == "unlucky"
    assert waited.waits_s == [0.5, 1, 2, 4, 4]


async def test_an_error_reported_with_http_200_slows_down_like_its_status() -> None:
    async def handler(_request: web.Request) -> web.Response:
        return web.json_response({"error": {"code": 429, "message": "rate"}})

    posting = Posting(clock=hurried(100), deadline_s=20)
    async with serving(handler) as url:
        replies = await ask_all(posting, url, 1)
        found = posting.pace_of(Endpoint(url, {"Authorization": f"Bearer {KEY}"})).limit, replies
    limit, [error] = found
    assert isinstance(error, ModelUnavailable) and error.status == 429
    assert "error 429, sent with HTTP 200: rate" in str(error)
    assert limit < FIRST_LIMIT


async def test_a_refusal_reported_with_http_200_is_not_asked_again() -> None:
    asked: list[int] = []

    async def handler(_request: web.Request) -> web.Response:
        asked.append(1)
        return web.json_response({"error": {"code": 401, "message": "no such key"}})

    async with serving(handler) as url:
        replies = await ask_all(Posting(), url, 1)
    [error] = replies
    assert isinstance(error, ModelUnavailable) and "no such key" in str(error)
    assert len(asked) == 1
