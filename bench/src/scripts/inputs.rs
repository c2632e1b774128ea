//! What the scripts read: seven large files of the same size, and small trees.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use workbench::Outcome;
use workbench::inputs::Rng;

/// Appends a record, given the number of earlier ones.
type Append = fn(&mut Rng, u64, &mut Vec<u8>) -> std::io::Result<()>;

/// The large files.
const LARGE: [(&str, Append); 7] = [
    ("access.log", access),
    ("app.log", app),
    ("orders.csv", order),
    ("words.txt", words),
    ("passwd", user),
    ("reads.fastq", read),
    ("genome.fa", sequence),
];
const WORDS: [&str; 24] = [
    "the", "of", "and", "to", "a", "in", "is", "it", "that", "for", "pipe", "shell", "kernel", "memory",
    "process", "reader", "writer", "buffer", "signal", "status", "file", "system", "call", "order",
];
const SERVICES: [&str; 8] = ["sshd", "cron", "nginx", "postfix", "kernel", "systemd", "dhcpd", "ntpd"];
const LETTERS: &[u8] = b"etaoinshrdlu";

/// Makes the large files in `dir`, each of about `bytes`, unless they exist.
pub fn make_large(dir: &Path, bytes: u64) -> Outcome {
    fs::create_dir_all(dir)?;
    for (name, append) in LARGE {
        let path = dir.join(name);
        if path.is_file() {
            continue;
        }
        let unfinished = dir.join("unfinished");
        let mut file = BufWriter::new(fs::File::create(&unfinished)?);
        let (mut rng, mut record, mut length, mut index) = (Rng::new(25), Vec::new(), 0, 0);
        if name == "orders.csv" {
            file.write_all(b"id,date,customer,region,product,quantity,price\n")?;
        }
        while length < bytes {
            record.clear();
            append(&mut rng, index, &mut record)?;
            file.write_all(&record)?;
            length += record.len() as u64;
            index += 1;
        }
        file.flush()?;
        fs::rename(unfinished, path)?;
    }
    Ok(())
}

/// Makes the small trees in `dir`: `etc` with settings, `tree` with 240 files.
pub fn make_small(dir: &Path) -> Outcome {
    let mut rng = Rng::new(7);
    fs::create_dir_all(dir.join("etc/conf.d"))?;
    for number in 0..40 {
        let mut text = format!("# settings {number}\n\n");
        for key in ["kernel.panic", "vm.swappiness", "net.ipv4.forward", "fs.limit"] {
            text += &format!("{key} = {}\n", rng.below(100));
        }
        text += &format!("local.key{number}=value {number} # its own\n");
        fs::write(dir.join(format!("etc/conf.d/{number:02}-local.conf")), text)?;
    }
    fs::write(dir.join("etc/default"), "NAME=services\nENABLED=yes\nLOG=app.log\nLEVEL=ERROR\n")?;
    fs::write(
        dir.join("etc/functions"),
        "log_begin() { echo \"== $1\"; }\nlog_line() { echo \"-- $*\"; }\nlog_end() { echo \"==\"; }\n\
         first_of() { head -n 1 \"$1\" | tr -s ' '; }\n",
    )?;
    fs::write(
        dir.join("etc/template"),
        "#!/bin/sh\nversion = 2.4.1\nprefix=@PREFIX@\nlib=@PREFIX@/lib\necho @VERSION@\n",
    )?;
    for number in 0..240_u64 {
        let folder = dir.join(format!("tree/d{}", number % 12));
        fs::create_dir_all(&folder)?;
        let ending = ["txt", "conf", "log", "bak", "tmp"][(number % 5) as usize];
        let line = |line: u64| format!("{} {}\n", rng.pick(&WORDS), line * (number % 9));
        let lines: String = (0..number % 37).map(line).collect();
        fs::write(
            folder.join(
                format!("File {number}.{ending}").replace(' ', if number % 7 == 0 { " " } else { "-" }),
            ),
            lines,
        )?;
    }
    Ok(())
}

fn access(rng: &mut Rng, index: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    let client = rng.skewed(5000);
    let second = index * 86_400 / 400_000 % 86_400;
    let status = [200, 200, 200, 200, 304, 404, 403, 500][rng.below(8) as usize];
    let path = match rng.below(4) {
        0 => format!("/img/{}.png", rng.skewed(300)),
        1 => format!("/item?id={}&page={}", rng.skewed(9000), rng.below(9)),
        _ => format!("/page/{}.html", rng.skewed(2000)),
    };
    let agent = ["Mozilla/5.0 (X11; Linux x86_64)", "curl/8.8.0", "Examplebot/2.1"][rng.below(3) as usize];
    writeln!(
        out,
        "10.{}.{}.{} - - [27/Nov/2026:{:02}:{:02}:{:02} +0000] \"{} {path} HTTP/1.1\" {status} {} \"-\" \"{agent}\"",
        client % 7,
        client / 7 % 250,
        client % 250,
        second / 3600,
        second / 60 % 60,
        second % 60,
        if rng.below(20) == 0 { "POST" } else { "GET" },
        rng.skewed(90_000)
    )
}

fn app(rng: &mut Rng, index: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    let (second, service) = (index * 86_400 / 600_000 % 86_400, rng.pick(&SERVICES));
    let level = ["DEBUG", "INFO", "INFO", "INFO", "INFO", "WARN", "ERROR"][rng.below(7) as usize];
    let message = match rng.below(4) {
        0 => format!("connection from 10.0.0.{} closed after {} ms", rng.below(250), rng.skewed(9000)),
        1 => format!("delivered to user{}@host{}.example.org", rng.skewed(4000), rng.below(20)),
        2 => format!("cannot open file {}: no such file", rng.below(500)),
        _ => format!("job {} finished with status {}", rng.below(10_000), rng.below(4)),
    };
    writeln!(
        out,
        "2026-11-27T{:02}:{:02}:{:02} host {service}[{}]: {level} {message}",
        second / 3600,
        second / 60 % 60,
        second % 60,
        100 + rng.below(900)
    )
}

fn order(rng: &mut Rng, index: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    writeln!(
        out,
        "{},2026-{:02}-{:02},customer{},{},{},{},{}.{:02}",
        index + 1,
        rng.below(12) + 1,
        rng.below(28) + 1,
        rng.skewed(20_000),
        ["north", "south", "east", "west"][rng.below(4) as usize],
        ["bolt", "nut", "screw", "washer", "hinge", "bracket", "nail"][rng.below(7) as usize],
        rng.below(40) + 1,
        rng.below(500),
        rng.below(100)
    )
}

fn words(rng: &mut Rng, _: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    for place in 0..=rng.below(14) {
        if place > 0 {
            out.push(b' ');
        }
        if rng.below(3) == 0 {
            // A rare word, always written the same.
            let mut seed = Rng::new(rng.skewed(30_000));
            let length = 3 + seed.below(9);
            out.extend((0..length).map(|_| *seed.pick(LETTERS)));
        } else {
            out.extend(rng.pick(&WORDS).bytes());
        }
    }
    out.extend(if rng.below(9) == 0 { b".\n".as_slice() } else { b"\n" });
    Ok(())
}

fn user(rng: &mut Rng, index: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    if index == 0 {
        return writeln!(out, "root:x:0:0:root:/root:/bin/bash");
    }
    let shell = ["/bin/bash", "/bin/sh", "/usr/sbin/nologin", "/bin/false"][rng.skewed(4) as usize];
    let id = if rng.below(50) == 0 { 100 + rng.below(900) } else { 1000 + rng.below(60_000) };
    let name = format!("u{index}");
    writeln!(out, "{name}:x:{id}:{id}:{} {}:/home/{name}:{shell}", rng.pick(&WORDS), rng.pick(&WORDS))
}

fn read(rng: &mut Rng, index: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    let length = 40 + rng.below(60);
    writeln!(out, "@run{}:{}:{index}", rng.below(3), rng.below(9))?;
    let mut seed = if rng.below(10) == 0 { Rng::new(rng.below(50)) } else { Rng::new(rng.next_u64()) };
    out.extend((0..length).map(|_| b"ACGTACGTACGTACGTN"[seed.below(17) as usize]));
    out.extend(b"\n+\n");
    out.extend((0..length).map(|_| b'!' + rng.skewed(40) as u8));
    out.push(b'\n');
    Ok(())
}

fn sequence(rng: &mut Rng, index: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    writeln!(out, ">contig{index} length unknown")?;
    for _ in 0..20 + rng.skewed(600) {
        out.extend((0..70).map(|_| b"ACGTacgtACGTACGTACGN"[rng.below(20) as usize]));
        out.push(b'\n');
    }
    Ok(())
}
