//! Pictures that a person has looked at: what is drawn today is what was judged right, to the tenth of a pixel.
//!
//! `tests/geometry*.rs` say what must hold of a picture; this says that nothing else about it has changed unnoticed. After a change that is meant,
//! `PLIMSOLL_WRITE_GOLDEN=1 cargo test -p plimsoll-report --test pictures` writes the pictures again: look at them (the
//! page is in `target/tmp/pictures.html`) before you commit them.

#[path = "pictures/charts.rs"]
mod charts;
#[path = "pictures/terminal.rs"]
mod terminal;

use std::path::{Path, PathBuf};

use plimsoll_report::html::Page;

#[test]
fn the_charts_of_a_page_are_those_that_were_looked_at() {
    let html = Page::new("Pictures", "that a person has looked at")
        .section(charts::by_category())
        .section(charts::along_an_axis())
        .section(charts::maps())
        .section(charts::words_and_figures())
        .footer("the end")
        .to_html();
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures.html"), &html).unwrap();
    // The style and the script have their own tests; what is left is one element a line.
    let body = html.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    compare("page.txt", &middle_sizes(body).replace('<', "\n<"));
}

/// Every chart as it is drawn for a column of text; `tests/sizes.rs` is about the others.
fn middle_sizes(body: &str) -> String {
    let mut parts = body.split("<div class=\"drawn ");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |body, part| body + part.split_once("</div>").unwrap().1)
}

#[test]
fn the_plots_of_a_terminal_are_those_that_were_looked_at() {
    compare("terminal.txt", &terminal::plots());
}

#[track_caller]
fn compare(name: &str, drawn: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("PLIMSOLL_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, drawn).unwrap();
    }
    let judged = std::fs::read_to_string(&path).unwrap();
    let differs = judged.lines().zip(drawn.lines()).enumerate().find(|(_, (a, b))| a != b);
    if let Some((line, (judged, drawn))) = differs {
        panic!("{name}, line {}:\n  was {judged}\n  now {drawn}", line + 1);
    }
    assert_eq!(judged.len(), drawn.len(), "{name}: something was added or is missing at the end");
}
