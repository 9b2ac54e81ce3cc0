//! The page in a real browser, where there is one: headless Chromium loads it without a complaint,
//! sorts and filters, and its structure is what assistive technology needs. Skipped visibly elsewhere.

// A skipped test says so.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::Command;

use iotriage_reports::{Options, Theme};

use crate::comparison;
use crate::golden::small;
use crate::synthetic;
use crate::written::{few_pictures, text, written};

/// Chromium, if it is installed.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: no Chromium on the path");
    }
    found
}

/// The document after its scripts ran, and what the browser's console said.
fn loaded(browser: &Path, folder: &Path, file: &str) -> (String, String) {
    let profile = folder.join("profile");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", folder.join(file).display()))
        .output()
        .expect("the browser starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console.join("\n"))
}

/// The page with a test in the place of its content policy; the test puts its findings into the title.
fn with_test(page: &str, test: &str) -> String {
    let from = page.find("<meta http-equiv=\"Content-Security-Policy\"").expect("the page has a policy");
    let to = from + page[from..].find('>').expect("the tag ends") + 1;
    let body = page[to..].replace("</body>", &format!("<script>{test}</script></body>"));
    format!("{}{body}", &page[..from])
}

/// The findings of a test, from the title.
fn findings(document: &str) -> &str {
    let from = document.find("<title>").expect("a title") + "<title>".len();
    &document[from..from + document[from..].find("</title>").expect("its end")]
}

#[test]
fn the_page_loads_without_a_word_on_the_console() {
    let Some(browser) = browser() else { return };
    for theme in [Theme::Light, Theme::Dark] {
        let folder = tempfile::tempdir().unwrap();
        let files = written(&synthetic::fleet(), &Options { theme, ..few_pictures() }).unwrap();
        std::fs::write(folder.path().join("index.html"), &files["index.html"]).unwrap();
        let (document, console) = loaded(&browser, folder.path(), "index.html");
        assert_eq!(console, "");
        // Only the script makes the tools visible: the policy let it run.
        assert!(document.contains("id=\"windows-tools\"><label"), "the page's own script ran");
    }
}

const SORTS_AND_FILTERS: &str = r#"
(function () {
  var table = document.getElementById("windows-table"), found = [];
  var rows = function () { return Array.prototype.filter.call(table.tBodies[0].rows, function (r) { return !r.hidden; }); };
  var head = Array.prototype.findIndex.call(table.tHead.rows[0].cells, function (c) { return c.textContent === "p99"; });
  var values = function () { return rows().map(function (r) { return r.cells[head].dataset.v; }).filter(Boolean).map(Number); };
  var ordered = function (v, sign) { return v.length > 5 && v.every(function (x, i) { return i === 0 || sign * (x - v[i - 1]) >= 0; }); };
  table.tHead.rows[0].cells[head].querySelector("button").click();
  found.push("up " + ordered(values(), 1));
  table.tHead.rows[0].cells[head].querySelector("button").click();
  found.push("down " + ordered(values(), -1) + " " + table.tHead.rows[0].cells[head].getAttribute("aria-sort"));
  var all = rows().length, filter = document.getElementById("windows-filter");
  filter.value = "FAIL-SLOW";
  filter.dispatchEvent(new Event("input"));
  found.push("fewer " + (rows().length > 0 && rows().length < all && rows().every(function (r) { return /fail-slow/.test(r.textContent); })));
  filter.value = "";
  filter.dispatchEvent(new Event("input"));
  found.push("all " + (rows().length === all));
  document.title = found.join(", ");
})();
"#;

#[test]
fn the_page_of_a_comparison_loads_and_passes_the_same_checks() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = text(&comparison::files(&comparison::whole(), &Options::default()), "index.html");
    std::fs::write(folder.path().join("index.html"), &page).unwrap();
    assert_eq!(loaded(&browser, folder.path(), "index.html").1, "");
    std::fs::write(folder.path().join("test.html"), with_test(&page, ACCESSIBILITY)).unwrap();
    let (document, console) = loaded(&browser, folder.path(), "test.html");
    assert_eq!((findings(&document), console.as_str()), ("no fault", ""));
}

#[test]
fn windows_sort_and_filter() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = text(&written(&small(), &few_pictures()).unwrap(), "index.html");
    std::fs::write(folder.path().join("test.html"), with_test(&page, SORTS_AND_FILTERS)).unwrap();
    let (document, console) = loaded(&browser, folder.path(), "test.html");
    assert_eq!(console, "");
    assert_eq!(findings(&document), "up true, down true descending, fewer true, all true");
}

/// What automatic checkers of accessibility look at first; every line found is a fault.
const ACCESSIBILITY: &str = r##"
(function () {
  var faults = [], all = function (s) { return Array.prototype.slice.call(document.querySelectorAll(s)); };
  var say = function (fault, e) { faults.push(fault + " " + e.tagName + "#" + e.id + " " + (e.textContent || "").slice(0, 30)); };
  var ids = {};
  all("[id]").forEach(function (e) { if (ids[e.id]) say("id twice", e); ids[e.id] = true; });
  all("a[href^='#']").forEach(function (e) { if (!ids[e.getAttribute("href").slice(1)]) say("leads nowhere", e); });
  all("img").forEach(function (e) { if (!e.alt) say("no alternative", e); });
  all("svg[role=img]").forEach(function (e) { if (!e.getAttribute("aria-label")) say("no name", e); });
  all("svg:not([role=img])").forEach(function (e) { if (e.getAttribute("aria-hidden") !== "true") say("not hidden", e); });
  all("input, select").forEach(function (e) { if (!e.closest("label")) say("no label", e); });
  all("[role=region]").forEach(function (e) { if (!e.getAttribute("aria-label") || e.tabIndex !== 0) say("region", e); });
  all("[aria-labelledby]").forEach(function (e) { if (!ids[e.getAttribute("aria-labelledby")]) say("label", e); });
  all("th").forEach(function (e) { if (!e.scope) say("no scope", e); });
  var level = 0;
  all("h1, h2, h3, h4, h5").forEach(function (e) { var l = Number(e.tagName[1]); if (l > level + 1) say("heading skipped", e); level = l; });
  ["main", "header", "footer", "h1"].forEach(function (s) { if (all(s).length !== 1) faults.push(all(s).length + " of " + s); });
  if (document.documentElement.lang !== "en") faults.push("no language");
  var linear = function (c) { c /= 255; return c <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4); };
  var rgb = function (text) { return text.match(/[\d.]+/g).map(Number); };
  var lum = function (c) { return 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]); };
  var behind = function (e) { for (; e; e = e.parentElement) { var c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  all("p, li, td, th, dt, dd, a, span, h1, h2, h3, h4, h5, caption, code, figcaption, button").forEach(function (e) {
    if (!e.textContent.trim() || !e.getClientRects().length) return;
    var a = lum(rgb(getComputedStyle(e).color)), b = lum(behind(e));
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) say("contrast", e);
  });
  document.title = faults.slice(0, 8).join("; ") || "no fault";
})();
"##;

#[test]
fn the_page_has_the_structure_and_the_contrast_that_checkers_ask_for() {
    let Some(browser) = browser() else { return };
    for theme in [Theme::Light, Theme::Dark] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { theme, device_pictures: 2, ..Options::default() };
        let page = text(&written(&synthetic::fleet(), &options).unwrap(), "index.html");
        std::fs::write(folder.path().join("test.html"), with_test(&page, ACCESSIBILITY)).unwrap();
        let (document, console) = loaded(&browser, folder.path(), "test.html");
        assert_eq!(console, "");
        assert_eq!(findings(&document), "no fault", "{theme:?}");
    }
}
