//! Application classes of a running daemon, over N4 and real sockets, and model files that cannot be used.
//!
//! The packets are synthetic: of the sizes and rates that the model of the test takes for a game.

use std::path::Path;
use std::time::Instant;

use causeway_class_model::{ModelFile, Parameters, Trained};
use causeway_packet::Meta;
use causeway_packet::gtpu::Packet;
use causeway_traffic::classes::{Feature, Model, Node, Tree};
use causeway_types::{Qfi, Teid};
use causeway_upf::config::{Config, DataPlane, Overrides, Reloaded};

use crate::common::smf::{Session, Smf};
use crate::common::{Gnb, PATIENCE, Running, SERVER, UE, config, loopback, packet, run};

const GAME: u8 = 9;

/// A class has more than twenty downlink packets of more than 600 octets on average in 300 ms, and two uplink packets.
fn model(class: &str) -> String {
    let split = |feature, threshold, below| Node::Split { feature, threshold, below, above: below + 1 };
    let nodes = vec![
        split(Feature::DownlinkPackets, 20, 1),
        Node::Leaf { class: 0 },
        split(Feature::DownlinkSize, 600 * 16, 3),
        Node::Leaf { class: 0 },
        Node::Leaf { class: 1 },
    ];
    let parameters = Parameters { max_depth: 2, min_leaf: 1, is_balanced: true, features: Vec::new() };
    let (sources, data_hash) = (Vec::new(), String::new());
    let trained = Trained { sources, data_hash, samples: Vec::new(), parameters, scores: Vec::new() };
    let classes = vec!["other".into(), class.into()];
    let model = Model::new(classes, 300, 2, Tree::new(nodes, 2).unwrap()).unwrap();
    ModelFile::new(model, trained).unwrap().encode().unwrap()
}

/// An SMF, a gNB and a session with a PDR of the class, beside a daemon.
struct Player {
    running: Running,
    smf: Smf,
    gnb: Gnb,
    session: Session,
    /// What the SMF was told.
    told: Vec<(String, bool)>,
}

impl Player {
    /// Sends 40 packets of this size to the UE and four from it; the QFIs of those that the gNB has received meanwhile.
    fn play(&mut self, octets: usize) -> Vec<Option<u8>> {
        for _ in 0..40 {
            self.running.server.push(Meta::default(), &packet(SERVER, UE, &vec![0; octets]));
        }
        for _ in 0..4 {
            self.gnb.send(self.running.upf, self.session.uplink.teid, &packet(UE, SERVER, &[0; 80]));
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        while self.running.server.pop().is_some() {}
        let qfi = |datagram: &Vec<u8>| {
            Some(Packet::parse(datagram).unwrap().extensions.pdu_session()?.qfi().value())
        };
        self.listen();
        self.gnb.receive_waiting().iter().map(qfi).collect()
    }

    /// Accepts the reports that have arrived.
    fn listen(&mut self) {
        for datagram in self.smf.receive_waiting() {
            self.told.extend(self.smf.accept_detections(self.session, &datagram));
        }
    }

    /// Plays until the packets have this QFI, or none.
    fn play_until(&mut self, octets: usize, qfi: Option<u8>) {
        let start = Instant::now();
        while self.play(octets).last() != Some(&qfi) {
            assert!(start.elapsed() < PATIENCE, "no packet with QFI {qfi:?}; reports: {:?}", self.told);
        }
    }

    /// Waits until so many reports were received in all.
    fn wait_for_reports(&mut self, count: usize) {
        let start = Instant::now();
        while self.told.len() < count {
            assert!(start.elapsed() < PATIENCE, "reports: {:?}", self.told);
            std::thread::sleep(std::time::Duration::from_millis(5));
            self.listen();
        }
    }

    fn reload(&self, next: &Config) -> Reloaded {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.running.daemon.reload(next.upf.clone())).unwrap()
    }
}

fn plays_a_game(plane: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("classes.json");
    std::fs::write(&path, model("game")).unwrap();
    let upf = loopback();
    let mut config = config(upf);
    config.upf.dataplane = DataPlane::named(plane).unwrap();
    config.upf.traffic.classes.model = Some(path.clone());
    config.upf.traffic.classes.load().unwrap();
    let running = run(&config, upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    let gnb = Gnb::new();
    let session =
        smf.establish_detecting(UE, Teid::new(7).unwrap(), gnb.address, "game", Qfi::new(GAME).unwrap());
    let mut player = Player { running, smf, gnb, session, told: Vec::new() };
    let (start, stop) = (("game".to_owned(), true), ("game".to_owned(), false));

    player.play_until(200, None);
    assert!(player.told.is_empty(), "{:?}", player.told);
    player.play_until(1000, Some(GAME));
    player.wait_for_reports(1);
    assert_eq!(player.told.last(), Some(&start));
    player.play_until(200, None);
    // On a busy machine windows without packets may have stopped and started it again before.
    let before = player.told.len();
    player.wait_for_reports(before + usize::from(player.told.last() != Some(&stop)));
    assert_eq!(player.told.last(), Some(&stop));

    // The same file has another name for the class: no packet is of the application any more.
    player.play_until(1000, Some(GAME));
    std::fs::write(&path, model("call")).unwrap();
    let mut next = config.clone();
    next.upf.traffic.classes.load().unwrap();
    assert_eq!(player.reload(&next).applied, ["upf.traffic.classes.model"]);
    player.play_until(1000, None);
    // It is the former one again, for a session that is there.
    assert_eq!(player.reload(&config).applied, ["upf.traffic.classes.model"]);
    player.play_until(1000, Some(GAME));
    // No model.
    next.upf.traffic.classes = causeway_upf::config::Classes::default();
    assert_eq!(player.reload(&next).applied, ["upf.traffic.classes.model"]);
    player.play_until(1000, None);
    assert_eq!(player.reload(&next), Reloaded::default());
    assert!(player.smf.delete(player.session).is_some());
}

// Input:  a session with a PDR of the class `game`, a QFI and a URR that reports start and stop. Packets that are too small for a game;
//         then of a game; small ones again; a game, under a model that is replaced, restored and removed by reloads.
// Output: packets of a game, and no others, carry the QFI; the SMF is told start and stop with the Application ID. A reload of the
//         same name with other content is in force, and said.
#[test]
fn a_game_gets_its_own_rules() {
    plays_a_game("fastpath");
}

// Input:  the same, with the slow path alone.
// Output: the same.
#[test]
fn a_game_gets_its_own_rules_in_the_slow_path() {
    plays_a_game("slowpath");
}

// Input:  configurations whose model file is not there, is empty, of something else, cut short, and changed in one digit; one with a
//         switch.
// Output: file, line, key, and what is wrong with the model file, by its name.
#[test]
fn a_wrong_model_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (model_file, file) = (folder.path().join("classes.json"), folder.path().join("upf.yaml"));
    std::fs::write(&file, format!("upf: {{traffic: {{classes: {{model: {}}}}}}}\n", model_file.display()))
        .unwrap();
    let load = || Config::load(Some(&file), &Overrides::default());
    let error = || load().unwrap_err().to_string();
    let begins = format!("{}:1: upf.traffic.classes.model: {}: ", file.display(), model_file.display());
    let is_wrong = |content: Option<&str>, why: &str| {
        if let Some(content) = content {
            std::fs::write(&model_file, content).unwrap();
        }
        let error = error();
        assert!(error.starts_with(&begins) && error.contains(why), "{error}");
    };
    is_wrong(None, "No such file");
    let good = model("game");
    is_wrong(Some(""), "model file");
    is_wrong(Some("{\"name\": \"other\"}"), "model file");
    is_wrong(Some(&good[..good.len() / 2]), "model file");
    is_wrong(Some(&good.replacen("300", "301", 1)), "model file");
    std::fs::write(&model_file, &good).unwrap();
    let config = load().unwrap();
    assert!(config.upf.traffic.classes.model.is_some());
    let text = "upf:\n  dataplane: switch\n  traffic:\n    classes:\n      model: classes.json\n";
    let error =
        Config::parse(Some(Path::new("upf.yaml")), text, &Overrides::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "upf.yaml:5: upf.traffic.classes.model: upf.dataplane switch has no application classes: remove the key, or use \
         another data plane"
    );
}
