"""The project's own authentication and authorization: an `Auth` object of the SDK."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from .calls import Answer, Served
from .faults import CallError
from .graph_factory import describe
from .import_faults import NotUsable
from .json_text import Json, dumps, loads
from .users import User


class ProjectAuth:
    """Asks the project's handlers. Which one is asked, the server decides by the names in `describe`."""

    def __init__(self, value: Any) -> None:
        if not hasattr(value, "_handlers") or not hasattr(value, "_authenticate_handler"):
            raise NotUsable(f"auth.path names {describe(value)}. Export an object of langgraph_sdk.Auth.")
        self._authenticate: Callable[..., Any] | None = value._authenticate_handler
        self._handlers: dict[tuple[str, str], Callable[..., Any]] = {
            place: handlers[-1] for place, handlers in value._handlers.items()
        }
        if value._global_handlers:
            self._handlers["*", "*"] = value._global_handlers[-1]

    def describe(self) -> Json:
        names = [f"{resource}.{action}" for resource, action in self._handlers]
        return {"handlers": names, "authenticates": self._authenticate is not None}

    async def authenticate(self, call: Served) -> Answer:
        """Answers the user's fields, or the refusal."""
        if self._authenticate is None:
            raise CallError("the project's Auth object has no authenticate handler", kind="LookupError")
        wanted = inspect.signature(self._authenticate).parameters
        values = _request_values(call, set(wanted))
        try:
            returned = self._authenticate(**{name: values[name] for name in wanted if name in values})
            if inspect.isawaitable(returned):
                returned = await returned
        except Exception as error:
            raise refusal(error) from error
        return Answer({}, [dumps(user_fields(returned))])

    async def on(self, call: Served) -> Answer:
        """Answers what the handler returned and the value as it left it."""
        meta = call.meta
        resource, action = str(meta["resource"]), str(meta["action"])
        handler = self._find(resource, action)
        value: Json = meta.get("value") or {}
        if handler is None:
            return Answer({"result": None, "value": value})
        if isinstance(value.get("namespace"), list):
            value["namespace"] = tuple(value["namespace"])
        context = _context(meta.get("permissions") or [], meta.get("user") or {}, resource, action)
        try:
            result = handler(ctx=context, value=value)
            if inspect.isawaitable(result):
                result = await result
        except AssertionError as error:
            raise CallError(str(error) or "Forbidden", kind="HTTPException", status=403) from error
        except Exception as error:
            raise refusal(error) from error
        if not (result is None or isinstance(result, (bool, Mapping))):
            raise CallError(
                f"The handler of {resource}.{action} returned {describe(result)}; it must be a filter, True, "
                "False or None.",
                kind="TypeError",
            )
        answer = dict(result) if isinstance(result, Mapping) else result
        return Answer(loads(dumps({"result": answer, "value": value})))

    def _find(self, resource: str, action: str) -> Callable[..., Any] | None:
        for place in ((resource, action), (resource, "*"), ("*", action), ("*", "*")):
            if place in self._handlers:
                return self._handlers[place]
        return None


def refusal(error: Exception) -> Exception:
    """What the project raised on purpose, with its status; anything else as it is."""
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        return error
    detail = getattr(error, "detail", None)
    headers = getattr(error, "headers", None) or {}
    return CallError(
        detail if isinstance(detail, str) else dumps(detail).decode(),
        kind=type(error).__name__,
        status=status,
        detail=detail,
        headers=dict(headers),
    )


def user_fields(returned: Any) -> Any:
    """A name or the fields of the user, in whatever form the project returned them."""
    if isinstance(returned, str) or returned is None:
        return returned
    if isinstance(returned, Mapping):
        return dict(returned)
    if hasattr(returned, "model_dump"):
        return returned.model_dump(mode="json")
    fields = dict(vars(returned)) if hasattr(returned, "__dict__") else {}
    fields = {name: value for name, value in fields.items() if not name.startswith("_")}
    for name in ("identity", "display_name", "is_authenticated", "permissions"):
        if hasattr(returned, name):
            fields[name] = getattr(returned, name)
    if isinstance(fields.get("permissions"), (tuple, set, frozenset)):
        fields["permissions"] = list(fields["permissions"])
    return fields


def _request_values(call: Served, wanted: set[str]) -> dict[str, Any]:
    """The parameters of `authenticate` by name, as the SDK documents them."""
    meta = call.meta
    pairs = [(str(name).lower().encode(), str(value).encode()) for name, value in meta.get("headers", ())]
    headers = dict(pairs)
    query = str(meta.get("query") or "").removeprefix("?")
    authorization = headers.get(b"authorization")
    values: dict[str, Any] = {
        "method": meta.get("httpMethod", "GET"),
        "path": meta.get("path", "/"),
        "headers": headers,
        "query_params": dict(parse_qsl(query, keep_blank_values=True)),
        "path_params": meta.get("pathParams") or {},
        "authorization": None if authorization is None else authorization.decode(),
    }
    if "body" in wanted:
        values["body"] = loads(call.segments[0]) if call.segments and call.segments[0] else None
    if "request" in wanted:
        values["request"] = _starlette_request(values, pairs, query)
    return values


def _starlette_request(values: dict[str, Any], pairs: list[tuple[bytes, bytes]], query: str) -> Any:
    try:
        from starlette.requests import Request
    except ImportError as error:
        raise CallError(
            "authenticate asks for `request`, which needs the package starlette. Add it to the project's "
            "dependencies, or ask for `headers`, `path` and `method` instead.",
            kind="ImportError",
        ) from error
    return Request(
        {
            "type": "http",
            "method": values["method"],
            "path": values["path"],
            "raw_path": values["path"].encode(),
            "query_string": query.encode(),
            "headers": pairs,
            "path_params": values["path_params"],
        }
    )


def _context(permissions: list[str], fields: Json, resource: str, action: str) -> Any:
    from langgraph_sdk.auth import types

    user: Any = User(fields)
    if fields.get("kind") == "StudioUser":
        user = types.StudioUser(str(fields.get("identity")), is_authenticated=True)
    return types.AuthContext(permissions=permissions, user=user, resource=resource, action=action)  # type: ignore[arg-type]
