//! Web pages for people: an index, and the operations of the API. They load nothing from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Map, Value};
use utoipa::openapi::OpenApi;

/// The index.
pub(super) const ROOT: &str = "<!doctype html><title>Causeway UPF</title><h1>Causeway UPF</h1><ul>\
    <li><a href=/console/>/console/</a> the console: this UPF in the browser\
    <li><a href=/metrics>/metrics</a> metrics in Prometheus text, or in OpenMetrics text if asked for\
    <li><a href=/healthz>/healthz</a> 200 when the control plane and the packet threads answer\
    <li><a href=/api/v1>/api/v1</a> the operations of the management API\
    <li><a href=/api/v1/openapi.json>/api/v1/openapi.json</a> the same as OpenAPI 3.1\
    <li><a href=/api/v1/associations>/api/v1/associations</a> the associations with SMFs\
    <li><a href=/api/v1/sessions>/api/v1/sessions</a> the PFCP sessions\
    </ul>\n";

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1d2733}\
    table{border-collapse:collapse;margin:.5rem 0 1rem}td,th{border-bottom:1px solid #d5dbe3;padding:.2rem .8rem .2rem 0;\
    text-align:left;vertical-align:top}code{font-size:.95em}h2{margin-top:2rem}.method{text-transform:uppercase;font-weight:600}\
    @media(prefers-color-scheme:dark){body{background:#14191f;color:#dde3ea}a{color:#8ab4f8}td,th{border-color:#333d48}}";

/// The operations, parameters and schemas of the API.
pub(super) fn of_api(api: &OpenApi) -> String {
    let api = serde_json::to_value(api).unwrap_or_default();
    let schemas = object(&api["components"]["schemas"]);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { (text(&api["info"]["title"])) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (text(&api["info"]["title"])) }
                p {
                    (text(&api["info"]["description"])) " Version " (text(&api["info"]["version"])) ", OpenAPI "
                    (text(&api["openapi"])) ": " a href="/api/v1/openapi.json" { "openapi.json" } "."
                }
                @for (path, item) in object(&api["paths"]) {
                    @for (method, operation) in object(item) { (of_operation(path, method, operation)) }
                }
                h2 { "Schemas" }
                @for (name, schema) in schemas { (of_schema(name, schema)) }
            }
        }
    }
    .into_string()
}

fn of_operation(path: &str, method: &str, operation: &Value) -> Markup {
    html! {
        h2 { span.method { (method) } " " code { (path) } }
        p { (text(&operation["summary"])) " " (text(&operation["description"])) }
        @if let Some(parameters) = operation["parameters"].as_array() {
            table {
                tr { th { "parameter" } th { "in" } th { "type" } th { "meaning" } }
                @for parameter in parameters {
                    tr {
                        td { code { (text(&parameter["name"])) } }
                        td { (text(&parameter["in"])) }
                        td { (of_type(&parameter["schema"])) }
                        td { (text(&parameter["description"])) (of_example(&parameter["example"])) }
                    }
                }
            }
        }
        table {
            tr { th { "status" } th { "response" } th { "meaning" } }
            @for (status, response) in object(&operation["responses"]) {
                tr {
                    td { (status) }
                    td {
                        @for (content, body) in object(&response["content"]) {
                            (of_type(&body["schema"])) " " code { (content) }
                        }
                    }
                    td { (text(&response["description"])) }
                }
            }
        }
    }
}

fn of_schema(name: &str, schema: &Value) -> Markup {
    // A schema with the fields of another one has parts.
    let parts: Vec<&Value> = match schema["allOf"].as_array() {
        Some(parts) => parts.iter().collect(),
        None => vec![schema],
    };
    html! {
        h3 id=(name) { code { (name) } }
        p { (text(&schema["description"])) }
        table {
            @for part in parts {
                @if part["$ref"].is_string() { tr { td { "all of" } td { (of_type(part)) } td {} } }
                @for (field, schema) in object(&part["properties"]) {
                    tr { td { code { (field) } } td { (of_type(schema)) } td { (text(&schema["description"])) } }
                }
                @for variant in part["oneOf"].as_array().into_iter().flatten() {
                    tr { td { "one of" } td { (of_type(variant)) } td { (text(&variant["description"])) } }
                }
            }
        }
    }
}

/// The type of a schema, with a link if it has a name.
fn of_type(schema: &Value) -> Markup {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return html! { a href={ "#" (name) } { code { (name) } } };
    }
    let alternatives = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    if let Some(alternatives) = alternatives {
        return html! { @for (n, part) in alternatives.iter().enumerate() { @if n > 0 { " or " } (of_type(part)) } };
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => html! { "list of " (of_type(&schema["items"])) },
        Value::String(name) => html! { (name) },
        Value::Array(names) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            html! { (names.join(" or ")) }
        }
        _ => html! { "any" },
    }
}

fn of_example(example: &Value) -> Markup {
    html! { @if let Some(example) = example.as_str() { " For example " code { (example) } "." } }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
