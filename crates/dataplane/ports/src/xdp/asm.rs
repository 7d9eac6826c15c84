//! An assembler for the few eBPF instructions that a packet filter needs.
//!
//! Values are compared in packet byte order: the operand of a comparison is the native reading of its octets.

use crate::sys::bpf::Instruction;

/// A register. `R0` is the verdict and the result of a helper, `R1` to `R5` are arguments and lost in calls, `R6` to
/// `R9` are preserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "registers are their names")]
pub(super) enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
}

/// Octets that a load reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Size {
    /// One.
    Octet = 0x10,
    /// Two.
    Half = 0x08,
    /// Four.
    Word = 0x00,
}

/// The condition of a jump; both sides are unsigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    /// The register equals the operand.
    Equal = 0x10,
    /// The register differs from the operand.
    Differs = 0x50,
}

/// An operation on a 32-bit register and a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    /// Addition.
    Add = 0x00,
    /// Bitwise "and".
    And = 0x50,
}

/// A function of the kernel: `enum bpf_func_id`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Helper {
    /// `bpf_redirect_map`: map, key, verdict for a missing entry.
    RedirectMap = 51,
}

/// The target of jumps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(usize);

/// Why a program cannot be assembled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum AsmError {
    /// A jump to a label without a position.
    #[error("a jump leads nowhere")]
    Unplaced,
    /// A jump beyond the range of an instruction.
    #[error("a jump leads over {0} instructions")]
    TooFar(isize),
}

/// A program under construction.
#[derive(Default)]
pub(super) struct Assembler {
    code: Vec<Instruction>,
    /// The positions of labels, once they are placed.
    places: Vec<Option<usize>>,
    /// Jumps by their position in the code.
    jumps: Vec<(usize, Label)>,
}

/// Classes and sources of operands.
const LOAD_IMMEDIATE: u8 = 0x18;
const LOAD: u8 = 0x61;
const ALU32: u8 = 0x04;
const ALU64: u8 = 0x07;
const JUMP: u8 = 0x05;
const JUMP32: u8 = 0x06;
const BY_REGISTER: u8 = 0x08;
const MOVE: u8 = 0xb0;
const GREATER: u8 = 0x20;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;
/// The source "register" of a wide load whose operand is the descriptor of a map.
const MAP: u8 = 1;

impl Assembler {
    /// A new label, placed later.
    pub(super) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Places a label before the next instruction.
    pub(super) fn place(&mut self, label: Label) {
        if let Some(place) = self.places.get_mut(label.0) {
            *place = Some(self.code.len());
        }
    }

    fn emit(&mut self, code: u8, dst: u8, src: u8, offset: i16, immediate: i32) {
        self.code.push(Instruction { code, registers: src << 4 | dst, offset, immediate });
    }

    /// `dst = src`.
    pub(super) fn copy(&mut self, dst: Reg, src: Reg) {
        self.emit(ALU64 | BY_REGISTER | MOVE, dst as u8, src as u8, 0, 0);
    }

    /// `dst = value`.
    pub(super) fn set(&mut self, dst: Reg, value: u32) {
        self.emit(ALU32 | MOVE, dst as u8, 0, 0, value as i32);
    }

    /// `dst = dst op value`, on the low half; the high half becomes zero.
    pub(super) fn op(&mut self, op: Op, dst: Reg, value: u32) {
        self.emit(ALU32 | op as u8, dst as u8, 0, 0, value as i32);
    }

    /// `dst += octets`, for a pointer.
    pub(super) fn advance(&mut self, dst: Reg, octets: u16) {
        self.emit(ALU64 | Op::Add as u8, dst as u8, 0, 0, i32::from(octets));
    }

    /// `dst = *(src + offset)`.
    pub(super) fn load(&mut self, size: Size, dst: Reg, src: Reg, offset: i16) {
        self.emit(LOAD | size as u8, dst as u8, src as u8, offset, 0);
    }

    /// `dst` = the map with that descriptor.
    pub(super) fn map(&mut self, dst: Reg, descriptor: i32) {
        self.emit(LOAD_IMMEDIATE, dst as u8, MAP, 0, descriptor);
        self.emit(0, 0, 0, 0, 0);
    }

    /// Jumps.
    pub(super) fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.emit(JUMP, 0, 0, 0, 0);
    }

    /// Jumps if the low half of the register and the operand satisfy the condition.
    pub(super) fn jump_if(&mut self, register: Reg, when: When, operand: u32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.emit(JUMP32 | when as u8, register as u8, 0, 0, operand as i32);
    }

    /// Jumps if pointer `a` is greater than pointer `b`.
    pub(super) fn jump_if_behind(&mut self, a: Reg, b: Reg, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.emit(JUMP | BY_REGISTER | GREATER, a as u8, b as u8, 0, 0);
    }

    /// Calls a function of the kernel.
    pub(super) fn call(&mut self, helper: Helper) {
        self.emit(JUMP | CALL, 0, 0, 0, helper as i32);
    }

    /// Ends the program with the verdict in `R0`.
    pub(super) fn exit(&mut self) {
        self.emit(JUMP | EXIT, 0, 0, 0, 0);
    }

    /// The program with all jumps resolved.
    ///
    /// # Errors
    /// A jump to a label without a position, or too far.
    pub(super) fn finish(mut self) -> Result<Vec<Instruction>, AsmError> {
        for (at, label) in self.jumps {
            let place = self.places.get(label.0).copied().flatten().ok_or(AsmError::Unplaced)?;
            let distance = place as isize - at as isize - 1;
            if let Some(jump) = self.code.get_mut(at) {
                jump.offset = i16::try_from(distance).map_err(|_| AsmError::TooFar(distance))?;
            }
        }
        Ok(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(program: &[Instruction]) -> Vec<[u8; 8]> {
        let one = |i: &Instruction| {
            let mut octets = [i.code, i.registers, 0, 0, 0, 0, 0, 0];
            octets[2..4].copy_from_slice(&i.offset.to_le_bytes());
            octets[4..].copy_from_slice(&i.immediate.to_le_bytes());
            octets
        };
        program.iter().map(one).collect()
    }

    // Input:  a program with a jump forward, one back, a load of each size, a map and a call.
    // Output: the encoding that the instruction set (RFC 9669) prescribes.
    #[test]
    fn instructions_are_encoded_as_the_standard_says() {
        let mut asm = Assembler::default();
        let (start, end) = (asm.label(), asm.label());
        asm.place(start);
        asm.copy(Reg::R6, Reg::R1);
        asm.load(Size::Word, Reg::R2, Reg::R1, 4);
        asm.load(Size::Half, Reg::R3, Reg::R2, 12);
        asm.load(Size::Octet, Reg::R3, Reg::R2, -1);
        asm.jump_if(Reg::R3, When::Equal, 0xffff_ffff, end);
        asm.jump_if_behind(Reg::R4, Reg::R3, start);
        asm.map(Reg::R1, 5);
        asm.op(Op::And, Reg::R2, 0x30);
        asm.call(Helper::RedirectMap);
        asm.place(end);
        asm.set(Reg::R0, 2);
        asm.exit();
        let expected = [
            [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
            [0x61, 0x12, 4, 0, 0, 0, 0, 0],
            [0x69, 0x23, 12, 0, 0, 0, 0, 0],
            [0x71, 0x23, 0xff, 0xff, 0, 0, 0, 0],
            [0x16, 0x03, 5, 0, 0xff, 0xff, 0xff, 0xff],
            [0x2d, 0x34, 0xfa, 0xff, 0, 0, 0, 0],
            [0x18, 0x11, 0, 0, 5, 0, 0, 0],
            [0, 0, 0, 0, 0, 0, 0, 0],
            [0x54, 0x02, 0, 0, 0x30, 0, 0, 0],
            [0x85, 0, 0, 0, 51, 0, 0, 0],
            [0xb4, 0, 0, 0, 2, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(octets(&asm.finish().unwrap()), expected);
    }

    // Input:  a jump to a label that was never placed, and one over more than 32767 instructions.
    // Output: one error each.
    #[test]
    fn a_jump_that_cannot_be_made_is_an_error() {
        let mut asm = Assembler::default();
        let label = asm.label();
        asm.jump(label);
        assert_eq!(asm.finish(), Err(AsmError::Unplaced));
        let mut asm = Assembler::default();
        let label = asm.label();
        asm.jump(label);
        (0..40_000).for_each(|_| asm.exit());
        asm.place(label);
        assert_eq!(asm.finish(), Err(AsmError::TooFar(40_000)));
    }
}
