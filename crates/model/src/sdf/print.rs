//! Formats a [`FlowDescription`] as text.

use std::fmt;

use crate::{FlowAddress, FlowDescription, FlowEnd};

/// The shortest text that parses to the same description.
impl fmt::Display for FlowDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("permit out ")?;
        match self.protocol {
            Some(protocol) => write!(f, "{protocol}")?,
            None => f.write_str("ip")?,
        }
        write!(f, " from {} to {}", self.remote, self.local)
    }
}

impl fmt::Display for FlowEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        for (index, range) in self.ports.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { "," })?;
            write!(f, "{}", range.start())?;
            if range.start() != range.end() {
                write!(f, "-{}", range.end())?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for FlowAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Assigned => f.write_str("assigned"),
            Self::Net(net) if net.prefix_len() == net.max_prefix_len() => write!(f, "{}", net.addr()),
            Self::Net(net) => write!(f, "{net}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn end(v6: bool) -> impl Strategy<Value = FlowEnd> {
        let net = if v6 {
            (any::<u128>(), 0..=128_u8)
                .prop_map(|(raw, len)| FlowAddress::Net(net(std::net::Ipv6Addr::from(raw).into(), len)))
                .boxed()
        } else {
            (any::<u32>(), 0..=32_u8)
                .prop_map(|(raw, len)| FlowAddress::Net(net(std::net::Ipv4Addr::from(raw).into(), len)))
                .boxed()
        };
        let address = prop_oneof![Just(FlowAddress::Any), Just(FlowAddress::Assigned), net];
        (address, proptest::collection::btree_set(any::<u16>(), 0..6)).prop_map(|(address, bounds)| FlowEnd {
            address,
            ports: ports(&bounds.into_iter().collect::<Vec<_>>()),
        })
    }

    fn net(ip: std::net::IpAddr, len: u8) -> causeway_types::IpNet {
        causeway_types::IpNet::new_assert(ip, len).trunc()
    }

    /// Ranges between every other pair of bounds, so that none touch.
    fn ports(bounds: &[u16]) -> Vec<std::ops::RangeInclusive<u16>> {
        let pairs = bounds.chunks_exact(2).map(|pair| pair[0]..=pair[1]);
        let mut ranges: Vec<std::ops::RangeInclusive<u16>> = Vec::new();
        for range in pairs {
            if ranges.last().is_none_or(|last| *last.end() < range.start() - 1) {
                ranges.push(range);
            }
        }
        ranges
    }

    proptest! {
        // Input:  any filter.
        // Output: its text parses to the same filter.
        #[test]
        fn text_and_back(
            protocol: Option<u8>,
            (remote, local) in any::<bool>().prop_flat_map(|v6| (end(v6), end(v6))),
        ) {
            let filter = FlowDescription { protocol, remote, local };
            prop_assert_eq!(filter.to_string().parse(), Ok(filter));
        }

        // Input:  any text.
        // Output: a filter that prints and parses to itself, or an error; never a panic.
        #[test]
        fn any_text_parses_or_is_refused(text in "(permit out )?[ -~]{0,60}") {
            if let Ok(filter) = text.parse::<FlowDescription>() {
                prop_assert_eq!(filter.to_string().parse(), Ok(filter));
            }
        }
    }
}
