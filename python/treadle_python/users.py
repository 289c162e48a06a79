"""The authenticated user, as graphs and handlers read it."""

from __future__ import annotations

from typing import Any

from .json_text import Json


class User(dict[str, Any]):
    """Read by attribute as well as by key, as projects do both."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the user has no {name!r}; it has {', '.join(self)}") from None

    @property
    def identity(self) -> str:
        return str(self["identity"])

    @property
    def display_name(self) -> str:
        return str(self.get("display_name") or self.identity)

    @property
    def is_authenticated(self) -> bool:
        return bool(self.get("is_authenticated", True))

    @property
    def permissions(self) -> list[str]:
        return list(self.get("permissions") or [])

    def dict(self) -> Json:
        """The fields alone."""
        return {**self}


def with_user(config: Json, user: Json | None = None) -> Json:
    """A copy of the config in which the caller is an object that graphs can read as they do."""
    configurable = dict(config.get("configurable") or {})
    known = user or configurable.get("langgraph_auth_user")
    if isinstance(known, dict):
        configurable["langgraph_auth_user"] = User(known)
    return {**config, "configurable": configurable}
