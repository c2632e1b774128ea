//! A page of the manual, not yet rendered for man(1) or as Markdown.

/// A page.
pub struct Page {
    /// Its name as an argument.
    pub topic: String,
    /// The manual section: 1 commands, 5 formats, 7 everything else.
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
    /// Verbatim lines.
    Lines(Vec<String>),
    /// Terms with their descriptions.
    Terms(Vec<(String, String)>),
}

impl Page {
    /// Returns its manual name.
    pub fn called(&self) -> String {
        if self.topic == "pelton" { self.topic.clone() } else { format!("pelton-{}", self.topic) }
    }

    /// Returns its headings.
    #[cfg(test)]
    pub fn headings(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Heading(text) => Some(text.as_str()),
            _ => None,
        })
    }
}
