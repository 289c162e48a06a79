"""Access tokens of accounts that people connected to the platform."""

import os
from typing import Any

import httpx
from langgraph.types import interrupt


async def access_token(provider: str, scopes: list[str], user_id: str | None, agent_id: str | None) -> str:
    """A token that is valid for at least another minute.

    Without one the run stops here until it is resumed, and looks again: a node is run from its start, so call this before
    anything that must not happen twice.
    """
    while True:
        outcome = await authenticate(provider, scopes, user_id, agent_id)
        if outcome["status"] == "completed":
            return outcome["token"]
        if "url" not in outcome:
            raise RuntimeError(f"No account at {provider} can be connected here.")
        answer = interrupt(
            {
                "message": f"Connect your {provider} account to go on.",
                "auth_url": outcome["url"],
                "auth_id": outcome["auth_id"],
                "provider": provider,
                "scopes": scopes,
            }
        )
        if is_no(answer):
            raise RuntimeError(f"You did not connect your {provider} account.")


async def authenticate(provider: str, scopes: list[str], user_id: str | None, agent_id: str | None) -> dict[str, Any]:
    # Tokens are kept per person and per agent.
    body = {"provider": provider, "scopes": scopes, "user_id": user_id, "agent_id": agent_id}
    known = {name: value for name, value in body.items() if value is not None}
    headers = {"x-api-key": os.environ.get("ACCOUNTS_KEY", "")}
    async with httpx.AsyncClient() as client:
        response = await client.post(f"{os.environ['ACCOUNTS_URL']}/v2/auth/authenticate", json=known, headers=headers)
    if response.is_error:
        raise RuntimeError(f"The platform answered {response.status_code} when asked for an account.")
    return response.json()


def is_no(answer: Any) -> bool:
    """The chat page answers so when the person says "Not now"."""
    return answer is False or (isinstance(answer, dict) and answer.get("type") == "declined")
