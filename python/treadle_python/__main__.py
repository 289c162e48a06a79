"""Entry of a worker: `python __main__.py` with the data socket as descriptor 3 and the control socket as 4.

Only the standard library is imported here: the project's environment has nothing of ours installed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import socket
import sys

DATA, CONTROL = 3, 4


def _become_package() -> None:
    """Makes our modules importable without putting our folders on the path that the project's imports search."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    if "treadle_python" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "treadle_python", os.path.join(here, "__init__.py"), submodule_search_locations=[here]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["treadle_python"] = package
    spec.loader.exec_module(package)


def _forget_sockets() -> None:
    """In a child that the project forks: the sockets are its parent's."""
    for descriptor in (DATA, CONTROL):
        try:
            os.close(descriptor)
        except OSError:
            pass


def main() -> None:
    _become_package()
    from treadle_python.worker import Worker

    for descriptor in (DATA, CONTROL):
        os.set_inheritable(descriptor, False)
    os.register_at_fork(after_in_child=_forget_sockets)
    data, control = socket.socket(fileno=DATA), socket.socket(fileno=CONTROL)

    async def serve() -> None:
        await Worker().serve(data, control)

    # Not `asyncio.run`: it would wait for threads of the project that never end.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(serve())
    os._exit(0)


if __name__ == "__main__":
    main()
