"""Who may do what, for the tests."""

from typing import Any

from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None, headers: dict[bytes, bytes], path: str) -> dict[str, Any]:
    if authorization != "Bearer good":
        raise Auth.exceptions.HTTPException(401, "bad token", headers={"WWW-Authenticate": "Bearer"})
    return {"identity": "ann", "permissions": ["read"], "path": path, "agent": headers[b"user-agent"].decode()}


@auth.on.threads.create
async def create(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, Any]:
    value.setdefault("metadata", {})["owner"] = ctx.user.identity
    return {"owner": ctx.user["identity"]}


@auth.on.store
async def scope(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
    value["namespace"] = (ctx.user.identity, *value["namespace"])


@auth.on
async def otherwise(ctx: Auth.types.AuthContext, value: Any) -> bool:
    return ctx.action == "read"
