//! The PDU Session Container's content (TS 38.415 clause 5.5).

use causeway_types::{Ppi, Qfi};

use crate::reader::Reader;
use crate::{Layer, ParseError};

const DOWNLINK: u8 = 0;
const UPLINK: u8 = 1;

/// Sequence number of the packets of one QoS flow (TS 38.415 clause 5.5.3), 24 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct QfiSequence(u32);

impl QfiSequence {
    /// `None` above 2^24 - 1.
    pub const fn new(raw: u32) -> Option<Self> {
        if raw < 1 << 24 { Some(Self(raw)) } else { None }
    }

    /// The number.
    pub const fn value(self) -> u32 {
        self.0
    }

    fn octets(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }
}

/// Information sent with user data between NG-RAN and UPF, and between UPFs.
///
/// Time stamps are NTP, 64 bits (RFC 5905); delays are milliseconds. Content after the known fields, which a later
/// release may add, is ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PduSession {
    /// DL PDU SESSION INFORMATION (PDU type 0).
    Downlink(DlPduSession),
    /// UL PDU SESSION INFORMATION (PDU type 1).
    Uplink(UlPduSession),
}

/// DL PDU SESSION INFORMATION (TS 38.415 clause 5.5.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DlPduSession {
    /// QoS flow.
    pub qfi: Qfi,
    /// Reflective QoS Indicator.
    pub rqi: bool,
    /// Paging policy, present with PPP.
    pub ppi: Option<Ppi>,
    /// DL Sending Time Stamp, present with QMP: requests a reply of the UE for QoS monitoring.
    pub sending_time: Option<u64>,
    /// DL QFI Sequence Number, present with SNP.
    pub sequence: Option<QfiSequence>,
    /// DL MBS QFI Sequence Number, present with MSNP.
    pub mbs_sequence: Option<u32>,
}

/// UL PDU SESSION INFORMATION (TS 38.415 clause 5.5.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UlPduSession {
    /// QoS flow.
    pub qfi: Qfi,
    /// Present with QMP.
    pub time_stamps: Option<UlTimeStamps>,
    /// DL Delay Result, milliseconds.
    pub dl_delay: Option<u32>,
    /// UL Delay Result, milliseconds.
    pub ul_delay: Option<u32>,
    /// UL QFI Sequence Number, present with SNP.
    pub sequence: Option<QfiSequence>,
    /// N3/N9 Delay Result, milliseconds.
    pub n3_n9_delay: Option<u32>,
    /// D1 UL PDCP Delay Result Ind, present with New IE Flag 0: the UL delay includes the PDCP's D1 part.
    pub d1_ul_pdcp_delay: Option<bool>,
}

/// The time stamps of QoS monitoring on the uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UlTimeStamps {
    /// DL Sending Time Stamp Repeated: the value from the downlink monitoring packet.
    pub dl_sending_repeated: u64,
    /// DL Received Time Stamp.
    pub dl_received: u64,
    /// UL Sending Time Stamp.
    pub ul_sending: u64,
}

impl PduSession {
    /// The QoS flow.
    pub const fn qfi(&self) -> Qfi {
        match self {
            Self::Downlink(info) => info.qfi,
            Self::Uplink(info) => info.qfi,
        }
    }

    pub(super) fn decode(content: &[u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::PduSession, content);
        let &[flags, more] = reader.array()?;
        match flags >> 4 {
            DOWNLINK => DlPduSession::decode(flags, more, &mut reader).map(Self::Downlink),
            UPLINK => UlPduSession::decode(flags, more, &mut reader).map(Self::Uplink),
            other => Err(ParseError::PduSessionType(other)),
        }
    }

    /// Appends the content without padding.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Downlink(info) => info.write(out),
            Self::Uplink(info) => info.write(out),
        }
    }
}

impl DlPduSession {
    const QMP: u8 = 0x08;
    const SNP: u8 = 0x04;
    const MSNP: u8 = 0x02;
    const PPP: u8 = 0x80;
    const RQI: u8 = 0x40;

    /// Marks one QoS flow, without optional fields.
    pub const fn new(qfi: Qfi) -> Self {
        Self { qfi, rqi: false, ppi: None, sending_time: None, sequence: None, mbs_sequence: None }
    }

    fn decode(flags: u8, more: u8, reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let mut info = Self { rqi: more & Self::RQI != 0, ..Self::new(Qfi::from_low_bits(more)) };
        if more & Self::PPP != 0 {
            info.ppi = Some(Ppi::from_low_bits(reader.u8()? >> 5));
        }
        if flags & Self::QMP != 0 {
            info.sending_time = Some(reader.u64()?);
        }
        if flags & Self::SNP != 0 {
            info.sequence = Some(QfiSequence(reader.u24()?));
        }
        if flags & Self::MSNP != 0 {
            info.mbs_sequence = Some(reader.u32()?);
        }
        Ok(info)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(
            DOWNLINK << 4
                | bit(self.sending_time.is_some(), Self::QMP)
                | bit(self.sequence.is_some(), Self::SNP)
                | bit(self.mbs_sequence.is_some(), Self::MSNP),
        );
        out.push(bit(self.ppi.is_some(), Self::PPP) | bit(self.rqi, Self::RQI) | self.qfi.value());
        out.extend(self.ppi.map(|ppi| ppi.value() << 5));
        out.extend(self.sending_time.map(u64::to_be_bytes).into_iter().flatten());
        out.extend(self.sequence.map(QfiSequence::octets).into_iter().flatten());
        out.extend(self.mbs_sequence.map(u32::to_be_bytes).into_iter().flatten());
    }
}

impl UlPduSession {
    const QMP: u8 = 0x08;
    const DL_DELAY: u8 = 0x04;
    const UL_DELAY: u8 = 0x02;
    const SNP: u8 = 0x01;
    const N3_N9_DELAY: u8 = 0x80;
    const NEW_IES: u8 = 0x40;
    /// New IE Flag 0, in the octet of the New IE Flags.
    const D1: u8 = 0x01;
    /// One more octet of New IE Flags follows.
    const MORE_FLAGS: u8 = 0x80;

    /// Marks one QoS flow, without optional fields.
    pub const fn new(qfi: Qfi) -> Self {
        Self {
            qfi,
            time_stamps: None,
            dl_delay: None,
            ul_delay: None,
            sequence: None,
            n3_n9_delay: None,
            d1_ul_pdcp_delay: None,
        }
    }

    fn decode(flags: u8, more: u8, reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let mut info = Self::new(Qfi::from_low_bits(more));
        if flags & Self::QMP != 0 {
            info.time_stamps = Some(UlTimeStamps {
                dl_sending_repeated: reader.u64()?,
                dl_received: reader.u64()?,
                ul_sending: reader.u64()?,
            });
        }
        if flags & Self::DL_DELAY != 0 {
            info.dl_delay = Some(reader.u32()?);
        }
        if flags & Self::UL_DELAY != 0 {
            info.ul_delay = Some(reader.u32()?);
        }
        if flags & Self::SNP != 0 {
            info.sequence = Some(QfiSequence(reader.u24()?));
        }
        if more & Self::N3_N9_DELAY != 0 {
            info.n3_n9_delay = Some(reader.u32()?);
        }
        if more & Self::NEW_IES != 0 {
            info.d1_ul_pdcp_delay = Self::new_ies(reader)?;
        }
        Ok(info)
    }

    /// The New IE Flags and the one known IE.
    fn new_ies(reader: &mut Reader<'_>) -> Result<Option<bool>, ParseError> {
        let first = reader.u8()?;
        let mut last = first;
        while last & Self::MORE_FLAGS != 0 {
            last = reader.u8()?;
        }
        if first & Self::D1 == 0 { Ok(None) } else { Ok(Some(reader.u8()? & 1 != 0)) }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(
            UPLINK << 4
                | bit(self.time_stamps.is_some(), Self::QMP)
                | bit(self.dl_delay.is_some(), Self::DL_DELAY)
                | bit(self.ul_delay.is_some(), Self::UL_DELAY)
                | bit(self.sequence.is_some(), Self::SNP),
        );
        out.push(
            bit(self.n3_n9_delay.is_some(), Self::N3_N9_DELAY)
                | bit(self.d1_ul_pdcp_delay.is_some(), Self::NEW_IES)
                | self.qfi.value(),
        );
        if let Some(stamps) = self.time_stamps {
            out.extend(
                [stamps.dl_sending_repeated, stamps.dl_received, stamps.ul_sending]
                    .map(u64::to_be_bytes)
                    .concat(),
            );
        }
        out.extend(self.dl_delay.map(u32::to_be_bytes).into_iter().flatten());
        out.extend(self.ul_delay.map(u32::to_be_bytes).into_iter().flatten());
        out.extend(self.sequence.map(QfiSequence::octets).into_iter().flatten());
        out.extend(self.n3_n9_delay.map(u32::to_be_bytes).into_iter().flatten());
        if let Some(included) = self.d1_ul_pdcp_delay {
            out.extend([Self::D1, u8::from(included)]);
        }
    }
}

const fn bit(present: bool, bit: u8) -> u8 {
    if present { bit } else { 0 }
}
