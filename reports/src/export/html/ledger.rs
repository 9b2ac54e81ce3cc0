//! The ledger: what cannot be said, what reading found, which files were read.

use super::markup::{Page, close_table, markup, open_table};
use crate::escape::html;
use crate::quantity::count;
use crate::view::{FindingSeverity, ReportView};

/// Files listed.
const FILES: usize = 200;

/// Writes the section.
pub(super) fn section(page: &mut Page, view: &ReportView) {
    let ledger = &view.ledger;
    page.raw("<section aria-labelledby=\"ledger\"><h2 id=\"ledger\">What was read, what was lost, what cannot be said</h2>\n<h3>What cannot be said</h3>\n");
    if ledger.cannot_say.is_empty() {
        page.raw("<p>Nothing that this report covers is missing from the input.</p>\n");
    } else {
        page.raw("<ul class=\"plain\">\n");
        for sentence in &ledger.cannot_say {
            markup!(page, "<li>{}</li>\n", html(sentence));
        }
        page.raw("</ul>\n");
    }
    page.raw("<h3>What reading found</h3>\n");
    if ledger.findings.is_empty() {
        page.raw("<p>Reading found nothing wrong.</p>\n");
    } else {
        open_table(page, "Findings", "", "", &[("Severity", false), ("Finding", false), ("Count", true), ("Examples", false)]);
        for f in &ledger.findings {
            let examples: Vec<String> = f.examples.iter().map(|e| format!("<code>{}</code>", html(e))).collect();
            let severity = if f.severity >= FindingSeverity::DataLoss {
                format!("<span class=\"stall\">{}</span>", f.severity.words())
            } else {
                f.severity.words().to_owned()
            };
            markup!(
                page,
                "<tr><td>{severity}</td><th scope=\"row\">{}</th><td class=\"num\">{}</td><td>{}</td></tr>\n",
                html(&f.kind),
                count(f.count),
                examples.join("<br>")
            );
        }
        close_table(page);
    }
    page.raw("<h3>What was read</h3>\n");
    if ledger.files.is_empty() {
        page.raw("<p>No file was read.</p></section>\n");
        return;
    }
    open_table(page, "Files", "", "", &[("File", false), ("Format", false), ("Clock", false), ("Events", true), ("Requests", true)]);
    for f in ledger.files.iter().take(FILES) {
        markup!(
            page,
            "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>\n",
            html(&f.path),
            html(&f.format),
            f.clock.map_or("–", |c| c.name()),
            count(f.events),
            count(f.requests)
        );
    }
    close_table(page);
    if ledger.files.len() > FILES {
        markup!(page, "<p class=\"soft\">{} more files are in <code>report.json</code>.</p>\n", ledger.files.len() - FILES);
    }
    page.raw("</section>\n");
}
