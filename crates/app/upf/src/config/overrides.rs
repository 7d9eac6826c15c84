//! Flags and environment variables, which take precedence over the file: they set values in its document.

use super::document::{Entry, Node, Place, Step, Value, parse};
use super::keys::KEYS;
use super::model::{GTPU_PORT, METRICS_PORT, PFCP_PORT};
use super::problem::Problem;
use super::section::{Reader, pattern};
use super::values::{self, wrong};

/// Values from flags or environment variables, as written. `None` and empty lists change nothing. What stands further down takes
/// precedence.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overrides {
    /// Environment variables with the prefix [`Self::PREFIX`] and their values: `CAUSEWAY__UPF__SESSION__0__MTU` is for
    /// `upf.session[0].mtu`.
    pub variables: Vec<(String, String)>,
    /// `--log-level`, for `logger.level`.
    pub log_level: Option<String>,
    /// `--log-format`, for `logger.format`.
    pub log_format: Option<String>,
    /// `--node-id`, for `upf.node_id`.
    pub node_id: Option<String>,
    /// `--max-sessions`, for `upf.max_sessions`.
    pub max_sessions: Option<String>,
    /// `--pfcp-address`, for the whole list `upf.pfcp.server`.
    pub pfcp_address: Vec<String>,
    /// `--smf-address`, for the whole list `upf.pfcp.client.smf`.
    pub smf_address: Vec<String>,
    /// `--gtpu-address`, for the whole list `upf.gtpu.server`.
    pub gtpu_address: Vec<String>,
    /// `--metrics-address`, for the whole list `upf.metrics.server`.
    pub metrics_address: Vec<String>,
    /// `--set`, each `KEY=VALUE` with any key, for example `upf.session[0].mtu=1300`; the value of a list or group is YAML.
    pub set: Vec<String>,
}

impl Overrides {
    /// The prefix of environment variables for single keys.
    pub const PREFIX: &str = "CAUSEWAY__";

    /// Sets the values in the document, and reports those that cannot be set.
    pub(super) fn apply(&self, root: &mut Node, reader: &Reader) {
        let mut apply = Apply { root, reader };
        let mut variables: Vec<_> =
            self.variables.iter().map(|(name, value)| (path_of_variable(name), name, value)).collect();
        variables.sort();
        for (path, name, value) in variables {
            apply.text(name, &path, value);
        }
        apply.one("--log-level (CAUSEWAY_LOG_LEVEL)", "logger.level", self.log_level.as_ref());
        apply.one("--log-format (CAUSEWAY_LOG_FORMAT)", "logger.format", self.log_format.as_ref());
        apply.one("--node-id (CAUSEWAY_NODE_ID)", "upf.node_id", self.node_id.as_ref());
        apply.one("--max-sessions (CAUSEWAY_MAX_SESSIONS)", "upf.max_sessions", self.max_sessions.as_ref());
        apply.addresses(
            "--pfcp-address (CAUSEWAY_PFCP_ADDRESS)",
            "upf.pfcp.server",
            &self.pfcp_address,
            PFCP_PORT,
        );
        apply.addresses(
            "--smf-address (CAUSEWAY_SMF_ADDRESS)",
            "upf.pfcp.client.smf",
            &self.smf_address,
            PFCP_PORT,
        );
        apply.addresses(
            "--gtpu-address (CAUSEWAY_GTPU_ADDRESS)",
            "upf.gtpu.server",
            &self.gtpu_address,
            GTPU_PORT,
        );
        apply.addresses(
            "--metrics-address (CAUSEWAY_METRICS_ADDRESS)",
            "upf.metrics.server",
            &self.metrics_address,
            METRICS_PORT,
        );
        for text in &self.set {
            let expected = "KEY=VALUE, for example upf.session[0].mtu=1300";
            match text.split_once('=').and_then(|(key, value)| Some((path(key)?, value))) {
                Some((path, value)) => apply.text("--set", &path, value),
                None => apply.report("--set", String::new(), wrong(text, expected)),
            }
        }
    }
}

/// The path of a key: names with dots between them, and numbers of items in brackets.
fn path(key: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for part in key.split('.') {
        let (name, mut items) = part.split_at(part.find('[').unwrap_or(part.len()));
        steps.push(Step::Key(Some(name).filter(|name| !name.is_empty())?.to_owned()));
        while !items.is_empty() {
            let (item, rest) = items.strip_prefix('[')?.split_once(']')?;
            steps.push(Step::Item(item.parse().ok()?));
            items = rest;
        }
    }
    Some(steps)
}

/// The path of the key that a variable is for: `CAUSEWAY__UPF__SESSION__0__MTU`.
fn path_of_variable(name: &str) -> Vec<Step> {
    let step = |part: &str| part.parse().map_or_else(|_| Step::Key(part.to_lowercase()), Step::Item);
    name.trim_start_matches(Overrides::PREFIX).split("__").map(step).collect()
}

/// The key that a path leads to, as errors name it.
fn key_of(path: &[Step]) -> String {
    path.iter().fold(String::new(), |key, step| match step {
        Step::Item(n) => format!("{key}[{n}]"),
        Step::Key(name) if key.is_empty() => name.clone(),
        Step::Key(name) => format!("{key}.{name}"),
    })
}

struct Apply<'a> {
    root: &'a mut Node,
    reader: &'a Reader,
}

impl Apply<'_> {
    fn one(&mut self, name: &str, key: &str, text: Option<&String>) {
        if let (Some(text), Some(path)) = (text, path(key)) {
            self.text(name, &path, text);
        }
    }

    /// Sets a value that is a text for a key of one, and YAML for a list or a group. An empty text is no value.
    fn text(&mut self, name: &str, path: &[Step], text: &str) {
        let key = key_of(path);
        let is_one = KEYS.iter().any(|known| known.path == pattern(&key));
        let value = match text {
            "" => Ok(Value::Null),
            text if is_one => Ok(Value::Text(text.to_owned())),
            text => parse(text).map(|node| node.value).map_err(|(_, problem)| problem),
        };
        match value {
            Ok(value) => self.set(name, path, value),
            Err(problem) => self.report(name, key, problem),
        }
    }

    /// Sets the whole list of a key to items with an address, and a port if one is given.
    fn addresses(&mut self, name: &str, key: &str, texts: &[String], default_port: u16) {
        let (Some(path), false) = (path(key), texts.is_empty()) else { return };
        let mut items = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            match values::endpoint(text, default_port) {
                Ok(socket) => {
                    let place = Place::Line(1);
                    let entry = |key: &str, value: String| {
                        let node = Node { place, value: Value::Text(value) };
                        Entry { key: key.to_owned(), place, node }
                    };
                    let entries = vec![
                        entry("address", socket.ip().to_string()),
                        entry("port", socket.port().to_string()),
                    ];
                    items.push(Node { place, value: Value::Map(entries) });
                }
                Err(problem) => self.report(name, format!("{key}[{n}].address"), problem),
            }
        }
        self.set(name, &path, Value::List(items));
    }

    fn set(&mut self, name: &str, path: &[Step], value: Value) {
        let place = self.reader.origins.borrow_mut().given(name.to_owned());
        let value = Node { place, value }.moved(place).value;
        if let Err(problem) = self.root.set(path, value, place) {
            self.report(name, key_of(path), problem);
        }
    }

    fn report(&self, name: &str, key: String, problem: Problem) {
        let origin = super::Origin::Given(name.to_owned());
        self.reader.report(origin, &key, problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Step {
        Step::Key(name.to_owned())
    }

    #[test]
    fn a_path_has_names_and_items() {
        let session = vec![key("upf"), key("session"), Step::Item(12), key("mtu")];
        assert_eq!(path("upf.session[12].mtu"), Some(session.clone()));
        assert_eq!(path_of_variable("CAUSEWAY__UPF__SESSION__12__MTU"), session);
        assert_eq!(key_of(&session), "upf.session[12].mtu");
        for bad in ["", ".", "upf.", "upf..x", "upf.session[", "upf.session[x]", "upf.session[1]mtu", "[1]"] {
            assert_eq!(path(bad), None, "{bad}");
        }
    }
}
