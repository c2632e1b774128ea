"""`python -m pelton` is the program `pelton`."""

from __future__ import annotations

import os
import sys

from ._binary import path
from ._errors import PeltonError


def main() -> None:
    """Replaces this process by `pelton`, with the same arguments."""
    try:
        program = path()
    except PeltonError as error:
        sys.exit(f"pelton: {error}")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
