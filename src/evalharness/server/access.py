"""Who may ask: the token, in a header or a cookie; which names the server has; and which sites may ask from a browser.

The owner's token opens everything, a reviewer's token what is there for reviewers. One ASGI middleware around
all of it: it decides by `scope["path"]`, never by a URL that was put together from headers.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from fastapi.responses import Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evalharness.server.callers import REVIEW, REVIEWER, Invitations, is_for_reviewers
from evalharness.server.context import WILDCARDS, ServerOptions, written_host
from evalharness.server.failures import HEADERS, Refusal, answer_with, is_api, policy_for
from evalharness.server.tickets import Tickets

BEARER = "bearer "
TOKEN = "token"
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
READING = ("GET", "HEAD")
METHODS = (*READING, "POST", "PUT", "PATCH", "DELETE")
OWN_SITES = ("same-origin", "none")
_HOST = re.compile(r"[A-Za-z0-9._~-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")


def cookie_name(port: int, *, reviewer: bool = False) -> str:
    """With the port: browsers send the cookies of a host to all its ports."""
    return f"evalharness-{'review-' if reviewer else ''}{port}"


class Access:
    def __init__(
        self, app: ASGIApp, options: ServerOptions, token: str, tickets: Tickets, invitations: Invitations
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._tickets = tickets
        self._invitations = invitations
        self._root_path = options.root_path
        self._port = options.port
        self._cookie = cookie_name(options.port)
        self._review_cookie = cookie_name(options.port, reviewer=True)
        self._hosts = _hosts_of(options)
        self._is_wildcard = options.host in WILDCARDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no other connections
        self._place(scope)
        try:
            answer = await self._check(scope)
        except Refusal as refusal:
            answer = answer_with(scope, refusal)
            answer.headers["connection"] = "close"
        if answer is not None:
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, _guarded(scope, send))

    def _place(self, scope: Scope) -> None:
        """Behind a proxy that removes the prefix of the path and behind one that does not."""
        root = self._root_path
        scope["root_path"] = root
        if root and scope["path"] != root and not scope["path"].startswith(f"{root}/"):
            scope["path"] = root + scope["path"]

    async def _check(self, scope: Scope) -> Response | None:
        """The answer, if the request goes no further; raises Refusal."""
        headers = _Headers(scope)
        self._check_host(scope, headers)
        self._check_site(scope, headers)
        if scope["method"] not in METHODS:
            raise Refusal(405, f"{scope['method'][:20]} cannot be used here")
        _check_type(scope, headers)
        if not is_api(scope) and scope["method"] in READING and (entry := await self._entry(scope)):
            return entry
        if not await self._is_let_in(scope, headers):
            raise self._unknown(scope, "this server answers only requests that carry its token")
        return None

    def _check_host(self, scope: Scope, headers: _Headers) -> None:
        host = headers.one("host")
        if host and not _HOST.fullmatch(host):
            raise Refusal(400, "the Host header is not a host")
        if not self._is_ours(scope, host):
            raise Refusal(
                421,
                f"this server is not called {host[:100]!r}" if host else "the request names no host",
                hint="behind a proxy, start the server with its name as a trusted host",
            )

    def _is_ours(self, scope: Scope, host: str) -> bool:
        if host.lower() in self._hosts:
            return True
        local = scope.get("server")  # what the connection came in on: an address can be trusted, a name cannot
        return bool(self._is_wildcard and local and host == written_host(local[0], self._port))

    def _check_site(self, scope: Scope, headers: _Headers) -> None:
        origin = headers.one("origin")
        site = headers.one("sec-fetch-site").lower()
        if origin == "null" and site == "same-origin":  # a form of ours: browsers leave out where there is no referrer
            return
        if origin:
            scheme, _, host = origin.partition("://")
            if scheme not in ("http", "https") or not self._is_ours(scope, host):
                raise Refusal(403, "requests of other sites are refused")
        if site and site not in OWN_SITES and not _is_followed_link(scope, headers):
            raise Refusal(403, "requests of other sites are refused")

    async def _entry(self, scope: Scope) -> Response | None:
        """`?token=…`: the token goes into a cookie and out of the address."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == TOKEN]
        if not given:
            return None
        token, path, site = self._token.decode(), self._root_path or "/", "Strict"
        cookie = self._cookie
        if len(given) == 1 and await self._invitations.reviewer_with(given[0]) is not None:
            self._check_place(scope)
            # Links come by mail: a strict cookie would not be sent after a redirect from another site.
            token, path, site = given[0], f"{self._root_path}{REVIEW}", "Lax"
            cookie = self._review_cookie
        elif len(given) != 1 or not (self._is_token(given[0]) or self._tickets.redeem(given[0])):
            raise self._unknown(scope, "this is not the token of this server, or it was used before")
        rest = urlencode([pair for pair in query if pair[0] != TOKEN])
        place = "/" + quote(scope["path"].lstrip("/\\")) + (f"?{rest}" if rest else "")
        kept = f"{cookie}={token}; Path={path}; HttpOnly; SameSite={site}"
        headers = {**HEADERS, "content-security-policy": policy_for(scope), "location": place, "set-cookie": kept}
        return Response(status_code=303, headers=headers)

    async def _is_let_in(self, scope: Scope, headers: _Headers) -> bool:
        """A browser that has both cookies rates as the reviewer. Raises Refusal for a reviewer in the wrong place."""
        authorization = headers.one("authorization")
        if authorization:
            given = authorization[len(BEARER) :].strip() if authorization[: len(BEARER)].lower() == BEARER else ""
            return self._is_token(given) or await self._is_reviewer(scope, given)
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load("; ".join(headers.all("cookie")))
        except CookieError:
            return False
        if self._review_cookie in cookies and await self._is_reviewer(scope, cookies[self._review_cookie].value):
            return True
        return self._cookie in cookies and self._is_token(cookies[self._cookie].value)

    async def _is_reviewer(self, scope: Scope, token: str) -> bool:
        name = await self._invitations.reviewer_with(token)
        if name is None:
            return False
        scope[REVIEWER] = name
        self._check_place(scope)
        return True

    def _unknown(self, scope: Scope, error: str) -> Refusal:
        if is_api(scope):
            headers = {"www-authenticate": "Bearer"}
            return Refusal(401, error, hint="send it as `Authorization: Bearer TOKEN`", headers=headers)
        if is_for_reviewers(self._within(scope)):
            return Refusal(401, "this page needs a link that is valid", hint="ask whoever invited you for another one")
        return Refusal(401, error)

    def _within(self, scope: Scope) -> str:
        """The path without the prefix of a proxy."""
        return str(scope["path"]).removeprefix(self._root_path)

    def _check_place(self, scope: Scope) -> None:
        if not is_for_reviewers(self._within(scope)):
            raise Refusal(403, "an invitation to review opens the page /review alone", hint="open the link once more")

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token)


class _Headers:
    def __init__(self, scope: Scope) -> None:
        self._raw: list[tuple[bytes, bytes]] = scope["headers"]

    def all(self, name: str) -> Iterator[str]:
        return (value.decode("latin-1") for key, value in self._raw if key == name.encode())

    def one(self, name: str) -> str:
        """Empty if there is none. Raises Refusal for several: a proxy and this server might go by different ones."""
        found = list(self.all(name))
        if len(found) > 1:
            raise Refusal(400, f"the header {name} is there {len(found)} times")
        return found[0].strip() if found else ""


def _hosts_of(options: ServerOptions) -> frozenset[str]:
    names = {options.host, "127.0.0.1", "localhost", "::1"} - set(WILDCARDS)
    own = {written_host(name, options.port) for name in names}
    return frozenset(name.lower() for name in own.union(options.trusted_hosts))


def _check_type(scope: Scope, headers: _Headers) -> None:
    """A form that another site posts can have neither a body of JSON nor a header of its own."""
    if scope["method"] in READING:
        return
    length = headers.one("content-length")
    kind = headers.one("content-type").partition(";")[0].strip().lower()
    has_body = length not in ("", "0") or bool(headers.one("transfer-encoding"))
    wanted = JSON if is_api(scope) else FORM
    if (has_body or kind) and kind != wanted:
        raise Refusal(415, f"the body of this request must be {wanted}")


def _is_followed_link(scope: Scope, headers: _Headers) -> bool:
    """Somebody clicked on a link to a page: that changes nothing, and the other site cannot read the answer."""
    return (
        scope["method"] == "GET"
        and not is_api(scope)
        and headers.one("sec-fetch-mode") == "navigate"
        and headers.one("sec-fetch-dest") == "document"
    )


def _guarded(scope: Scope, send: Send) -> Send:
    """Every answer says what a browser may do with it."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in {**HEADERS, "content-security-policy": policy_for(scope)}.items():
                headers.setdefault(name, value)
        await send(message)

    return guarded
