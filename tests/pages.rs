//! Pages in a real browser: on a phone nothing is beyond the edge, and a wide screen is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::report::recorded;
use crate::support::command::text;
use crate::support::measured::GOLDEN;
use crate::support::recording::has;

/// Shows each page in frames of several widths and writes down how it lies there.
const LOOK: &str = r#"<body><script>
const look = (width, page) => new Promise(done => {
  const frame = document.createElement('iframe');
  frame.style.width = width + 'px'; frame.style.height = '900px'; frame.style.border = 0; frame.src = page;
  frame.onload = () => {
    const shown = element => element.getClientRects().length > 0, all = selector => [...frame.contentDocument.querySelectorAll(selector)];
    const drawings = all('figure.chart:has(.drawn)').filter(shown).map(figure => [...figure.querySelectorAll('.drawn')].filter(shown));
    const letters = drawings.flat().map(it => it.querySelector('svg')).map(svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width);
    const columns = all('.framed table').filter(shown).map(table => [...table.tHead.rows[0].cells].filter(shown).length);
    const painted = all('.cells').every(image => image.getAttribute('href'));
    const main = frame.contentDocument.querySelector('main').getBoundingClientRect().width;
    done({ page, width, reach: frame.contentDocument.documentElement.scrollWidth, main, painted,
           drawings: drawings.map(it => it.length), letters, columns });
  };
  document.body.append(frame);
});
(async () => {
  const seen = [];
  for (const page of PAGES) for (const width of [390, 1400, 2400]) seen.push(await look(width, page));
  document.body.textContent = JSON.stringify(seen);
})();
</script></body>"#;

fn seen(folder: &Path, pages: &[&str]) -> Vec<Value> {
    let names = serde_json::to_string(pages).unwrap();
    let look = folder.join("look.html");
    fs::write(&look, LOOK.replace("PAGES", &names)).unwrap();
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"])
        .args([profile.as_str(), "--virtual-time-budget=20000", "--dump-dom"])
        .arg(format!("file://{}", look.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8(output.stdout).unwrap();
    let written = dom.split_once("<body>").and_then(|(_, it)| it.split_once("</body>"));
    let written = written.unwrap_or_else(|| panic!("{dom}")).0;
    serde_json::from_str(written).unwrap_or_else(|error| panic!("{error}: {dom}"))
}

#[test]
fn pages_fit_a_phone_and_use_a_wide_screen() {
    if !has(&["chromium"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let (first, second) =
        (recorded(folder.path(), "plain", 3000), recorded(folder.path(), "forks", 100));
    text(&format!("report {first} --html {}", at("report.html").display()));
    text(&format!("compare {first} {second} --html {}", at("compare.html").display()));
    text(&format!("report {GOLDEN} --html {}", at("results.html").display()));
    let sweep = at("sweep.html").display().to_string();
    text(&format!("simulate absorb --html {sweep}"));
    let pages = ["report.html", "compare.html", "results.html", "sweep.html"];
    let seen = seen(folder.path(), &pages);
    assert_eq!(seen.len(), pages.len() * 3);
    for it in &seen {
        let number = |key: &str| it[key].as_f64().unwrap();
        let all = |key: &str| it[key].as_array().unwrap().iter().map(|it| it.as_f64().unwrap());
        assert!(number("reach") <= number("width"), "beyond the edge: {it}");
        assert!(number("main") > number("width") * 0.85, "room that is not used: {it}");
        assert_eq!(it["painted"], true, "{it}");
        assert!(all("drawings").count() > 1 && all("drawings").all(|count| count == 1.0), "{it}");
        // Letters of 11.5 units: neither too small to read nor headlines.
        assert!(all("letters").all(|scale| (0.75..1.6).contains(&scale)), "{it}");
        if number("width") < 500.0 {
            assert!(all("columns").all(|count| count <= 4.0), "{it}");
        } else {
            assert!(all("columns").any(|count| count > 4.0), "{it}");
        }
    }
}
