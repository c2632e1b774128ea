//! Recipes for data, one per file. They are seeded, so that measurements can be repeated elsewhere.

mod access_log;
mod csv;
mod json_menu;
mod lines;
mod people;
mod prose;
mod purchases;
mod quoted_csv;
mod releases;
mod rng;
mod service_log;
mod short;
mod words;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::steps::timed;
pub use rng::Rng;

/// A kind of data.
pub struct Recipe {
    /// The recipe's name, and the file's.
    pub name: &'static str,
    /// Describes the data, for results.
    pub about: &'static str,
    /// Appends one or a few records, given the number of earlier calls. Called until there is enough data.
    append: fn(&mut Rng, u64, &mut Vec<u8>),
}

/// A web server's log in the combined format.
pub const ACCESS_LOG: Recipe = access_log::RECIPE;
/// CSV with quoted fields.
pub const CSV: Recipe = csv::RECIPE;
/// Lines that look like base64.
pub const LINES: Recipe = lines::RECIPE;
/// One word per line, common words often.
pub const WORDS: Recipe = words::RECIPE;
/// Running text.
pub const PROSE: Recipe = prose::RECIPE;
/// CSV without quotes.
pub const PURCHASES: Recipe = purchases::RECIPE;
/// Lines of 5 bytes.
pub const SHORT: Recipe = short::RECIPE;
/// Fractions, sizes, versions, months and names.
pub const RELEASES: Recipe = releases::RECIPE;
/// A log nearly in time order.
pub const SERVICE_LOG: Recipe = service_log::RECIPE;
/// CSV with line ends in quotes.
pub const NOTES: Recipe = quoted_csv::RECIPE;
/// People as JSON, one per line.
pub const PEOPLE: Recipe = people::RECIPE;
/// The menu example of json.org, one value per line.
pub const JSON_MENU: Recipe = json_menu::RECIPE;

/// Raised when a recipe changes, so that old data is not reused.
pub const VERSION: u32 = 1;
const SEED: u64 = 20_260_101;
const MB: u64 = 1_000_000;

impl Recipe {
    /// Returns a file with `megabytes` of this data in `dir`, made if missing. Ends after a whole record.
    pub fn file(&self, dir: &Path, megabytes: u64) -> Outcome<PathBuf> {
        let path = dir.join(format!("{}-{megabytes}mb.txt", self.name));
        self.make(&path, megabytes)?;
        Ok(path)
    }

    /// Makes the same file under the caller's name.
    pub fn make(&self, path: &Path, megabytes: u64) -> Outcome {
        if path.metadata().is_ok_and(|file| file.len() >= megabytes * MB) {
            return Ok(());
        }
        timed(&format!("make {megabytes} MB: {}", path.display()), || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            // Uses another name until complete, so that an interrupted run leaves no partial data under the
            // final name.
            let partial = path.with_extension(format!("partial-{}", std::process::id()));
            self.write(&mut File::create(&partial)?, megabytes * MB)?;
            Ok(fs::rename(&partial, path)?)
        })
    }

    /// Returns a file with at most `limit` of this recipe's JSON documents as one array, an element per line.
    pub fn array(&self, dir: &Path, megabytes: u64, limit: usize) -> Outcome<PathBuf> {
        let path = dir.join(format!("{}-array-{megabytes}mb.json", self.name));
        if path.exists() {
            return Ok(path);
        }
        let lines = BufReader::new(File::open(self.file(dir, megabytes)?)?).lines();
        let partial = path.with_extension(format!("partial-{}", std::process::id()));
        let mut to = BufWriter::new(File::create(&partial)?);
        to.write_all(b"[")?;
        for (number, line) in lines.take(limit).enumerate() {
            to.write_all(if number > 0 { b",\n" } else { b"" })?;
            to.write_all(line?.as_bytes())?;
        }
        to.write_all(b"]\n")?;
        to.flush()?;
        fs::rename(partial, &path)?;
        Ok(path)
    }

    /// Writes records until there are at least `bytes`.
    fn write(&self, to: &mut impl Write, bytes: u64) -> Outcome {
        let mut to = BufWriter::with_capacity(1 << 20, to);
        let mut rng = Rng::new(SEED);
        let mut record = Vec::new();
        let (mut written, mut index) = (0, 0);
        while written < bytes {
            record.clear();
            (self.append)(&mut rng, index, &mut record);
            index += 1;
            to.write_all(&record)?;
            written += record.len() as u64;
        }
        Ok(to.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recipe_gives_the_same_whole_lines_every_time() {
        for recipe in [
            ACCESS_LOG,
            CSV,
            LINES,
            WORDS,
            PROSE,
            PURCHASES,
            SERVICE_LOG,
            JSON_MENU,
            PEOPLE,
            NOTES,
            RELEASES,
            SHORT,
        ] {
            let make = || {
                let mut data = Vec::new();
                recipe.write(&mut data, 10_000).unwrap();
                data
            };
            let data = make();
            assert_eq!(data, make(), "{}", recipe.name);
            assert!((10_000..11_000).contains(&data.len()), "{}: {}", recipe.name, data.len());
            assert!(data.ends_with(b"\n") && data.is_ascii(), "{}", recipe.name);
        }
    }
}
