//! simple_switch's control plane: entries, counters, meters, value sets, by the names of a program.

use std::collections::HashMap;
use std::path::Path;

use causeway_switch::Count;
use causeway_switch::driver::{Entry, EntryKey, FieldMatch, Program, Update};

use crate::thrift::{Thrift, Value};

/// A priority of BMv2, where the lowest wins, is this less that of P4Runtime.
const LAST: i32 = 1_000_000;

/// What is said to a switch, and where its entries are.
pub(crate) struct Runtime {
    thrift: Thrift,
    program: Program,
    /// The names of tables, actions, counters, meters and registers with those of the controls around them, by their last part.
    names: HashMap<String, String>,
    handles: HashMap<EntryKey, i32>,
}

impl Runtime {
    /// Of a switch that runs this program, which was compiled into that file.
    pub(crate) fn new(thrift: Thrift, program: &Program, compiled: &Path) -> Self {
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(compiled).unwrap()).unwrap();
        let mut names = HashMap::new();
        let pipelines = json["pipelines"].as_array().unwrap().iter().map(|pipeline| &pipeline["tables"]);
        let lists = ["actions", "counter_arrays", "meter_arrays", "register_arrays"].map(|list| &json[list]);
        let lists = pipelines.chain(lists);
        for named in lists.flat_map(|list| list.as_array().unwrap()) {
            let full = named["name"].as_str().unwrap();
            names.insert(full.rsplit('.').next().unwrap_or(full).to_owned(), full.to_owned());
        }
        Self { thrift, program: program.clone(), names, handles: HashMap::new() }
    }

    /// Makes a change.
    pub(crate) fn write(&mut self, update: &Update) {
        match update {
            Update::Insert(entry) => self.insert(entry),
            Update::Modify(entry) => {
                let handle = Value::I32(self.handles[&entry.key]);
                let mut arguments = vec![Value::I32(0), self.table(&entry.key), handle];
                arguments.extend(self.action(entry));
                self.standard("bm_mt_modify_entry", arguments);
            }
            Update::Delete(key) => {
                let handle = Value::I32(self.handles.remove(key).unwrap());
                let arguments = vec![Value::I32(0), self.table(key), handle];
                self.standard("bm_mt_delete_entry", arguments);
            }
            Update::SetRegister { register, index, value: [first, second] } => {
                let name = &self.program.registers.iter().find(|known| known.id == *register).unwrap().name;
                let value = Value::I64((u64::from(*second) << 32 | u64::from(*first)).cast_signed());
                let index = Value::I32(i32::try_from(*index).unwrap());
                self.standard("bm_register_write", vec![Value::I32(0), self.named(name), index, value]);
            }
            Update::SetMeter { meter, index, rates } => {
                let name = &self.program.meters.iter().find(|known| known.id == *meter).unwrap().name;
                let rates = rates.unwrap();
                // Octets in a microsecond.
                let rate = |rate: u64, burst: u64| {
                    let burst = Value::I32(i32::try_from(burst).unwrap());
                    Value::Struct(vec![(1, Value::Double(rate as f64 / 1e6)), (2, burst)])
                };
                let committed = rate(rates.committed, rates.committed_burst);
                let rates = Value::List(vec![committed, rate(rates.peak, rates.peak_burst)]);
                let arguments = vec![Value::I32(0), self.named(name), Value::I32(*index as i32), rates];
                self.standard("bm_meter_set_rates", arguments);
            }
        }
    }

    /// Octets and packets of a counter by these indices.
    pub(crate) fn indexed(&mut self, counter: &str, indices: &[u32]) -> Vec<Count> {
        let arguments = |index: &u32| vec![Value::I32(0), self.named(counter), Value::I32(*index as i32)];
        let calls = indices.iter().map(arguments).collect();
        self.thrift.call_all("standard:bm_counter_read", calls).into_iter().map(count).collect()
    }

    /// Octets and packets of an entry.
    pub(crate) fn direct(&mut self, key: &EntryKey) -> Count {
        let arguments = vec![Value::I32(0), self.table(key), Value::I32(self.handles[key])];
        count(self.standard("bm_mt_read_counter", arguments))
    }

    /// A cell of a register.
    pub(crate) fn register(&mut self, register: &str, index: u32) -> u64 {
        let arguments = vec![Value::I32(0), self.named(register), Value::I32(index.cast_signed())];
        self.standard("bm_register_read", arguments).and_then(|value| value.number()).unwrap()
    }

    /// Adds a value of 32 bits to a value set of the parser.
    pub(crate) fn add_to_value_set(&mut self, name: &str, value: u32) {
        let value = Value::Text(value.to_be_bytes().to_vec());
        self.standard("bm_parse_vset_add", vec![Value::I32(0), Value::text(name), value]);
    }

    /// Copies of this session go to that port.
    pub(crate) fn add_mirroring(&mut self, session: i32, port: u16) {
        let config = Value::Struct(vec![(1, Value::I32(port.into()))]);
        self.thrift.call("simple_switch:mirroring_session_add", vec![Value::I32(session), config]);
    }

    /// Each queue of the port sends so many packets in a second.
    pub(crate) fn set_queue_rate(&mut self, port: u16, packets: i64) {
        let arguments = vec![Value::I32(port.into()), Value::I64(packets)];
        self.thrift.call("simple_switch:set_egress_queue_rate", arguments);
    }

    fn standard(&mut self, method: &str, arguments: Vec<Value>) -> Option<Value> {
        self.thrift.call(&format!("standard:{method}"), arguments)
    }

    fn insert(&mut self, entry: &Entry) {
        let keys = &self.program.table(entry.key.table).unwrap().keys;
        let keys = keys.iter().zip(&entry.key.fields).map(|(key, field)| parameter(field, key.width));
        let mut arguments = vec![Value::I32(0), self.table(&entry.key), Value::List(keys.collect())];
        arguments.extend(self.action(entry));
        let priority = if entry.key.priority == 0 { 0 } else { LAST - entry.key.priority };
        arguments.push(Value::Struct(vec![(1, Value::I32(priority))]));
        let handle = self.standard("bm_mt_add_entry", arguments);
        let Some(Value::I32(handle)) = handle else { panic!("no handle: {handle:?}") };
        self.handles.insert(entry.key.clone(), handle);
    }

    /// Name and data of an entry's action.
    fn action(&self, entry: &Entry) -> [Value; 2] {
        let action = self.program.action(entry.action).unwrap();
        let values = action.parameters.iter().zip(&entry.parameters);
        let data = values.map(|(parameter, value)| octets(*value, parameter.width)).collect();
        [self.named(&action.name), Value::List(data)]
    }

    fn table(&self, key: &EntryKey) -> Value {
        self.named(&self.program.table(key.table).unwrap().name)
    }

    fn named(&self, name: &str) -> Value {
        Value::text(self.names.get(name).unwrap_or_else(|| panic!("the program has no {name}")))
    }
}

/// A key as the switch wants it.
fn parameter(field: &FieldMatch, width: u8) -> Value {
    let (kind, fields) = match *field {
        FieldMatch::Exact(value) => (0, vec![(1, octets(value, width))]),
        FieldMatch::Lpm { value, prefix } => {
            (1, vec![(1, octets(value, width)), (2, Value::I32(prefix.into()))])
        }
        FieldMatch::Ternary { value, mask } => (2, vec![(1, octets(value, width)), (2, octets(mask, width))]),
    };
    Value::Struct(vec![(1, Value::I32(kind)), (kind as i16 + 2, Value::Struct(fields))])
}

pub(crate) fn octets(value: u128, width: u8) -> Value {
    let length = usize::from(width).div_ceil(8);
    Value::Text(value.to_be_bytes()[16 - length..].to_vec())
}

fn count(value: Option<Value>) -> Count {
    let number = |field| value.as_ref().and_then(|value| value.field(field)?.number());
    match (number(1), number(2)) {
        (Some(octets), Some(packets)) => Count { octets, packets },
        _ => panic!("no count: {value:?}"),
    }
}
