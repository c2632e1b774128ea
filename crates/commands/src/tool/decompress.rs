//! Commands that print what compressed files hold, one file after another, for parts that are whole files. For these,
//! pelton needs no kernel: the real command runs on each file.

/// Names, and whether one of these prints and decompresses without options.
const NAMES: [(&str, bool, bool); 13] = [
    ("zcat", true, true),
    ("gunzip", false, true),
    ("gzip", false, false),
    ("unpigz", false, true),
    ("pigz", false, false),
    ("zstdcat", true, true),
    ("unzstd", false, true),
    ("zstd", false, false),
    ("xzcat", true, true),
    ("unxz", false, true),
    ("xz", false, false),
    ("bzcat", true, true),
    ("bzip2", false, false),
];

/// A command that prints what its files hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decompressor {
    /// Its arguments without the files: it then reads its standard input.
    pub options: Vec<Vec<u8>>,
    /// The files.
    pub files: Vec<Vec<u8>>,
}

/// Reads a command line; `None` if it is not known to print what its files hold.
pub fn decompressor(name: &[u8], args: &[Vec<u8>]) -> Option<Decompressor> {
    let (_, mut prints, mut decompresses) = *NAMES.iter().find(|row| row.0.as_bytes() == name)?;
    let mut args = args.iter();
    let (mut options, mut files) = (Vec::new(), Vec::new());
    for arg in args.by_ref() {
        match arg.as_slice() {
            b"--" => break,
            b"-" => return None,
            b"--decompress" | b"--uncompress" => decompresses = true,
            b"--stdout" | b"--to-stdout" => prints = true,
            b"--keep" => {}
            [b'-', letters @ ..] if letters.iter().all(|letter| b"cdk".contains(letter)) => {
                prints |= letters.contains(&b'c');
                decompresses |= letters.contains(&b'd');
            }
            // The number of threads of xz and zstd.
            [b'-', b'T', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {}
            [b'-', ..] => return None,
            _ => {
                files.push(arg.clone());
                continue;
            }
        }
        options.push(arg.clone());
    }
    files.extend(args.cloned());
    (prints && decompresses && !files.is_empty()).then_some(Decompressor { options, files })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(String, String)> {
        let words: Vec<Vec<u8>> = text.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let found = decompressor(&words[0], &words[1..])?;
        let joined = |words: Vec<Vec<u8>>| String::from_utf8(words.join(&b' ')).ok();
        Some((joined(found.options)?, joined(found.files)?))
    }

    #[test]
    fn only_commands_that_print_what_files_hold_are_read() {
        let some = |options: &str, files: &str| Some((options.to_owned(), files.to_owned()));
        assert_eq!(of("zcat a.gz b.gz"), some("", "a.gz b.gz"));
        assert_eq!(of("gzip a.gz -dc b.gz"), some("-dc", "a.gz b.gz"));
        assert_eq!(of("xz -dc -T0 -- -a.xz"), some("-dc -T0", "-a.xz"));
        assert_eq!(of("zstd --decompress --stdout a.zst"), some("--decompress --stdout", "a.zst"));
        for other in
            ["zcat", "zcat -", "gzip -d a", "gzip -c a", "zcat -f a", "xz -dc --files=l a", "lz4 -dc a b"]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
