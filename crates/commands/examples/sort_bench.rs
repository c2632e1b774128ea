//! Measures the sorting kernels beside GNU sort and uniq: CPU time, single-threaded here, as it comes there.
//!
//! ```text
//! cargo run --release -p pelton-commands --example sort_bench [-- MEGABYTES [NAME [alone]]]
//! ```
//! Inputs are made by recipe from a fixed seed. Outputs are compared in a first run; the others write to `/dev/null`.
//! CPU is user and system time, the least of three runs; reading the input counts on both sides.

use std::fs::{self, File};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use pelton_commands::{Context, Family, Implementation, Locale, SortOptions, TopK, UniqOptions, sort_uniq};
use pelton_stream::{BLOCK_BYTES, Flow, Framing, Kernel};

type Failure = Box<dyn std::error::Error>;

/// xorshift64*.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 33) % end
    }

    /// Small numbers are likelier: about Zipf's law.
    fn skewed(&mut self, end: u64) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((end as f64).powf(unit) as u64 - 1).min(end - 1)
    }
}

fn word(index: u64) -> String {
    let mut rest = index.wrapping_mul(0x9e37_79b9) ^ 0x55;
    let mut word = String::new();
    for _ in 0..2 + index % 9 {
        word.push((b'a' + (rest % 26) as u8) as char);
        rest = rest / 26 + index;
    }
    word
}

/// One recipe: a line at a time.
type Recipe = fn(&mut Rng, u64, &mut Vec<u8>);

fn csv(rng: &mut Rng, index: u64, out: &mut Vec<u8>) {
    let (id, user, price) = (rng.below(100_000_000), rng.below(50_000), rng.below(1_000_000));
    let city = word(rng.below(300));
    let _ = writeln!(
        out,
        "{id},user{user},{city},{}.{:02},2024-{:02}-{:02},{index}",
        price / 100,
        price % 100,
        1 + id % 12,
        1 + id % 28
    );
}

fn log(rng: &mut Rng, index: u64, out: &mut Vec<u8>) {
    let ms = index * 7 + rng.below(40_000);
    let (s, host, code) = (ms / 1000, rng.below(20), 200 + rng.below(4));
    let _ = writeln!(
        out,
        "2024-01-15T{:02}:{:02}:{:02}.{:03}Z host{host} nginx: GET /api/v1/{}/{} {code} {}",
        s / 3600 % 24,
        s / 60 % 60,
        s % 60,
        ms % 1000,
        word(rng.below(50)),
        rng.below(100_000),
        rng.below(9000)
    );
}

fn words(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    let _ = writeln!(out, "{}", word(rng.skewed(200_000)));
}

fn random_words(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    let letters = rng.next();
    let len = 3 + rng.below(4);
    out.extend((0..len).map(|at| b'a' + (letters >> (at * 8)) as u8 % 26));
    out.push(b'\n');
}

fn numbers(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    let number = rng.next() >> (20 + rng.below(40));
    let _ = writeln!(out, "{number}");
}

fn decimals(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    let sign = if rng.below(4) == 0 { "-" } else { "" };
    let _ = writeln!(out, "{sign}{}.{:03}", rng.below(100_000), rng.below(1000));
}

fn counts(rng: &mut Rng, index: u64, out: &mut Vec<u8>) {
    let _ = writeln!(out, "{:7} {}", rng.below(1 << (1 + index % 20)), word(index));
}

fn two_fields(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    let _ = writeln!(out, "user{},2024-{:02}-{:02}", rng.below(50_000), 1 + rng.below(12), 1 + rng.below(28));
}

fn paths(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    let _ = writeln!(
        out,
        "/usr/share/{}/{}/{}-{}.{}.tar.gz",
        word(rng.below(90)),
        word(rng.below(2000)),
        word(rng.below(5000)),
        rng.below(20),
        rng.below(40)
    );
}

fn prose(rng: &mut Rng, index: u64, out: &mut Vec<u8>) {
    for at in 0..8 + rng.below(8) {
        let mut word = word(rng.skewed(200_000));
        if at == 0 {
            word[..1].make_ascii_uppercase();
        }
        let _ = write!(out, "{}{word}", if at == 0 { "" } else { " " });
    }
    let _ = writeln!(out, "{}", if index.is_multiple_of(3) { "." } else { "," });
}

/// Lines that repeat a few times each.
fn repeats(rng: &mut Rng, index: u64, out: &mut Vec<u8>) {
    for _ in 0..1 + rng.below(4) {
        let _ = writeln!(out, "{:08} {}", index, word(index));
    }
}

/// A line of the table: what is run over what. `sort | uniq` and `sort | head` become one kernel.
struct Row {
    name: &'static str,
    recipe: Recipe,
    shell: &'static str,
}

const fn row(name: &'static str, recipe: Recipe, shell: &'static str) -> Row {
    Row { name, recipe, shell }
}

const FREQUENCIES: &str = r"tr -cs A-Za-z '\n' | tr A-Z a-z | sort | uniq -c | sort -rn | head -n 10";

const ROWS: &[Row] = &[
    row("csv", csv, "sort"),
    row("csv", csv, "sort -r"),
    row("csv", csv, "sort -t, -k2,2"),
    row("csv", csv, "sort -t, -k4,4n"),
    row("csv", csv, "sort -s -t, -k3,3"),
    row("csv", csv, "sort -t, -k3,3 -k4,4nr"),
    row("csv", csv, "sort -f"),
    row("csv", csv, "sort -t, -k4,4nr | head -n 10"),
    row("csv", csv, "cut -d, -f2,5 | sort -u"),
    row("log", log, "sort"),
    row("log", log, "sort -k5"),
    row("words", words, "sort"),
    row("words", words, "sort -u"),
    row("words", words, "sort | uniq -c"),
    row("random words", random_words, "sort"),
    row("random words", random_words, "sort -u"),
    row("random words", random_words, "sort | uniq -c"),
    row("prose", prose, FREQUENCIES),
    row("numbers", numbers, "sort"),
    row("numbers", numbers, "sort -n"),
    row("numbers", numbers, "sort -g"),
    row("decimals", decimals, "sort -n"),
    row("decimals", decimals, "sort -g"),
    row("decimals", decimals, "sort -h"),
    row("counts", counts, "sort -rn"),
    row("counts", counts, "sort -rn | head -n 10"),
    row("two fields", two_fields, "sort -u"),
    row("paths", paths, "sort"),
    row("paths", paths, "sort -V"),
    row("repeats", repeats, "uniq"),
    row("repeats", repeats, "uniq -c"),
    row("repeats", repeats, "uniq -d"),
    row("repeats", repeats, "uniq -i -f 1"),
];

/// A kernel, what it has not been given yet, and what it has printed.
struct Stage {
    kernel: Box<dyn Kernel>,
    pending: Vec<u8>,
    printed: Vec<u8>,
}

impl Row {
    fn chain(&self) -> Result<Vec<Stage>, Failure> {
        let context =
            Context { locale: Locale::C, implementation: Implementation::tested(Family::GnuCoreutils) };
        let said = |declined: pelton_commands::Declined| declined.to_string();
        let mut stages: Vec<Vec<Vec<u8>>> = Vec::new();
        for stage in self.shell.split(" | ") {
            stages.push(stage.split(' ').map(|word| word.trim_matches('\'').as_bytes().to_vec()).collect());
        }
        let mut chain = Vec::new();
        let mut rest = stages.as_slice();
        while let Some((stage, after)) = rest.split_first() {
            rest = after;
            let next = after.first().map_or(&[][..], Vec::as_slice);
            let kernel: Box<dyn Kernel> = match (stage[0].as_slice(), next.first().map(Vec::as_slice)) {
                (b"sort", Some(b"uniq")) => {
                    let sort = SortOptions::parse(&stage[1..], &context).map_err(said)?;
                    let uniq = UniqOptions::parse(&next[1..], &context).map_err(said)?;
                    rest = &after[1..];
                    Box::new(sort_uniq(&sort, &uniq).map_err(said)?)
                }
                (b"sort", Some(b"head")) => {
                    let sort = SortOptions::parse(&stage[1..], &context).map_err(said)?;
                    rest = &after[1..];
                    Box::new(TopK::new(&sort, 10).map_err(said)?)
                }
                (name, _) => {
                    let command = pelton_commands::accept(name, &stage[1..], &context).map_err(said)?;
                    command.kernel().map_err(said)?
                }
            };
            chain.push(Stage { kernel, pending: Vec::new(), printed: Vec::new() });
        }
        Ok(chain)
    }
}

/// Gives `bytes` to the first kernel, and what comes out to the next; what leaves the last is in `out`.
fn feed(chain: &mut [Stage], bytes: &[u8], out: &mut Vec<u8>) {
    let Some((Stage { kernel, pending, printed }, rest)) = chain.split_first_mut() else {
        out.extend_from_slice(bytes);
        return;
    };
    let target = if rest.is_empty() { &mut *out } else { &mut *printed };
    let ready = match kernel.framing() {
        Framing::Bytes => bytes.len(),
        Framing::Records(end) => bytes.iter().rposition(|byte| *byte == end).map_or(0, |last| last + 1),
    };
    let (mut whole, left) = bytes.split_at(ready);
    if let (Framing::Records(end), false, false) = (kernel.framing(), whole.is_empty(), pending.is_empty()) {
        let first = whole.iter().position(|byte| *byte == end).map_or(0, |first| first + 1);
        pending.extend_from_slice(&whole[..first]);
        let _ = kernel.push(pending, target);
        pending.clear();
        whole = &whole[first..];
    }
    if !whole.is_empty() {
        let _ = kernel.push(whole, target);
    }
    pending.extend_from_slice(left);
    if !rest.is_empty() {
        feed(rest, printed, out);
        printed.clear();
    }
}

/// Ends the first kernel, then the others.
fn end(chain: &mut [Stage], out: &mut Vec<u8>, output: &mut File) -> Result<(), Failure> {
    let Some((Stage { kernel, pending, printed }, rest)) = chain.split_first_mut() else { return Ok(()) };
    if !pending.is_empty() {
        let _ = kernel.push(pending, printed);
    }
    let _ = kernel.end_input(printed);
    loop {
        let flow = kernel.finish(printed);
        feed(rest, printed, out);
        printed.clear();
        output.write_all(out)?;
        out.clear();
        if flow != Ok(Flow::More) {
            return end(rest, out, output);
        }
    }
}

/// Seconds of CPU: of this process, and of its children that have ended.
fn cpu() -> Result<(f64, f64), Failure> {
    const TICKS: f64 = 100.0;
    let own = fs::read_to_string("/proc/self/schedstat")?;
    let own = own.split_whitespace().next().unwrap_or("0").parse::<f64>()? / 1e9;
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((own, (ticks(13) + ticks(14)) / TICKS))
}

fn run_native(row: &Row, input: &Path, output: &Path) -> Result<f64, Failure> {
    let mut chain = row.chain()?;
    let mut input = File::open(input)?;
    let mut output = File::create(output)?;
    let before = cpu()?.0;
    chain.iter_mut().for_each(|stage| stage.kernel.begin_input(None, &mut Vec::new()));
    let mut block = vec![0; BLOCK_BYTES];
    let mut out = Vec::new();
    loop {
        let read = input.read(&mut block)?;
        if read == 0 {
            break;
        }
        feed(&mut chain, &block[..read], &mut out);
        output.write_all(&out)?;
        out.clear();
    }
    end(&mut chain, &mut out, &mut output)?;
    drop(chain);
    Ok(cpu()?.0 - before)
}

fn run_shell(row: &Row, input: &Path, output: &Path) -> Result<f64, Failure> {
    let before = cpu()?.1;
    let status = Command::new("sh")
        .args(["-c", row.shell])
        .env("LC_ALL", "C")
        .stdin(File::open(input)?)
        .stdout(Stdio::from(File::create(output)?))
        .status()?;
    if !status.success() {
        return Err(format!("{} failed", row.shell).into());
    }
    Ok(cpu()?.1 - before)
}

fn make(recipe: Recipe, bytes: usize, path: &Path) -> Result<(), Failure> {
    let mut text = Vec::with_capacity(bytes + 200);
    let mut rng = Rng(42);
    let mut index = 0;
    while text.len() < bytes {
        recipe(&mut rng, index, &mut text);
        index += 1;
    }
    fs::write(path, text)?;
    Ok(())
}

fn same(a: &Path, b: &Path) -> Result<bool, Failure> {
    let (mut a, mut b) = (io::BufReader::new(File::open(a)?), io::BufReader::new(File::open(b)?));
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let len = left.len().min(right.len());
        if len == 0 {
            return Ok(left.len() == right.len());
        }
        if left[..len] != right[..len] {
            return Ok(false);
        }
        a.consume(len);
        b.consume(len);
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let megabytes: usize = arguments.first().map_or(Ok(100), |text| text.parse())?;
    let wanted = |row: &&Row| {
        arguments
            .get(1)
            .is_none_or(|name| row.name.contains(name.as_str()) || row.shell.contains(name.as_str()))
    };
    let alone = arguments.get(2).is_some();
    let root = if Path::new("/dev/shm").is_dir() { PathBuf::from("/dev/shm") } else { std::env::temp_dir() };
    let folder = root.join(format!("pelton-sort-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (input, ours, theirs) = (folder.join("input"), folder.join("ours"), folder.join("theirs"));
    let mut out = io::stdout();
    writeln!(out, "{:13} {:>7} {:>7} {:>6} {:>5}  same", "CPU s", "kernel", "shell", "ratio", "MB/s")?;
    for row in ROWS.iter().filter(wanted) {
        make(row.recipe, megabytes << 20, &input)?;
        let start = Instant::now();
        run_native(row, &input, &ours)?;
        if !alone {
            run_shell(row, &input, &theirs)?;
        }
        let same = alone || same(&ours, &theirs)?;
        let nowhere = Path::new("/dev/null");
        let (mut native, mut shell) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..3 {
            native = native.min(run_native(row, &input, nowhere)?);
            if !alone {
                shell = shell.min(run_shell(row, &input, nowhere)?);
            }
            if start.elapsed().as_secs() > 40 {
                break;
            }
        }
        let (ratio, speed) = (shell / native, megabytes as f64 / native);
        writeln!(
            out,
            "{:13} {native:7.3} {shell:7.2} {ratio:5.1}x {speed:5.0}  {same}  {}",
            row.name, row.shell
        )?;
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}
