"""What the application opens when it begins, and nodes use."""

_state = {"open": False}


def set_open(value: bool) -> None:
    _state["open"] = value


def is_open() -> bool:
    return _state["open"]
