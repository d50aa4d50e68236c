"""A language model behind a server: asked until it replies, without what its server is found not to take.

How a request and a reply are written is said by those who inherit, one wire format each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from evalharness.contracts.model import Llm
from evalharness.domain.chat import ChatReply, ChatRequest
from evalharness.domain.record import Json
from evalharness.errors import ModelUnavailable
from evalharness.llms.access import Access
from evalharness.llms.concessions import left_out, refused_field

LEFT_OUT = ("temperature", "seed")
"""What a reply then does not depend on, whatever was asked for. The others are said in another way."""


class RemoteLlm(Llm):
    path: ClassVar[str]
    words_for: ClassVar[Mapping[str, str]]
    """Fields that can be left out or said otherwise → the pattern of the words by which a server names them."""

    def __init__(self, model: str, access: Access) -> None:
        self.name = access.name_of(model)
        self.revision = access.endpoint.base_url
        self.model = model
        self.access = access
        self.refused: set[str] = set()
        """Fields this server has refused before."""

    @property
    def takes_no_temperature(self) -> bool:
        return "temperature" in self.refused

    @abstractmethod
    def body(self, request: ChatRequest) -> dict[str, Json]:
        """The request, without what was refused."""

    @abstractmethod
    def read(self, sent: Mapping[str, Json], body: Json) -> ChatReply:
        """The reply to what was sent; raises ValueError for what is no reply."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        access = self.access
        while True:
            body = self.body(request)
            try:
                read = partial(self.read, body)
                return await access.posting.post(self.name, access.endpoint, self.path, body, read, lost=access.lost)
            except ModelUnavailable as error:
                refused = refused_field(error, body, self.words_for)
                if refused is None:
                    raise
            self.refused.add(refused)
            if refused in LEFT_OUT:
                access.told(left_out(self.name, refused))
