//! Commands that hang, that stand still by intention, and that move.

use Language::{Bash, C, Python, Ruby};

/// A language in which a case is written.
#[derive(Clone, Copy)]
pub enum Language {
    Bash,
    Python,
    Ruby,
    /// With these options.
    C(&'static str),
}

/// A command that hangs, or looks like it.
pub struct Case {
    pub name: &'static str,
    pub language: Language,
    pub text: &'static str,
    pub health: &'static str,
    /// Empty: any.
    pub kind: &'static str,
    /// Lines of the program at which it waits.
    pub lines: &'static [u32],
}

const fn hang(
    name: &'static str,
    kind: &'static str,
    language: Language,
    text: &'static str,
    lines: &'static [u32],
) -> Case {
    Case { name, language, text, health: "dead", kind, lines }
}

pub const fn healthy(
    name: &'static str,
    health: &'static str,
    kind: &'static str,
    language: Language,
    text: &'static str,
) -> Case {
    Case { name, language, text, health, kind, lines: &[] }
}

const C_WAITS: &str = "\
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int collect(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}
int main(void) {
    int fds[2];
    if (pipe(fds)) return 1;
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], 1);
        execlp(\"head\", \"head\", \"-c\", \"200000\", \"/dev/zero\", (char *)0);
    }
    close(fds[1]);
    return collect(child);
}
";

pub const HANGS: &[Case] = &[
    hang(
        "a wait without reading",
        "waits_without_reading",
        Python,
        "import subprocess as s\np = s.Popen(['head', '-c', '200000', '/dev/zero'], stdout=s.PIPE)\np.wait()\n",
        &[3],
    ),
    hang(
        "a wait without reading what a shell started",
        "waits_without_reading",
        Python,
        "import subprocess as s\ndef f(p):\n  p.wait()\np = s.Popen(['sh', '-c', 'yes | head -c 200000; :'], stdout=s.PIPE)\nf(p)\n",
        &[3, 5],
    ),
    hang("a wait without reading, in C", "waits_without_reading", C("-O0"), C_WAITS, &[6, 18]),
    hang("a wait without reading, in C, optimised", "waits_without_reading", C("-O2"), C_WAITS, &[6, 18]),
    hang(
        "a wait without reading, in Ruby",
        "waits_without_reading",
        Ruby,
        "r, w = IO.pipe\nc = Process.spawn('head -c 200000 /dev/zero', out: w)\nw.close\ndef f(c)\n  Process.wait c\nend\nf c\n",
        &[5, 7],
    ),
    hang(
        "an undrained standard error",
        "undrained_channel",
        Python,
        "import subprocess as s\np = s.Popen(['sh', '-c', 'head -c 200000 /dev/zero >&2; echo'], stdout=s.PIPE, stderr=s.PIPE)\n\
         p.stdout.read()\n",
        &[3],
    ),
    hang(
        "an undrained standard error of the child itself",
        "undrained_channel",
        Python,
        "import subprocess as s\np = s.Popen(['python3', '-c', 'import sys; sys.stderr.write(\"x\" * 200000)'],\n\
         stdout=s.PIPE, stderr=s.PIPE)\np.stdout.read()\n",
        &[4],
    ),
    hang(
        "both pipes full",
        "both_full",
        Python,
        "import subprocess as s\np = s.Popen(['cat'], stdin=s.PIPE, stdout=s.PIPE)\np.stdin.write(b'x' * 1000000)\np.stdin.flush()\n",
        &[3],
    ),
    hang(
        "a leaked write end",
        "held_open",
        Python,
        "import os, subprocess as s\nr, w = os.pipe()\np = s.Popen(['cat'], stdin=r)\np.wait()\n",
        &[4],
    ),
    hang(
        "a reader that holds its own write end",
        "held_open",
        Bash,
        "mkfifo f; exec 3<>f; exec cat <&3",
        &[],
    ),
    hang("a FIFO opened by its reader only", "fifo_one_sided", Bash, "mkfifo f; cat f; :", &[]),
    hang("a FIFO opened by its writer only", "fifo_one_sided", Bash, "mkfifo f; echo x > f; :", &[]),
    hang(
        "tee into two FIFOs that are read in order",
        "fifo_one_sided",
        Bash,
        "mkfifo a b; tee a b < /dev/zero > /dev/null & cat a > /dev/null; cat b",
        &[],
    ),
    hang("tee into its own input", "both_empty", Bash, "mkfifo f; cat f | tee f > /dev/null; :", &[]),
    hang(
        "two branches read in order",
        "undrained_channel",
        Python,
        "import os\nr, w = os.pipe()\nr2, w2 = os.pipe()\n\
         if os.fork() == 0:\n  os.close(r); os.close(r2)\n  os.write(w, b'x' * 200000)\n  os.write(w2, b'x')\n\
         else:\n  os.close(w); os.close(w2)\n  os.read(r2, 1)\n",
        &[6, 10],
    ),
    hang(
        "a coprocess that keeps its answer back",
        "both_empty",
        Bash,
        "coproc tr a-z A-Z; echo hello >&\"${COPROC[1]}\"; read -r line <&\"${COPROC[0]}\"; echo \"$line\"",
        &[],
    ),
    hang("a ring of four", "both_empty", Bash, "mkfifo f; cat f | cat | cat | cat > f; :", &[]),
    hang("a stopped reader", "stopped", Bash, "yes | sh -c 'kill -STOP $$'; :", &[]),
    hang(
        "a lock whose holder waits for the one that wants it",
        "file_lock",
        Bash,
        "exec 9> lock; flock 9; flock lock true; :",
        &[],
    ),
    hang(
        "a lock, in Python",
        "file_lock",
        Python,
        "import fcntl, subprocess as s\nf = open('lock', 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\ns.run(['flock', 'lock', 'true'])\n",
        &[4],
    ),
    hang(
        "a pair of sockets",
        "both_empty",
        Python,
        "import socket, subprocess as s\na, b = socket.socketpair()\np = s.Popen(['cat'], stdin=b, stdout=b)\nb.close()\na.recv(1)\n",
        &[5],
    ),
    hang(
        "two ends of a connection",
        "both_empty",
        Python,
        "import os, socket\nl = socket.create_server(('127.0.0.1', 0))\n\
         if os.fork() == 0:\n  c = socket.create_connection(l.getsockname())\n  l.close()\n  c.recv(1)\n\
         else:\n  s, _ = l.accept()\n  s.recv(1)\n",
        &[6, 9],
    ),
    hang(
        "threads that lock in opposite orders",
        "threads",
        Python,
        "import threading, time\na, b = threading.Lock(), threading.Lock()\n\
         def f(x, y):\n  x.acquire(); time.sleep(0.3)\n  y.acquire()\n\
         t = [threading.Thread(target=f, args=p) for p in ((a, b), (b, a))]\nfor x in t: x.start()\nfor x in t: x.join()\n",
        &[5, 8],
    ),
    hang(
        "a poll of two channels whose writer waits for input",
        "both_empty",
        Python,
        "import select, subprocess as s\np = s.Popen(['cat'], stdin=s.PIPE, stdout=s.PIPE, stderr=s.PIPE)\n\
         select.select([p.stdout, p.stderr], [], [])\n",
        &[3],
    ),
    hang(
        "an event that nobody else could bring about",
        "threads",
        Python,
        "import os\nos.eventfd_read(os.eventfd(0))\n",
        &[2],
    ),
];

/// Nothing moves, and nothing is wrong.
pub const STILL: &[Case] = &[
    healthy(
        "a terminal that nobody types at",
        "idle",
        "terminal",
        Python,
        "import os, pty\npid, fd = pty.fork()\nif pid == 0: os.execvp('cat', ['cat'])\nos.waitpid(pid, 0)\n",
    ),
    healthy("a sleep and its reader", "idle", "timer", Bash, "sleep 100 | cat; :"),
    healthy("a file that may grow", "idle", "outside", Bash, "touch f; tail -f f | grep x; :"),
    healthy(
        "a child that sleeps",
        "idle",
        "timer",
        Python,
        "import subprocess as s\ns.run(['sleep', '100'])\n",
    ),
    healthy(
        "a coprocess that sleeps",
        "idle",
        "timer",
        Bash,
        "coproc sleep 100; read -r line <&\"${COPROC[0]}\"",
    ),
    healthy("a wait for a signal", "idle", "signal", Python, "import signal\nsignal.pause()\n"),
    healthy("a reader that does not read yet", "slow", "slow_reader", Bash, "yes | sleep 100; :"),
    healthy(
        "a server",
        "idle",
        "outside",
        Python,
        "import socket\nl = socket.create_server(('127.0.0.1', 0))\nl.accept()\n",
    ),
    healthy(
        "an event loop",
        "idle",
        "timer",
        Python,
        "import asyncio\nasync def f():\n  p = await asyncio.create_subprocess_exec('sleep', '100', stdout=-1)\n  await p.stdout.read()\n\
         asyncio.run(f())\n",
    ),
    healthy(
        "a loop that a signal wakes",
        "idle",
        "signal",
        Python,
        "import select, signal, socket\na, b = socket.socketpair()\na.setblocking(0); b.setblocking(0)\n\
         signal.set_wakeup_fd(b.fileno())\nsignal.signal(signal.SIGUSR1, lambda *x: None)\nselect.select([a], [], [])\n",
    ),
    healthy(
        "a thread that sleeps",
        "idle",
        "timer",
        Python,
        "import threading, time\nt = threading.Thread(target=time.sleep, args=(100,))\nt.start()\nt.join()\n",
    ),
    healthy(
        "a lock whose holder sleeps",
        "idle",
        "timer",
        Bash,
        "flock lock sleep 100 & sleep 0.2; flock lock true; :",
    ),
    healthy("a FIFO that a sleeper may open", "idle", "", Bash, "mkfifo f; sleep 100 & cat f; :"),
    healthy("a reader with a time limit", "idle", "timer", Bash, "sleep 100 | timeout 90 cat; :"),
    healthy("sleepers of xargs", "idle", "", Bash, "seq 100 200 | xargs -P 2 -n 1 sleep"),
    healthy("a heartbeat", "idle", "timer", Python, "import time\nwhile True:\n  time.sleep(0.2)\n"),
];

/// These move all the time.
pub const MOVING: &[Case] = &[
    healthy("a sort whose input goes on", "slow", "", Bash, "while :; do :; done | sort; :"),
    healthy("a slow reader", "slow", "", Bash, "yes | while read -r line; do :; done; :"),
    healthy("a computation", "slow", "busy", Bash, "while :; do :; done"),
];
