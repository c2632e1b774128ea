//! Texts with holes: `@X` stands for one of the choices of X, which may have holes themselves.

use crate::Rng;

/// What can stand in each hole. The first choices are those without holes: they end what would go on for ever.
pub type Holes = [(char, &'static [&'static str])];

/// The text with its holes filled; `@@` is an `@`.
pub fn filled(rng: &mut Rng, text: &str, holes: &Holes) -> String {
    let mut made = String::new();
    fill(rng, text, holes, 6, &mut made);
    made
}

fn fill(rng: &mut Rng, text: &str, holes: &Holes, depth: u32, made: &mut String) {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let name = if letter == '@' { letters.next() } else { None };
        match name {
            None | Some('@') => made.push(letter),
            Some(name) => {
                let (_, choices) =
                    holes.iter().find(|(known, _)| *known == name).expect("a hole that is known");
                let plain = choices.iter().take_while(|choice| !choice.contains('@')).count();
                let choices = if depth == 0 && plain > 0 { &choices[..plain] } else { choices };
                let choice = rng.pick(choices);
                fill(rng, choice, holes, depth.saturating_sub(1), made);
            }
        }
    }
}

#[test]
fn holes_are_filled_to_the_end() {
    let holes: &Holes = &[('E', &["1", "(@E + @E)", "@V"]), ('V', &["x", "y"])];
    for seed in 0..100 {
        let made = filled(&mut Rng::new(seed), "print @E, @@", holes);
        assert!(made.starts_with("print ") && made.ends_with(", @"), "{made}");
        assert!(!made[..made.len() - 1].contains('@'), "{made}");
    }
}
