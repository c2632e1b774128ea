//! POSIX: what `time -p` prints, for scripts that already read it.
//!
//! POSIX gives the format as `"real %f\nuser %f\nsys %f\n"` with at least two digits after the point; every shell
//! prints two. The figures are those of the whole run.

use super::{Style, Subject};
use crate::units;

/// Renders the whole run's times as `time -p` does.
pub fn render(subject: &Subject<'_>, _style: &Style) -> String {
    let total = &subject.run.total;
    let [real, user, sys] = [total.wall_ns, total.user_ns, total.sys_ns].map(units::centiseconds);
    format!("real {real}\nuser {user}\nsys {sys}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use pelton_record::Run;

    fn shown(run: &Run) -> String {
        render(&samples::subject(run), &Style::default())
    }

    #[test]
    fn looks_like_this() {
        assert_eq!(shown(&samples::simple()), "real 4.77\nuser 4.82\nsys 0.20\n");
    }

    /// `time -p` of an installed shell: the same words, blanks, points and numbers of digits.
    #[test]
    fn has_the_shape_of_the_shells_own() {
        let time = ["-c", "time -p true"];
        let Ok(output) = std::process::Command::new("bash").args(time).env("LC_ALL", "C").output() else {
            return;
        };
        let shape = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "0");
        assert_eq!(shape(&shown(&samples::single())), shape(&String::from_utf8_lossy(&output.stderr)));
    }
}
