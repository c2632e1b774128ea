//! A worker's time as a line of characters.

use pelton_find::Event;

const COLUMNS: u64 = 60;

struct Glyphs {
    runs: char,
    makes: char,
    waits: char,
    blocked: char,
}

fn glyphs(unicode: bool) -> Glyphs {
    if unicode {
        Glyphs { runs: '▇', makes: '+', waits: '·', blocked: '›' }
    } else {
        Glyphs { runs: '#', makes: '+', waits: '.', blocked: '>' }
    }
}

/// Explains the characters.
pub fn legend(unicode: bool) -> String {
    let Glyphs { runs, makes, waits, blocked } = glyphs(unicode);
    format!("{runs} runs   {makes} makes tasks   {waits} waits for tasks   {blocked} blocked on write")
}

/// Draws the line. A column shows the state at its end, or a task made or a block at any time in it.
pub fn line(events: &[(u64, Event)], wall_ns: u64, unicode: bool) -> String {
    let glyphs = glyphs(unicode);
    let end = |column: u64| wall_ns * (column + 1) / COLUMNS;
    let mut rest = events.iter().peekable();
    let mut state = ' ';
    let mut line = String::new();
    for column in 0..COLUMNS {
        let mut noted = None;
        while let Some((_, event)) = rest.next_if(|(at, _)| *at <= end(column)) {
            match event {
                Event::Runs => state = glyphs.runs,
                Event::Waits => state = glyphs.waits,
                Event::Ends => state = ' ',
                Event::Makes => noted = Some(glyphs.makes),
                Event::Blocked => noted = Some(glyphs.blocked),
            }
        }
        line.push(noted.unwrap_or(state));
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_was_done_when() {
        let events = [
            (100, Event::Runs),
            (300, Event::Makes),
            (301, Event::Waits),
            (460, Event::Runs),
            (560, Event::Ends),
        ];
        let shown = line(&events, 600, false);
        let want = format!("{}{}+{}{}", " ".repeat(9), "#".repeat(20), ".".repeat(15), "#".repeat(10));
        assert_eq!(shown, want);
    }
}
