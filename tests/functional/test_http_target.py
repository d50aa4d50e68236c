"""HTTP endpoints as targets: a real server on this machine, called by the real engine."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import asking
import pytest
from aiohttp import web
from loop_server import Handler, serving

from evalharness import Case, Run, Suite, Trial, evaluate


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


def run_suite(handler: Handler, *, path: str = "/ask", target: Any = None, **options: Any) -> Run:
    """On a server in this event loop; the run has its own loop."""
    options = {"input": "What is 2+2?", "expected": None, **options}

    async def both() -> Run:
        async with serving(handler) as base:
            spec = {"http": {"url": base + path, **(target or {})}}
            return await asyncio.to_thread(asking.run_suite, spec, **options)

    return asyncio.run(both())


def ask(handler: Handler, **options: Any) -> Trial:
    [trial] = run_suite(handler, **options).trials
    return trial


def replying(text: str, status: int = 200, **options: Any) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=text, status=status, **options)

    return handler


async def mirror(request: web.Request) -> web.Response:
    """Everything that arrived, as JSON."""
    body = await (request.json() if request.content_type == "application/json" else request.text())
    seen = {"method": request.method, "path": request.path, "query": dict(request.query), "body": body}
    return web.json_response({**seen, "headers": {name.lower(): value for name, value in request.headers.items()}})


class TestTheRequest:
    def test_by_default_the_question_is_posted_as_json(self) -> None:
        seen: Any = ask(mirror).output
        assert (seen["method"], seen["path"], seen["body"]) == ("POST", "/ask", {"input": "What is 2+2?"})
        seen = ask(mirror, input={"messages": [{"role": "user"}]}).output
        assert seen["body"] == {"input": [{"role": "user"}]}

    def test_get_sends_no_body(self) -> None:
        seen: Any = ask(mirror, target={"method": "GET"}).output
        assert (seen["method"], seen["body"]) == ("GET", "")

    def test_placeholders_in_the_body_become_values(self) -> None:
        body = {
            "messages": [{"content": "Q: {input.text}"}],
            "data": "{input}",
            "n": "{index}",
            "id": "{case_id}",
            "x": 1,
        }
        seen: Any = ask(mirror, target={"body": body}, input={"text": 'say "hi"', "k": [1]}).output
        assert seen["body"] == {
            "messages": [{"content": 'Q: say "hi"'}],
            "data": {"text": 'say "hi"', "k": [1]},
            "n": 0,
            "id": "a",
            "x": 1,
        }

    def test_a_body_of_text_is_sent_as_it_is(self) -> None:
        seen: Any = ask(mirror, target={"body": "question={input}"}).output
        assert seen["body"] == "question=What is 2+2?"

    def test_placeholders_in_url_and_headers(self) -> None:
        target = {"headers": {"X-Case": "{case_id}-{index}", "Authorization": "Bearer abc"}}
        text = "a&b=c #1/ü?%20+"
        seen: Any = ask(mirror, path="/cases/{case_id}?q={input}&n=1", target=target, input=text).output
        assert seen["path"] == "/cases/a"
        assert seen["query"] == {"q": text, "n": "1"}
        assert seen["headers"]["x-case"] == "a-0"
        assert seen["headers"]["authorization"] == "Bearer abc"

    def test_a_placeholder_the_input_does_not_have_fails_and_names_it(self) -> None:
        trial = ask(mirror, path="/{input.user}", input={"name": "Ada"})
        assert trial.state == "failed"
        assert "{input.user}" in trial.reason

    def test_trials_share_no_cookies(self) -> None:
        async def handler(request: web.Request) -> web.Response:
            response = web.Response(text=f"{len(request.cookies)} cookies")
            response.set_cookie("session", "1")
            return response

        async def both() -> Run:
            suite = Suite(name="s", cases=(Case(id="a", input="?"),))
            async with serving(handler) as base:
                url = base.replace("127.0.0.1", "localhost")  # cookies of bare addresses are never stored
                return await asyncio.to_thread(evaluate, suite, url, trials=3, max_concurrency=1, store=":memory:")

        assert {trial.output for trial in asyncio.run(both()).trials} == {"0 cookies"}


class TestTheAnswer:
    def test_text_is_the_output(self) -> None:
        trial = ask(replying("4"), expected="4")
        assert (trial.state, trial.output) == ("passed", "4")

    def test_json_is_the_output_as_a_value(self) -> None:
        assert ask(replying('{"a": [1]}', content_type="application/json")).output == {"a": [1]}

    def test_json_with_an_output_is_a_whole_answer(self) -> None:
        text = '{"output": "4", "cost_usd": 0.5, "usage": {"output_tokens": 3}, "id": "x"}'
        trial = ask(replying(text, content_type="application/json"), expected="4")
        assert trial.state == "passed"
        assert (trial.cost_usd, trial.output_tokens) == (0.5, 3)

    @pytest.mark.parametrize(
        ("form", "output"), [("text", '{"output": "4"}'), ("json", {"output": "4"}), ("answer", "4")]
    )
    def test_the_form_can_be_chosen(self, form: str, output: Any) -> None:
        assert ask(replying('{"output": "4"}'), target={"result": form}).output == output

    def test_a_path_leads_to_the_answer(self) -> None:
        text = '{"choices": [{"message": {"content": "4"}}, {"n": 7}]}'
        assert ask(replying(text), target={"answer": "choices.0.message.content"}).output == "4"
        assert ask(replying(text), target={"answer": "$.choices.-1.n"}).output == 7

    def test_a_path_and_a_form(self) -> None:
        target = {"answer": "data.reply", "result": "json"}
        assert ask(replying('{"data": {"reply": "[1, 2]"}}'), target=target).output == [1, 2]

    def test_a_path_that_leads_nowhere_fails_with_the_reply_as_evidence(self) -> None:
        trial = ask(replying('{"choices": []}'), target={"answer": "choices.0.text"})
        assert trial.state == "failed"
        assert "no '0'" in trial.reason
        assert trial.output == '{"choices": []}'

    @pytest.mark.parametrize("text", ["nonsense", "", "NaN", '{"a": 1e999}', "[" * 100_000])
    def test_what_is_not_json_fails_with_the_reply_as_evidence(self, text: str) -> None:
        for target in ({"result": "json"}, {"answer": "a"}):
            trial = ask(replying(text), target=target)
            assert trial.state == "failed"
            assert "not JSON" in trial.reason
            assert trial.output == text

    def test_other_charsets(self) -> None:
        async def handler(request: web.Request) -> web.Response:
            charset = request.query["charset"]
            kind = {"Content-Type": f"text/plain; charset={charset}"}
            return web.Response(body="é".encode("latin-1"), headers=kind)

        assert ask(handler, path="/?charset=latin-1").output == "é"
        assert ask(handler, path="/?charset=no-such-charset").output == "\ufffd"

    @pytest.mark.parametrize("charset", ["idna", "unicode_escape", "punycode", "undefined", "hex", "rot13"])
    def test_a_codec_of_python_that_is_not_a_charset_is_an_error_of_the_reply(self, charset: str) -> None:
        headers = {"Content-Type": f"text/plain; charset={charset}"}

        async def handler(request: web.Request) -> web.Response:
            return web.Response(body=b"4", headers=headers)

        trial = ask(handler, expected="4")
        assert (trial.state, trial.reason) == ("error", f"the reply cannot be read: '{charset}' is not an HTTP charset")


class TestWhatGoesWrong:
    @pytest.mark.parametrize("status", [400, 404, 500])
    def test_the_targets_own_faults_fail(self, status: int) -> None:
        run = run_suite(replying("no such model", status), retries=1)
        [trial] = run.trials
        assert (trial.state, trial.reason) == ("failed", f"HTTP {status}: no such model")
        assert len(trial.attempts) == 1
        assert run.exit_code == 1
        assert trial.output == "no such model"

    @pytest.mark.parametrize("status", [401, 429, 502, 503, 529])
    def test_what_is_not_the_targets_fault_is_an_error_and_is_retried(self, status: int) -> None:
        run = run_suite(replying("come back later", status), retries=2)
        [trial] = run.trials
        assert (trial.state, trial.reason) == ("error", f"HTTP {status}: come back later")
        assert len(trial.attempts) == 3
        assert run.exit_code == 3

    @pytest.mark.parametrize(
        "asked", ["What is 2+2?", {"type": "api_call", "content": {"path": "/x", "answer": "response"}}]
    )
    def test_a_status_that_is_none_is_an_error(self, asked: Any) -> None:
        """Whether or not the status is part of the answer."""

        async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 000 Nothing\r\nContent-Length: 1\r\nConnection: close\r\n\r\n4")
            writer.close()
            await writer.wait_closed()

        async def both() -> Run:
            async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
                url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
                return await asyncio.to_thread(asking.run_suite, {"http": {"url": url}}, input=asked, expected=None)

        [trial] = asyncio.run(both()).trials
        assert trial.state == "error"
        assert "HTTP 000" in trial.reason

    def test_an_outage_that_passes(self) -> None:
        asked: list[str] = []

        async def handler(request: web.Request) -> web.Response:
            asked.append(request.path)
            return web.Response(text="4", status=503 if len(asked) < 3 else 200)

        trial = ask(handler, retries=2, expected="4")
        assert [attempt.state for attempt in trial.attempts] == ["error", "error", "passed"]

    def test_no_server_listens(self) -> None:
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            port = held.getsockname()[1]
            suite = Suite(name="s", cases=(Case(id="a", input="?", retries=1),))
            run = evaluate(suite, f"http://127.0.0.1:{port}/", store=":memory:")
        [trial] = run.trials
        assert (trial.state, len(trial.attempts), run.exit_code) == ("error", 2, 3)
        assert trial.reason == f"cannot connect to 127.0.0.1:{port}: connection refused; is the service running?"

    def test_a_server_that_hangs_up(self) -> None:
        async def handler(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Length": "100"})
            await response.prepare(request)
            await response.write(b"only this")
            assert request.transport is not None
            request.transport.close()
            return response

        assert ask(handler).state == "error"

    def test_slow_passes_the_time_limit(self) -> None:
        async def handler(request: web.Request) -> web.Response:
            await asyncio.sleep(600)
            return web.Response(text="4")

        trial = ask(handler, limit_s=0.3)
        assert (trial.state, trial.reason) == ("failed", "time limit: no answer within 0.3 s")

    def test_a_body_that_never_ends_passes_the_output_limit(self) -> None:
        async def handler(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            try:
                while True:
                    await response.write(b"x" * 65536)
            except ConnectionError:
                return response

        trial = ask(handler, target={"max_output_bytes": 1_000_000})
        assert trial.state == "failed"
        assert trial.reason.startswith("output limit")
        assert "1000000" in trial.reason

    def test_an_address_that_is_none(self) -> None:
        run = evaluate(
            Suite(name="s", cases=(Case(id="a", input="?", retries=0),)), "http://127.0.0.1:99999/", store=":memory:"
        )
        assert run.trials[0].state == "error"


class TestRedirects:
    @staticmethod
    def to(location: str, status: int) -> Handler:
        async def handler(request: web.Request) -> web.Response:
            if request.path == "/ask":
                return web.Response(status=status, headers={"Location": location})
            return await mirror(request)

        return handler

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_get_follows_on_the_same_host(self, status: int) -> None:
        seen: Any = ask(self.to("/moved?n=1", status), target={"method": "GET", "headers": {"X-Key": "k"}}).output
        assert (seen["path"], seen["query"], seen["headers"]["x-key"]) == ("/moved", {"n": "1"}, "k")

    @pytest.mark.parametrize("status", [307, 308])
    def test_post_is_repeated_where_the_server_says_so(self, status: int) -> None:
        seen: Any = ask(self.to("/moved", status)).output
        assert (seen["method"], seen["path"], seen["body"]) == ("POST", "/moved", {"input": "What is 2+2?"})

    def test_post_is_not_turned_into_get(self) -> None:
        trial = ask(self.to("/moved", 302))
        assert trial.state == "failed"
        assert "HTTP 302" in trial.reason and "/moved" in trial.reason

    def test_no_other_host_is_asked(self) -> None:
        visits: list[str] = []

        async def stranger(request: web.Request) -> web.Response:
            visits.append(request.path)
            return web.Response(text="4")

        async def both() -> Run:
            async with serving(stranger) as elsewhere, serving(self.to(f"{elsewhere}/take", 307)) as base:
                suite = Suite(name="s", cases=(Case(id="a", input="?"),))
                spec = {"http": {"url": f"{base}/ask", "headers": {"X-Key": "secret"}}}
                return await asyncio.to_thread(evaluate, suite, spec, store=":memory:")

        [trial] = asyncio.run(both()).trials
        assert trial.state == "failed"
        assert "another host" in trial.reason
        assert visits == []

    @pytest.mark.parametrize("location", ["https://127.0.0.1:{port}/ask", "https://127.0.0.1/ask"])
    def test_an_upgrade_does_not_lead_to_another_port(self, location: str) -> None:
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            trial = ask(self.to(location.format(port=held.getsockname()[1]), 307))
        assert trial.state == "failed"
        assert "another host or port" in trial.reason

    def test_an_upgrade_at_the_same_port_is_tried(self) -> None:
        async def handler(request: web.Request) -> web.Response:
            return web.Response(status=307, headers={"Location": f"https://{request.host}/ask"})

        assert ask(handler).state == "error", "this server has no TLS"

    @pytest.mark.parametrize("location", ["http://[::1/", "https://127.0.0.1:99999/", "https://127.0.0.1:x/"])
    def test_an_address_that_is_none_is_named(self, location: str) -> None:
        trial = ask(self.to(location, 307))
        assert trial.state == "failed"
        assert location in trial.reason

    def test_a_circle_ends(self) -> None:
        trial = ask(self.to("/ask", 307))
        assert trial.state == "failed"
        assert "redirects" in trial.reason
