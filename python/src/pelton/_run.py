"""Runs, times, explains and compares pipelines, and looks at processes."""

from __future__ import annotations

import json as _json
import os
import subprocess
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, AnyStr, Callable, Generic, Literal, TypeVar, Union, overload

from . import _process
from ._binary import path as _pelton
from ._errors import PeltonRefused, PipelineFailed, PipelineTimeout
from ._pipe import Pipe, Pipeline

if TYPE_CHECKING:
    from ._record import Record
    from .records import ComparisonRecord, DiagnosisRecord, ExplainRecord, TimeRecord

    _R = TypeVar("_R", bound=Record)

__all__ = [
    "DEVNULL",
    "PIPE",
    "STDOUT",
    "CompletedPipeline",
    "Lines",
    "compare",
    "doctor",
    "explain",
    "lines",
    "run",
    "time",
]

PIPE = subprocess.PIPE
DEVNULL = subprocess.DEVNULL
STDOUT = subprocess.STDOUT

_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
_Env = Union[Mapping[str, str], Mapping[bytes, bytes]]
Input = Union[
    bytes, bytearray, memoryview, str, "os.PathLike[str]", IO[bytes], IO[str], Iterable[bytes], Iterable[str]
]
Output = Union[None, int, "os.PathLike[str]", IO[bytes], IO[str]]
_Names = Union[str, Iterable[str]]


class CompletedPipeline(subprocess.CompletedProcess[AnyStr]):
    """Is what `run` returns: a `subprocess.CompletedProcess`, whose `args` is the pipeline.

    Attributes:
        args: The pipeline, as it was given.
        returncode: The exit status that a shell would return; -N if signal N ended pelton itself.
        stdout: What it printed, as bytes or str; None if that was not captured.
        stderr: Its messages, as bytes or str; None if they were not captured.
    """

    def check_returncode(self) -> None:
        """Raises `PipelineFailed` if the status is not 0."""
        if self.returncode:
            raise PipelineFailed(self.returncode, self.args, self.stdout, self.stderr)


@overload
def run(
    pipeline: Pipeline,
    *,
    input: Input | None = ...,
    stdin: int | IO[bytes] | IO[str] | None = ...,
    stdout: Output = ...,
    stderr: Output = ...,
    capture_output: bool = ...,
    check: bool = ...,
    text: Literal[True],
    encoding: str | None = ...,
    errors: str | None = ...,
    env: _Env | None = ...,
    cwd: _Path | None = ...,
    timeout: float | None = ...,
    without: _Names = ...,
    only: _Names = ...,
    faithful: bool = ...,
    jobs: int | None = ...,
    memory: str | int | None = ...,
) -> CompletedPipeline[str]: ...


@overload
def run(
    pipeline: Pipeline,
    *,
    input: Input | None = ...,
    stdin: int | IO[bytes] | IO[str] | None = ...,
    stdout: Output = ...,
    stderr: Output = ...,
    capture_output: bool = ...,
    check: bool = ...,
    text: bool | None = ...,
    encoding: str,
    errors: str | None = ...,
    env: _Env | None = ...,
    cwd: _Path | None = ...,
    timeout: float | None = ...,
    without: _Names = ...,
    only: _Names = ...,
    faithful: bool = ...,
    jobs: int | None = ...,
    memory: str | int | None = ...,
) -> CompletedPipeline[str]: ...


@overload
def run(
    pipeline: Pipeline,
    *,
    input: Input | None = ...,
    stdin: int | IO[bytes] | IO[str] | None = ...,
    stdout: Output = ...,
    stderr: Output = ...,
    capture_output: bool = ...,
    check: bool = ...,
    text: bool | None = ...,
    encoding: str | None = ...,
    errors: str,
    env: _Env | None = ...,
    cwd: _Path | None = ...,
    timeout: float | None = ...,
    without: _Names = ...,
    only: _Names = ...,
    faithful: bool = ...,
    jobs: int | None = ...,
    memory: str | int | None = ...,
) -> CompletedPipeline[str]: ...


@overload
def run(
    pipeline: Pipeline,
    *,
    input: Input | None = ...,
    stdin: int | IO[bytes] | IO[str] | None = ...,
    stdout: Output = ...,
    stderr: Output = ...,
    capture_output: bool = ...,
    check: bool = ...,
    text: Literal[False] | None = ...,
    encoding: None = ...,
    errors: None = ...,
    env: _Env | None = ...,
    cwd: _Path | None = ...,
    timeout: float | None = ...,
    without: _Names = ...,
    only: _Names = ...,
    faithful: bool = ...,
    jobs: int | None = ...,
    memory: str | int | None = ...,
) -> CompletedPipeline[bytes]: ...


@overload
def run(
    pipeline: Pipeline,
    *,
    input: Input | None = ...,
    stdin: int | IO[bytes] | IO[str] | None = ...,
    stdout: Output = ...,
    stderr: Output = ...,
    capture_output: bool = ...,
    check: bool = ...,
    text: bool | None = ...,
    encoding: str | None = ...,
    errors: str | None = ...,
    env: _Env | None = ...,
    cwd: _Path | None = ...,
    timeout: float | None = ...,
    without: _Names = ...,
    only: _Names = ...,
    faithful: bool = ...,
    jobs: int | None = ...,
    memory: str | int | None = ...,
) -> CompletedPipeline[Any]: ...


def run(
    pipeline: Pipeline,
    *,
    input: Input | None = None,
    stdin: int | IO[bytes] | IO[str] | None = None,
    stdout: Output = PIPE,
    stderr: Output = None,
    capture_output: bool = False,
    check: bool = False,
    text: bool | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    env: _Env | None = None,
    cwd: _Path | None = None,
    timeout: float | None = None,
    without: _Names = (),
    only: _Names = (),
    faithful: bool = False,
    jobs: int | None = None,
    memory: str | int | None = None,
) -> CompletedPipeline[Any]:
    """Runs a pipeline as a shell would, often faster, and returns its status and its output.

    Cannot deadlock, however much goes in and comes out. The words are those of `subprocess.run`;
    what differs: `stdout` is captured unless told otherwise, a timeout ends every process of the
    pipeline and not only the first, and `input` takes more types.

    Args:
        pipeline: Shell text (bash), or commands as lists: `pelton.pipe([...], [...])`.
        input: What the pipeline reads: bytes, str, a path, a file, or an iterable of bytes or lines.
            A file on disk is passed as it is, from its current position. An iterable runs in a thread.
        stdin: A file or descriptor to read instead; `DEVNULL` for nothing. None inherits.
        stdout: Where its output goes: `PIPE` (to the result), a path (which is overwritten), a file,
            a descriptor, `DEVNULL`, or None to inherit.
        stderr: The same for its messages; `STDOUT` for among the output.
        capture_output: Whether stderr is captured too.
        check: Whether a status other than 0 raises `PipelineFailed`.
        text: Whether the output is str, with line ends as `\\n`; else bytes.
        encoding: The encoding of text, for output and for `input`; implies text. UTF-8 if only
            `text` is given.
        errors: How to decode what is no valid text, as for `str.decode`; implies text.
        env: The environment; None inherits.
        cwd: The directory to run in.
        timeout: Seconds until every process of the pipeline is ended and `PipelineTimeout` raised.
        without: Names of rules and kernels to switch off; `pelton explain --rules` lists them.
        only: Names of rules and kernels to switch all others off.
        faithful: Whether every command runs as it is: nothing natively, nothing rewritten.
        jobs: Threads and processes that a stage may use; None for as many as pay.
        memory: Memory of all sorts and groupings, in bytes or as `"500M"`; beyond it they use files.

    Returns:
        A `CompletedPipeline`, with the attributes of `subprocess.CompletedProcess`.

    Raises:
        PipelineFailed: If `check` is true and the status is not 0; a `CalledProcessError`.
        PipelineTimeout: If the time was over; a `TimeoutExpired`.
        PeltonNotFound: If the program is not installed.

    >>> import pelton
    >>> pelton.run("sort | uniq -c | sort -rn", input="b\\na\\nb\\n", text=True).stdout
    '      2 b\\n      1 a\\n'
    >>> pelton.run("wc -c", input=(b"x" * 1000 for _ in range(1000))).stdout
    b'1000000\\n'
    >>> pelton.run("exit 3", check=True)
    Traceback (most recent call last):
        ...
    pelton.PipelineFailed: Command 'exit 3' returned non-zero exit status 3.
    """
    argv = _run_arguments(pipeline, _options(without, only, faithful, jobs, memory))
    if capture_output:
        if stderr is not None:
            raise ValueError("cannot use both `stderr` and `capture_output`: the latter captures both")
        stderr = PIPE
    encoding, errors = _encoding(text, encoding, errors)
    status, out, err, is_late = _exchange(
        argv, input, stdin, stdout, stderr, encoding, errors, env, cwd, timeout
    )
    if is_late:
        raise PipelineTimeout(_cmd(pipeline), timeout or 0.0, out, err)
    if encoding is not None:
        done: CompletedPipeline[Any] = CompletedPipeline(
            _cmd(pipeline), status, _decoded(out, encoding, errors), _decoded(err, encoding, errors)
        )
    else:
        done = CompletedPipeline(_cmd(pipeline), status, out, err)
    if check:
        done.check_returncode()
    return done


def _exchange(
    argv: list[str],
    input: Any,
    stdin: Any,
    stdout: Any,
    stderr: Any,
    encoding: str | None,
    errors: str | None,
    env: Any,
    cwd: Any,
    timeout: float | None,
) -> tuple[int, bytes | None, bytes | None, bool]:
    if input is None:
        return _process.exchange(
            argv,
            stdin=stdin if stdin is None or isinstance(stdin, int) else stdin.fileno(),
            feed=None,
            stdout=stdout,
            stderr=stderr,
            env=env,
            cwd=cwd,
            timeout=timeout,
        )
    if stdin is not None:
        raise ValueError("cannot use both `stdin` and `input`: a pipeline reads one of them")
    fd, feed, closing = _opened_input(input, encoding, errors)
    try:
        return _process.exchange(
            argv,
            stdin=fd,
            feed=feed,
            stdout=stdout,
            stderr=stderr,
            env=env,
            cwd=cwd,
            timeout=timeout,
        )
    finally:
        if closing is not None:
            os.close(closing)


def _opened_input(
    input: Any, encoding: str | None, errors: str | None
) -> tuple[int | None, _process.Feed | None, int | None]:
    def encode(text: str) -> bytes:
        return text.encode(encoding or "utf-8", errors or "strict")

    fd, data, closing = _process.open_input(input)
    if isinstance(data, str):
        data = encode(data)
    return fd, None if data is None else _process.Feed(data, encode), closing


def _encoding(text: bool | None, encoding: str | None, errors: str | None) -> tuple[str | None, str | None]:
    if encoding is None and (text or errors is not None):
        encoding = "utf-8"
    return encoding, errors


def _decoded(data: bytes | None, encoding: str, errors: str | None) -> str | None:
    if data is None:
        return None
    text = data.decode(encoding, errors or "strict")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _names(option: str, names: _Names) -> list[str]:
    if isinstance(names, str):
        names = (names,)
    arguments: list[str] = []
    for name in names:
        arguments += [option, name]
    return arguments


def _options(
    without: _Names = (),
    only: _Names = (),
    faithful: bool = False,
    jobs: int | None = None,
    memory: str | int | None = None,
) -> list[str]:
    options: list[str] = []
    if without:
        options += _names("--without", without)
    if only:
        options += _names("--only", only)
    if faithful:
        options.append("--faithful")
    if jobs is not None:
        options += ["--jobs", str(jobs)]
    if memory is not None:
        options += ["--memory", str(memory)]
    return options


def _cmd(pipeline: Any) -> Any:
    """Returns a pipeline as an error's `cmd` or a result's `args`, which are typed as words only."""
    return pipeline


def _run_arguments(pipeline: Pipeline, options: Sequence[str]) -> list[str]:
    if isinstance(pipeline, Pipe):
        return [_pelton(), "pipe", *options, "--", *pipeline.arguments()]
    return [_pelton(), "run", *options, "--", _text(pipeline)]


def _text(pipeline: Pipeline) -> str:
    """Returns shell text, for the verbs that take only that."""
    if isinstance(pipeline, Pipe):
        return str(pipeline)
    if isinstance(pipeline, str):
        return pipeline
    raise TypeError(
        f"cannot run a {type(pipeline).__name__}: give shell text, or commands as lists by "
        "pelton.pipe(['grep', pattern, path], ['sort'])"
    )


class Lines(Generic[AnyStr]):
    """Iterates over the lines that a pipeline prints, while it runs.

    Every line has its end, as those of a file have. To leave early is no error: `close()`, the end
    of a `with` block, or the end of the last reference ends every process of the pipeline and reaps
    pelton.

    Attributes:
        args: The pipeline.
        returncode: The exit status; None until the last line has been read or the lines were closed.
    """

    def __init__(
        self, pipeline: Pipeline, process: _process.Process, file: Any, feed: _process.Feed | None, check: bool
    ) -> None:
        self.args = pipeline
        self.returncode: int | None = None
        self._file = file
        self._process = process
        self._feed = feed
        self._check = check
        self._readline: Callable[[], AnyStr] = file.readline
        self._end: weakref.finalize[..., Lines[AnyStr]] = weakref.finalize(self, _abandon, process, file)

    @property
    def pid(self) -> int:
        """Returns the process id of pelton, which leads the pipeline's process group."""
        return self._process.pid

    def __iter__(self) -> Iterator[AnyStr]:
        return self

    def __next__(self) -> AnyStr:
        try:
            line = self._readline()
        except ValueError:
            if self._file.closed:
                raise StopIteration from None
            raise
        except KeyboardInterrupt:
            self.close()
            raise
        if line:
            return line
        self._finish()
        raise StopIteration

    def _finish(self) -> None:
        if self.returncode is None:
            self.returncode = self._process.wait()
            self._end.detach()
            self._file.close()
            if self._feed is not None:
                self._feed.check()
            if self._check and self.returncode:
                raise PipelineFailed(self.returncode, _cmd(self.args))

    def close(self) -> None:
        """Ends every process of the pipeline, if it still runs, and reaps pelton."""
        self._end()
        self.returncode = self._process.returncode

    def __enter__(self) -> Lines[AnyStr]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _abandon(process: _process.Process, file: Any) -> None:
    try:
        file.close()
    finally:
        process.end()


@overload
def lines(
    pipeline: Pipeline,
    *,
    input: Input | None = ...,
    stdin: int | IO[bytes] | IO[str] | None = ...,
    stderr: Output = ...,
    check: bool = ...,
    text: Literal[False],
    encoding: None = ...,
    errors: None = ...,
    env: _Env | None = ...,
    cwd: _Path | None = ...,
    without: _Names = ...,
    only: _Names = ...,
    faithful: bool = ...,
    jobs: int | None = ...,
    memory: str | int | None = ...,
) -> Lines[bytes]: ...


@overload
def lines(
    pipeline: Pipeline,
    *,
    input: Input | None = ...,
    stdin: int | IO[bytes] | IO[str] | None = ...,
    stderr: Output = ...,
    check: bool = ...,
    text: Literal[True] = ...,
    encoding: str | None = ...,
    errors: str | None = ...,
    env: _Env | None = ...,
    cwd: _Path | None = ...,
    without: _Names = ...,
    only: _Names = ...,
    faithful: bool = ...,
    jobs: int | None = ...,
    memory: str | int | None = ...,
) -> Lines[str]: ...


def lines(
    pipeline: Pipeline,
    *,
    input: Input | None = None,
    stdin: int | IO[bytes] | IO[str] | None = None,
    stderr: Output = None,
    check: bool = False,
    text: bool = True,
    encoding: str | None = None,
    errors: str | None = None,
    env: _Env | None = None,
    cwd: _Path | None = None,
    without: _Names = (),
    only: _Names = (),
    faithful: bool = False,
    jobs: int | None = None,
    memory: str | int | None = None,
) -> Lines[Any]:
    """Runs a pipeline, and iterates over the lines that it prints, as they come.

    Args:
        text: Whether lines are str, decoded by `encoding` (UTF-8); else bytes.
        check: Whether a status other than 0 raises `PipelineFailed` after the last line.

    The other arguments are those of `run`.

    Returns:
        An iterator of lines, with their ends; also a context manager, which ends the pipeline.

    >>> import pelton
    >>> [int(line) for line in pelton.lines("seq 3")]
    [1, 2, 3]
    >>> with pelton.lines("yes") as answers:
    ...     next(answers)
    'y\\n'
    """
    import io

    if isinstance(stderr, int) and stderr == PIPE:
        raise ValueError("cannot capture stderr of `lines`: give a path or a file, or use `run`")
    if not text and (encoding is not None or errors is not None):
        raise ValueError("cannot use `encoding` or `errors` with text=False: bytes are not decoded")
    argv = _run_arguments(pipeline, _options(without, only, faithful, jobs, memory))
    encoding, errors = _encoding(text, encoding, errors)
    if input is not None and stdin is not None:
        raise ValueError("cannot use both `stdin` and `input`: a pipeline reads one of them")
    stdin_fd = stdin if stdin is None or isinstance(stdin, int) else stdin.fileno()
    feed: _process.Feed | None = None
    closing: list[int] = []
    reader, writer = os.pipe()
    closing.append(writer)
    try:
        if input is not None:
            stdin_fd, feed, opened = _opened_input(input, encoding, errors)
            closing += [] if opened is None else [opened]
        error_fd, opened = _process.open_output(stderr)
        closing += [] if opened is None else [opened]
        _process.widen(reader)
        process = _process.start(argv, feed.reader if feed else stdin_fd, writer, error_fd, env, cwd)
    except BaseException:
        os.close(reader)
        if feed is not None:
            feed.close()
        raise
    finally:
        for fd in closing:
            os.close(fd)
    file: Any = open(reader, "rb", buffering=_process.PIPE_BYTES)
    if encoding is not None:
        file = io.TextIOWrapper(file, encoding=encoding, errors=errors)
    iterator: Lines[Any] = Lines(pipeline, process, file, feed, check)
    if feed is not None:
        feed.start(process)
    return iterator


def time(
    pipeline: Pipeline,
    *,
    input: Input | None = None,
    stdin: int | IO[bytes] | IO[str] | None = None,
    stdout: Output = PIPE,
    stderr: Output = None,
    check: bool = False,
    env: _Env | None = None,
    cwd: _Path | None = None,
    timeout: float | None = None,
    runs: int = 1,
    warmup: int = 0,
    threads: bool = False,
    syscalls: bool = False,
    exact: bool = False,
    arrivals: bool = False,
) -> TimeRecord:
    """Runs a pipeline unchanged, and returns what each stage cost and waited for.

    Args:
        runs: How often to run it; from 2 on, figures are medians, `repeats` has every run, and the
            output is dropped.
        warmup: How often to run it before, without measuring.
        threads: Whether to look at each stage's threads.
        syscalls: Whether to count system calls, which slows them down.
        exact: Whether to trace waits instead of sampling them, which slows system calls down.
        arrivals: Whether to note when lines leave the first stage and the last.

    The other arguments are those of `run`. With `runs`, input must be a file or a path, or small.

    Returns:
        A `records.TimeRecord`: times in ns, sizes in bytes. `stdout` has the output.

    Raises:
        PipelineFailed: If `check` is true and the status is not 0.
        PipelineTimeout: If the time was over.
        PeltonRefused: If pelton does not run the text, as for a syntax error.

    >>> import pelton
    >>> record = pelton.time("seq 1000 | sort -rn | head -n 1")
    >>> [stage.text for stage in record.stages], record.stdout
    (['seq 1000', 'sort -rn', 'head -n 1'], b'1000\\n')
    >>> record.total.wall_ns > 0
    True
    """
    import tempfile

    looks = {"threads": threads, "syscalls": syscalls, "exact": exact, "arrivals": arrivals}
    chosen = [name for name, is_on in looks.items() if is_on]
    if len(chosen) > 1:
        raise ValueError(f"cannot use {' and '.join(chosen)} together: `time` looks at one of them in a run")
    options = ["--" + name for name in chosen]
    if runs > 1:
        options += ["--runs", str(runs)]
    elif not chosen:
        options.append("--timeline")
    if warmup:
        options += ["--warmup", str(warmup)]
    text = _text(pipeline)
    # The report has a file of its own: stderr is the pipeline's.
    with tempfile.TemporaryDirectory(prefix="pelton-") as directory:
        report = os.path.join(directory, "record.json")
        argv = [_pelton(), "time", "--json", "--output", report, *options, "--", text]
        status, out, err, is_late = _exchange(
            argv, input, stdin, stdout, stderr, None, None, env, cwd, timeout
        )
        if is_late:
            raise PipelineTimeout(_cmd(pipeline), timeout or 0.0, out, err)
        try:
            with open(report, "rb") as file:
                written = file.read()
        except FileNotFoundError:
            written = b""
    if not written:
        # Its message is on stderr, which may not have been captured: `explain` says the same.
        explain(pipeline, env=env, cwd=cwd)
        message = f"cannot time {text!r}: pelton wrote no record and ended with status {status}"
        raise PeltonRefused(message, status, pipeline)
    from .records import TimeRecord, read

    record = read(TimeRecord, _json.loads(written), "pelton time")
    object.__setattr__(record, "stdout", out)
    object.__setattr__(record, "stderr", err)
    if check and status:
        raise PipelineFailed(status, _cmd(pipeline), out, err)
    return record


def explain(
    pipeline: Pipeline,
    *,
    env: _Env | None = None,
    cwd: _Path | None = None,
    without: _Names = (),
    only: _Names = (),
) -> ExplainRecord:
    """Returns the plan that `run` would use for a pipeline, and why. Runs nothing.

    `str()` of the result is the explanation for people. The arguments are those of `run`.

    Raises:
        PeltonRefused: If pelton cannot read the text, as for a syntax error.

    >>> import pelton
    >>> plan = pelton.explain("sort | uniq -c").pipelines[0].plan
    >>> [node.label for node in plan.segments[0].nodes]
    ['sort the distinct lines']
    """
    from .records import ExplainRecord, read

    text = _text(pipeline)
    options = [*_options(without, only), "--", text]
    raw = _json.loads(_output(["explain", "--json", *options], pipeline, env, cwd))
    raw.setdefault("pipelines", [])
    raw.setdefault("script", [])
    record = read(ExplainRecord, raw, "pelton explain")
    words = _output(["explain", "--color=never", *options], pipeline, env, cwd)
    object.__setattr__(record, "explanation", words.decode("utf-8", "replace").rstrip("\n"))
    return record


def doctor(
    *processes: int | str | subprocess.Popen[Any], everyone: bool = False, threads: bool = False
) -> DiagnosisRecord:
    """Returns why processes are stuck: who waits for whom, and whether that can ever end.

    Looks twice, at least 50 ms apart, and changes nothing.

    Args:
        processes: Process ids, names of programs, or objects with a `pid`; none for all of your own.
        everyone: Whether to look at other users' processes too.
        threads: Whether to watch the threads for two seconds as well.

    Raises:
        PeltonRefused: If there is no such process, or it may not be looked at.

    >>> import pelton, subprocess
    >>> with subprocess.Popen(["sleep", "60"]) as process:
    ...     pelton.doctor(process).is_dead
    ...     process.kill()
    False
    """
    from .records import DiagnosisRecord, read

    options = ["--all"] * everyone + ["--threads"] * threads
    named = [str(getattr(process, "pid", process)) for process in processes]
    # 1 and 3 say what was found.
    printed = _output(["doctor", "--json", *options, "--", *named], None, None, None, fine=(0, 1, 3))
    return read(DiagnosisRecord, _json.loads(printed), "pelton doctor")


def compare(
    before: Pipeline,
    after: Pipeline,
    *,
    runs: int = 10,
    threshold: float | None = None,
    any_output: bool = False,
    stdin: int | IO[bytes] | IO[str] | os.PathLike[str] | None = None,
    env: _Env | None = None,
    cwd: _Path | None = None,
    timeout: float | None = None,
) -> ComparisonRecord:
    """Returns whether a change helped: runs two pipelines in turns, and compares times and output.

    Args:
        before: The pipeline as it is. It should do nothing but print.
        after: The pipeline as it could be.
        runs: How often to run each.
        threshold: A change of less than so many per cent is none; None for 1.
        any_output: Whether the outputs may differ.
        stdin: A path or a file that every run reads.
        env, cwd, timeout: As for `run`. The timeout is for all runs together.

    Raises:
        PeltonRefused: If pelton could not compare.
        PipelineTimeout: If the time was over.

    >>> import pelton
    >>> pelton.compare("seq 9 | tac", "seq 9 | sort -r", runs=2).same_output
    True
    """
    from .records import ComparisonRecord, read

    options = ["--runs", str(runs)]
    if threshold is not None:
        options += ["--threshold", str(threshold)]
    if any_output:
        options.append("--any-output")
    arguments = ["compare", "--json", *options, "--", _text(before), _text(after)]
    # 1 and 3 say what was found.
    printed = _output(arguments, f"{before} → {after}", env, cwd, stdin, timeout, fine=(0, 1, 3))
    return read(ComparisonRecord, _json.loads(printed), "pelton compare")


def _output(
    arguments: list[str],
    pipeline: Any,
    env: Any,
    cwd: Any,
    stdin: Any = None,
    timeout: float | None = None,
    fine: tuple[int, ...] = (0,),
) -> bytes:
    """Runs a verb that prints its answer, and returns that."""
    input = stdin if isinstance(stdin, os.PathLike) else None
    status, out, err, is_late = _exchange(
        [_pelton(), *arguments],
        input,
        DEVNULL if stdin is None else (None if input is not None else stdin),
        PIPE,
        PIPE,
        None,
        None,
        env,
        cwd,
        timeout,
    )
    if is_late:
        raise PipelineTimeout(_cmd(pipeline), timeout or 0.0, out, err)
    if status not in fine or not out:
        message = (err or b"").decode("utf-8", "replace").strip()
        raise PeltonRefused(message or f"pelton {arguments[0]} ended with status {status}", status, pipeline)
    return out
