//! What pelton knows about each command.
