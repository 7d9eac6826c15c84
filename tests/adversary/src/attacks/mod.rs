//! The attacks, by party.

mod data_network;
mod n3;
mod peer;
mod smf;
mod ue;

use crate::Attack;

/// All attacks.
pub const ATTACKS: &[Attack] = &{
    const PARTS: [&[Attack]; 5] =
        [peer::ATTACKS, smf::ATTACKS, n3::ATTACKS, ue::ATTACKS, data_network::ATTACKS];
    const COUNT: usize = {
        let (mut part, mut count) = (0, 0);
        while part < PARTS.len() {
            count += PARTS[part].len();
            part += 1;
        }
        count
    };
    let (mut all, mut at, mut part) = ([PARTS[0][0]; COUNT], 0, 0);
    while part < PARTS.len() {
        let mut i = 0;
        while i < PARTS[part].len() {
            all[at] = PARTS[part][i];
            (at, i) = (at + 1, i + 1);
        }
        part += 1;
    }
    all
};
