//! A text under the shell and under `pelton run` with one thread, in C and in C.UTF-8: compares CPU.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Bench;
use super::contest::{Contender, Samples, contest};
use super::stats;
use workbench::Outcome;
use workbench::inputs::Recipe;

/// The locales for every text.
pub const LOCALES: [&str; 2] = ["C", "C.UTF-8"];

/// The working directory of the texts: in memory if possible, so that no disk is measured. Removed on drop.
pub struct Place {
    /// Its path.
    pub dir: PathBuf,
}

impl Place {
    /// Makes a directory with these files under short names. Outputs are written there as well.
    pub fn with(files: &[(&str, &Path)]) -> Outcome<Self> {
        let place = Place::named("pelton-bench")?;
        files.iter().try_for_each(|(name, path)| place.add(name, path))?;
        Ok(place)
    }

    /// Adds a file under a short name.
    pub fn add(&self, name: &str, path: &Path) -> Outcome {
        Ok(std::os::unix::fs::symlink(path, self.dir.join(name))?)
    }

    /// Makes a directory with inputs of these recipes.
    pub fn with_inputs(bench: &Bench, inputs: &[(&str, Recipe)], megabytes: u64) -> Outcome<Self> {
        let place = Place::with(&[])?;
        inputs
            .iter()
            .try_for_each(|(name, recipe)| place.add(name, &recipe.file(&bench.data, megabytes)?))?;
        Ok(place)
    }

    /// Makes an empty directory, named after its purpose.
    pub fn named(purpose: &str) -> Outcome<Self> {
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let place = Place { dir: root.join(format!("{purpose}-{}", std::process::id())) };
        std::fs::create_dir_all(&place.dir)?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A leftover harms nothing.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The samples of one text in one locale.
pub struct Ratio {
    /// `LC_ALL`.
    pub locale: &'static str,
    /// The shell first, then pelton.
    pub samples: Vec<Samples>,
}

impl Ratio {
    /// Runs the text both ways, after checking that both print the same.
    pub fn of(bench: &Bench, place: &Place, text: &str, locale: &'static str, runs: usize) -> Outcome<Self> {
        let pelton = bench.pelton.as_os_str();
        let both = [
            Contender::new("shell", ["bash", "-c", text]).in_locale(locale),
            Contender::new(
                "pelton",
                [pelton, "run".as_ref(), "--jobs=1".as_ref(), "--".as_ref(), text.as_ref()],
            )
            .in_locale(locale),
        ];
        let mut outputs = Vec::new();
        for contender in &both {
            super::contest::run_once(contender, &place.dir)?;
            outputs.push(digest(&place.dir.join("out"))?);
        }
        if outputs[0] != outputs[1] {
            return Err(format!("`{text}` in {locale}: pelton prints something else than the shell").into());
        }
        Ok(Ratio { locale, samples: contest(&both, &place.dir, runs, 0)? })
    }

    /// Returns the shell's user+sys divided by pelton's, for runs that are adjacent in time.
    pub fn cpu(&self) -> f64 {
        stats::median_ratio(&self.samples[0].cpu, &self.samples[1].cpu)
    }

    /// Returns the shell's time divided by pelton's.
    pub fn real(&self) -> f64 {
        stats::median_ratio(&self.samples[0].real, &self.samples[1].real)
    }

    /// Returns the raw samples.
    pub fn json(&self) -> Value {
        json!({"locale": self.locale, "cpu_ratio": self.cpu(), "samples": self.samples.iter().map(Samples::json).collect::<Vec<_>>()})
    }
}

/// Returns the first word of a command that is the name of an input, or of a file that is made from it (`log.gz`).
pub fn named_input<'a>(text: &str, mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let words: Vec<&str> = text.split([' ', '.']).collect();
    names.find(|name| words.contains(name))
}

/// Returns a file's length and hash (FNV-1a): equal for equal files.
pub fn digest(path: &Path) -> Outcome<(u64, u64)> {
    use std::io::Read;
    let mut file = std::fs::File::open(path)?;
    let (mut length, mut sum) = (0, 0xcbf2_9ce4_8422_2325_u64);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let size = file.read(&mut buffer)?;
        if size == 0 {
            return Ok((length, sum));
        }
        length += size as u64;
        for word in buffer[..size].chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            sum = (sum ^ u64::from_le_bytes(bytes)).wrapping_mul(0x100_0000_01b3).rotate_left(29);
        }
    }
}
