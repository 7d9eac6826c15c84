//! Programs as the ELF object that the loader wants.

use object::write::{Object, Relocation, SectionId, StandardSegment, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};

use super::code::Code;

/// The map of programs that drivers call.
pub(super) const PROGRAMS: &str = "programs";

const MAP_TYPE_PROG_ARRAY: u32 = 3;
/// How many programs the map holds.
const ENTRIES: u32 = 4;
const R_BPF_64_64: u32 = 1;

/// An object with these programs by name, and the map of programs.
pub(super) fn object(programs: &[(&str, Code)]) -> Result<Vec<u8>, object::write::Error> {
    let mut elf = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let definition = [MAP_TYPE_PROG_ARRAY, 4, 4, ENTRIES, 0, 0, 0];
    let definition: Vec<u8> = definition.iter().flat_map(|word| word.to_le_bytes()).collect();
    let maps = section(&mut elf, "maps", SectionKind::Data);
    elf.append_section_data(maps, &definition, 8);
    let map = symbol(&mut elf, PROGRAMS, maps, 0, definition.len(), SymbolKind::Data);
    for (name, code) in programs {
        // Each program in a section of its own; all may have the same name.
        let text = section(&mut elf, "xdp", SectionKind::Text);
        elf.append_section_data(text, &code.octets, 8);
        symbol(&mut elf, name, text, 0, code.octets.len(), SymbolKind::Text);
        if let Some(offset) = code.map_at {
            let flags = RelocationFlags::Elf { r_type: R_BPF_64_64 };
            elf.add_relocation(text, Relocation { offset, symbol: map, addend: 0, flags })?;
        }
    }
    let license = section(&mut elf, "license", SectionKind::Data);
    elf.append_section_data(license, b"Apache-2.0\0", 1);
    elf.write()
}

fn section(elf: &mut Object<'_>, name: &str, kind: SectionKind) -> SectionId {
    let segment = elf.segment_name(StandardSegment::Data).to_vec();
    elf.add_section(segment, name.into(), kind)
}

fn symbol(
    elf: &mut Object<'_>,
    name: &str,
    section: SectionId,
    value: usize,
    size: usize,
    kind: SymbolKind,
) -> SymbolId {
    elf.add_symbol(Symbol {
        name: name.into(),
        value: value as u64,
        size: size as u64,
        kind,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    })
}
