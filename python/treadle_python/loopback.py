"""The server for clients that the project's code makes without an address: `get_client()`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from .calls import current_call
from .peer import Peer, Streaming

T = TypeVar("T")


def install_loopback(peer: Peer) -> None:
    """Before any code of the project is imported: clients are often made while a file is."""
    os.environ["__LANGGRAPH_DEFER_LOOPBACK_TRANSPORT"] = "true"
    try:
        import httpx
        import langgraph_sdk.client  # noqa: F401
    except ImportError:
        return
    transport = _transport_class(peer, asyncio.get_running_loop(), httpx)
    for name, module in list(sys.modules.items()):
        if name.startswith("langgraph_sdk") and hasattr(module, "get_asgi_transport"):
            vars(module)["get_asgi_transport"] = lambda: transport


def _transport_class(peer: Peer, home: asyncio.AbstractEventLoop, httpx: Any) -> type:
    class LoopbackStream(httpx.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Streaming, first: tuple[bytes, ...]) -> None:
            self._stream = stream
            self._first = first

        async def __aiter__(self) -> AsyncIterator[bytes]:
            if self._first:
                yield b"".join(self._first)
            while (item := await _at(home, self._stream.inbox.next())) is not None:
                yield b"".join(item.segments)

        async def aclose(self) -> None:
            home.call_soon_threadsafe(self._stream.close)

    class LoopbackTransport(httpx.AsyncBaseTransport):  # type: ignore[misc]
        """Made by the SDK in the place of its own; the arguments are for that one."""

        def __init__(self, *_args: Any, **_kwargs: Any) -> None:
            self.app = None

        async def handle_async_request(self, request: Any) -> Any:
            body = await request.aread()
            url = request.url
            meta = {
                "for": current_call.get(),
                "httpMethod": request.method,
                "path": url.path,
                "rawPath": url.raw_path.partition(b"?")[0].decode(),
                "query": url.query.decode(),
                "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in request.headers.raw],
                "scheme": "http",
            }
            stream, first = await _at(home, _open(peer, meta, body))
            if first is None:
                raise httpx.RemoteProtocolError("the server ended without an answer", request=request)
            headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in first.meta["headers"]]
            return httpx.Response(
                first.meta["status"], headers=headers, stream=LoopbackStream(stream, tuple(first.segments))
            )

    return LoopbackTransport


async def _open(peer: Peer, meta: dict[str, Any], body: bytes) -> Any:
    stream = peer.open_stream("upstream", meta)
    try:
        for at in range(0, len(body), 256 * 1024):
            await stream.outbox.send({}, body[at : at + 256 * 1024])
        stream.outbox.end()
        return stream, await stream.inbox.next()
    except BaseException:
        stream.close()
        raise


async def _at(home: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """On the loop that has the socket; a node may run one of its own in a thread."""
    if asyncio.get_running_loop() is home:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, home))
