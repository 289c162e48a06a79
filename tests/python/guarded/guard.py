"""Everybody has a token of their own, and sees only what is theirs."""

from langgraph_sdk import Auth

auth = Auth()
tokens = {"token-ann": "ann", "token-ben": "ben"}


@auth.authenticate
async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
    user = tokens.get((authorization or "").removeprefix("Bearer "))
    if user is None:
        raise Auth.exceptions.HTTPException(status_code=401, detail="A token, please")
    return {"identity": user}


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: dict) -> dict:
    metadata = value.setdefault("metadata", {})
    metadata["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}


@auth.on.store
async def no_store(ctx: Auth.types.AuthContext, value: dict) -> bool | None:
    return None if ctx.user.identity == "ann" else False
