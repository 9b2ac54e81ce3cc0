//! `index.html`: the report as one self-contained page.
//!
//! No request leaves the page: pictures are data URIs, there is one style sheet and one small
//! script (sorting and filtering the windows table), and the content policy names their hashes.
//! Everything can be read without the script, in the dark, and on paper: the page follows the
//! reader's settings, or is dark where its pictures are. One file a section.

mod classes;
mod clusters;
mod comparison;
mod devices;
mod figures;
mod fleet;
mod ledger;
mod markup;
mod method;
mod queueing;
mod verdict;
mod windows;

use std::io::Write;

use super::{Exporter, Material, writing};
use crate::base64;
use crate::class_style::{ALL, class_style, slot};
use crate::error::ReportError;
use crate::escape::html;
use crate::options::Theme;
use crate::sha256;
pub(crate) use comparison::page as comparison_page;
use markup::{Page, markup};

/// Writes `index.html`.
#[derive(Debug, Clone, Copy)]
pub struct Html;

const STYLE: &str = include_str!("page.css");
/// What a dark page changes.
const DARK: &str = include_str!("dark.css");
/// What paper changes; always light.
const PRINT: &str = include_str!("print.css");
const SCRIPT: &str = include_str!("page.js");

impl Exporter for Html {
    fn file(&self) -> &'static str {
        "index.html"
    }

    fn export(&self, material: Material<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
        let view = material.view;
        let embedded = figures::embedded(material);
        let mut page = Page::new();
        head(&mut page, material);
        verdict::section(&mut page, view);
        page.raw("<main id=\"content\">\n");
        fleet::section(&mut page, material, &embedded);
        classes::section(&mut page, material, &embedded);
        clusters::section(&mut page, material, &embedded);
        devices::section(&mut page, material, &embedded);
        windows::section(&mut page, material);
        ledger::section(&mut page, view);
        method::section(&mut page, view);
        page.raw("</main>\n");
        markup!(
            page,
            "<footer>iotriage {}. The same report for tickets: <a href=\"report.md\">report.md</a>; for programs: <a href=\"report.json\">report.json</a> (<a href=\"report.schema.json\">its schema</a>); every window: <a href=\"windows.csv\">windows.csv</a>. Every picture is beside this page as PNG{}.</footer>\n",
            html(&view.run.version),
            if material.options.svg { " and SVG" } else { "" }
        );
        markup!(page, "<script>{SCRIPT}</script>\n</body>\n</html>\n");
        out.write_all(page.text().as_bytes()).map_err(writing(self.file()))
    }
}

fn head(page: &mut Page, material: Material<'_>) {
    opening(page, &format!("I/O triage: {}", material.view.run.archive), material.options.theme, true);
}

/// The page's beginning up to its first landmark; without the script where nothing is sorted.
fn opening(page: &mut Page, title: &str, theme: Theme, scripted: bool) {
    let dark = match theme {
        Theme::Light => format!("@media (prefers-color-scheme: dark) {{\n{DARK}}}\n"),
        Theme::Dark => DARK.to_owned(),
    };
    let style = format!("{STYLE}{dark}{PRINT}{}", class_rules());
    let hash = |text: &str| base64::encode(&sha256::digest(text.as_bytes()));
    page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    markup!(
        page,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src {}; base-uri 'none'; form-action 'none'\">\n",
        hash(&style),
        if scripted { format!("'sha256-{}'", hash(SCRIPT)) } else { "'none'".to_owned() }
    );
    page.raw(
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n",
    );
    markup!(
        page,
        "<title>{}</title>\n<style>{style}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the details</a>\n",
        html(title)
    );
}

/// Colours of the classes: badges (`b1`), fills of SVG shapes (`f1`), ink on them (`i1`).
fn class_rules() -> String {
    let mut rules = String::new();
    for class in ALL {
        let (number, colour) = (slot(class) + 1, class_style(class).colour);
        let ink = colour.readable_ink();
        rules += &format!(
            ".b{number} {{ background: {colour}; color: {ink}; }}\n.card.k{number} {{ border-top-color: {colour}; }}\n.f{number} {{ fill: {colour}; }}\n.ribbon text.i{number} {{ fill: {ink}; }}\n"
        );
    }
    rules
}
