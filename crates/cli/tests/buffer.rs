//! `pelton buffer` between real writers and real readers: nothing lost, nothing reordered, nobody kept waiting.

use pelton_sys::pipe::unread;
use pelton_testkit::{Ended, Ending, Launch, Running, SessionProcess, Signal, Terminal, wait_until};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Prepares a bash text in which `$P` is pelton. Its directory is also `$TMPDIR`.
fn bash(text: &str, dir: &Path) -> Launch {
    let mut launch = Launch::new(["bash", "-c", text], dir);
    launch.env.push(("P".into(), PELTON.into()));
    launch.env.push(("TMPDIR".into(), dir.into()));
    launch
}

fn run(text: &str, dir: &Path) -> Ended {
    let ended = bash(text, dir).run().expect("a run");
    assert_eq!(ended.left_behind, Vec::<String>::new(), "{text}");
    ended
}

/// Numbered lines, so that lost or reordered lines show.
fn lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(|number| format!("line {number}\n").into_bytes()).collect()
}

fn statistics(text: &[u8]) -> serde_json::Value {
    let text = String::from_utf8_lossy(text);
    serde_json::from_str(text.lines().last().expect("a line")).expect("JSON")
}

/// Waits until the file exists and contains these words.
fn await_file(path: &Path, words: &str) {
    let says = || std::fs::read_to_string(path).is_ok_and(|text| text.contains(words));
    wait_until(&format!("{} says {words:?}", path.display()), says);
}

#[test]
fn every_byte_arrives_whatever_the_limits_and_the_pace() {
    let dir = directory();
    std::fs::write(dir.path().join("in"), lines(60_000)).expect("written");
    let paces = ["cat", "dd bs=1000 status=none", "dd bs=7 count=2000 status=none; cat", "sleep 0.3; cat"];
    for limits in ["", "--memory 4096 --disk 0", "--memory 0 --disk 9000", "--memory 8K --disk 20M"] {
        for (writes, reads) in [(0, 1), (1, 2), (2, 0), (0, 3), (3, 3)] {
            let text = format!(
                "({}) < in | $P buffer {limits} | ({}) | cmp - in && echo ${{PIPESTATUS[*]}}",
                paces[writes], paces[reads]
            );
            let ended = run(&text, dir.path());
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.stdout, b"0 0 0 0\n", "{text}: {said}");
        }
    }
}

#[test]
fn files_sockets_and_devices_at_both_ends() {
    let dir = directory();
    std::fs::write(dir.path().join("in"), lines(50_000)).expect("written");
    for text in [
        "$P buffer < in > out && cmp in out",
        "cat in | $P buffer > out && cmp in out",
        "$P buffer < in | cmp in -",
        "echo first > out; (cat in | $P buffer >> out) && tail -n +2 out | cmp in -",
        "$P buffer < in > /dev/null",
        "$P buffer < /dev/null | cmp /dev/null -",
        "mkfifo f; (cat f | cmp in -) & $P buffer < in > f; wait $!",
    ] {
        let ended = run(text, dir.path());
        assert_eq!(ended.ending, Ending::Exit(0), "{text}: {}", String::from_utf8_lossy(&ended.stderr));
    }
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().expect("sockets");
    let (back, reader) = std::os::unix::net::UnixStream::pair().expect("sockets");
    let mut child = Command::new(PELTON)
        .arg("buffer")
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(Stdio::from(std::os::fd::OwnedFd::from(back)))
        .spawn()
        .expect("started");
    // The whole text can be written before anyone reads.
    ours.write_all(&lines(100_000)).expect("taken");
    drop(ours);
    let mut out = Vec::new();
    std::io::Read::read_to_end(&mut &reader, &mut out).expect("read");
    assert!(out == lines(100_000) && child.wait().expect("ended").success());
}

#[test]
fn a_writer_does_not_wait_for_a_reader_that_reads_nothing() {
    let dir = directory();
    let text = "(head -c 3000000 /dev/zero; echo done > written) | $P buffer --memory 1M --disk 4M --json |
        (until test -f written; do sleep 0.01; done; wc -c)";
    let ended = run(text, dir.path());
    assert_eq!(ended.stdout, b"3000000\n");
    let said = statistics(&ended.stderr);
    assert_eq!(
        (&said["streams"][0]["in_bytes"], &said["streams"][0]["out_bytes"]),
        (&3_000_000.into(), &3_000_000.into())
    );
    let held = said["streams"][0]["held_peak_bytes"].as_u64().expect("a number");
    assert!(held > 2_000_000, "{said}");
    assert!(said["memory_peak_bytes"].as_u64().expect("a number") <= 1 << 20, "{said}");
    assert!(said["streams"][0]["disk_bytes"].as_u64().expect("a number") > 900_000, "{said}");
}

#[test]
fn room_on_disk_goes_back_as_it_becomes_empty() {
    let dir = directory();
    // The reader takes 18 of 20 MB and waits; /proc shows how much disk the nameless file still uses.
    let text = "(head -c 20000000 /dev/zero; touch written) | $P buffer --memory 1M --disk 30M |
        (until test -f written; do sleep 0.01; done
         pid=$(pgrep -P $$ pelton); blocks() { stat -L -c %b /proc/$pid/fd/* 2>/dev/null | sort -n | tail -1; }
         full=$(blocks); head -c 18000000 > /dev/null; sleep 0.2; echo $((full > 30000)) $(($(blocks) < 12000)); cat > /dev/null)";
    let ended = run(text, dir.path());
    assert_eq!(ended.stdout, b"1 1\n", "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn a_disk_without_room_slows_the_writer_and_loses_nothing() {
    let dir = directory();
    // A file size limit acts like a full disk; its signal kills processes that do not expect it.
    let text = "(ulimit -f 64; seq 100000 | $P buffer --memory 64K --disk 10M) | (sleep 0.5; md5sum)";
    let ended = run(text, dir.path());
    let expected = run("seq 100000 | md5sum", dir.path());
    assert_eq!(ended.stdout, expected.stdout);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("File too large; the writer waits for the reader now"), "{said}");
    assert_eq!(said.lines().count(), 1, "said once: {said}");
    let text = "seq 100000 | TMPDIR=/nonexistent $P buffer --memory 64K --disk 10M | (sleep 0.2; md5sum)";
    let ended = run(text, dir.path());
    assert_eq!(ended.stdout, expected.stdout);
    assert!(String::from_utf8_lossy(&ended.stderr).contains("`/nonexistent`: No such file"));
}

#[test]
fn a_full_file_system() {
    let dir = directory();
    std::fs::create_dir(dir.path().join("small")).expect("made");
    let text = "unshare -m sh -c 'mount -t tmpfs -o size=200k none small || exit 9
        seq 200000 | TMPDIR=small $P buffer --memory 64K --disk 10M | (sleep 0.5; md5sum)'";
    let ended = run(text, dir.path());
    if ended.ending != Ending::Exit(0) {
        // Only root may mount a small file system. Elsewhere, a file size limit replaces it.
        return;
    }
    assert_eq!(ended.stdout, run("seq 200000 | md5sum", dir.path()).stdout);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("No space left on device; the writer waits"), "{said}");
}

#[test]
fn a_reader_that_leaves_ends_it_as_any_filter() {
    let dir = directory();
    for text in [
        "yes | $P buffer | head -1; echo ${PIPESTATUS[*]}",
        "(echo y; sleep 30) | $P buffer | head -1; echo ${PIPESTATUS[1]}",
        "yes | $P buffer --memory 64K --disk 0 | (sleep 0.3; head -1); echo ${PIPESTATUS[*]}",
    ] {
        let text = text.replace("sleep 30", "exec sleep 3");
        let ended = run(&text, dir.path());
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(said == "y\n141 141 0\n" || said == "y\n141\n", "{text}: {said}");
        assert_eq!(ended.stderr, b"", "{text}");
    }
    let ended = run("(trap '' PIPE; yes | $P buffer | head -1; echo ${PIPESTATUS[1]})", dir.path());
    assert_eq!(ended.stdout, b"y\n1\n");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("cannot write to standard output: Broken pipe"));
}

#[test]
fn what_cannot_be_read_or_written_is_said() {
    let dir = directory();
    for (text, status, words) in [
        ("echo x | $P buffer > /dev/full", 1, "cannot write to standard output: No space left on device"),
        ("$P buffer < . ", 1, "cannot read standard input: Is a directory"),
        ("$P buffer <&-", 1, "standard input is closed"),
        ("$P buffer >&- < /dev/null", 1, "standard output is closed"),
        ("$P buffer --memory 0 --disk 0 < /dev/null", 2, "a buffer needs some memory"),
        ("$P buffer --memory x < /dev/null", 2, "a size is wanted"),
        ("$P buffer -- no-such-command", 127, "there is no command `no-such-command`"),
        ("$P buffer -- ./.", 126, "cannot run"),
    ] {
        let ended = run(text, dir.path());
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.ending, Ending::Exit(status), "{text}: {said}");
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn an_input_that_breaks_off_is_delivered_first() {
    let dir = directory();
    let launch =
        Launch::new([PELTON, "buffer"], dir.path()).stdin(pelton_testkit::Stdin::Torn(b"some".to_vec()));
    let ended = launch.run().expect("a run");
    assert_eq!((ended.ending, ended.stdout.as_slice()), (Ending::Exit(1), &b"some"[..]));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("cannot read standard input: Connection reset"), "{said}");
}

/// Starts a buffer that has read all of `in` and more, while its reader waits for the file `go`.
fn full_buffer(dir: &Path, options: &str) -> Running {
    std::fs::write(dir.join("in"), lines(100_000)).expect("written");
    let text = format!(
        "(echo $BASHPID > writer; cat in; echo > written; while sleep 0.02; do echo more; done) |
         (echo $BASHPID > pid; exec $P buffer {options}) |
         (until test -f go; do sleep 0.01; done; cat > out; echo > delivered)
         echo ${{PIPESTATUS[*]}}"
    );
    let running = bash(&text, dir).spawn().expect("started");
    await_file(&dir.join("written"), "\n");
    // The pipe may still hold the last of it.
    let writer = std::fs::read_to_string(dir.join("writer")).expect("a process id");
    let input = std::fs::File::open(format!("/proc/{}/fd/1", writer.trim())).expect("the pipe");
    wait_until("the buffer has taken all", || unread(input.as_fd()).is_ok_and(|bytes| bytes == 0));
    running
}

fn signal_buffer(dir: &Path, signal: &str) {
    let pid = std::fs::read_to_string(dir.join("pid")).expect("a process id");
    let sent = Command::new("kill").args([signal, pid.trim()]).status().expect("kill runs");
    assert!(sent.success());
}

#[test]
fn a_signal_ends_it_when_everything_taken_is_delivered() {
    for (signal, status) in [("-TERM", 143), ("-HUP", 129), ("-INT", 130)] {
        let dir = directory();
        let running = full_buffer(dir.path(), "--memory 100K");
        signal_buffer(dir.path(), signal);
        signal_buffer(dir.path(), if signal == "-INT" { "-0" } else { signal });
        std::fs::write(dir.path().join("go"), "").expect("written");
        await_file(&dir.path().join("delivered"), "\n");
        let out = std::fs::read(dir.path().join("out")).expect("read");
        let rest = out.strip_prefix(lines(100_000).as_slice()).expect("nothing is lost");
        assert!(rest.chunks(5).all(|line| line == b"more\n"), "{signal}");
        let ended = running.finish().expect("ended");
        assert_eq!(String::from_utf8_lossy(&ended.stdout), format!("141 {status} 0\n"));
    }
}

#[test]
fn a_second_interrupt_ends_it_at_once() {
    let dir = directory();
    let running = full_buffer(dir.path(), "--memory 100K");
    signal_buffer(dir.path(), "-INT");
    std::thread::sleep(std::time::Duration::from_millis(100));
    signal_buffer(dir.path(), "-INT");
    let ended =
        |members: &[SessionProcess]| members.iter().all(|one| one.name != "pelton" || one.state == 'Z');
    running.await_members(ended).expect("it ends");
}

#[test]
fn a_command_never_waits_for_whoever_reads_it() {
    let dir = directory();
    let text = "$P buffer --memory 64K -- sh -c 'seq 100000; seq 200000 >&2; touch ended; exit 7' 2> >(sleep 0.2; md5sum > err) |
        (until test -f ended; do sleep 0.01; done; md5sum)
        echo ${PIPESTATUS[*]}; until test -s err; do sleep 0.01; done; cat err; seq 100000 | md5sum; seq 200000 | md5sum";
    let ended = run(text, dir.path());
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 5, "{said}");
    assert_eq!((lines[0], lines[1], lines[2]), (lines[3], "7 0", lines[4]), "{said}");
}

#[test]
fn a_commands_own_ending_and_order() {
    let dir = directory();
    for (text, expected) in [
        ("$P buffer -- sh -c 'kill -9 $$'; echo $?", "137\n"),
        ("$P buffer -- sh -c 'echo a; echo b >&2; echo c' 2>&1 | cat", "a\nb\nc\n"),
        ("echo in | $P buffer -- cat", "in\n"),
        ("$P buffer -- yes | head -1; echo ${PIPESTATUS[*]}", "y\n141 0\n"),
        ("$P buffer -- sh -c 'echo a; false' > out; echo $?; cat out", "1\na\n"),
        ("$P buffer -- true >&2", ""),
        ("nohup $P buffer -- sh -c 'kill -HUP $$; echo alive' 2> nohup.err | cat", "alive\n"),
    ] {
        let ended = run(text, dir.path());
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&ended.stdout), expected, "{text}: {said}");
    }
}

#[test]
fn a_parent_that_waits_before_it_reads() {
    // B2 and its cure: without the buffer, this parent would wait forever.
    let dir = directory();
    // A thread copies standard error into a file, and must finish first.
    let said = || std::fs::File::create(dir.path().join("said")).expect("made");
    for stderr in [Stdio::null(), Stdio::from(said()), Stdio::inherit()] {
        let mut child = Command::new(PELTON)
            .args(["buffer", "--detach", "--", "sh", "-c", "seq 300000; exit 3"])
            .env("TMPDIR", dir.path())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("started");
        assert_eq!(child.wait().expect("ended").code(), Some(3));
        let mut out = String::new();
        std::io::Read::read_to_string(&mut child.stdout.take().expect("piped"), &mut out).expect("read");
        assert_eq!(out.lines().count(), 300_000);
        assert!(out.ends_with("\n300000\n"));
    }
}

#[test]
fn a_signal_reaches_the_command() {
    let dir = directory();
    let script = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let launch = Launch::new([PELTON, "buffer", "--", "sh", "-c", script], dir.path());
    let running = launch.spawn().expect("started");
    running.await_words("ready\n").expect("it is ready");
    running.signal(Signal::TERM).expect("sent");
    let ended = running.finish().expect("ended");
    assert_eq!((ended.ending, ended.stdout.as_slice()), (Ending::Exit(5), &b"ready\ncaught\n"[..]));
}

#[test]
fn progress_and_statistics() {
    let dir = directory();
    let text = "(seq 10000; sleep 0.3) | $P buffer --progress --interval 0.05 --json -o stats.json | cat > /dev/null";
    let ended = run(text, dir.path());
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("in 48.9 kB at ") && said.contains("waiting for input"), "{said}");
    let stats = statistics(&std::fs::read(dir.path().join("stats.json")).expect("written"));
    assert_eq!((&stats["record_version"], &stats["streams"][0]["out_bytes"]), (&1.into(), &48_894.into()));
    assert_eq!(stats["streams"][0]["name"], "stdin");
}

#[test]
fn a_terminal_gets_one_line_that_is_redrawn() {
    let dir = directory();
    let argv = ["sh", "-c", "sleep 0.4 | $P buffer --progress --interval 0.05 > /dev/null"];
    let mut launch = Launch::new(argv, dir.path());
    launch.env.push(("P".into(), PELTON.into()));
    let terminal = Terminal::spawn(&launch).expect("a terminal");
    let ended = terminal.finish().expect("ended");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(said.matches("\r0.").count() > 1, "{said:?}");
    assert_eq!(said.matches('\n').count(), 1, "{said:?}");
}

#[test]
fn descriptors_that_others_share_are_as_they_were() {
    let dir = directory();
    // O_NONBLOCK is 04000. During the run, and after its end.
    let flags = r"sed -n 's/flags:\t//p' /proc/self/fdinfo/";
    let text = format!(
        "(echo x; sleep 0.1; {flags}1 >&2) | ($P buffer; {flags}0 >&2; {flags}1 >&2) | \
         (sleep 0.2; {flags}0 >&2; cat > /dev/null)"
    );
    let ended = run(&text, dir.path());
    let said = String::from_utf8_lossy(&ended.stderr);
    let shared = |line: &str| u32::from_str_radix(line.trim(), 8).is_ok_and(|flags| flags & 0o4000 == 0);
    assert!(said.lines().count() == 4 && said.lines().all(shared), "{said}");
}

#[test]
fn a_report_to_a_descriptor_is_written_to_what_that_refers_to() {
    for verb in
        ["echo x | $P buffer --json -o /dev/fd/3 > /dev/null", "$P time --json -o /dev/fd/3 : > /dev/null"]
    {
        for (text, left) in [
            (format!("({verb}) 3>&1 | cat > got"), "got\n"),
            // Without a name.
            (format!("exec 3<> f; rm f; {verb}; cat /dev/fd/3 > got"), "got\n"),
            (format!("exec 3> f; {verb}; cat f > got; [ f -ef /dev/fd/3 ] && rm f"), "got\n"),
            (format!("ln -s /dev/fd/3 link; exec 3> f; {verb}; mv f got"), "got\nlink\n"),
        ] {
            let dir = directory();
            let ended = run(&format!("{text}; ls"), dir.path());
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(
                (String::from_utf8_lossy(&ended.stdout).as_ref(), said.as_ref()),
                (left, ""),
                "{text}"
            );
            let report = std::fs::read(dir.path().join("got")).expect("a report");
            serde_json::from_slice::<serde_json::Value>(&report).expect("JSON");
        }
    }
    let ended = run("$P buffer --json -o /dev/fd/77 < /dev/null", directory().path());
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("cannot write the report to `/dev/fd/77`: no such descriptor is open"), "{said}");
}
