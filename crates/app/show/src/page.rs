//! The frame of an HTML page: one file, no script, light and dark.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// A whole page with this title. It needs no other file.
pub fn page(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a title that would be markup if it were not escaped, and a body.
    // Output: both are on the page, which names no other file or host.
    #[test]
    fn a_page_stands_alone() {
        let text = page("a <b>", &html! { p { "body" } }).into_string();
        assert!(text.contains("<title>a &lt;b&gt;</title>") && text.contains("<p>body</p>"), "{text}");
        assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("src="));
    }
}
