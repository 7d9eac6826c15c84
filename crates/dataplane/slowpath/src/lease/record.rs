//! The measured state of a session as octets, for a data plane that keeps it outside its memory.
//!
//! Numbers are in LEB128, times as differences to the session's establishment, so that most take few octets. The
//! format lasts as long as the process: nothing reads what another run has written.

use causeway_types::{Span, Time, Volume};
use thiserror::Error;

/// These octets are not a record of measured state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the octets are not the measured state of a session")]
pub struct BadRecord;

/// Writes a record.
#[derive(Debug)]
pub(crate) struct RecordWriter<'o> {
    out: &'o mut Vec<u8>,
    /// When the session was established.
    since: Time,
}

impl<'o> RecordWriter<'o> {
    /// Appends to `out`.
    pub(crate) const fn new(out: &'o mut Vec<u8>, since: Time) -> Self {
        Self { out, since }
    }

    /// A number.
    pub(crate) fn number(&mut self, number: impl Into<u64>) {
        let mut rest = number.into();
        while rest >= 0x80 {
            self.out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.out.push(rest as u8);
    }

    /// A number with a sign: small ones of both signs take few octets.
    pub(crate) fn signed(&mut self, number: i64) {
        self.number((number << 1 ^ number >> 63).cast_unsigned());
    }

    /// A time.
    pub(crate) fn time(&mut self, time: Time) {
        self.signed(time.as_nanos().wrapping_sub(self.since.as_nanos()).cast_signed());
    }

    /// A duration.
    pub(crate) fn span(&mut self, span: Span) {
        self.number(span.as_secs());
        self.number(span.subsec_nanos());
    }

    /// Octets and packets of both directions.
    pub(crate) fn volume(&mut self, volume: &Volume) {
        let Volume { uplink, downlink, uplink_packets, downlink_packets } = *volume;
        [uplink, downlink, uplink_packets, downlink_packets].into_iter().for_each(|it| self.number(it));
    }

    /// Whether a value is there, then the value.
    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.out.push(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads a record.
#[derive(Debug)]
pub(crate) struct RecordReader<'r> {
    rest: &'r [u8],
    since: Time,
}

impl<'r> RecordReader<'r> {
    /// Reads from the first octet.
    pub(crate) const fn new(octets: &'r [u8], since: Time) -> Self {
        Self { rest: octets, since }
    }

    /// No octet is left.
    pub(crate) const fn end(&self) -> Result<(), BadRecord> {
        if self.rest.is_empty() { Ok(()) } else { Err(BadRecord) }
    }

    fn octet(&mut self) -> Result<u8, BadRecord> {
        let (first, rest) = self.rest.split_first().ok_or(BadRecord)?;
        self.rest = rest;
        Ok(*first)
    }

    /// A number that fits its type.
    pub(crate) fn number<T: TryFrom<u64>>(&mut self) -> Result<T, BadRecord> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let octet = self.octet()?;
            let bits = u64::from(octet & 0x7f);
            if bits << shift >> shift != bits {
                return Err(BadRecord);
            }
            number |= bits << shift;
            if octet & 0x80 == 0 {
                return T::try_from(number).map_err(|_| BadRecord);
            }
        }
        Err(BadRecord)
    }

    /// A number with a sign.
    pub(crate) fn signed(&mut self) -> Result<i64, BadRecord> {
        let number: u64 = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// A time.
    pub(crate) fn time(&mut self) -> Result<Time, BadRecord> {
        let after = self.signed()?.cast_unsigned();
        Ok(Time::from_nanos(self.since.as_nanos().wrapping_add(after)))
    }

    /// A duration.
    pub(crate) fn span(&mut self) -> Result<Span, BadRecord> {
        let (secs, nanos) = (self.number()?, self.number::<u32>()?);
        if nanos < 1_000_000_000 { Ok(Span::new(secs, nanos)) } else { Err(BadRecord) }
    }

    /// Octets and packets of both directions.
    pub(crate) fn volume(&mut self) -> Result<Volume, BadRecord> {
        let [uplink, downlink] = [self.number()?, self.number()?];
        let [uplink_packets, downlink_packets] = [self.number()?, self.number()?];
        Ok(Volume { uplink, downlink, uplink_packets, downlink_packets })
    }

    /// Whether something is so.
    pub(crate) fn flag(&mut self) -> Result<bool, BadRecord> {
        match self.number::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BadRecord),
        }
    }

    /// A value that may be absent.
    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, BadRecord>,
    ) -> Result<Option<T>, BadRecord> {
        match self.octet()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(BadRecord),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  numbers, times and durations at the ends of their ranges.
    // Output: what was written is read, and nothing is left.
    #[test]
    fn values_are_read_as_written() {
        let since = Time::from_secs(1000);
        let numbers = [0, 1, 0x7f, 0x80, 1 << 35, u64::MAX];
        let signed = [0, 1, -1, i64::MIN, i64::MAX];
        let times = [Time::default(), since, Time::from_nanos(u64::MAX)];
        let spans = [Span::ZERO, Span::from_millis(1500), Span::MAX];
        let mut octets = Vec::new();
        let mut writer = RecordWriter::new(&mut octets, since);
        numbers.into_iter().for_each(|it| writer.number(it));
        signed.into_iter().for_each(|it| writer.signed(it));
        times.into_iter().for_each(|it| writer.time(it));
        spans.into_iter().for_each(|it| writer.span(it));
        writer.option(Some(7_u8), RecordWriter::number);
        writer.option(None::<u8>, RecordWriter::number);
        let mut reader = RecordReader::new(&octets, since);
        assert_eq!(numbers.map(|_| reader.number::<u64>().unwrap()), numbers);
        assert_eq!(signed.map(|_| reader.signed().unwrap()), signed);
        assert_eq!(times.map(|_| reader.time().unwrap()), times);
        assert_eq!(spans.map(|_| reader.span().unwrap()), spans);
        assert_eq!(reader.option(RecordReader::number::<u8>), Ok(Some(7)));
        assert_eq!((reader.option(RecordReader::number::<u8>), reader.end()), (Ok(None), Ok(())));
    }

    // Input:  a number that does not end, one of more than 64 bits, one too large for its type, nanoseconds of more than a second, a
    //         flag of 2, octets that are left.
    // Output: an error each.
    #[test]
    fn bad_values_are_errors() {
        let reader = |octets: &'static [u8]| RecordReader::new(octets, Time::default());
        assert_eq!(reader(&[0x80]).number::<u64>(), Err(BadRecord));
        assert_eq!(reader(&[0xff; 11]).number::<u64>(), Err(BadRecord));
        assert_eq!(
            reader(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2]).number::<u64>(),
            Err(BadRecord)
        );
        assert_eq!(reader(&[0x80, 2]).number::<u8>(), Err(BadRecord));
        assert_eq!(reader(&[0, 0x80, 0x94, 0xeb, 0xdc, 3]).span(), Err(BadRecord));
        assert_eq!(reader(&[2]).option(RecordReader::number::<u8>), Err(BadRecord));
        assert_eq!(reader(&[0]).end(), Err(BadRecord));
    }
}
