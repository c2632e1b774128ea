//! `cargo xtask pictures`: retakes and tests the book's pictures of the page and the live view, and the README's moving one.
//!
//! Installs a browser (some 300 MB) and tmux, which no other command needs.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::moving_picture;
use workbench::Outcome;
use workbench::cargo_workspace::{cargo, on_path, release_binary, root, target_dir};
use workbench::setup;
use workbench::steps::{step, timed};

/// A program, and its Debian package.
const NEEDED: [(&str, &str); 3] =
    [("chromium", "chromium"), ("chromedriver", "chromium-driver"), ("tmux", "tmux")];

/// Terminal sizes for the live view.
const SIZES: [(u32, u32); 2] = [(80, 24), (200, 60)];

/// The watched pipeline: it has a bottleneck, and both kinds of waiting around it.
const WATCHED: &str = "yes 'GET /index.html 200' | sed 's/index/start/' | gzip -c | wc -c";

/// Takes all pictures.
pub fn run() -> Outcome {
    let missing: Vec<&str> =
        NEEDED.iter().filter(|(program, _)| !on_path(program)).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        setup::install(&missing)?;
    }
    let pelton = release_binary()?;
    let pictures = root().join("docs/pictures");
    std::fs::create_dir_all(&pictures)?;
    timed("the moving picture", || moving_picture::take(&pelton, &pictures.join("pelton.svg")))?;
    let mut test = cargo(["test", "--quiet", "--locked", "-p", "pelton", "--test", "browser"]);
    test.env("PELTON_PICTURES", &pictures).env("PELTON_BINARY", &pelton);
    step("the page in a browser", &mut test)?;
    // The PDF is for a manual look, and too large to keep.
    std::fs::rename(pictures.join("page.pdf"), target_dir()?.join("page.pdf"))?;
    timed("the live view", || SIZES.iter().try_for_each(|size| live(&pelton, *size, &pictures)))
}

/// Takes the screen of `pelton watch`, and of `pelton time --live`, after some seconds.
fn live(pelton: &Path, (columns, rows): (u32, u32), pictures: &Path) -> Outcome {
    let pelton = pelton.display();
    let watch = format!("({WATCHED}) > /dev/null & {pelton} watch $!");
    let time = format!("{pelton} time --live \"{WATCHED}\" > /dev/null");
    for (name, command) in [("watch", watch), ("live", time)] {
        let complete = |screen: &str| screen.contains("gzip -c") && screen.contains("the bottleneck is");
        let screen = screen(&format!("{name}-{columns}"), &command, (columns, rows), complete)?;
        if !complete(&screen) {
            return Err(format!("{name} at {columns}x{rows} does not show what it should:\n{screen}").into());
        }
        std::fs::write(pictures.join(format!("{name}-{columns}x{rows}.txt")), screen)?;
    }
    Ok(())
}

/// Returns the screen of a terminal of this size, in its own tmux server: one that just ended may still hold
/// its name. Reads it once figures have settled, and again for a while until it is complete.
fn screen(
    name: &str,
    command: &str,
    (columns, rows): (u32, u32),
    complete: impl Fn(&str) -> bool,
) -> Outcome<String> {
    let server = format!("pelton-pictures-{}-{name}", std::process::id());
    let tmux = |words: &[&str]| {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &server, "-f", "/dev/null"]).args(words).env("LC_ALL", "C.UTF-8");
        tmux.output()
    };
    let (x, y) = (columns.to_string(), rows.to_string());
    tmux(&["new-session", "-d", "-x", &x, "-y", &y, "bash", "-c", command])?;
    let mut text = String::new();
    for wait in [6, 2, 2, 4, 6] {
        sleep(Duration::from_secs(wait));
        text = String::from_utf8(tmux(&["capture-pane", "-p"])?.stdout)?;
        if complete(&text) {
            break;
        }
    }
    // Its programs get a hang-up, as when any terminal closes.
    tmux(&["kill-server"])?;
    Ok(text.trim_end().to_owned() + "\n")
}
