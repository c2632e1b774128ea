//! Where the threads of a process are in its program, in a few lines.
//!
//! ```text
//!       at build.py:17 in compile, in a call of wait (subprocess.py:1264)
//!          build.py:30 in <module>
//! ```
//!
//! Calls within libraries are left out: only the function that the program called is named.

use pelton_record::diagnosis::{Frame, Stack, Wait};

/// The most threads and calls shown, unless all are wanted.
const THREADS: usize = 4;
const CALLS: usize = 6;
const INDENT: &str = "      ";

/// Returns the lines about a wait, each with what stands before it.
pub fn lines(wait: &Wait, all: bool) -> Vec<(String, String)> {
    let most = if all { usize::MAX } else { THREADS };
    let several = wait.stacks.len() > 1;
    let mut lines = Vec::new();
    for stack in wait.stacks.iter().take(most) {
        let name = if several { format!("thread {}: ", stack.thread) } else { String::new() };
        let calls = if all { every_call(stack) } else { own_calls(stack) };
        for (i, call) in calls.into_iter().enumerate() {
            let label = if i == 0 { format!("{INDENT}{name}at ") } else { format!("{INDENT}   ") };
            lines.push((label, call));
        }
    }
    if wait.stacks.len() > most {
        lines.push((INDENT.into(), format!("and {} more threads", wait.stacks.len() - most)));
    }
    lines
}

fn every_call(stack: &Stack) -> Vec<String> {
    stack.frames.iter().map(place).collect()
}

/// Returns the program's own calls, and which function of a library the innermost of them called.
fn own_calls(stack: &Stack) -> Vec<String> {
    let first = stack.frames.iter().position(|frame| !frame.is_library);
    let own = stack.frames.iter().filter(|frame| !frame.is_library);
    let mut calls: Vec<String> = own.take(CALLS).map(place).collect();
    match (first, calls.first_mut()) {
        (Some(at), Some(call)) if at > 0 => {
            let called = &stack.frames[at - 1];
            call.push_str(&format!(", in a call of {}{}", called.function, parenthesised(called)));
        }
        (None, _) => calls.extend(stack.frames.first().map(place)),
        _ => {}
    }
    calls
}

/// Returns `build.py:17 in compile`, or what is known of it.
fn place(frame: &Frame) -> String {
    match location(frame) {
        Some(location) => format!("{location} in {}", frame.function),
        None => frame.function.clone(),
    }
}

fn parenthesised(frame: &Frame) -> String {
    location(frame).map_or(String::new(), |location| format!(" ({location})"))
}

fn location(frame: &Frame) -> Option<String> {
    let file = frame.file.as_deref()?;
    // The path of the program's own file is of use; that of a library is known.
    let file = if frame.is_library { file.rsplit('/').next().unwrap_or(file) } else { file };
    Some(frame.line.map_or(file.to_owned(), |line| format!("{file}:{line}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_record::diagnosis::Language;

    fn frame(function: &str, file: &str, line: u32, is_library: bool) -> Frame {
        Frame {
            language: Language::Python,
            function: function.into(),
            file: Some(file.into()),
            line: Some(line),
            is_library,
        }
    }

    #[test]
    fn own_calls_name_what_they_called() {
        let frames = vec![
            frame("_wait", "/usr/lib/python3.11/subprocess.py", 2011, true),
            frame("wait", "/usr/lib/python3.11/subprocess.py", 1264, true),
            frame("compile", "build.py", 17, false),
            frame("<module>", "build.py", 30, false),
        ];
        let stack = Stack { thread: 1, frames };
        assert_eq!(
            own_calls(&stack),
            ["build.py:17 in compile, in a call of wait (subprocess.py:1264)", "build.py:30 in <module>"]
        );
        assert_eq!(every_call(&stack).len(), 4);
    }
}
