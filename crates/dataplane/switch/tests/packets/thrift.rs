//! As much of Apache Thrift as simple_switch's control plane takes: calls in the binary protocol, one connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How long anything may take on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

const STRICT_CALL: u32 = 0x8001_0001;
const STRICT_REPLY: u32 = 0x8001_0002;

/// A value on the wire.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Double(f64),
    I32(i32),
    I64(i64),
    Text(Vec<u8>),
    /// Fields by number.
    Struct(Vec<(i16, Value)>),
    List(Vec<Value>),
}

impl Value {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.as_bytes().to_vec())
    }

    /// A field of a struct.
    pub(crate) fn field(&self, number: i16) -> Option<&Self> {
        let Self::Struct(fields) = self else { return None };
        fields.iter().find(|(field, _)| *field == number).map(|(_, value)| value)
    }

    /// A number that counts or names something.
    pub(crate) fn number(&self) -> Option<u64> {
        match self {
            Self::I32(number) => u64::try_from(*number).ok(),
            Self::I64(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Double(_) => 4,
            Self::I32(_) => 8,
            Self::I64(_) => 10,
            Self::Text(_) => 11,
            Self::Struct(_) => 12,
            Self::List(_) => 15,
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Double(number) => out.extend(number.to_be_bytes()),
            Self::I32(number) => out.extend(number.to_be_bytes()),
            Self::I64(number) => out.extend(number.to_be_bytes()),
            Self::Text(text) => {
                out.extend((text.len() as u32).to_be_bytes());
                out.extend(text);
            }
            Self::Struct(fields) => {
                for (number, value) in fields {
                    out.push(value.kind());
                    out.extend(number.to_be_bytes());
                    value.put(out);
                }
                out.push(0);
            }
            Self::List(values) => {
                out.push(values.first().map_or(11, Self::kind));
                out.extend((values.len() as u32).to_be_bytes());
                values.iter().for_each(|value| value.put(out));
            }
        }
    }
}

/// A connection to a switch.
pub(crate) struct Thrift(TcpStream);

impl Thrift {
    /// Waits until the switch listens, and connects.
    pub(crate) fn connect(port: u16, mut is_alive: impl FnMut() -> bool) -> Self {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                return Self(stream);
            }
            assert!(is_alive(), "simple_switch has ended");
            assert!(Instant::now() < end, "simple_switch does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Calls a method, which must succeed; returns what it returns.
    pub(crate) fn call(&mut self, method: &str, arguments: Vec<Value>) -> Option<Value> {
        self.call_all(method, vec![arguments]).remove(0)
    }

    /// Calls a method several times, without waiting for each.
    pub(crate) fn call_all(&mut self, method: &str, calls: Vec<Vec<Value>>) -> Vec<Option<Value>> {
        let mut out = Vec::new();
        for arguments in &calls {
            Value::I32(STRICT_CALL as i32).put(&mut out);
            Value::text(method).put(&mut out);
            Value::I32(0).put(&mut out);
            let numbered = (1..).zip(arguments.iter().cloned()).collect();
            Value::Struct(numbered).put(&mut out);
        }
        self.0.write_all(&out).unwrap();
        calls.iter().map(|arguments| self.reply(method, arguments)).collect()
    }

    fn reply(&mut self, method: &str, arguments: &[Value]) -> Option<Value> {
        let kind = u32::from_be_bytes(self.octets());
        let _name = self.value(11);
        let _sequence: [u8; 4] = self.octets();
        let result = self.value(12);
        assert!(kind == STRICT_REPLY, "{method}{arguments:?}: {result:?}");
        let Value::Struct(fields) = &result else { panic!("{method}: {result:?}") };
        assert!(
            fields.iter().all(|(number, _)| *number == 0),
            "{method}{arguments:?} is refused: {result:?}"
        );
        result.field(0).cloned()
    }

    fn octets<const N: usize>(&mut self) -> [u8; N] {
        let mut octets = [0; N];
        self.0.read_exact(&mut octets).unwrap();
        octets
    }

    fn value(&mut self, kind: u8) -> Value {
        match kind {
            4 => Value::Double(f64::from_be_bytes(self.octets())),
            8 => Value::I32(i32::from_be_bytes(self.octets())),
            10 => Value::I64(i64::from_be_bytes(self.octets())),
            11 => {
                let mut text = vec![0; u32::from_be_bytes(self.octets()) as usize];
                self.0.read_exact(&mut text).unwrap();
                Value::Text(text)
            }
            12 => {
                let mut fields = Vec::new();
                loop {
                    let [kind] = self.octets();
                    if kind == 0 {
                        return Value::Struct(fields);
                    }
                    let number = i16::from_be_bytes(self.octets());
                    fields.push((number, self.value(kind)));
                }
            }
            15 => {
                let [kind] = self.octets();
                let length = u32::from_be_bytes(self.octets());
                Value::List((0..length).map(|_| self.value(kind)).collect())
            }
            _ => panic!("type {kind} is not known"),
        }
    }
}
