//! Inputs that report their end only once, read by several threads: a terminal, and a reset socket. python3
//! makes both.

use std::process::{Command, Output};

/// Runs a python program with a pelton call as its arguments; tiny blocks make threads begin at once.
fn python(program: &str, text: &str) -> Output {
    let pelton = [env!("CARGO_BIN_EXE_pelton"), "run", "--jobs", "4", "--block-bytes", "7", text];
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60", "python3", "-c", program]).args(pelton).env("LC_ALL", "C");
    command.output().expect("python3 runs")
}

/// Types lines and ^D into a terminal, and prints the answer; `None` if the command goes on.
const TERMINAL: &str = r"
import os, pty, sys, termios
pid, fd = pty.fork()
if pid == 0:
    sys.stdin.readline()
    os.execvp(sys.argv[1], sys.argv[1:])
mode = termios.tcgetattr(fd)
mode[3] &= ~termios.ECHO
termios.tcsetattr(fd, termios.TCSANOW, mode)
os.write(fd, b'\n' + b'aab 1\n' * 30 + b'\x04')
out = b''
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    out += data
sys.stdout.write(out.decode().replace('\r', ''))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

/// Gives a socket that has some data and is then reset.
const RESET: &str = r"
import signal, socket, struct, subprocess, sys, time
server = socket.socket()
server.bind(('127.0.0.1', 0))
server.listen()
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
client.sendall(b'aab 123\n' * 200)
while len(peer.recv(65536, socket.MSG_PEEK)) < 1600:
    time.sleep(0.01)
client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
client.close()
run = subprocess.run(sys.argv[1:], stdin=peer, capture_output=True)
sys.stderr.write(run.stderr.decode())
sys.exit(run.returncode)
";

#[test]
fn one_end_of_input_from_a_terminal_is_enough() {
    for (text, printed) in [
        ("tr a b | wc -l", "30\n"),
        ("tr a b | sort -u", "bbb 1\n"),
        ("cut -c1-3 | uniq -c", "     30 aab\n"),
    ] {
        let output = python(TERMINAL, text);
        assert_eq!(
            (String::from_utf8_lossy(&output.stdout).as_ref(), output.status.code()),
            (printed, Some(0)),
            "{text}"
        );
    }
}

#[test]
fn an_input_that_fails_once_is_told() {
    for _ in 0..5 {
        let output = python(RESET, "tr a b");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (said.as_ref(), output.status.code()),
            ("tr: read error: Connection reset by peer\n", Some(1))
        );
    }
}
