//! The menu example of json.org, over and over, one value a line: what the two-stage JSON parser in awk reads.

use super::{Recipe, Rng};

pub const RECIPE: Recipe =
    Recipe { name: "menu", about: "the json.org menu example, one value a line", append };

const MENU: &str = r#"{"menu": {"id": "file", "value": "File", "popup": {"menuitem": [{"value": "New", "onclick": "CreateNewDoc()"}, {"value": "Open", "onclick": "OpenDoc()"}, {"value": "Close", "onclick": "CloseDoc()"}]}}}"#;

fn append(_: &mut Rng, _: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(MENU.as_bytes());
    out.push(b'\n');
}
