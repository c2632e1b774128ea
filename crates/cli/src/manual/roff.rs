//! A page for man(1).

use super::page::{Block, Page};
use ::roff::{Roff, bold, roman};

/// Renders `page` with a final newline.
pub fn render(page: &Page) -> String {
    let mut out = Roff::new();
    let called = page.called();
    let version = format!("pelton {}", env!("CARGO_PKG_VERSION"));
    let title = [called.to_uppercase(), page.section.to_string(), String::new(), version, "pelton".into()];
    out.control("TH", title.iter().map(String::as_str));
    out.control("SH", ["NAME"]);
    out.text([roman(format!("{called} - {}", plain(&page.summary)))]);
    for block in &page.blocks {
        add(&mut out, block);
    }
    out.to_roff()
}

fn add(out: &mut Roff, block: &Block) {
    match block {
        Block::Heading(name) => _ = out.control("SH", [plain(name).to_uppercase().as_str()]),
        Block::Paragraph(words) => {
            out.control("PP", []);
            out.text([roman(plain(words.trim()))]);
        }
        Block::Lines(lines) => {
            out.control("PP", []).control("nf", []);
            for line in lines {
                out.text([roman(line)]);
            }
            out.control("fi", []);
        }
        Block::Terms(terms) => {
            for (term, said) in terms {
                out.control("TP", []);
                out.text([bold(term)]);
                out.text([roman(plain(said))]);
            }
        }
    }
}

/// Removes the backquotes that Markdown has around code.
fn plain(words: &str) -> String {
    words.replace('`', "")
}
