//! Application classes of a running daemon, over N4 and real sockets, and model files that cannot be used.
//!
//! The packets are synthetic: of the sizes and rates that the model of the test takes for a game.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::time::Instant;

use causeway_class_model::{ModelFile, Parameters, Trained};
use causeway_packet::Meta;
use causeway_packet::gtpu::Packet;
use causeway_traffic::classes::{Feature, Model, Node, Tree};
use causeway_types::{Qfi, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{Config, DataPlane, Overrides, Reloaded, WorkerCount};
use causeway_upf::management::views::{SessionDetail, SessionPage, SwitchView};
use serde::de::DeserializeOwned;

use crate::common::namespace::in_namespace;
use crate::common::smf::{Session, Smf};
use crate::common::{
    EventStream, Gnb, PATIENCE, Running, SERVER, UE, config, fetch, loopback, metric, packet, run, until,
};

pub(crate) const GAME: u8 = 9;

/// The QFI of other traffic, where packets to a gNB must have one: on a switch.
pub(crate) const OTHER: u8 = 8;

/// The address of the host in the data network.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);

/// Windows in software, and on a switch.
const MILLIS: u32 = 300;
pub(crate) const ON_SWITCH: u32 = 268;

/// A class has more than twenty downlink packets of more than 600 octets on average in a window, and two uplink packets.
pub(crate) fn model(class: &str, millis: u32) -> String {
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
    let model = Model::new(classes, millis, 2, Tree::new(nodes, 2).unwrap()).unwrap();
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

    fn get<T: DeserializeOwned>(&self, path: &str) -> T {
        serde_json::from_str(&self.running.fetch(path).1).unwrap()
    }

    /// Plays until the session alone has this class, as the API and the metrics show it. `None`: it is not measured.
    fn play_until_shown(&mut self, octets: usize, class: Option<&str>) {
        let seid = self.session.up_seid;
        until("the session has the class", || {
            self.play(octets);
            let detail: SessionDetail = self.get(&format!("/api/v1/sessions/{seid}"));
            let page: SessionPage = self.get("/api/v1/sessions");
            let found: SessionPage = self.get(&format!("/api/v1/sessions?ue={UE}"));
            let shown = [&detail.session.class, &page.sessions[0].class, &found.sessions[0].class];
            let (_, metrics) = self.running.fetch("/metrics");
            let has_it = |of: &str| {
                let sample = format!("causeway_application_class_sessions{{class=\"{of}\"}} 1");
                metrics.lines().any(|line| line == sample)
            };
            let counted = ["other", "game", "call"].into_iter().filter(|of| has_it(of));
            shown.map(Option::as_deref) == [class; 3] && counted.collect::<Vec<_>>() == Vec::from_iter(class)
        });
    }

    fn reload(&self, next: &Config) -> Reloaded {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.running.daemon.reload(next.upf.clone())).unwrap()
    }
}

/// Plays beside this data plane, whose windows last so long, where other traffic has this QFI.
fn plays_a_game(plane: &str, millis: u32, other: Option<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("classes.json");
    std::fs::write(&path, model("game", millis)).unwrap();
    let upf = loopback();
    let mut config = config(upf);
    config.upf.dataplane = DataPlane::named(plane).unwrap();
    config.upf.traffic.classes.model = Some(path.clone());
    config.upf.traffic.classes.load().unwrap();
    let running = run(&config, upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    let gnb = Gnb::new();
    let qfis = (other.and_then(Qfi::new), Qfi::new(GAME).unwrap());
    let session = smf.establish_detecting(UE, Teid::new(7).unwrap(), gnb.address, "game", qfis);
    let mut player = Player { running, smf, gnb, session, told: Vec::new() };
    let (seid, mut events) = (session.up_seid, player.running.events());
    let (start, stop) = (("game".to_owned(), true), ("game".to_owned(), false));

    player.play_until(200, other);
    assert!(player.told.is_empty(), "{:?}", player.told);
    player.play_until_shown(200, Some("other"));
    player.play_until(1000, Some(GAME));
    player.play_until_shown(1000, Some("game"));
    let change = |from, to| {
        format!("\"class_change\",\"seid\":\"{seid}\",\"ue\":\"{UE}\",\"from\":\"{from}\",\"to\":\"{to}\"")
    };
    events.read_until(&change("other", "game"));
    player.wait_for_reports(1);
    assert_eq!(player.told.last(), Some(&start));
    player.play_until(200, other);
    // On a busy machine windows without packets may have stopped and started it again before.
    let before = player.told.len();
    player.wait_for_reports(before + usize::from(player.told.last() != Some(&stop)));
    assert_eq!(player.told.last(), Some(&stop));
    player.play_until_shown(200, Some("other"));
    events.read_until(&change("game", "other"));

    // The same file has another name for the class: no packet is of the application any more.
    player.play_until(1000, Some(GAME));
    std::fs::write(&path, model("call", millis)).unwrap();
    let mut next = config.clone();
    next.upf.traffic.classes.load().unwrap();
    assert_eq!(player.reload(&next).applied, ["upf.traffic.classes.model"]);
    player.play_until(1000, other);
    player.play_until_shown(1000, None);
    // It is the former one again, for a session that is there.
    assert_eq!(player.reload(&config).applied, ["upf.traffic.classes.model"]);
    player.play_until(1000, Some(GAME));
    // No model.
    next.upf.traffic.classes = causeway_upf::config::Classes::default();
    assert_eq!(player.reload(&next).applied, ["upf.traffic.classes.model"]);
    player.play_until(1000, other);
    assert_eq!(player.reload(&next), Reloaded::default());
    player.play_until_shown(1000, None);
    assert!(player.running.metric("causeway_application_class_changes_total") >= 5.0);
    assert_eq!(player.running.metric("causeway_application_class_changes_unsaid_total"), 0.0);
    assert!(player.smf.delete(player.session).is_some());
    if other.is_some() {
        // The switch has found the classes, and not the software behind it.
        let view: SwitchView =
            serde_json::from_str(&fetch(&player.running.daemon, "/api/v1/switch").1).unwrap();
        let events = view.switch.expect("there is a switch").events;
        let event = |name: &str| events.iter().find(|event| event.name == name).unwrap().count;
        assert!(event("class_changes") >= 3, "{events:?}");
        // Each copy that says a class is made at egress.
        assert!(event("model_egress_copies") >= 3, "{events:?}");
        assert_eq!(event("model_refused_packets"), 0, "{events:?}");
        let in_software = ["sessions_without_class_place", "sessions_classified_in_software"].map(event);
        assert_eq!(in_software, [0, 0]);
    }
}

// Input:  a session with a PDR of the class `game`, a QFI and a URR that reports start and stop. Packets that are too small for a game;
//         then of a game; small ones again; a game, under a model that is replaced, restored and removed by reloads.
// Output: packets of a game, and no others, carry the QFI; the SMF is told start and stop with the Application ID. A reload of the
//         same name with other content is in force, and said. Sessions, metrics and events show the class.
#[test]
fn a_game_gets_its_own_rules() {
    plays_a_game("fastpath", MILLIS, None);
}

// Input:  the same, with the slow path alone.
// Output: the same.
#[test]
fn a_game_gets_its_own_rules_in_the_slow_path() {
    plays_a_game("slowpath", MILLIS, None);
}

// Input:  the same with the model of a switch, whose windows are bits of the time, and a QFI for other traffic.
// Output: the same; the switch says the classes, and after a reload no class until four windows have ended.
#[test]
fn a_game_gets_its_own_rules_on_a_switch() {
    plays_a_game("switch", ON_SWITCH, Some(OTHER));
}

// Input:  two packet threads with a session each, whose UEs play.
// Output: both sessions have the class, the metrics count both, and each change is told.
#[test]
fn sessions_of_two_packet_threads_have_their_classes() {
    in_namespace("application_classes::sessions_of_two_packet_threads_have_their_classes", || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("classes.json");
        std::fs::write(&path, model("game", MILLIS)).unwrap();
        let upf = loopback();
        let mut config = config(upf);
        config.upf.workers.count = WorkerCount::Exactly(2);
        // Sessions are given to the threads by turns.
        config.upf.pfcp.accelerate = false;
        config.upf.traffic.classes.model = Some(path);
        config.upf.traffic.classes.load().unwrap();
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let gnb = Gnb::new();
        let (server, qfis) = (UdpSocket::bind((GATEWAY, 2)).unwrap(), (None, Qfi::new(GAME).unwrap()));
        let sessions = [UE, Ipv4Addr::new(10, 45, 0, 3)]
            .map(|ue| (ue, smf.establish_detecting(ue, Teid::new(7).unwrap(), gnb.address, "game", qfis)));
        for worker in ["0", "1"] {
            let series = format!("causeway_worker_sessions{{worker=\"{worker}\"}}");
            assert_eq!(metric(&daemon, &series), 1.0);
        }
        let mut events = EventStream::of(&daemon);
        until("both sessions have the class", || {
            for (ue, session) in &sessions {
                for _ in 0..40 {
                    server.send_to(&[0; 1000], (*ue, 5000)).unwrap();
                }
                for _ in 0..4 {
                    gnb.send(upf, session.uplink.teid, &packet(*ue, GATEWAY, &[0; 80]));
                }
            }
            gnb.receive_waiting();
            let page: SessionPage = serde_json::from_str(&fetch(&daemon, "/api/v1/sessions").1).unwrap();
            let are_shown = page.sessions.iter().all(|session| session.class.as_deref() == Some("game"));
            are_shown && metric(&daemon, "causeway_application_class_sessions{class=\"game\"}") == 2.0
        });
        for (ue, session) in &sessions {
            events.read_until(&format!(
                "\"class_change\",\"seid\":\"{}\",\"ue\":\"{ue}\",\"from\":\"other\",\"to\":\"game\"",
                session.up_seid
            ));
        }
    });
}

// Input:  configurations whose model file is not there, is empty, of something else, cut short, and changed in one digit; one with a
//         switch, and with a switch in front of software.
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
    let good = model("game", MILLIS);
    is_wrong(Some(""), "model file");
    is_wrong(Some("{\"name\": \"other\"}"), "model file");
    is_wrong(Some(&good[..good.len() / 2]), "model file");
    is_wrong(Some(&good.replacen("300", "301", 1)), "model file");
    std::fs::write(&model_file, &good).unwrap();
    let config = load().unwrap();
    assert!(config.upf.traffic.classes.model.is_some());
    // A switch has other windows.
    let text = |plane: &str| {
        format!("upf: {{dataplane: {plane}, traffic: {{classes: {{model: {}}}}}}}\n", model_file.display())
    };
    std::fs::write(&file, text("switch")).unwrap();
    is_wrong(None, "the model has windows of 300 ms: the switch has windows of 268, 537 and 1074 ms");
    std::fs::write(&model_file, model("game", ON_SWITCH)).unwrap();
    load().unwrap();
    let error =
        Config::parse(Some(Path::new("upf.yaml")), &text("hybrid"), &Overrides::default()).unwrap_err();
    assert!(
        error.to_string().contains(
            "upf.traffic.classes.model: upf.dataplane hybrid has no application classes: remove the key, or use fastpath or \
             switch"
        ),
        "{error}"
    );
}

// Input:  a switch over P4Runtime whose program has no application classes, and a model.
// Output: the daemon does not start, and says the key, and how the program is compiled with them.
#[cfg(feature = "p4runtime")]
#[test]
fn a_program_without_classes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("classes.json");
    std::fs::write(&path, model("game", ON_SWITCH)).unwrap();
    let mut config = crate::switch::configuration_for("127.0.0.1:9".parse().unwrap());
    config.upf.traffic.classes.model = Some(path);
    config.upf.traffic.classes.load().unwrap();
    let error = Daemon::start(&config).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("upf.traffic.classes.model: the P4 program of upf.switch.p4info"), "{error}");
    assert!(error.contains("APPLICATION_CLASSES"), "{error}");
}
