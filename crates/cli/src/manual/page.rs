//! A page of the manual, before it is written for man(1) or as Markdown.

/// A page.
pub struct Page {
    /// What it is asked for by.
    pub topic: String,
    /// The manual's section: 1 commands, 5 formats, 7 everything else.
    pub section: u8,
    /// One line.
    pub summary: String,
    pub blocks: Vec<Block>,
}

/// A piece of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    Heading(String),
    Paragraph(String),
    /// Lines as they are.
    Lines(Vec<String>),
    /// Terms, and what there is to say of each.
    Terms(Vec<(String, String)>),
}

impl Page {
    /// Its name in the manual.
    pub fn called(&self) -> String {
        if self.topic == "pelton" { self.topic.clone() } else { format!("pelton-{}", self.topic) }
    }

    /// Its headings.
    #[cfg(test)]
    pub fn headings(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Heading(text) => Some(text.as_str()),
            _ => None,
        })
    }
}
