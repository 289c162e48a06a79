"""Requests that the project's application has no route for: the server answers them, through its middleware."""

from __future__ import annotations

import asyncio
from typing import Any

from .calls import Served
from .peer import Peer, Streaming

Scope = dict[str, Any]


async def pass_through(scope: Scope, receive: Any, send: Any) -> None:
    """An ASGI application that asks the server, as the caller who sent the request."""
    if scope["type"] != "http":
        return
    call: Served = scope["extensions"]["treadle"]["call"]
    peer: Peer = call.peer
    stream = peer.open_stream("upstream", {**_request(scope), "for": call.number, "passThrough": True})
    body = asyncio.get_running_loop().create_task(_send_body(receive, stream))
    try:
        began = False
        async for item in stream.inbox:
            if not began:
                began = True
                headers = [
                    (str(name).encode("latin-1"), str(value).encode("latin-1")) for name, value in item.meta["headers"]
                ]
                await send({"type": "http.response.start", "status": item.meta["status"], "headers": headers})
                if not item.segments:
                    continue
            await send({"type": "http.response.body", "body": b"".join(item.segments), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        body.cancel()
        stream.close()


def _request(scope: Scope) -> dict[str, Any]:
    return {
        "httpMethod": scope["method"],
        "path": scope["path"],
        "rawPath": scope["raw_path"].decode(),
        "query": scope["query_string"].decode(),
        "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]],
        "scheme": scope["scheme"],
    }


async def _send_body(receive: Any, stream: Streaming) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        if message.get("body"):
            await stream.outbox.send({}, message["body"])
        if not message.get("more_body"):
            stream.outbox.end()
            return
