//! Each kernel alone against its real tool: MB/s and CPU.
//!
//! ```text
//! cargo run --release -p pelton-commands --example speed [NAME...]
//! ```
//!
//! The kernel works over data in memory, block by block, and its output is dropped; the tool reads the same data from a
//! file in memory and writes to `cat > /dev/null` (some tools notice /dev/null itself). The CPU of the tool is its own
//! user and system time; that of the kernel is this process's. Best of three.

use pelton_testkit::Random;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use pelton_commands::{Context, Implementation, Locale, accept, lookup};
use pelton_stream::memory::next_block;
use pelton_stream::{BLOCK_BYTES, Flow, InputKind, JoinKernel, Notice};

const BYTES: usize = 128 << 20;

/// Name, arguments, data.
const CASES: &[(&str, &str, Data)] = &[
    ("cat", "", Data::Log),
    ("cat", "-n", Data::Log),
    ("cat", "-A", Data::Log),
    ("tr", "a-z A-Z", Data::Words),
    ("tr", "a-zA-Z n-za-mN-ZA-M", Data::Words),
    ("tr", "abcdefghij 0987654321", Data::Words),
    ("tr", "-d \\r", Data::Csv),
    ("tr", "-d 0-9", Data::Base64),
    ("tr", "-s \\040", Data::Words),
    ("tr", "-cs A-Za-z \\n", Data::Words),
    ("cut", "-d, -f2,5", Data::Csv),
    ("cut", "-d, -f1", Data::Csv),
    ("cut", "-d, -f2-", Data::Csv),
    ("cut", "-d\\040 -f3", Data::Log),
    ("cut", "-c1-20", Data::Log),
    ("head", "-n 1000000", Data::Log),
    ("head", "-n -5", Data::Log),
    ("tail", "-n 10", Data::Log),
    ("tail", "-n +3", Data::Log),
    ("wc", "-l", Data::Log),
    ("wc", "-w", Data::Words),
    ("wc", "-L", Data::Log),
    ("wc", "-m", Data::Words),
    ("nl", "", Data::Log),
    ("tac", "", Data::Log),
    ("paste", "- -", Data::Log),
    ("paste", "-s -d,", Data::Log),
    ("fold", "-w 20", Data::Log),
    ("fold", "-s -w 20", Data::Log),
    ("expand", "", Data::Csv),
    ("unexpand", "", Data::Csv),
    ("unexpand", "-a", Data::Words),
    ("comm", "@ @", Data::Keys),
    ("comm", "-23 @ -", Data::Keys),
    ("join", "-t, @ @", Data::Keys),
    ("join", "-t, -o 0,2.3 @ -", Data::Keys),
    ("base64", "", Data::Log),
    ("base64", "-w 0", Data::Log),
    ("base64", "-d", Data::Base64),
    ("seq", "15000000", Data::Keys),
    ("sha1sum", "", Data::Log),
    ("sha256sum", "", Data::Log),
    ("grep", "qzqz", Data::Log),
    ("grep", "GET", Data::Log),
    ("grep", ":59", Data::Log),
    ("grep", "-v GET", Data::Log),
    ("grep", "-v qzqz", Data::Log),
    ("grep", "-c :59", Data::Log),
    ("grep", "-i qzqz", Data::Log),
    ("grep", "-i get", Data::Log),
    ("grep", "-n :59", Data::Log),
    ("grep", "-w 99", Data::Log),
    ("grep", "-E [0-9]+ms", Data::Log),
    ("grep", "-E [0-9]+s", Data::Words),
    ("grep", "-E foo|bar|qux", Data::Log),
    ("grep", "-E ^10.0.1[0-9]+", Data::Log),
    ("grep", "-c [a-z]*q[a-z]*$", Data::Words),
    ("grep", "-oE [0-9]+:[0-9]+", Data::Log),
    ("grep", "-o [A-Z]*", Data::Words),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    Words,
    Csv,
    Log,
    Base64,
    /// Sorted by its first field.
    Keys,
}

fn make(data: Data) -> Vec<u8> {
    let mut rng = Random::new(42);
    let mut out = Vec::with_capacity(BYTES + 4096);
    let vocabulary: Vec<String> = (0..5000)
        .map(|_| (0..2 + rng.below(8)).map(|_| char::from(b'a' + rng.below(26) as u8)).collect())
        .collect();
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut number = 0;
    while out.len() < BYTES {
        number += 1;
        match data {
            Data::Words => {
                let words: Vec<&str> = (0..10).map(|_| vocabulary[rng.below(5000)].as_str()).collect();
                let _ = writeln!(out, "{}, {}.", words[0].to_uppercase(), words[1..].join(" "));
            }
            Data::Keys => {
                let word = &vocabulary[rng.below(5000)];
                let _ = writeln!(out, "{number:010},{word},{},yes", rng.below(1000));
            }
            Data::Csv => {
                let (a, b) = (rng.below(100_000), rng.below(1000));
                let word = &vocabulary[rng.below(5000)];
                let _ = writeln!(
                    out,
                    "{number},{word},{a}.{b},2024-0{}-1{},{b},yes,{word}{a}",
                    1 + b % 9,
                    a % 10
                );
            }
            Data::Log => {
                let path = &vocabulary[rng.below(5000)];
                let _ = writeln!(
                    out,
                    "10.0.{}.{} - - [12/Mar/2024:10:{:02}:{:02} +0000] \"GET /{path}/index.html HTTP/1.1\" 200 {}",
                    rng.below(256),
                    rng.below(256),
                    rng.below(60),
                    rng.below(60),
                    rng.below(100_000)
                );
            }
            Data::Base64 => {
                out.extend((0..76).map(|_| DIGITS[rng.below(64)]));
                out.push(b'\n');
            }
        }
    }
    out
}

/// Escapes as in the table, so that arguments can hold blanks.
fn arguments(text: &str) -> Vec<Vec<u8>> {
    text.split_whitespace().map(|arg| arg.replace("\\040", " ").into_bytes()).collect()
}

fn kernel(name: &str, args: &[Vec<u8>], data: &[u8], locale: Locale) -> Option<Duration> {
    let family = lookup(name.as_bytes())?.family;
    let context = Context { locale, implementation: Implementation::tested(family) };
    let command = accept(name.as_bytes(), args, &context).ok()?;
    let mut out = Vec::new();
    let start = thread_cpu();
    if let Ok(kernel) = command.join_kernel() {
        join(kernel, data);
        return Some(thread_cpu() - start);
    }
    let mut kernel = command.kernel().ok()?;
    kernel.notice(Notice::Inputs(&[InputKind::Regular { bytes: data.len() as u64 }]));
    kernel.begin_input(None, &mut out);
    let mut done = 0;
    while done < data.len() && !command.inputs().is_empty() {
        let size = next_block(&data[done..], kernel.framing(), BLOCK_BYTES);
        if kernel.push(&data[done..done + size], &mut out).ok()? != Flow::More {
            break;
        }
        std::hint::black_box(&out);
        out.clear();
        done += size;
    }
    let _ = kernel.end_input(&mut out);
    while kernel.finish(&mut out) == Ok(Flow::More) {
        std::hint::black_box(&out);
        out.clear();
    }
    std::hint::black_box(&out);
    Some(thread_cpu() - start)
}

/// Both inputs are the same data.
fn join(mut kernel: Box<dyn JoinKernel>, data: &[u8]) {
    let mut out = Vec::new();
    let mut done = [0, 0];
    while let Some(input) = kernel.wants() {
        let rest = &data[done[input]..];
        if rest.is_empty() {
            kernel.end_input(input, &mut out);
            continue;
        }
        let size = next_block(rest, kernel.framing(), BLOCK_BYTES);
        kernel.push(input, &rest[..size], &mut out);
        std::hint::black_box(&out);
        out.clear();
        done[input] += size;
    }
}

/// The CPU time of this process, which has one thread.
fn thread_cpu() -> Duration {
    Duration::from_nanos(pelton_sys::clock::own_cpu_ns())
}

/// User and system time of the tool, as bash's `times` counts its only child; to the millisecond.
fn tool(name: &str, args: &[Vec<u8>], path: &str, locale: &str) -> Duration {
    use std::os::unix::ffi::OsStrExt as _;
    let script =
        "TIMEFORMAT='%3U %3S'; input=$1; shift; { time \"$@\" < \"$input\" 2>&3 | cat > /dev/null; } 3>&2";
    // The pipeline's time would count cat's, so the tool alone is timed inside it.
    let script = script.replace("{ time \"$@\" < \"$input\" 2>&3 |", "{ { time \"$@\" < \"$input\"; } |");
    let child = Command::new("bash")
        .args(["-c", &script, "bash", path, name])
        .args(args.iter().map(|arg| std::ffi::OsStr::from_bytes(arg)))
        .env("LC_ALL", locale)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut text = String::new();
    let mut child = child.expect("bash");
    let _ = child.stderr.take().expect("its standard error").read_to_string(&mut text);
    let _ = child.wait();
    let seconds: f64 = text.split_whitespace().filter_map(|field| field.parse::<f64>().ok()).sum();
    Duration::from_secs_f64(seconds)
}

fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    let folder = if fs::metadata("/dev/shm").is_ok() { "/dev/shm".into() } else { std::env::temp_dir() };
    let path = folder.join(format!("pelton-speed-{}", std::process::id()));
    let mut stdout = std::io::stdout();
    let mut current = None;
    let mut data = Vec::new();
    // A kernel that declines shows as absurdly fast.
    let _ = writeln!(
        stdout,
        "{:28} {:>9} {:>9} {:>7}   {:>9} {:>9}",
        "MB/s", "kernel C", "tool C", "", "UTF-8", "tool"
    );
    for (name, text, kind) in CASES {
        if !only.is_empty() && !only.iter().any(|wanted| wanted == name) {
            continue;
        }
        if current != Some(*kind) {
            data = make(*kind);
            current = Some(*kind);
            let written = File::create(&path).and_then(|mut file| file.write_all(&data));
            written.expect("a file for the data");
        }
        let shown = path.to_string_lossy();
        let args = arguments(&text.replace('@', &shown));
        let best = |run: &dyn Fn() -> Duration| (0..3).map(|_| run()).min().unwrap_or_default();
        let mine = best(&|| kernel(name, &args, &data, Locale::C).unwrap_or_default());
        let mine_wide = best(&|| kernel(name, &args, &data, Locale::C_UTF8).unwrap_or_default());
        let plain = best(&|| tool(name, &args, &shown, "C"));
        let wide = best(&|| tool(name, &args, &shown, "C.UTF-8"));
        let speed = |time: Duration| data.len() as f64 / 1e6 / time.as_secs_f64().max(1e-9);
        let ratio = |tool: Duration, mine: Duration| tool.as_secs_f64() / mine.as_secs_f64().max(1e-9);
        let _ = writeln!(
            stdout,
            "{:28} {:>9.0} {:>9.0} {:>6.1}x   {:>9.0} {:>9.0} {:>6.1}x",
            format!("{name} {text}"),
            speed(mine),
            speed(plain),
            ratio(plain, mine),
            speed(mine_wide),
            speed(wide),
            ratio(wide, mine_wide)
        );
    }
    let _ = fs::remove_file(&path);
}
