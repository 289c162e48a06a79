import os

import httpx
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph

from account_agent.accounts import access_token

PROVIDER = os.environ.get("PROVIDER", "github")
SCOPES = os.environ.get("SCOPES", "read:user").split(" ")
PROFILE_URL = os.environ.get("PROFILE_URL", "https://api.github.com/user")


async def answer(state: MessagesState, config: RunnableConfig) -> dict:
    given = config["configurable"]
    # Who a project's own authentication recognised, else whom the caller names.
    user_id = given.get("langgraph_auth_user_id") or given.get("user_id")
    token = await access_token(PROVIDER, SCOPES, user_id, given.get("assistant_id"))
    headers = {"authorization": f"Bearer {token}", "user-agent": "account-agent"}
    async with httpx.AsyncClient() as client:
        response = await client.get(PROFILE_URL, headers=headers)
    if response.is_error:
        raise RuntimeError(f"{PROVIDER} answered {response.status_code}.")
    profile = response.json()
    name = profile.get("name") or profile.get("login") or profile.get("sub")
    return {"messages": [AIMessage(f"You are {name}.")]}


graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END).compile()
