//! Commands as one would type them: how records show the words of a process.

use std::borrow::Cow;

/// Returns a word so that a shell reads it as it is: within quotes, unless it needs none.
fn typed_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:=+@%^".contains(c);
    // An option and its value: `-d';'`.
    let value_at = match word.strip_prefix("--") {
        Some(name) => name.find('=').map(|at| at + 3),
        None => word.strip_prefix('-').and_then(|rest| rest.char_indices().nth(1)).map(|(at, _)| at + 1),
    };
    if let Some(at) = value_at
        && word[..at].chars().all(is_plain)
        && !word[at..].chars().all(is_plain)
    {
        return Cow::Owned(format!("{}{}", &word[..at], typed_word(&word[at..])));
    }
    match !word.is_empty() && word.chars().all(is_plain) {
        true => Cow::Borrowed(word),
        // A table would show a tab as a blank.
        false if word.contains('\t') && !word.contains('\n') => {
            let escaped = word.replace('\\', "\\\\").replace('\'', "\\'").replace('\t', "\\t");
            Cow::Owned(format!("$'{escaped}'"))
        }
        false => Cow::Owned(quoted(word)),
    }
}

/// Returns a word within single quotes, which a shell reads as it is.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns a command as one would type it.
pub fn typed(words: &[impl AsRef<str>]) -> String {
    words.iter().map(|word| typed_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Returns the command line of a process as one would type it. A single word is left as it is: many programs replace all of
/// theirs by a title.
pub fn typed_command_line(words: &[impl AsRef<str>]) -> String {
    match words {
        [title] => title.as_ref().to_owned(),
        _ => typed(words),
    }
}

#[cfg(test)]
mod tests {
    use super::{typed, typed_command_line};

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them_otherwise() {
        assert_eq!(
            typed(&["awk", "-F,", "{print $1}", "a b", "it's", ""]),
            r"awk -F, '{print $1}' 'a b' 'it'\''s' ''"
        );
        assert_eq!(typed(&["grep", "-c", "x", "/var/log/a-1.log"]), "grep -c x /var/log/a-1.log");
        assert_eq!(typed(&["my file"]), "'my file'");
        assert_eq!(typed(&["sort", "-t\t", "it's\t\\d"]), r"sort -t$'\t' $'it\'s\t\\d'");
        assert_eq!(
            typed(&["cut", "-d;", "--output-delimiter=a b", "-"]),
            "cut -d';' --output-delimiter='a b' -"
        );
        assert_eq!(typed_command_line(&["postgres: writer process"]), "postgres: writer process");
        assert_eq!(typed_command_line(&["cat", "my file"]), "cat 'my file'");
        assert_eq!(typed(&[""; 0]), "");
    }
}
