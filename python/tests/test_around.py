"""What surrounds the graphs: authentication, the web application, the loopback, embeddings, drawings."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from peer_server import CallFailed, Server

from treadle_python.frames import Kind, Message


async def test_load_tells_what_there_is(shared: Server) -> None:
    report = shared.report
    assert {one["graphId"] for one in report["graphs"] if one["isFactory"]} == {"made"}
    assert sorted(report["auth"]["handlers"]) == ["*.*", "store.*", "threads.create"]
    assert report["auth"]["authenticates"] is True
    assert {"path": "/things/{name}", "methods": ["POST"], "kind": "http"} in report["app"]["routes"]
    assert report["app"]["hasMiddleware"] is True
    assert report["embed"] == {}
    assert report["versions"]["langgraph"]


async def test_schemas_and_drawings(shared: Server) -> None:
    schemas = json.loads((await shared.request("graph.schemas", {"graphId": "typed"})).segments[0])
    assert set(schemas["input_schema"]["properties"]) == {"messages", "count", "seen"}
    assert schemas["state_schema"]["properties"]["seen"]["type"] == "array"
    assert schemas["context_schema"]["properties"]["model"]["default"] == "small"
    assert schemas["config_schema"] == schemas["context_schema"]
    drawn = json.loads((await shared.request("graph.draw", {"graphId": "nested", "xray": False})).segments[0])
    assert [node["id"] for node in drawn["nodes"]] == ["__start__", "inner", "__end__"]
    deep = json.loads((await shared.request("graph.draw", {"graphId": "nested", "xray": True})).segments[0])
    assert any("ask" in node["id"] for node in deep["nodes"])
    meta = {"graphId": "nested", "recurse": True}
    assert list(json.loads((await shared.request("graph.subgraphs", meta)).segments[0])) == ["inner"]
    unknown = await shared.request("graph.schemas", {"graphId": "unstorable"})
    assert json.loads(unknown.segments[0])["state_schema"]["properties"] == {"connection": {"title": "Connection"}}


async def test_a_factory_is_told_why(shared: Server) -> None:
    await shared.request("graph.schemas", {"graphId": "made", "config": {"configurable": {"name": "reader"}}})
    while not any(line["message"] == "open reader for assistants.read" for line in shared.logs):
        await asyncio.sleep(0.01)


async def test_authenticate_gets_its_parameters_by_name(shared: Server) -> None:
    meta = {
        "httpMethod": "GET",
        "path": "/threads",
        "query": "",
        "headers": [["Authorization", "Bearer good"], ["user-agent", "me"]],
    }
    user = json.loads((await shared.request("auth.authenticate", meta)).segments[0])
    assert user == {"identity": "ann", "permissions": ["read"], "path": "/threads", "agent": "me"}


async def test_a_refusal_has_its_status(shared: Server) -> None:
    with pytest.raises(CallFailed) as failed:
        await shared.request("auth.authenticate", {"httpMethod": "GET", "path": "/", "headers": []})
    meta = failed.value.meta
    assert (meta["status"], meta["message"], meta["headers"]) == (401, "bad token", {"WWW-Authenticate": "Bearer"})


async def test_handlers_answer_and_change_the_value(shared: Server) -> None:
    asked = {"user": {"identity": "ann"}, "permissions": []}
    answer = await shared.request("auth.on", {**asked, "resource": "threads", "action": "create", "value": {}})
    assert answer.meta == {"result": {"owner": "ann"}, "value": {"metadata": {"owner": "ann"}}}
    put = {"resource": "store", "action": "put", "value": {"namespace": ["a"], "key": "k"}}
    assert (await shared.request("auth.on", {**asked, **put})).meta["value"]["namespace"] == ["ann", "a"]
    read = {"resource": "threads", "action": "read", "value": {}}
    assert (await shared.request("auth.on", {**asked, **read})).meta["result"] is True
    other = {"resource": "crons", "action": "create", "value": {}}
    assert (await shared.request("auth.on", {**asked, **other})).meta["result"] is False


def http(server: Server, method: str, path: str, query: str = "") -> int:
    return server.open(
        "http", {"httpMethod": method, "path": path, "rawPath": path, "query": query, "headers": [], "scheme": "http"}
    )


async def body_of(server: Server, call: int) -> tuple[dict[str, Any], bytes]:
    items = [item async for item in server.items_of(call)]
    return items[0].meta, b"".join(b"".join(item.segments) for item in items)


async def test_the_web_application_answers(shared: Server) -> None:
    call = http(shared, "POST", "/things/a", "q=1")
    shared.send(Kind.ITEM, call, {}, b'{"x"')
    shared.send(Kind.ITEM, call, {}, b":1}")
    shared.send(Kind.END, call)
    meta, body = await body_of(shared, call)
    assert meta["status"] == 200 and ["x-stamp", "seen"] in meta["headers"]
    assert json.loads(body) == {"name": "a", "body": {"x": 1}, "q": "1", "pool": "a pool"}


async def test_a_client_that_goes_away_stops_the_answer(shared: Server) -> None:
    call = http(shared, "GET", "/ticks")
    shared.send(Kind.END, call)
    items = shared.items_of(call)
    await anext(items)
    assert (await anext(items)).segments == [b"0\n"]
    shared.send(Kind.CANCEL, call)
    try:
        [item async for item in items]
    except CallFailed:
        pass
    while not any(line["message"] == "ticks stopped" for line in shared.logs):
        await asyncio.sleep(0.01)


async def test_what_the_application_has_no_route_for_is_the_servers(shared: Server) -> None:
    async def upstream(server: Server, call: int, meta: dict[str, Any], queue: asyncio.Queue[Message]) -> None:
        assert meta["passThrough"] is True and meta["path"] == "/threads"
        body = b""
        while (message := await queue.get()).kind is not Kind.END:
            body += b"".join(message.segments[1:])
        server.send(Kind.ITEM, call, {"status": 201, "headers": [["x-own", "1"]]})
        server.send(Kind.ITEM, call, {}, b"own:" + body)
        server.send(Kind.END, call)

    shared.upstream = upstream
    call = http(shared, "POST", "/threads")
    shared.send(Kind.ITEM, call, {}, b"hello")
    shared.send(Kind.END, call)
    meta, body = await body_of(shared, call)
    assert (meta["status"], body) == (201, b"own:hello")
    assert ["x-own", "1"] in meta["headers"] and ["x-stamp", "seen"] in meta["headers"]


async def test_a_client_without_an_address_reaches_the_server(shared: Server) -> None:
    seen: list[int] = []

    async def upstream(server: Server, call: int, meta: dict[str, Any], queue: asyncio.Queue[Message]) -> None:
        assert "passThrough" not in meta and meta["path"] == "/runs/stream"
        server.send(Kind.ITEM, call, {"status": 200, "headers": [["content-type", "text/event-stream"]]})
        for number in range(3):
            server.send(Kind.ITEM, call, {}, f'event: values\ndata: {{"n":{number}}}\n\n'.encode())
            seen.append(meta["for"])
            await asyncio.sleep(0.02)
        server.send(Kind.END, call)

    shared.upstream = upstream
    call = shared.start_run("calling", "calling-thread", input={"seen": []})
    items = [item async for item in shared.items_of(call)]
    values = json.loads(items[-1].segments[items[-1].meta["chunk"] - 1])
    assert values["seen"] == ["[0, 1, 2]"]
    assert seen == [call] * 3


async def test_embeddings(shared: Server) -> None:
    answer = await shared.request("embed", {}, b'["a", "abc"]')
    assert json.loads(answer.segments[0]) == [[1.0, 1.0], [3.0, 1.0]]


async def test_a_method_that_is_not_there(shared: Server) -> None:
    with pytest.raises(CallFailed, match="there is no method 'dance'"):
        await shared.request("dance", {})
