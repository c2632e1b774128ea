//! The menu example of json.org, repeated, one value per line: input of the two-stage JSON parser in awk.

use super::{Recipe, Rng};

pub const RECIPE: Recipe =
    Recipe { name: "menu", about: "the json.org menu example, one value a line", append };

const MENU: &str = r#"{"menu": {"id": "file", "value": "File", "popup": {"menuitem": [{"value": "New", "onclick": "CreateNewDoc()"}, {"value": "Open", "onclick": "OpenDoc()"}, {"value": "Close", "onclick": "CloseDoc()"}]}}}"#;

fn append(_: &mut Rng, _: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(MENU.as_bytes());
    out.push(b'\n');
}
