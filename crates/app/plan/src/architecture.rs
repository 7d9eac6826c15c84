//! The resources of a Tofino stage, from the public sources of its compiler.
//!
//! The figures are those of the Tofino backend of p4c (`backends/tofino/bf-p4c`), which Intel published in 2024; the
//! table in `docs/planner.md` names the file of each.

/// The resources of one pipeline. All stages have the same.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Architecture {
    /// Name, as on the command line.
    pub name: &'static str,
    /// Match-action stages; ingress and egress share them.
    pub stages: usize,
    /// Rows of SRAM blocks in a stage.
    pub sram_rows: u32,
    /// SRAM blocks in a row.
    pub sram_columns: u32,
    /// SRAM blocks in a row that have a map RAM, as counters and meters need.
    pub map_columns: u32,
    /// Words of an SRAM block.
    pub sram_words: u32,
    /// Bits of an SRAM word.
    pub sram_bits: u32,
    /// TCAM blocks in a stage.
    pub tcams: u32,
    /// Rows of a TCAM block.
    pub tcam_entries: u32,
    /// Logical tables in a stage.
    pub logical_tables: u32,
    /// Ternary tables in a stage.
    pub ternary_tables: u32,
    /// Tables in a stage with action data in separate blocks.
    pub action_tables: u32,
    /// Counters in a stage: each has an ALU.
    pub stats_alus: u32,
    /// Meters (and registers) in a stage: each has an ALU.
    pub meter_alus: u32,
    /// Octets of keys for exact tables of a stage.
    pub exact_crossbar: u32,
    /// Octets of keys for ternary tables of a stage.
    pub ternary_crossbar: u32,
    /// Rows that a counter's or meter's blocks may span from that of its ALU, downwards and including it.
    pub span_rows: u32,
    /// Whether a counter or meter is limited to the upper or lower half of the rows.
    pub split_core: bool,
    /// Whether other tables may run between the parts of one that is spread over stages (long branches).
    pub long_branches: bool,
}

impl Architecture {
    /// Tofino 1.
    pub const TOFINO1: Self = Self {
        name: "tofino1",
        stages: 12,
        sram_rows: 8,
        sram_columns: 10,
        map_columns: 6,
        sram_words: 1024,
        sram_bits: 128,
        tcams: 24,
        tcam_entries: 512,
        logical_tables: 16,
        ternary_tables: 8,
        action_tables: 16,
        stats_alus: 4,
        meter_alus: 4,
        exact_crossbar: 128,
        ternary_crossbar: 66,
        span_rows: 6,
        split_core: false,
        long_branches: false,
    };

    /// Tofino 2.
    pub const TOFINO2: Self = Self {
        name: "tofino2",
        stages: 20,
        span_rows: 4,
        split_core: true,
        long_branches: true,
        ..Self::TOFINO1
    };

    /// SRAM blocks in a stage.
    pub const fn srams(&self) -> u32 {
        self.sram_rows * self.sram_columns
    }

    /// Map RAMs in a stage.
    pub const fn map_rams(&self) -> u32 {
        self.sram_rows * self.map_columns
    }

    /// Map RAMs that one counter or meter can reach, at most.
    pub const fn span_map_rams(&self) -> u32 {
        self.span_rows * self.map_columns
    }
}
