"""The OpenAPI document: what FastAPI knows of the routes, with the token that all of them need.

A request that is not valid is answered with 400 here, so FastAPI's own answer to it, 422, is left out.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

SCHEME = "token"
_FASTAPIS_OWN = ("HTTPValidationError", "ValidationError")


class DocumentedApp(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = _corrected(super().openapi())
        return self.openapi_schema


def _corrected(document: dict[str, Any]) -> dict[str, Any]:
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    components = document["components"]
    for name in _FASTAPIS_OWN:
        components["schemas"].pop(name, None)
    components["securitySchemes"] = {SCHEME: {"type": "http", "scheme": "bearer"}}
    return {**document, "security": [{SCHEME: []}]}
