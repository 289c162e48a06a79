"""The project's own HTTP application, served over the data socket without any web server."""

from __future__ import annotations

import asyncio
from typing import Any

from .calls import Served
from .graph_factory import describe
from .import_faults import NotUsable
from .json_text import Json
from .pass_through import pass_through
from .users import User

Scope = dict[str, Any]

DISCONNECT_SECONDS = 2.0


class AsgiApp:
    """Any ASGI application. Of Starlette's and FastAPI's the routes are known."""

    def __init__(self, value: Any) -> None:
        if not callable(value):
            raise NotUsable(f"http.app names {describe(value)}. Export an ASGI application, such as a FastAPI one.")
        self._app = value
        self._state: dict[str, Any] = {}
        self._lifespan: _Lifespan | None = None
        router = getattr(value, "router", None)
        self._is_starlette = hasattr(router, "default") and hasattr(value, "user_middleware")
        if self._is_starlette:
            # What it has no route for is the server's, and its middleware sees that too.
            value.router.default = pass_through

    def describe(self) -> Json:
        """An application that does not tell its routes gets every request."""
        routes = getattr(self._app, "routes", None)
        if not self._is_starlette or routes is None:
            return {"routes": [{"path": "/", "methods": None, "kind": "mount"}], "hasMiddleware": True}
        told = [_route(route) for route in routes]
        return {
            "routes": [route for route in told if route is not None],
            "hasMiddleware": bool(self._app.user_middleware),
        }

    async def start(self) -> None:
        """Runs the application's startup; fails as that fails."""
        self._lifespan = _Lifespan(self._app, self._state)
        await self._lifespan.start()

    async def stop(self) -> None:
        if self._lifespan is not None:
            await self._lifespan.stop()

    async def serve(self, call: Served) -> None:
        meta = call.meta
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": meta.get("httpMethod", "GET"),
            "path": meta["path"],
            "raw_path": str(meta.get("rawPath", meta["path"])).encode(),
            "query_string": str(meta.get("query") or "").removeprefix("?").encode(),
            "root_path": "",
            "scheme": meta.get("scheme", "http"),
            "headers": [
                (str(name).lower().encode("latin-1"), str(value).encode("latin-1", "replace"))
                for name, value in meta.get("headers", ())
            ],
            "client": _client(meta.get("client")),
            "server": None,
            "state": dict(self._state),
            "extensions": {"treadle": {"call": call}},
        }
        if meta.get("authUser"):
            scope["user"] = User(meta["authUser"])
            scope["auth"] = _credentials(scope["user"])
        exchange = _Exchange(call)
        call.on_cancel = exchange.disconnect
        await self._app(scope, exchange.receive, exchange.send)
        if not exchange.has_begun:
            raise RuntimeError("the project's HTTP application ended without an answer")


class _Exchange:
    """One request: its body as it comes, its answer as it is made."""

    def __init__(self, call: Served) -> None:
        self._call = call
        self._is_read = False
        self._gone = asyncio.Event()
        self.has_begun = False

    def disconnect(self) -> None:
        """The client went away: the application is told, and ended if it does not mind."""
        self._gone.set()
        asyncio.get_running_loop().call_later(DISCONNECT_SECONDS, self._call.cancel)

    async def receive(self) -> Scope:
        if self._is_read:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        item = await self._call.inbox.next()
        if item is None:
            self._is_read = True
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.request", "body": b"".join(item.segments), "more_body": True}

    async def send(self, message: Scope) -> None:
        if self._gone.is_set():
            raise OSError("the client went away")
        if message["type"] == "http.response.start":
            self.has_begun = True
            headers = [
                [bytes(name).decode("latin-1"), bytes(value).decode("latin-1")]
                for name, value in message.get("headers", ())
            ]
            await self._call.send({"status": int(message["status"]), "headers": headers})
        elif message["type"] == "http.response.body" and message.get("body"):
            await self._call.send({}, bytes(message["body"]))


class _Lifespan:
    """One task from startup to shutdown: what it opens is closed by the same task."""

    def __init__(self, app: Any, state: dict[str, Any]) -> None:
        self._app = app
        self._state = state
        self._messages: asyncio.Queue[Scope] = asyncio.Queue()
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._messages.put_nowait({"type": "lifespan.startup"})
        await self._started

    async def stop(self) -> None:
        if self._task is None or self._task.done():
            return
        self._messages.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait([self._stopped, self._task], timeout=10, return_when=asyncio.FIRST_COMPLETED)

    async def _run(self) -> None:
        scope: Scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": self._state}
        try:
            await self._app(scope, self._messages.get, self._send)
        except Exception:
            # Applications without a lifespan may raise; that is no failure of theirs.
            pass
        finally:
            for future in (self._started, self._stopped):
                if not future.done():
                    future.set_result(None)

    async def _send(self, message: Scope) -> None:
        kind, future = message["type"], self._started
        if kind.startswith("lifespan.shutdown"):
            future = self._stopped
        if future.done():
            return
        if kind.endswith(".failed"):
            future.set_exception(RuntimeError(f"the application's lifespan failed: {message.get('message', '')}"))
            future.exception()
        elif kind.endswith(".complete"):
            future.set_result(None)


def _route(route: Any) -> Json | None:
    path = getattr(route, "path", None)
    if path is None:
        return None
    if hasattr(route, "routes") or type(route).__name__ in ("Mount", "Host"):
        return {"path": path, "methods": None, "kind": "mount"}
    methods = getattr(route, "methods", None)
    if "WebSocket" in type(route).__name__:
        return {"path": path, "methods": None, "kind": "websocket"}
    return {"path": path, "methods": sorted(methods) if methods else None, "kind": "http"}


def _client(given: Any) -> tuple[str, int] | None:
    if isinstance(given, str):
        return (given, 0)
    return (str(given[0]), int(given[1])) if isinstance(given, list) and len(given) == 2 else None


def _credentials(user: User) -> Any:
    try:
        from starlette.authentication import AuthCredentials
    except ImportError:
        return None
    return AuthCredentials(user.permissions)
