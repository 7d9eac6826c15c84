//! `causeway train`: tables and captures in, a model and a report out; every error names its place.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use causeway_class_model::ModelFile;
use causeway_experiment::training::{TrainArguments, run};
use causeway_packet::{IpProtocol, Ipv4Repr, UdpRepr};
use causeway_traffic::classes::{Feature, Vector};
use clap::Parser;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use tempfile::TempDir;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: TrainArguments,
}

fn arguments<'a>(words: impl IntoIterator<Item = &'a str>) -> TrainArguments {
    Line::parse_from(std::iter::once("train").chain(words)).arguments
}

/// Runs the command in words; gives its text or its error.
fn train<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<String, String> {
    let mut text = Vec::new();
    run(&arguments(words), &mut text).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(text).unwrap())
}

/// The model of the documented command on the flow tables of the Leris Lab.
pub(crate) fn model(data: &Path, window: u32) -> ModelFile {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model.json");
    let window = window.to_string();
    let mut words: Vec<String> = [
        "--positive",
        "udp 13.104.0.0/16",
        "--group=session=file",
        "--group=game=folder:3",
        "--group=network=folder:4",
        "--balanced",
        "--features=downlink_packets,uplink_size,downlink_size",
        "--window",
        &window,
        "--out",
    ]
    .map(String::from)
    .into();
    words.push(out.display().to_string());
    words.extend(tables(&data.join("cloud-gaming/CG dataset")).iter().map(|file| file.display().to_string()));
    train(words.iter().map(String::as_str)).unwrap();
    ModelFile::decode(&std::fs::read(out).unwrap()).unwrap()
}

/// The feature tables below a folder, in the order of a shell.
fn tables(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tables(&path));
        } else if path.parent().unwrap().ends_with("Features") {
            found.push(path);
        }
    }
    found.sort();
    found
}

const HEAD: &str = "SrcIP,DstIP,SrcPort,DstPort,Protocol,PS,IPI,FlowSizePackets\n";

/// A folder with flow tables of three sessions: ten games with 800 packets a second, forty other flows with up to 300.
fn sessions() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for session in 0..3 {
        let mut text = HEAD.to_owned();
        for flow in 0..50 {
            let (host, gap) = if flow < 10 {
                (format!("192.0.2.{flow}"), 0.00125 + f64::from(session) * 1e-5)
            } else {
                (format!("198.51.100.{flow}"), 0.0034 + f64::from(flow) * 1e-3)
            };
            let port = 50_000 + flow;
            text += &format!("{host},10.0.0.1,1036,{port},UDP,1100.5,{gap},9000\n");
            text += &format!("10.0.0.1,{host},{port},1036,UDP,150,0.01,900\n");
        }
        let network = if session == 0 { "cable" } else { "5G" };
        std::fs::create_dir_all(folder.path().join(network)).unwrap();
        std::fs::write(folder.path().join(format!("{network}/{session}.csv")), text).unwrap();
    }
    folder
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

// Input:  flow tables of three sessions in two networks, with games in a prefix.
// Output: a model with one split that says games from others; a report with balance, scores and "never"; the samples as a table, which gives
//         the same tree and the same hash again.
#[test]
fn a_model_is_trained_on_tables() {
    let folder = sessions();
    let files = ["cable/0.csv", "5G/1.csv", "5G/2.csv"].map(|name| path(&folder, name));
    let (out, report, vectors) = (path(&folder, "m.json"), path(&folder, "r.json"), path(&folder, "v.csv"));
    let mut words =
        vec!["--positive", "udp 192.0.2.0/24 port 1036", "--group=session=file", "--group=network=folder:1"];
    words.extend(["--out", &out, "--report", &report, "--vectors", &vectors]);
    words.extend(files.iter().map(String::as_str));
    let text = train(words).unwrap();
    for part in [
        "3 flow tables",
        "150 samples",
        "other 120 (80.0 %), cloud-gaming 30 (20.0 %)",
        "never",
        "network",
        "written",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let model = ModelFile::decode(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!((model.model().tree().leaves(), model.model().classes()[1].as_str()), (2, "cloud-gaming"));
    assert_eq!(model.trained().scores[0].counts, [[120, 0], [0, 30]]);
    let rate = |packets| model.model().tree().classify(&Vector::new([99, packets, 0, 0, 0, 0]));
    assert_eq!((rate(300), rate(800)), (0, 1));
    assert!(model.model().tree().thresholds(Feature::UplinkPackets).is_empty());
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    assert_eq!(report["scores"]["rows"].as_array().unwrap().len(), 6);

    // In the cable network alone: nothing to learn from elsewhere.
    let (rare, out) = (path(&folder, "rare.csv"), path(&folder, "rare.json"));
    let table = std::fs::read_to_string(&vectors).unwrap();
    let lines = table.lines().filter(|line| !(line.contains("cloud-gaming") && line.ends_with("5G")));
    std::fs::write(&rare, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let text = train(["--group=network=column:network", "--out", &out, &rare]).unwrap();
    assert!(text.contains("Class cloud-gaming is in one network only, cable"), "{text}");

    let again = path(&folder, "again.json");
    train(["--group=network=column:network", "--out", &again, &vectors]).unwrap();
    let again = ModelFile::decode(&std::fs::read(&again).unwrap()).unwrap();
    assert_eq!(again.model().tree(), model.model().tree());
    assert_eq!(again.trained().data_hash, model.trained().data_hash);
}

/// A flow: the last octet of the UE, its server, packets a second down and up, and the seconds in which it begins and ends.
type Sent = (u8, Ipv4Addr, [u64; 2], [u64; 2]);

const GAME: (Ipv4Addr, [u64; 2]) = (Ipv4Addr::new(192, 0, 2, 1), [500, 100]);
const CALL: (Ipv4Addr, [u64; 2]) = (Ipv4Addr::new(198, 51, 100, 1), [50, 50]);

/// A capture of flows in packets of 1000 octets down and 100 up.
fn capture(file: &Path, flows: &[Sent]) {
    let header = PcapHeader { datalink: DataLink::RAW, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(std::fs::File::create(file).unwrap(), header).unwrap();
    let mut packets = Vec::new();
    for (ue, server, [down, up], [begin, end]) in flows.iter().copied() {
        for (rate, is_down, octets) in [(down, true, 1000), (up, false, 100)] {
            for number in begin * rate..end * rate {
                packets.push((number * 1_000_000 / rate, server, is_down, octets, ue));
            }
        }
    }
    packets.sort();
    for (micros, server, is_down, octets, ue) in packets {
        let ue = Ipv4Addr::new(10, 0, 0, ue);
        let (source, destination) = if is_down { (server, ue) } else { (ue, server) };
        let (from, to) = if is_down { (3478, 50_000) } else { (50_000, 3478) };
        let payload = vec![0; octets - 28];
        let mut udp = Vec::new();
        UdpRepr { src_port: from, dst_port: to }
            .write(IpAddr::from(source), IpAddr::from(destination), &payload, &mut udp)
            .unwrap();
        let mut packet = Vec::new();
        Ipv4Repr::new(source, destination, IpProtocol::UDP).write(&[], &udp, &mut packet).unwrap();
        let length = packet.len() as u32;
        // Only the beginning is kept, as captures often do.
        packet.truncate(60);
        let time = Duration::from_secs(1_700_000_000) + Duration::from_micros(micros);
        writer.write_packet(&PcapPacket::new_owned(time, length, packet)).unwrap();
    }
}

// Input:  a capture of a game and a call, with a table that names the game's 5-tuple, and windows of 0.5 s.
// Output: nine windows of each flow, whose sizes and counts the tree tells apart.
#[test]
fn a_model_is_trained_on_a_capture() {
    let folder = tempfile::tempdir().unwrap();
    let (pcap, labels, out) = (path(&folder, "c.pcap"), path(&folder, "labels.csv"), path(&folder, "m.json"));
    capture(Path::new(&pcap), &[(1, GAME.0, GAME.1, [0, 5]), (1, CALL.0, CALL.1, [0, 5])]);
    std::fs::write(
        &labels,
        "class,protocol,address,port,other_address,other_port\ngame,udp,192.0.2.1,3478,10.0.0.1,50000\n",
    )
    .unwrap();
    let vectors = path(&folder, "v.csv");
    let words = [
        "--labels",
        &labels,
        "--window",
        "500",
        "--ue",
        "10.0.0.0/8",
        "--vectors",
        &vectors,
        "--out",
        &out,
        &pcap,
    ];
    let text = train(words).unwrap();
    assert!(text.contains("1 captures of 3,500 IP packets: 2 flows, 18 windows; 18 samples"), "{text}");
    assert!(text.contains("Nothing was left out"), "{text}");
    let model = ModelFile::decode(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(
        (model.model().window(), model.model().classes()[1].as_str()),
        (Duration::from_millis(500), "game")
    );
    let vectors = std::fs::read_to_string(&vectors).unwrap();
    assert!(vectors.contains("\n50,250,100,1000,10000,2000,game\n"), "{vectors}");
}

// Input:  a capture of two UEs with a call for six seconds, one of which also plays for the last three, and of two servers; windows of 0.5 s of whole UEs; a flow table.
// Output: eleven windows of each UE, of which the five with packets of the game are of its class, with all packets of the UE: sums of counts, means of sizes. Packets without a
//         UE are no sample. A flow table is refused, and so is the option without UEs.
#[test]
fn windows_are_of_whole_ues() {
    let folder = sessions();
    let (pcap, vectors, out) = (path(&folder, "c.pcap"), path(&folder, "v.csv"), path(&folder, "m.json"));
    let calls = [1, 2].map(|ue| (ue, CALL.0, CALL.1, [0, 6]));
    let flows = [&calls[..], &[(1, GAME.0, GAME.1, [3, 6]), (200, CALL.0, [9, 9], [0, 6])]].concat();
    capture(Path::new(&pcap), &flows);
    let words = ["--positive=udp 192.0.2.0/24", "--whole-ues", "--window=500", "--out", &out];
    let more = ["--ue=10.0.0.0/28", "--vectors", &vectors, &pcap];
    let text = train([&words[..], &more].concat()).unwrap();
    assert!(text.contains("1 captures of 3,108 IP packets: 2 UEs, 22 windows; 22 samples"), "{text}");
    assert!(text.contains("other 17 (77.3 %), cloud-gaming 5 (22.7 %)"), "{text}");
    let lines = std::fs::read_to_string(&vectors).unwrap();
    let both = lines.lines().filter(|line| line.starts_with("75,275,100,1000,"));
    assert_eq!(both.filter(|line| line.ends_with(",cloud-gaming")).count(), 5, "{lines}");
    assert_eq!(lines.matches("\n25,25,100,1000,20000,20000,other").count(), 17, "{lines}");

    let table = path(&folder, "5G/1.csv");
    let error = train([&words[..], &["--ue=10.0.0.0/28", &table]].concat()).unwrap_err();
    assert!(error.contains("no windows of whole UEs"), "{error}");
    assert!(Line::try_parse_from(["train", "--whole-ues", "x"]).is_err());
}

// Input:  a wrong cell, a table of another kind, a file that is none, a group with one value, no sample of a class, no class at all.
// Output: errors that name file, line and column, or what to do.
#[test]
fn errors_name_their_place() {
    let folder = sessions();
    let file = path(&folder, "5G/1.csv");
    let error = |words: &[&str]| train(words.iter().copied()).unwrap_err();
    let positive = "--positive=udp 192.0.2.0/24";
    let wrong = path(&folder, "wrong.csv");
    std::fs::write(&wrong, format!("{HEAD}192.0.2.1,10.0.0.1,1036,50000,UDP,1100,fast,9\n")).unwrap();
    assert!(error(&[positive, &wrong]).contains("wrong.csv: line 2, column IPI: \"fast\""));
    std::fs::write(&wrong, "a,b\n1,2\n").unwrap();
    assert!(error(&[positive, &wrong]).contains("wrong.csv: neither a flow table (SrcIP"));
    assert!(error(&[positive, "/dev/null"]).starts_with("/dev/null: a device"));
    assert!(error(&[positive, &path(&folder, "none.csv")]).contains("No such file"));
    assert!(error(&[positive, "--group=network=folder:1", &file]).contains("group network has 1 value"));
    assert!(error(&["--positive=udp 203.0.113.0/24", &file]).contains("no sample is of class cloud-gaming"));
    assert!(error(&[&file]).contains("one class"));
    assert!(error(&[positive, "--depth=99", &file]).contains("max_depth is 99"));
    assert!(error(&[positive, "--flow-packets=1", &file]).contains("UP,DOWN"));
    let labels = path(&folder, "labels.csv");
    std::fs::write(&labels, "class,protocol\ngame,quic\n").unwrap();
    assert!(error(&["--labels", &labels, &file]).contains("labels.csv: line 2, column protocol"));
    assert!(Line::try_parse_from(["train", "--positive=nobody", "x"]).is_err());
    assert!(Line::try_parse_from(["train", "--features=ttl", "x"]).is_err());
}
