//! Application classes on a switch over real gRPC: rows, copies and registers; QFI, start and stop at real sockets.
//!
//! The packets are synthetic, as those of [`application_classes`](crate::application_classes).

use std::time::{Duration, Instant};

use causeway_p4runtime::server::{ModelSwitch, Options, Totals};
use causeway_packet::gtpu::Packet;
use causeway_packet::{Ipv4, Udp};
use causeway_types::{Qfi, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{Classes, Config};

use super::firewall::reload;
use super::{GNB, GNB_TEID, N3, N6, Served, Switch, configuration, event, frame, in_tunnel, start};
use crate::application_classes::{GAME, ON_SWITCH, OTHER, model};
use crate::common::smf::{Session, Smf};
use crate::common::{PATIENCE, SERVER, UE, packet};
use crate::log_lines::{LOG, says};

/// An SMF, a gNB and a session with a PDR of the class `game`, at a switch behind P4Runtime.
struct Player {
    switch: Served,
    daemon: Daemon,
    config: Config,
    smf: Smf,
    session: Session,
    /// What the SMF was told.
    told: Vec<(String, bool)>,
    _folder: tempfile::TempDir,
}

impl Player {
    /// With a switch of these properties, in profile `hip4` with application classes.
    fn new(options: Options) -> Self {
        let switch = Served::serving(ModelSwitch::new(options), "127.0.0.1:0".parse().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("classes.json");
        std::fs::write(&path, model("game", ON_SWITCH)).unwrap();
        let mut config = configuration(&switch);
        let p4info = config.upf.switch.p4info.as_ref().unwrap().with_file_name("hip4-classes.bmv2.txtpb");
        config.upf.switch.p4info = Some(p4info);
        config.upf.traffic.classes.model = Some(path);
        config.upf.traffic.classes.load().unwrap();
        let (daemon, mut smf) = start(&config);
        let qfis = (Qfi::new(OTHER), Qfi::new(GAME).unwrap());
        let teid = Teid::new(GNB_TEID).unwrap();
        let session = smf.establish_detecting(UE, teid, GNB, "game", qfis);
        Self { switch, daemon, config, smf, session, told: Vec::new(), _folder: folder }
    }

    /// Sends 40 packets of this size to the UE and four from it; the QFIs of those that have left to the gNB meanwhile.
    fn play(&mut self, octets: usize) -> Vec<u8> {
        for _ in 0..40 {
            self.switch.put(N6, &frame(&packet(SERVER, UE, &vec![0; octets])));
        }
        for _ in 0..4 {
            self.switch.put(N3, &in_tunnel(self.session.uplink.teid, &packet(UE, SERVER, &[0; 80])));
        }
        std::thread::sleep(Duration::from_millis(20));
        for datagram in self.smf.receive_waiting() {
            self.told.extend(self.smf.accept_detections(self.session, &datagram));
        }
        let sent = std::iter::from_fn(|| self.switch.switch.poll_sent());
        sent.filter(|(port, _)| *port == N3).map(|(_, frame)| qfi_of(&frame)).collect()
    }

    /// Plays until the packets have this QFI.
    fn play_until(&mut self, octets: usize, qfi: u8) {
        let start = Instant::now();
        while self.play(octets).last() != Some(&qfi) {
            assert!(start.elapsed() < PATIENCE, "no packet with QFI {qfi}; reports: {:?}", self.told);
        }
    }

    /// Plays until the SMF was told this last.
    fn play_until_told(&mut self, octets: usize, is_start: bool) {
        let start = Instant::now();
        while self.told.last() != Some(&("game".to_owned(), is_start)) {
            self.play(octets);
            assert!(start.elapsed() < PATIENCE, "reports: {:?}", self.told);
        }
    }

    /// Plays until the switch has counted one more.
    fn play_until_counted(&mut self, octets: usize, count: fn(Totals) -> u64) {
        let (start, before) = (Instant::now(), count(self.switch.switch.totals()));
        while count(self.switch.switch.totals()) == before {
            self.play(octets);
            assert!(start.elapsed() < PATIENCE, "the switch sends no copy");
        }
    }

    fn event(&self, name: &str) -> u64 {
        event(&self.daemon, name)
    }
}

/// The QFI of a frame to the gNB.
fn qfi_of(frame: &[u8]) -> u8 {
    let ip = Ipv4::parse(&frame[14..]).unwrap();
    let udp = Udp::parse(ip.payload()).unwrap();
    Packet::parse(udp.payload()).unwrap().extensions.pdu_session().unwrap().qfi().value()
}

// Input:  a switch with application classes behind P4Runtime, in profile `hip4`; a session with a PDR of the class `game`, a QFI and a URR that
//         reports start and stop. Small packets, those of a game, and small ones again; a game while the copies by which the switch says a
//         class are lost; a model with another name for the class, the former one, and none, by reloads.
// Output: packets of a game, and no others, have the QFI; the SMF is told start and stop; the class whose copy is lost is found by reading; a
//         reload changes what is of the class.
#[test]
fn a_game_gets_its_own_rules_over_p4runtime() {
    let mut player = Player::new(Options::default());
    player.play_until(200, OTHER);
    assert_eq!(player.told, []);
    player.play_until(1000, GAME);
    player.play_until_told(1000, true);
    player.play_until(200, OTHER);
    player.play_until_told(200, false);
    assert!(player.event("class_changes") >= 2);

    // Whatever the switch says of a class now is lost: it is read.
    player.switch.switch.lose_packets_in(true);
    let before = player.event("class_changes_found_by_reading");
    player.play_until(1000, GAME);
    assert!(player.event("class_changes_found_by_reading") > before);
    player.switch.switch.lose_packets_in(false);

    // Under another name the class is no application of the session.
    let path = player.config.upf.traffic.classes.model.clone().unwrap();
    std::fs::write(&path, model("call", ON_SWITCH)).unwrap();
    let mut next = player.config.upf.clone();
    next.traffic.classes.load().unwrap();
    reload(&player.daemon, next.clone());
    player.play_until(1000, OTHER);
    reload(&player.daemon, player.config.upf.clone());
    player.play_until(1000, GAME);
    next.traffic.classes = Classes::default();
    reload(&player.daemon, next);
    player.play_until(1000, OTHER);
    assert!(player.smf.delete(player.session).is_some());
    let in_software = ["sessions_without_class_place", "sessions_classified_in_software"];
    assert_eq!(in_software.map(|name| player.event(name)), [0, 0]);
}

// Input:  the same with a switch whose registers cannot be read; the copies are lost while a game ends.
// Output: a line in the log says so when the switch has refused; the game is found, and its end, whose copy is lost, is not, until the switch
//         has said another class.
#[test]
fn classes_that_cannot_be_read_are_said() {
    let log = &*LOG;
    let unread = Options { reads_registers: false, ..Options::default() };
    let mut player = Player::new(unread);
    let line = log.until("that classes are not read", |line| {
        says(line, "the switch does not let application classes be read, so that one whose copy is lost is not found")
    });
    assert_eq!(line["level"], "WARN");
    player.play_until(1000, GAME);
    player.switch.switch.lose_packets_in(true);
    player.play_until_counted(200, |totals| totals.packets_in_lost);
    player.switch.switch.lose_packets_in(false);
    for _ in 0..10 {
        assert_eq!(player.play(200).last(), Some(&GAME));
    }
    // The switch says the next change, and the one after it.
    player.play_until_counted(1000, |totals| totals.packets_in);
    player.play_until(200, OTHER);
    assert_eq!(player.event("class_changes_found_by_reading"), 0);
}
