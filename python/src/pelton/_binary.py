"""Finds the `pelton` program that the wheel installs."""

from __future__ import annotations

import os
import sys

__all__ = ["path"]

_NAME = "pelton"
_found: "str | None" = None


def path() -> str:
    """Returns the absolute path of the `pelton` program.

    Looks at the environment variable `PELTON_BINARY`, then for the script that the wheel installed
    (beside the interpreter, in the script directories of this installation and of the user), then
    in `PATH`. The answer is kept, except that of `PELTON_BINARY`.

    Raises:
        PeltonNotFound: If there is no such program.
        UnsupportedPlatform: If this system is not Linux.

    >>> import os, pelton
    >>> os.access(pelton.binary_path(), os.X_OK)
    True
    """
    global _found
    named = os.environ.get("PELTON_BINARY")
    if named:
        if not _is_program(named):
            from ._errors import PeltonNotFound

            raise PeltonNotFound(
                f"cannot run pelton: PELTON_BINARY is {named!r}, which is not an executable file; "
                "unset it, or set it to the path of the program"
            )
        return os.path.abspath(named)
    if _found is None:
        _found = _search()
    return _found


def _search() -> str:
    if not sys.platform.startswith("linux"):
        from ._errors import UnsupportedPlatform

        raise UnsupportedPlatform(
            f"cannot run pelton: it is for Linux, and this system is {sys.platform}; "
            "run Python in WSL on Windows, or in a Linux container on macOS"
        )
    looked: list[str] = []
    for directory in _directories():
        candidate = os.path.join(directory, _NAME)
        if _is_program(candidate):
            return os.path.abspath(candidate)
        if candidate not in looked:
            looked.append(candidate)
    from ._errors import PeltonNotFound

    raise PeltonNotFound(
        f"cannot run pelton: there is no such program; looked at {', '.join(looked)}; "
        "try `pip install --force-reinstall pelton`, or set PELTON_BINARY to its path"
    )


def _directories() -> list[str]:
    """Returns where the program may be, the likeliest first."""
    package = os.path.dirname(os.path.abspath(__file__))
    directories = [os.path.join(sys.prefix, "bin")]
    if sys.executable:
        directories.append(os.path.dirname(sys.executable))
    # `pip install --target DIR` puts scripts into DIR/bin, and `--prefix` beside lib.
    directories.append(os.path.join(os.path.dirname(package), "bin"))
    directories.append(os.path.normpath(os.path.join(package, *[os.pardir] * 4, "bin")))
    if not any(_is_program(os.path.join(directory, _NAME)) for directory in directories):
        # Slow to import, and seldom needed.
        import sysconfig

        for scheme in (None, "posix_user", "posix_prefix"):
            try:
                found = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
            except KeyError:
                continue
            if found:
                directories.append(found)
    return directories + [directory for directory in os.get_exec_path() if directory]


def _is_program(candidate: str) -> bool:
    return os.path.isfile(candidate) and os.access(candidate, os.X_OK)
