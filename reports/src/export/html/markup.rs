//! A page as it grows, and the small pieces of markup that several sections share.

use std::fmt::{self, Write};

use crate::class_style::{class_style, slot};
use crate::escape::html;
use crate::labels::{class_name, device_name};
use crate::quantity;
use crate::view::{ReportView, Share};

/// Markup written so far.
pub(super) struct Page(String);

impl Page {
    pub(super) fn new() -> Self {
        Self(String::with_capacity(1 << 16))
    }

    /// Appends markup as it is.
    pub(super) fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// Appends formatted markup; use through [`markup!`].
    pub(super) fn format(&mut self, arguments: fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.0.write_fmt(arguments);
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// Appends formatted markup to a page. Whatever comes from the view must have gone through
/// [`crate::escape::html`].
macro_rules! markup {
    ($page:expr, $($format:tt)*) => { $page.format(format_args!($($format)*)) };
}
pub(super) use markup;

/// A percentage that does not break before its sign.
pub(super) fn percent(value: f64) -> String {
    quantity::percent(value).replace(' ', "&nbsp;")
}

/// A class with its badge: `[3] fail-slow device`.
pub(super) fn class_chip(view: &ReportView, class: Option<u8>) -> String {
    format!("<span class=\"chip\">{}{}</span>", badge(class), html(&class_name(view, class)))
}

/// A class' number on its colour.
pub(super) fn badge(class: Option<u8>) -> String {
    format!("<span class=\"badge b{}\">{}</span>", slot(class) + 1, class_style(class).badge)
}

/// A device linked to its section.
pub(super) fn device_link(view: &ReportView, device: usize) -> String {
    format!("<a href=\"#device-{}\">{}</a>", device + 1, html(&device_name(view, device)))
}

/// The opening of a table that may be wider than the screen: scrollable, and by keyboard too.
pub(super) fn open_table(page: &mut Page, label: &str, id: &str, caption: &str, columns: &[(&str, bool)]) {
    let id = if id.is_empty() { String::new() } else { format!(" id=\"{id}\"") };
    markup!(page, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table{id}>", html(label));
    if !caption.is_empty() {
        markup!(page, "<caption>{}</caption>", html(caption));
    }
    page.raw("<thead><tr>");
    for (name, numeric) in columns {
        markup!(page, "<th scope=\"col\"{}>{}</th>", if *numeric { " class=\"num\"" } else { "" }, html(name));
    }
    page.raw("</tr></thead><tbody>\n");
}

/// The end of what [`open_table`] began.
pub(super) fn close_table(page: &mut Page) {
    page.raw("</tbody></table></div>\n");
}

/// Says how many devices a table of `rows` rows leaves out.
pub(super) fn more_devices(page: &mut Page, devices: usize, rows: usize) {
    if devices > rows {
        markup!(page, "<p class=\"soft\">{} more devices are in <code>report.json</code>.</p>\n", devices - rows);
    }
}

/// Root causes as bars in a class' colour.
pub(super) fn share_bars(page: &mut Page, shares: &[Share], class: Option<u8>, heading: &str) {
    markup!(page, "<table class=\"bars\"><caption>{}</caption><tbody>", html(heading));
    for share in shares {
        let known = !share.name.eq_ignore_ascii_case("cannot tell");
        let fill = if known { slot(class) + 1 } else { 9 };
        let width = if share.percent.is_finite() { share.percent.clamp(0.0, 100.0) } else { 0.0 };
        markup!(
            page,
            "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"track\" width=\"100\" height=\"10\"/><rect class=\"f{fill}\" width=\"{width:.1}\" height=\"10\"/></svg></td></tr>",
            html(&share.name),
            percent(share.percent)
        );
    }
    page.raw("</tbody></table>\n");
}
