"""Tests of `pelton.aio`, in asyncio and, if they are installed, in trio by anyio."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
from typing import Any, Awaitable, Callable, Iterator

import pytest

from pelton import aio
from pelton.aio import PIPE
from test_popen import children, descriptors

BIG = 1 << 20


def run_asyncio(function: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        return await asyncio.wait_for(function(), 60)

    return asyncio.run(bounded())


def run_trio(function: Callable[[], Awaitable[Any]]) -> Any:
    trio = pytest.importorskip("trio")
    pytest.importorskip("anyio")

    async def bounded() -> Any:
        with trio.fail_after(60):
            return await function()

    return trio.run(bounded)


@pytest.fixture(params=[run_asyncio, run_trio], ids=["asyncio", "trio"])
def run(request: Any) -> Iterator[Any]:
    gc.collect()
    before = children(), descriptors()
    yield request.param
    gc.collect()
    assert not children() - before[0]
    assert not descriptors() - before[1]


def test_waits_before_reading(run: Any) -> None:
    async def main() -> int:
        async with aio.Popen(["seq", "300000"], stdout=PIPE) as child:
            assert child.stdout is not None
            assert await child.wait() == 0
            count = 0
            async for _ in child.stdout:
                count += 1
            assert child.stats is not None and child.stats.seconds_saved > 0
            return count

    assert run(main) == 300_000


def test_await_gives_the_child(run: Any) -> None:
    async def main() -> None:
        child = await aio.Popen(["echo", "x"], stdout=PIPE)
        assert child.stdout is not None
        assert await child.stdout.readline() == b"x\n"
        assert await child.stdout.readline() == b""
        assert child.stdout.at_eof()
        assert await child.wait() == 0
        child.close()

    run(main)


def test_writes_all_before_reading(run: Any) -> None:
    async def main() -> None:
        async with aio.Popen(["cat"], stdin=PIPE, stdout=PIPE) as child:
            assert child.stdin is not None and child.stdout is not None
            for _ in range(8):
                child.stdin.write(b"x" * BIG)
            await child.stdin.aclose()
            assert len(await child.stdout.read()) == 8 * BIG

    run(main)


def test_never_drained_input_arrives(run: Any) -> None:
    async def main() -> None:
        async with aio.Popen(["wc", "-c"], stdin=PIPE, stdout=PIPE) as child:
            assert child.stdin is not None and child.stdout is not None
            child.stdin.write(b"x" * (5 * BIG))
            child.stdin.close()
            assert int(await child.stdout.read()) == 5 * BIG

    run(main)


def test_ignores_stderr(run: Any) -> None:
    async def main() -> None:
        code = f"import os; os.write(2, b'e' * {BIG}); os.write(1, b'done')"
        async with aio.Popen([sys.executable, "-c", code], stdout=PIPE, stderr=PIPE) as child:
            assert child.stdout is not None
            assert await child.stdout.read() == b"done"
            assert await child.wait() == 0

    run(main)


def test_communicate(run: Any) -> None:
    async def main() -> None:
        command = "cat; echo err >&2; exit 3"
        async with aio.Popen(command, shell=True, stdin=PIPE, stdout=PIPE, stderr=PIPE) as child:
            assert await child.communicate(b"in") == (b"in", b"err\n")
            assert child.returncode == 3

    run(main)


def test_read_exactly(run: Any) -> None:
    async def main() -> None:
        async with aio.Popen(["printf", "abc"], stdout=PIPE) as child:
            assert child.stdout is not None
            assert await child.stdout.readexactly(2) == b"ab"
            with pytest.raises(asyncio.IncompleteReadError) as error:
                await child.stdout.readexactly(2)
            assert error.value.partial == b"c"

    run(main)


def test_exception_ends_the_child(run: Any) -> None:
    async def main() -> None:
        with pytest.raises(ValueError):
            async with aio.Popen(["sleep", "100"], stdout=PIPE) as child:
                raise ValueError
        assert child.returncode == -signal.SIGTERM

    run(main)


def test_cancelled_wait_leaves_nothing() -> None:
    before = children(), descriptors()

    async def main() -> None:
        async with aio.Popen(["sleep", "100"], stdout=PIPE) as child:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(child.wait(), 0.05)
            child.kill()
            assert await child.wait() == -signal.SIGKILL

    asyncio.run(main())
    gc.collect()
    assert not children() - before[0]
    assert not descriptors() - before[1]


def test_killed_child_with_a_child(run: Any) -> None:
    async def main() -> None:
        command = "sleep 1000 & echo $!; wait"
        async with aio.Popen(command, shell=True, stdout=PIPE) as child:
            assert child.stdout is not None
            pid = int(await child.stdout.readline())
            child.kill()
            try:
                assert await child.communicate() == (b"", None)
            finally:
                os.kill(pid, signal.SIGKILL)

    run(main)


def test_two_tasks_wait() -> None:
    async def main() -> None:
        async with aio.Popen(["cat"], stdin=PIPE, stdout=PIPE) as child:
            waits = [asyncio.ensure_future(child.wait()) for _ in range(2)]
            await asyncio.sleep(0)
            assert child.stdin is not None
            await child.stdin.aclose()
            assert await asyncio.gather(*waits) == [0, 0]

    asyncio.run(main())


def test_run(run: Any) -> None:
    async def main() -> None:
        done = await aio.run(["cat"], input=b"x", stdout=PIPE)
        assert (done.stdout, done.returncode) == (b"x", 0)
        with pytest.raises(subprocess.CalledProcessError):
            await aio.run(["false"], check=True)

    run(main)


def test_text_is_refused() -> None:
    with pytest.raises(ValueError, match="bytes"):
        aio.Popen(["true"], text=True)


def test_many_at_once(run: Any) -> None:
    async def main() -> None:
        found = [aio.Popen(["echo", str(number)], stdout=PIPE) for number in range(20)]
        for number, child in enumerate(found):
            out, _ = await child.communicate()
            assert out == b"%d\n" % number
            child.close()

    run(main)
