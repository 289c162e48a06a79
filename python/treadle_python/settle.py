"""Makes a built project independent of the folder it was built in, and compiles it.

Runs by itself, with the project's Python and nothing but the standard library, as whoever builds. It reads JSON:
`root` (the source), `project` (the folder of the project file), `environment` (the virtual environment),
`paths` (folders to find modules in, from `project`) and `seen` (where a server sees `root`).
"""

from __future__ import annotations

import compileall
import json
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_path_file = "treadle_project.pth"
_not_ours = re.compile(r"[/\\](\.venv|node_modules|\.git)([/\\]|$)")
_largest = 1_000_000
_shell_start = """#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")"/python "$0" "$@"
' '''
"""


def settle(root: Path, project: Path, environment: Path, paths: list[str], seen: str) -> None:
    site = Path(sysconfig.get_paths()["purelib"])
    _write_paths(site, project, paths)
    for file in site.glob("*.pth"):
        _make_relative(file, root)
    for file in site.glob("__editable__*.py"):
        _find_from_here(file, root)
    for file in site.glob("*.dist-info/direct_url.json"):
        _replace(file, str(root), seen)
    _without_command(environment / "pyvenv.cfg", root)
    for file in _texts(environment / "bin"):
        _start_from_here(file, environment)
        _replace(file, str(root), seen)
    _compile(root, site, seen)


def _write_paths(site: Path, project: Path, paths: list[str]) -> None:
    lines = [os.path.relpath(project / path, site) for path in dict.fromkeys(paths)]
    if lines:
        (site / _path_file).write_text("".join(f"{line}\n" for line in lines))


def _make_relative(file: Path, root: Path) -> None:
    """Python reads such lines from the folder of the file."""
    lines = file.read_text().splitlines()
    made = [os.path.relpath(line, file.parent) if _is_inside(line, root) else line for line in lines]
    if made != lines:
        file.write_text("".join(f"{line}\n" for line in made))


def _find_from_here(file: Path, root: Path) -> None:
    """The finder of an editable package names its folders."""
    text = file.read_text()

    def from_here(match: re.Match[str]) -> str:
        way = os.path.relpath(match.group(2), file.parent)
        return f'__import__("os").path.abspath(__import__("os").path.join(__file__, "..", {way!r}))'

    made = re.sub(rf"(['\"])({re.escape(str(root))}[^'\"]*)\1", from_here, text)
    if made != text:
        file.write_text(made)


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    if old in text:
        file.write_text(text.replace(old, new))


def _without_command(file: Path, root: Path) -> None:
    lines = file.read_text().splitlines()
    file.write_text("".join(f"{line}\n" for line in lines if str(root) not in line))


def _start_from_here(file: Path, environment: Path) -> None:
    """A program of the environment finds the Python beside it."""
    first, _, rest = file.read_text().partition("\n")
    if first.startswith("#!") and str(environment) in first and "python" in first:
        file.write_text(_shell_start + rest)


def _texts(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.iterdir()):
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _largest:
            continue
        try:
            file.read_text()
        except UnicodeDecodeError:
            continue
        yield file


def _is_inside(line: str, root: Path) -> bool:
    return line == str(root) or line.startswith(f"{root}{os.sep}")


def _compile(root: Path, site: Path, seen: str) -> None:
    """A server cannot write where its project is: without this each start would compile everything."""
    for folder, leave in ((site, None), (root, _not_ours)):
        # Again, where an installer did: its result names the folder of the build.
        # What cannot be compiled is found by the import of it; packages bring files that nobody imports.
        compileall.compile_dir(
            folder, maxlevels=50, quiet=2, workers=0, force=True, rx=leave, stripdir=str(root), prependdir=seen
        )


def main() -> None:
    asked = json.load(sys.stdin)
    root, project, environment = (Path(asked[name]) for name in ("root", "project", "environment"))
    settle(root, project, environment, [str(path) for path in asked["paths"]], str(asked["seen"]))


if __name__ == "__main__":
    main()
