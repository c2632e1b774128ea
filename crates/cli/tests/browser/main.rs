//! The page of `pelton time --html` in a real browser: it draws, responds, zooms, prints, and logs no error.
//!
//! Skipped with a message if chromium or chromedriver is missing: they are large, so `cargo xtask test` does
//! not install them. `cargo xtask pictures` does, runs this, and keeps the pictures.
#![allow(clippy::print_stdout, reason = "a test that is skipped says why")]

mod driver;

use driver::Browser;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A pipeline with all kinds of states: work, waits for input and for room, a stage that blocks.
const PIPELINE: &str = "seq 600000 | sed 's/7/seven/g' | sort | uniq -c | sort -rn | head -n 1";

/// Starts a browser, if any.
fn browser() -> Option<Browser> {
    match Browser::start(1280, 860) {
        Ok(browser) => Some(browser),
        Err(why) if std::env::var_os("PELTON_PICTURES").is_some() => panic!("{why}"),
        Err(why) => {
            println!("{why}; `cargo xtask pictures` installs what is missing");
            pelton_testkit::skips::skip("a browser");
            None
        }
    }
}

fn page(dir: &Path) -> PathBuf {
    let page = dir.join("run.html");
    // The pictures show what users get.
    let pelton = std::env::var_os("PELTON_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_pelton").into());
    let mut command = Command::new(pelton);
    let out =
        command.args(["time", "--html"]).arg(&page).arg(PIPELINE).env("LC_ALL", "C.UTF-8").output().unwrap();
    assert!(out.status.success(), "{out:?}");
    page
}

/// Keeps a picture, if requested.
fn keep(name: &str, bytes: &[u8]) {
    if let Some(dir) = std::env::var_os("PELTON_PICTURES") {
        fs::write(Path::new(&dir).join(name), bytes).unwrap();
    }
}

fn number(value: Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Counts the drawing's pixels of this colour of the page.
fn points(browser: &Browser, color: &str) -> f64 {
    number(browser.value(&format!(
        "(() => {{
            // A copy, so that reading it back changes nothing for the page.
            const copy = new OffscreenCanvas(canvas.width, canvas.height);
            const c = copy.getContext('2d', {{ willReadFrequently: true }}); c.drawImage(canvas, 0, 0); c.fillStyle = color('{color}'); const hex = c.fillStyle;
            const wanted = [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
            const all = c.getImageData(0, 0, canvas.width, canvas.height).data; let n = 0;
            for (let i = 0; i < all.length; i += 4)
                if (wanted.every((part, at) => all[i + at] === part)) n++;
            return n;
        }})()"
    )))
}

/// Returns the screen position at the fraction `along` of a stage's bar.
fn place(browser: &Browser, stage: usize, along: f64) -> (i64, i64) {
    let row = format!("rows.find(row => row.stage && row.number === {stage})");
    let box_ = "canvas.getBoundingClientRect()";
    let x =
        number(browser.value(&format!("{box_}.left + LEFT + (canvas.clientWidth - LEFT - RIGHT) * {along}")));
    let y = number(browser.value(&format!("{box_}.top + {row}.y + 10")));
    (x as i64, y as i64)
}

#[test]
fn the_page_draws_tells_zooms_and_prints() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    browser.prefers("light");
    browser.open(&page(dir.path()));
    keep("page-light.png", &browser.picture());
    it_draws(&browser);
    it_tells(&browser);
    it_zooms(&browser);
    it_is_dark_or_light(&browser);
    let paper = browser.printed();
    assert!(paper.starts_with(b"%PDF"), "no paper");
    keep("page.pdf", &paper);
    assert_eq!(browser.messages(), Vec::<Value>::new());
}

fn it_draws(browser: &Browser) {
    assert_eq!(browser.value("document.querySelector('h1').textContent"), PIPELINE);
    let found = ["running", "input", "pipe", "read"].map(|state| points(browser, state));
    assert!(found.iter().all(|points| *points > 50.0), "{found:?}");
    assert_eq!(browser.value("rows.filter(row => row.stage).length"), 6);
    assert_eq!(browser.value("rows.filter(row => row.worst).length"), 1);
}

fn it_tells(browser: &Browser) {
    let (x, y) = place(browser, 3, 0.5);
    browser.point(x, y, false);
    let told = browser.value("tip.textContent").as_str().unwrap_or_default().to_owned();
    assert_eq!(browser.value("tip.style.display"), "block");
    assert!(told.starts_with("3 sort\n") && told.contains("blocked on read"), "{told}");
    browser.point(x, 5, false);
    assert_eq!(browser.value("tip.style.display"), "none");
}

fn it_zooms(browser: &Browser) {
    let span = || number(browser.value("to - from"));
    let whole = span();
    browser.key("+");
    let nearer = span();
    assert!(nearer < whole * 0.8, "{nearer} of {whole}");
    let before = number(browser.value("from"));
    browser.key("\u{e014}");
    assert!(number(browser.value("from")) > before, "the right arrow moves");
    let (x, y) = place(browser, 3, 0.3);
    browser.wheel(x, y, -100);
    assert!(span() < nearer, "the wheel zooms");
    browser.key("-");
    browser.key("0");
    assert_eq!(span(), whole);
    let button = |edge: &str| {
        number(browser.value(&format!("document.getElementById('in').getBoundingClientRect().{edge}")))
    };
    browser.point((button("left") + 5.0) as i64, (button("top") + 5.0) as i64, true);
    assert!(span() < whole, "the button zooms");
}

fn it_is_dark_or_light(browser: &Browser) {
    let dark = || browser.value("document.body.classList.contains('dark')");
    assert_eq!(dark(), false);
    browser.key("d");
    assert_eq!(dark(), true);
    browser.key("d");
    browser.prefers("dark");
    // The page is notified with the next frame.
    let heard = (0..200).any(|_| dark() == true || browser.picture().is_empty());
    assert!(heard, "as the system prefers it");
    let (x, y) = place(browser, 3, 0.6);
    browser.point(x, y, false);
    keep("page-dark.png", &browser.picture());
}
