//! Programs and libraries: their symbols, the rules to unwind their frames, and their lines.

use super::maps::Maps;
use addr2line::Context;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianRcSlice, FrameDescriptionEntry, LittleEndian,
    ParsedEhFrameHdr, RegisterRule, UnwindContext, UnwindSection,
};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Larger files are not read.
const MOST_BYTES: u64 = 512 << 20;

/// Bytes of an address.
const ADDRESS_BYTES: u8 = 8;

type Slice = EndianRcSlice<LittleEndian>;

/// Modules that have been read, by inode and path.
#[derive(Default)]
pub struct Modules(HashMap<(u64, String), Option<Rc<Module>>>);

impl Modules {
    /// Returns the module `path` of the process that `maps` describes.
    pub fn get(&mut self, maps: &Maps, path: &str) -> Option<Rc<Module>> {
        let read = || Module::read(&maps.readable(path)).map(Rc::new);
        self.0.entry((maps.inode(path), path.to_owned())).or_insert_with(read).clone()
    }
}

/// A module, and where a process has it.
pub struct Placed<'m> {
    pub path: &'m str,
    pub module: Rc<Module>,
    bias: u64,
}

impl<'m> Placed<'m> {
    /// Finds the module `path` of the process that `maps` describes.
    pub fn of(path: &'m str, maps: &Maps, modules: &mut Modules) -> Option<Self> {
        let module = modules.get(maps, path)?;
        let bias = maps.base(path)?.wrapping_sub(module.first);
        Some(Placed { path, module, bias })
    }

    /// Finds the module with this address of the process.
    pub fn at(address: u64, maps: &'m Maps, modules: &mut Modules) -> Option<Self> {
        Placed::of(&maps.at(address)?.path, maps, modules)
    }

    /// Returns an address of the process as one of the file.
    pub fn in_file(&self, address: u64) -> u64 {
        address.wrapping_sub(self.bias)
    }

    /// Returns an address of the file as one of the process.
    pub fn in_process(&self, address: u64) -> u64 {
        address.wrapping_add(self.bias)
    }

    /// Returns where the process has a symbol of data.
    pub fn data(&self, name: &str) -> Option<u64> {
        Some(self.in_process(*self.module.data.get(name)?))
    }
}

/// A symbol.
struct Symbol {
    address: u64,
    end: u64,
    name: String,
}

/// A program or library. Addresses are those of the file, not of a process.
pub struct Module {
    /// The address at which the first byte of the file is linked.
    first: u64,
    /// Functions, sorted by address.
    functions: Vec<Symbol>,
    /// Addresses of data.
    data: HashMap<String, u64>,
    frames: Option<Frames>,
    /// The file with its debug information, if there is any. It is read when a line is asked for: it may be large.
    debug_file: Option<String>,
    lines: OnceCell<Option<Context<Slice>>>,
}

/// The rules to unwind frames, and an index of them by address.
struct Frames {
    section: EhFrame<Slice>,
    index: Option<ParsedEhFrameHdr<Slice>>,
    bases: BaseAddresses,
}

impl Frames {
    fn at(&self, address: u64) -> Option<FrameDescriptionEntry<Slice>> {
        match self.index.as_ref().and_then(ParsedEhFrameHdr::table) {
            Some(table) => {
                table.fde_for_address(&self.section, &self.bases, address, EhFrame::cie_from_offset).ok()
            }
            None => self.section.fde_for_address(&self.bases, address, EhFrame::cie_from_offset).ok(),
        }
    }
}

/// How to find the caller's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The start and end of the function.
    pub start: u64,
    pub end: u64,
    /// The register and offset that give the caller's stack pointer.
    pub frame: Option<(u16, i64)>,
    /// Where the return address is, relative to that; `None` if there is none: this is the first function of a thread.
    pub return_at: Option<i64>,
    /// Whether the return address has been saved.
    pub saves_return: bool,
    /// Where the caller's frame pointer has been saved, relative to that.
    pub frame_pointer_at: Option<i64>,
}

impl Module {
    fn read(file: &str) -> Option<Self> {
        let bytes = content(file)?;
        let elf = object::File::parse(bytes.as_slice()).ok()?;
        let separate = debug_file(&elf);
        let debug_bytes = separate.as_deref().and_then(content);
        let debug = debug_bytes.as_ref().and_then(|bytes| object::File::parse(bytes.as_slice()).ok());
        let first =
            elf.segments().filter(|one| one.file_range().0 == 0).map(|one| one.address()).next().unwrap_or(0);
        let (functions, data) = symbols(std::iter::once(&elf).chain(&debug));
        let frames = frames(&elf);
        let has_lines = |elf: &object::File<'_>| elf.section_by_name(".debug_info").is_some();
        let debug_file = match &debug {
            _ if has_lines(&elf) => Some(file.to_owned()),
            Some(debug) if has_lines(debug) => separate,
            _ => None,
        };
        Some(Module { first, functions, data, frames, debug_file, lines: OnceCell::new() })
    }

    /// Returns the function at `address`.
    pub fn function(&self, address: u64) -> Option<&str> {
        let after = self.functions.partition_point(|one| one.address <= address);
        let symbol = self.functions.get(after.checked_sub(1)?)?;
        (address < symbol.end).then_some(symbol.name.as_str())
    }

    /// Returns function, file and line at `address` by the debug information, the innermost inlined function first.
    pub fn lines(&self, address: u64) -> Vec<(Option<String>, Option<String>, Option<u32>)> {
        let read = || self.debug_file.as_deref().and_then(lines);
        let Some(context) = self.lines.get_or_init(read) else { return Vec::new() };
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return Vec::new() };
        let mut found = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.and_then(|function| Some(function.demangle().ok()?.into_owned()));
            let place = frame.location;
            let file = place.as_ref().and_then(|place| place.file).map(str::to_owned);
            found.push((name, file, place.and_then(|place| place.line)));
        }
        found
    }

    /// Whether it has debug information.
    pub fn has_lines(&self) -> bool {
        self.debug_file.is_some()
    }

    /// Returns how to leave the frame of the function at `address`.
    pub fn rules(&self, address: u64, registers: &super::native::Registers) -> Option<Rules> {
        let frames = self.frames.as_ref()?;
        let entry = frames.at(address)?;
        let mut context = UnwindContext::new();
        let row =
            entry.unwind_info_for_address(&frames.section, &frames.bases, &mut context, address).ok()?;
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Some((register.0, *offset)),
            CfaRule::Expression(_) => None,
        };
        let offset = |register: u16| match row.register(gimli::Register(register)) {
            Some(RegisterRule::Offset(offset)) => Some(offset),
            _ => None,
        };
        let return_rule = row.register(gimli::Register(registers.return_address));
        Some(Rules {
            start: entry.initial_address(),
            end: entry.end_address(),
            frame,
            return_at: match return_rule {
                Some(RegisterRule::Undefined) => None,
                _ => Some(offset(registers.return_address).unwrap_or(0)),
            },
            saves_return: offset(registers.return_address).is_some(),
            frame_pointer_at: offset(registers.frame_pointer),
        })
    }
}

fn content(file: &str) -> Option<Vec<u8>> {
    let size = std::fs::metadata(file).ok()?.len();
    (size <= MOST_BYTES).then(|| std::fs::read(file).ok()).flatten()
}

/// Returns where the debug symbols of a file would be that was stripped: by its build id, as distributions package them.
fn debug_file(elf: &object::File<'_>) -> Option<String> {
    if elf.section_by_name(".symtab").is_some() {
        return None;
    }
    let hexadecimal: String = elf.build_id().ok()??.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = hexadecimal.split_at_checked(2)?;
    Some(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"))
}

fn symbols<'e>(files: impl Iterator<Item = &'e object::File<'e>>) -> (Vec<Symbol>, HashMap<String, u64>) {
    let mut functions = Vec::new();
    let mut data = HashMap::new();
    let all = files.flat_map(|elf| elf.symbols().chain(elf.dynamic_symbols()));
    for symbol in all.filter(|symbol| symbol.is_definition()) {
        let Ok(name) = symbol.name() else { continue };
        match symbol.kind() {
            SymbolKind::Text => functions.push(Symbol {
                address: symbol.address(),
                end: symbol.address() + symbol.size().max(1),
                name: name.to_owned(),
            }),
            SymbolKind::Data => {
                data.insert(name.to_owned(), symbol.address());
            }
            _ => {}
        }
    }
    functions.sort_by_key(|one| one.address);
    (functions, data)
}

fn slice(bytes: &[u8]) -> Slice {
    EndianRcSlice::new(Rc::from(bytes), LittleEndian)
}

fn frames(elf: &object::File<'_>) -> Option<Frames> {
    let section = elf.section_by_name(".eh_frame")?;
    let address = |name| elf.section_by_name(name).map_or(0, |one| one.address());
    let bases = BaseAddresses::default()
        .set_eh_frame(section.address())
        .set_eh_frame_hdr(address(".eh_frame_hdr"))
        .set_text(address(".text"))
        .set_got(address(".got"));
    let index = elf
        .section_by_name(".eh_frame_hdr")
        .and_then(|one| EhFrameHdr::from(slice(one.data().ok()?)).parse(&bases, ADDRESS_BYTES).ok());
    Some(Frames { section: EhFrame::from(slice(section.data().ok()?)), index, bases })
}

fn lines(file: &str) -> Option<Context<Slice>> {
    let bytes = content(file)?;
    let elf = object::File::parse(bytes.as_slice()).ok()?;
    let load = |id: gimli::SectionId| -> Result<Slice, gimli::Error> {
        let section = elf.section_by_name(id.name());
        Ok(slice(section.and_then(|one| one.data().ok()).unwrap_or_default()))
    };
    Context::from_dwarf(gimli::Dwarf::load(load).ok()?).ok()
}
