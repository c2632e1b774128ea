//! POSIX: what `time -p` prints, for scripts that already read it.
//!
//! POSIX gives the format as `"real %f\nuser %f\nsys %f\n"` with at least two digits after the point; every shell
//! prints two. The figures are those of the whole run.

use pelton_record::Run;

use crate::units;

/// Shows the whole run's times as `time -p` does.
pub fn render(run: &Run) -> String {
    let total = &run.total;
    let [real, user, sys] = [total.wall_ns, total.user_ns, total.sys_ns].map(units::centiseconds);
    format!("real {real}\nuser {user}\nsys {sys}\n")
}
