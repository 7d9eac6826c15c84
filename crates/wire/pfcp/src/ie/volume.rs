//! Volumes of traffic: thresholds, quotas, measurements.

use crate::read::{Put, Reader};
use crate::{Ie, IeError};

/// Octets of user traffic by direction, each if present.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Volumes {
    /// Both directions.
    pub total: Option<u64>,
    /// From the UE.
    pub uplink: Option<u64>,
    /// To the UE.
    pub downlink: Option<u64>,
}

impl Volumes {
    /// Reads the values for the three low bits.
    fn read(fields: &mut Reader<'_>, flags: u8) -> Result<Self, IeError> {
        Ok(Self {
            total: fields.when(flags & 1 != 0, Reader::u64)?,
            uplink: fields.when(flags & 2 != 0, Reader::u64)?,
            downlink: fields.when(flags & 4 != 0, Reader::u64)?,
        })
    }

    fn flags(&self) -> u8 {
        let present = [self.total.is_some(), self.uplink.is_some(), self.downlink.is_some()];
        present.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag))
    }

    fn put(&self, out: &mut Vec<u8>) {
        [self.total, self.uplink, self.downlink].into_iter().flatten().for_each(|n| out.put_u64(n));
    }
}

macro_rules! volume_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $name(pub Volumes);

        impl<'a> Ie<'a> for $name {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, IeError> {
                let mut fields = Reader::new(value);
                let flags = fields.u8()?;
                Volumes::read(&mut fields, flags).map(Self)
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.put_u8(self.0.flags());
                self.0.put(out);
            }
        }
    )*};
}

volume_ies! {
    /// Octets after which usage is reported (clause 8.2.13).
    VolumeThreshold = 31, "Volume Threshold";
    /// Volume threshold after the monitoring time (clause 8.2.16).
    SubsequentVolumeThreshold = 34, "Subsequent Volume Threshold";
    /// Octets that are granted (clause 8.2.50).
    VolumeQuota = 73, "Volume Quota";
    /// Volume quota after the monitoring time (clause 8.2.86).
    SubsequentVolumeQuota = 121, "Subsequent Volume Quota";
}

/// Volume Measurement (clause 8.2.44).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct VolumeMeasurement {
    /// Octets.
    pub octets: Volumes,
    /// Packets.
    pub packets: Volumes,
}

impl<'a> Ie<'a> for VolumeMeasurement {
    const TYPE: u16 = 66;
    const NAME: &'static str = "Volume Measurement";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let octets = Volumes::read(&mut fields, flags)?;
        Ok(Self { octets, packets: Volumes::read(&mut fields, flags >> 3)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.octets.flags() | self.packets.flags() << 3);
        self.octets.put(out);
        self.packets.put(out);
    }
}

/// Dropped DL Traffic Threshold (clause 8.2.49).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DroppedDlTrafficThreshold {
    /// Packets.
    pub packets: Option<u64>,
    /// Octets.
    pub octets: Option<u64>,
}

impl<'a> Ie<'a> for DroppedDlTrafficThreshold {
    const TYPE: u16 = 72;
    const NAME: &'static str = "Dropped DL Traffic Threshold";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let packets = fields.when(flags & 1 != 0, Reader::u64)?;
        Ok(Self { packets, octets: fields.when(flags & 2 != 0, Reader::u64)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(u8::from(self.packets.is_some()) | u8::from(self.octets.is_some()) << 1);
        [self.packets, self.octets].into_iter().flatten().for_each(|n| out.put_u64(n));
    }
}
