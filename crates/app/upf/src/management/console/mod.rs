//! The console: pages for a browser, which show what the management API answers. They are part of the binary, and load
//! nothing from elsewhere.

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use super::refusal::Refusal;

/// Where the console is.
const ROOT: &str = "/console";

/// What the pages may load, and who may embed them. Trusted types forbid that any text becomes HTML.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// Files with their names and kinds.
macro_rules! files {
    ($($name:literal: $kind:expr,)*) => {
        &[$(($name, $kind, include_str!(concat!("files/", $name))),)*]
    };
}

const FILES: &[(&str, &str, &str)] = files! {
    "index.html": HTML,
    "style.css": STYLE,
    "switch.js": SCRIPT,
    "icon.svg": IMAGE,
    "app.js": SCRIPT,
    "api.js": SCRIPT,
    "chart.js": SCRIPT,
    "diagram.js": SCRIPT,
    "dom.js": SCRIPT,
    "events.js": SCRIPT,
    "format.js": SCRIPT,
    "history.js": SCRIPT,
    "metrics.js": SCRIPT,
    "overview.js": SCRIPT,
    "placement.js": SCRIPT,
    "poll.js": SCRIPT,
    "rules.js": SCRIPT,
    "sampler.js": SCRIPT,
    "session.js": SCRIPT,
    "sessions.js": SCRIPT,
    "token.js": SCRIPT,
    "topology.js": SCRIPT,
    "trace.js": SCRIPT,
};

/// Whether a path leads to the console, whose files contain nothing of the UPF and need no token.
pub(super) fn is_console(path: &str) -> bool {
    path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The routes.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/console", get(async || Redirect::permanent("/console/")))
        .route("/console/", get(async || file("index.html")))
        .route("/console/{name}", get(async |Path(name): Path<String>| file(&name)))
}

fn file(name: &str) -> Result<Response, Refusal> {
    let found = FILES.iter().find(|(known, ..)| *known == name);
    let (_, kind, text) = found.ok_or(Refusal::UnknownPath)?;
    let headers = [
        (CONTENT_TYPE, *kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        // The files change with the daemon.
        (CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    Ok((headers, *text).into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    // Input:  the files of the folder, and what they import and link.
    // Output: the folder has no file that is not served, and no file names one that is not there.
    #[test]
    fn the_files_are_complete() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/management/console/files");
        let there: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let served: BTreeSet<String> = FILES.iter().map(|(name, ..)| (*name).to_owned()).collect();
        assert_eq!(there, served);
        for (name, _, text) in FILES {
            for imported in text.split("from './").skip(1) {
                let imported = imported.split('\'').next().unwrap();
                assert!(served.contains(imported), "{name} imports {imported}");
            }
        }
    }

    // Input:  the files, and words by which a text becomes HTML, a script or a style, or a file comes from elsewhere.
    // Output: no file has one of them.
    #[test]
    fn nothing_is_inline_or_from_elsewhere() {
        let forbidden = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "style=",
            "<style",
            "onclick=",
            "https://",
            "javascript:",
        ];
        for (name, _, text) in FILES {
            for word in forbidden {
                assert!(!text.contains(word), "{name} has {word}");
            }
            // The names of XML namespaces are no addresses.
            let addresses = text.matches("http://").count();
            assert_eq!(addresses, text.matches("http://www.w3.org/").count(), "{name}");
        }
    }

    // Input:  paths of the console, and paths that only begin like it.
    // Output: the former are those of the console.
    #[test]
    fn paths_of_the_console_are_told() {
        for path in ["/console", "/console/", "/console/app.js"] {
            assert!(is_console(path), "{path}");
        }
        for path in ["/", "/consoles", "/api/v1/status", "/metrics"] {
            assert!(!is_console(path), "{path}");
        }
    }
}
