//! The method: how labels came about, what the columns mean, which parameters were used.

use super::markup::{Page, close_table, markup, open_table};
use crate::escape::html;
use crate::view::{ColumnMeta, ReportView};

/// Writes the section.
pub(super) fn section(page: &mut Page, view: &ReportView) {
    page.raw("<section aria-labelledby=\"method\"><h2 id=\"method\">Method</h2>\n");
    if !view.method.is_empty() {
        page.raw("<ol>\n");
        for sentence in &view.method {
            markup!(page, "<li>{}</li>\n", html(sentence));
        }
        page.raw("</ol>\n");
    }
    page.raw("<p>Trust grades the input of a window: A complete, B slightly incomplete, C figures may be off, D figures are to be doubted. A stalled window has no completion while I/Os were outstanding. Sparse windows have too few I/Os to judge; edge windows are cut by the start or end of a capture.</p>\n");
    if !view.run.params.is_empty() {
        page.raw("<h3>Parameters</h3>\n");
        open_table(page, "Parameters", "", "", &[("Parameter", false), ("Value", false)]);
        for p in &view.run.params {
            markup!(page, "<tr><th scope=\"row\"><code>{}</code></th><td><code>{}</code></td></tr>\n", html(&p.name), html(&p.value));
        }
        close_table(page);
    }
    columns(page, "The twelve features", "Windows are clustered on these", &view.features);
    columns(page, "Evidence columns", "These decide classes and root causes, and are not clustered on", &view.evidence_columns);
    page.raw("</section>\n");
}

fn columns(page: &mut Page, heading: &str, caption: &str, columns: &[ColumnMeta]) {
    if columns.is_empty() {
        return;
    }
    markup!(page, "<h3>{heading}</h3>\n");
    open_table(page, heading, "", caption, &[("Column", false), ("Unit", false), ("Meaning", false)]);
    for c in columns {
        markup!(
            page,
            "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{}</td></tr>\n",
            html(&c.name),
            html(&c.unit),
            html(&c.doc)
        );
    }
    close_table(page);
}
