//! Measures the sorting kernels beside GNU sort and uniq: CPU time, single-threaded here, as it comes there.
//!
//! ```text
//! cargo run --release -p pelton-commands --example sort_bench [-- MEGABYTES [NAME]]
//! ```
//! Inputs are made by recipe from a fixed seed. Outputs are compared. CPU is user and system time; reading the input
//! and writing the output (to a file in memory) count on both sides.

use std::fs::{self, File};
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use pelton_commands::{Context, Family, Implementation, Locale, SortOptions, SortUniq, TopK, UniqOptions};
use pelton_stream::memory::next_block;
use pelton_stream::{BLOCK_BYTES, Flow, Kernel};

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

/// A line of the table: what is run over what.
struct Row {
    name: &'static str,
    recipe: Recipe,
    sort: &'static str,
    then: Then,
}

enum Then {
    Nothing,
    Uniq(&'static str),
    Head(usize),
}

const ROWS: &[Row] = &[
    Row { name: "csv", recipe: csv, sort: "", then: Then::Nothing },
    Row { name: "csv -r", recipe: csv, sort: "-r", then: Then::Nothing },
    Row { name: "csv -k2", recipe: csv, sort: "-t, -k2,2", then: Then::Nothing },
    Row { name: "csv -k4n", recipe: csv, sort: "-t, -k4,4n", then: Then::Nothing },
    Row { name: "csv -s -k3", recipe: csv, sort: "-s -t, -k3,3", then: Then::Nothing },
    Row { name: "csv -k3 -k4nr", recipe: csv, sort: "-t, -k3,3 -k4,4nr", then: Then::Nothing },
    Row { name: "csv -f", recipe: csv, sort: "-f", then: Then::Nothing },
    Row { name: "csv | head", recipe: csv, sort: "-t, -k4,4nr", then: Then::Head(10) },
    Row { name: "log", recipe: log, sort: "", then: Then::Nothing },
    Row { name: "log -k5", recipe: log, sort: "-k5", then: Then::Nothing },
    Row { name: "words", recipe: words, sort: "", then: Then::Nothing },
    Row { name: "words -u", recipe: words, sort: "-u", then: Then::Nothing },
    Row { name: "words | uniq -c", recipe: words, sort: "", then: Then::Uniq("-c") },
    Row { name: "random words", recipe: random_words, sort: "", then: Then::Nothing },
    Row { name: "random words -u", recipe: random_words, sort: "-u", then: Then::Nothing },
    Row { name: "random words|uniq -c", recipe: random_words, sort: "", then: Then::Uniq("-c") },
    Row { name: "numbers", recipe: numbers, sort: "", then: Then::Nothing },
    Row { name: "numbers -n", recipe: numbers, sort: "-n", then: Then::Nothing },
    Row { name: "numbers -g", recipe: numbers, sort: "-g", then: Then::Nothing },
    Row { name: "decimals -n", recipe: decimals, sort: "-n", then: Then::Nothing },
    Row { name: "decimals -g", recipe: decimals, sort: "-g", then: Then::Nothing },
    Row { name: "decimals -h", recipe: decimals, sort: "-h", then: Then::Nothing },
    Row { name: "counts -rn", recipe: counts, sort: "-rn", then: Then::Nothing },
    Row { name: "counts -rn | head", recipe: counts, sort: "-rn", then: Then::Head(10) },
    Row { name: "two fields -u", recipe: two_fields, sort: "-u", then: Then::Nothing },
    Row { name: "paths", recipe: paths, sort: "", then: Then::Nothing },
    Row { name: "paths -V", recipe: paths, sort: "-V", then: Then::Nothing },
];

fn args(line: &str) -> Vec<Vec<u8>> {
    line.split_whitespace().map(|arg| arg.as_bytes().to_vec()).collect()
}

impl Row {
    fn kernel(&self) -> Result<Box<dyn Kernel>, Failure> {
        let context =
            Context { locale: Locale::C, implementation: Implementation::tested(Family::GnuCoreutils) };
        let said = |declined: pelton_commands::Declined| declined.to_string();
        let sort = SortOptions::parse(&args(self.sort), &context).map_err(said)?;
        Ok(match self.then {
            Then::Uniq(line) => {
                let uniq = UniqOptions::parse(&args(line), &context).map_err(said)?;
                Box::new(SortUniq::new(&sort, &uniq).map_err(said)?)
            }
            Then::Head(lines) => Box::new(TopK::new(&sort, lines).map_err(said)?),
            Then::Nothing => {
                let command = pelton_commands::accept(b"sort", &args(self.sort), &context).map_err(said)?;
                command.kernel().map_err(said)?
            }
        })
    }

    fn shell(&self) -> String {
        match self.then {
            Then::Nothing => format!("sort {}", self.sort),
            Then::Uniq(args) => format!("sort {} | uniq {args}", self.sort),
            Then::Head(lines) => format!("sort {} | head -n {lines}", self.sort),
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

fn run_native(row: &Row, input: &Path, output: &Path) -> Result<(f64, u64), Failure> {
    let mut kernel = row.kernel()?;
    let mut input = File::open(input)?;
    let mut output = File::create(output)?;
    let before = cpu()?.0;
    let (mut block, mut filled) = (vec![0; 2 * BLOCK_BYTES], 0);
    let mut out = Vec::new();
    loop {
        let read = input.read(&mut block[filled..])?;
        filled += read;
        let mut done = 0;
        while done < filled && (read == 0 || block[done..filled].contains(&b'\n')) {
            let size = next_block(&block[done..filled], kernel.framing(), BLOCK_BYTES);
            let _ = kernel.push(&block[done..done + size], &mut out);
            done += size;
        }
        block.copy_within(done..filled, 0);
        filled -= done;
        if read == 0 {
            break;
        }
    }
    while kernel.finish(&mut out) == Ok(Flow::More) {
        output.write_all(&out)?;
        out.clear();
    }
    output.write_all(&out)?;
    drop(kernel);
    Ok((cpu()?.0 - before, peak_memory()?))
}

fn peak_memory() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    Ok(line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024)
}

fn run_shell(row: &Row, input: &Path, output: &Path) -> Result<f64, Failure> {
    let before = cpu()?.1;
    let status = Command::new("sh")
        .args(["-c", &row.shell()])
        .env("LC_ALL", "C")
        .stdin(File::open(input)?)
        .stdout(Stdio::from(File::create(output)?))
        .status()?;
    if !status.success() {
        return Err(format!("{} failed", row.shell()).into());
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
    let wanted = |row: &&Row| arguments.get(1).is_none_or(|name| row.name.contains(name.as_str()));
    let root = if Path::new("/dev/shm").is_dir() { PathBuf::from("/dev/shm") } else { std::env::temp_dir() };
    let folder = root.join(format!("pelton-sort-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (input, ours, theirs) = (folder.join("input"), folder.join("ours"), folder.join("theirs"));
    let mut out = io::stdout();
    writeln!(out, "{:22} {:>8} {:>8} {:>7} {:>8}  same", "CPU s", "kernel", "shell", "ratio", "MB/s")?;
    for row in ROWS.iter().filter(wanted) {
        make(row.recipe, megabytes << 20, &input)?;
        let start = Instant::now();
        let (mut native, mut shell) = (f64::MAX, f64::MAX);
        for _ in 0..3 {
            native = native.min(run_native(row, &input, &ours)?.0);
            shell = shell.min(run_shell(row, &input, &theirs)?);
            if start.elapsed().as_secs() > 40 {
                break;
            }
        }
        let (ratio, speed) = (shell / native, megabytes as f64 / native);
        let same = same(&ours, &theirs)?;
        writeln!(out, "{:22} {native:8.3} {shell:8.2} {ratio:6.1}x {speed:8.0}  {same}", row.name)?;
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}
