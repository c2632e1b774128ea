"""Runs a function over a stream of items in processes: `pmap`, `pfilter` and `pfold`."""

from __future__ import annotations

import itertools
import os
import pickle
import sys
from collections.abc import Iterator

from ._pmap_code import dump
from ._pmap_engine import Engine, Jobs
from ._pmap_progress import Progress
from ._pmap_source import Items, open_source
from ._pmap_start import Forker, Server, Starter

__all__ = ["Map", "pfilter", "pfold", "pmap"]

# `typing` would take a good part of the time to import this. Annotations are text that only type checkers read.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Callable, Iterable, Literal, Optional, Sequence, TypeVar, Union, overload

    from ._pmap_stats import PmapStats

    Item = TypeVar("Item")
    Result = TypeVar("Result")
    Value = TypeVar("Value")
    # A file is read by lines, each with its newline, as bytes.
    LineFile = Union["os.PathLike[str]", "os.PathLike[bytes]", IO[bytes]]
    Start = Literal["forkserver", "fork"]
    Auto = Union[int, Literal["auto"]]
else:
    Result = object

    def overload(declaration):
        """Leaves the name to the last definition, as `typing.overload` does."""
        return declaration


class Map(Iterator[Result]):
    """Iterates over the results of `pmap` or `pfilter`. May be used in a `with` statement.

    Nothing is started before the first result is asked for. Workers end with the last result, with
    `close()`, at the end of a `with` block, or when the last reference to the iterator is gone.
    """

    def __init__(self, engine: Engine, progress: Progress) -> None:
        self._engine = engine
        # The loop over single results runs in C.
        self._results: Iterator[Result] = itertools.chain.from_iterable(_watched(engine, progress))

    def __iter__(self) -> Iterator[Result]:
        return self._results

    def __next__(self) -> Result:
        return next(self._results)

    @property
    def stats(self) -> PmapStats:
        """Returns the figures so far: where the time went, and a verdict."""
        return self._engine.stats

    def close(self) -> None:
        """Ends the workers, at once, and forgets results that were not asked for."""
        self._engine.close()
        self._results = iter(())

    def __enter__(self) -> "Map[Result]":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _watched(engine: Engine, progress: Progress) -> Iterator[Sequence[Any]]:
    try:
        for batch in engine.batches():
            progress.update(engine.progress, engine.figures.jobs)
            yield batch
    finally:
        engine.close()
        progress.close()


@overload
def pmap(
    fn: Callable[[bytes], Result],
    items: "LineFile",
    jobs: Auto = "auto",
    ordered: bool = True,
    chunk: Auto = "auto",
    *,
    start: Start = "forkserver",
    progress: Optional[bool] = None,
) -> Map[Result]: ...
@overload
def pmap(
    fn: Callable[[Item], Result],
    items: Iterable[Item],
    jobs: Auto = "auto",
    ordered: bool = True,
    chunk: Auto = "auto",
    *,
    start: Start = "forkserver",
    progress: Optional[bool] = None,
) -> Map[Result]: ...
def pmap(
    fn: Callable[[Any], Result],
    items: Any,
    jobs: Auto = "auto",
    ordered: bool = True,
    chunk: Auto = "auto",
    *,
    start: Start = "forkserver",
    progress: Optional[bool] = None,
) -> Map[Result]:
    """Yields `fn(item)` for each item, computed in processes.

    Args:
        fn: A function. It is sent to the workers by name if it is in a module, else by value (see
            below).
        items: An iterable, which may be endless: it is read no further than results are asked for.
            Or a path (`pathlib.Path`) or a file opened with "rb": its lines as bytes, each with its
            newline. The workers read a regular file themselves.
        jobs: How many workers, at most. "auto": as many as there are CPUs, fewer while that is
            enough, up to four times more if fn waits for something else than a CPU.
        ordered: Whether results come in the order of the items; else as they are ready.
        chunk: How many items (in a file: bytes) a worker gets at once. "auto": as many as take
            50 ms by the measured cost.
        start: "forkserver": workers are forked from a fresh interpreter. It never imports
            `__main__`, so a script needs no `if __name__ == "__main__"`; functions of `__main__`,
            lambdas and closures are sent by value, by `cloudpickle` if it is installed, and then
            each worker has its own copy of their globals. "fork": workers are copies of the caller,
            and nothing is sent; not safe if it has threads.
        progress: Whether to show progress on standard error after a second. None: if that is a
            terminal, or in a notebook.

    Returns:
        A `Map`: an iterator with `stats` and `close()`.

    Raises:
        Exception: What fn raised, after the results of all items before; `__cause__` is an
            `ItemError` with the item and the worker's traceback.
        WorkerDied: If a process dies twice over the same chunk (out of memory, a crash in C).
        TypeError: If fn, an item or a result cannot be sent.

    >>> list(pmap(abs, range(-3, 3)))
    [3, 2, 1, 0, 1, 2]
    """
    return _map("map", fn, items, jobs, ordered, chunk, start, progress)


@overload
def pfilter(
    fn: Callable[[bytes], Any],
    items: "LineFile",
    jobs: Auto = "auto",
    ordered: bool = True,
    chunk: Auto = "auto",
    *,
    start: Start = "forkserver",
    progress: Optional[bool] = None,
) -> Map[bytes]: ...
@overload
def pfilter(
    fn: Callable[[Item], Any],
    items: Iterable[Item],
    jobs: Auto = "auto",
    ordered: bool = True,
    chunk: Auto = "auto",
    *,
    start: Start = "forkserver",
    progress: Optional[bool] = None,
) -> Map[Item]: ...
def pfilter(
    fn: Callable[[Any], Any],
    items: Any,
    jobs: Auto = "auto",
    ordered: bool = True,
    chunk: Auto = "auto",
    *,
    start: Start = "forkserver",
    progress: Optional[bool] = None,
) -> Map[Any]:
    """Yields the items for which `fn(item)` is true, tested in processes.

    Takes and raises what `pmap` does.

    >>> list(pfilter(str.isdigit, ["a", "1", "b", "22"]))
    ['1', '22']
    """
    return _map("filter", fn, items, jobs, ordered, chunk, start, progress)


def pfold(
    fn: Callable[[Value, Any], Value],
    items: Any,
    initial: Value,
    combine: Optional[Callable[[Value, Value], Value]] = None,
    jobs: Auto = "auto",
    chunk: Auto = "auto",
    *,
    start: Start = "forkserver",
    progress: Optional[bool] = None,
    on_stats: Optional[Callable[[PmapStats], None]] = None,
) -> Value:
    """Returns `fn(... fn(fn(initial, item0), item1) ..., itemN)`, computed in processes.

    Each worker folds a chunk, starting with a copy of `initial`; the results of the chunks are
    combined here, in order.

    Args:
        fn: Takes the value so far and an item, and returns the new value. It may change the value.
        items: As for `pmap`.
        initial: What to start with. It must be neutral: combining it with a value gives that value.
        combine: Joins the values of two neighbouring chunks; it must be associative. None: `fn`,
            for sums and the like, where items and values are of one kind.
        on_stats: Is called with the figures at the end.

    Raises what `pmap` raises. The item of an error is known only up to its chunk.

    >>> import operator
    >>> pfold(operator.add, range(1000), 0)
    499500
    """
    join: Callable[[Any, Any], Any] = combine or fn
    value: Value = pickle.loads(pickle.dumps(initial, 5))
    parts: Map[Value] = _map("fold", fn, items, jobs, True, chunk, start, progress, initial)
    with parts:
        for part in parts:
            value = join(value, part)
    if on_stats is not None:
        on_stats(parts.stats)
    return value


def _map(
    mode: str,
    fn: Callable[..., Any],
    items: Any,
    jobs: Auto,
    ordered: bool,
    chunk: Auto,
    start: Start,
    progress: Optional[bool],
    initial: Any = None,
) -> Map[Any]:
    if not callable(fn):
        raise TypeError(f"pelton: pmap: fn must be callable, not {fn!r}")
    if start not in ("forkserver", "fork"):
        raise ValueError(f"pelton: pmap: start must be 'forkserver' or 'fork', not {start!r}")
    how_many = Jobs(jobs)
    code = dump(fn) if start == "forkserver" else b""
    setup = pickle.dumps((sys.path, mode, code, pickle.dumps(initial, 5)))
    source = open_source(items, chunk)
    starter: Starter = _Lazy(fn, start)
    engine = Engine(starter, source, setup, how_many, ordered)
    unit = "items" if isinstance(source, Items) else "B"
    return Map(engine, Progress(progress, source.total, unit))


class _Lazy(Starter):
    """Starts nothing before the first worker is needed."""

    def __init__(self, fn: Callable[..., Any], start: Start) -> None:
        self._fn = fn
        self.name = start
        self._starter: Optional[Starter] = None

    @property
    def fd(self) -> int:  # type: ignore[override]
        return self._starter.fd if self._starter is not None else -1

    def start(self) -> Any:
        if self._starter is None:
            self._starter = Server() if self.name == "forkserver" else Forker(self._fn)
        return self._starter.start()

    def look(self) -> None:
        assert self._starter is not None
        self._starter.look()

    def death(self, link: Any) -> Any:
        assert self._starter is not None
        return self._starter.death(link)

    def close(self, at_once: bool) -> None:
        if self._starter is not None:
            self._starter.close(at_once)
