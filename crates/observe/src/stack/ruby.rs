//! The frames of a Ruby program, from the interpreter's memory.

use super::maps::Maps;
use super::module::Modules;
use pelton_record::diagnosis::Stack;

/// Returns the stacks of all threads that run Ruby; `None` if it is not Ruby, or of a version that is not known.
pub fn stacks(_pid: u32, _maps: &Maps, _modules: &mut Modules) -> Option<Vec<Stack>> {
    None
}
