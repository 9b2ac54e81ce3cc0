//! The page of a comparison: the verdict first, then what it rests on.

use super::markup::{Page, badge, close_table, markup, open_table, percent};
use super::{figures, opening};
use crate::comparison::{ClassChange, Comparison, Figure, Outcome, points_in_words, ratio_in_words, value_in_words};
use crate::escape::html;
use crate::labels::kind_name;
use crate::options::Options;
use crate::pictures::Picture;
use crate::quantity::{count, duration, percent as percent_words};

/// The whole page.
pub(crate) fn page(c: &Comparison, pictures: &[Picture], options: &Options) -> String {
    let mut page = Page::new();
    opening(&mut page, &format!("Before and after: {} and {}", c.before.archive, c.after.archive), options.theme, false);
    verdict(&mut page, c);
    page.raw("<main id=\"content\">\n");
    sides(&mut page, c);
    overall(&mut page, c);
    kinds(&mut page, c);
    classes(&mut page, c);
    page.raw("<section aria-labelledby=\"pictures\"><h2 id=\"pictures\">Pictures</h2>\n");
    for picture in pictures {
        figures::inside(&mut page, options.theme, picture, &picture.title);
    }
    page.raw("</section>\n<section aria-labelledby=\"method\"><h2 id=\"method\">Method</h2>\n<ol>\n");
    for sentence in &c.method {
        markup!(page, "<li>{}</li>\n", html(sentence));
    }
    page.raw("</ol></section>\n</main>\n");
    markup!(
        page,
        "<footer>iotriage {}. The same comparison for tickets: <a href=\"compare.md\">compare.md</a>; for programs: <a href=\"compare.json\">compare.json</a>.</footer>\n</body>\n</html>\n",
        html(&c.version)
    );
    page.text().to_owned()
}

fn verdict(page: &mut Page, c: &Comparison) {
    markup!(page, "<header>\n<h1>Before and after: {} and {}</h1>\n", html(&c.before.archive), html(&c.after.archive));
    let tone = match c.outcome {
        Outcome::Better => "healthy",
        Outcome::Worse => "critical",
        Outcome::Mixed => "warning",
        Outcome::Same => "notice",
        Outcome::CannotTell => "unknown",
    };
    markup!(
        page,
        "<h2 id=\"verdict\">Did it help?</h2>\n<div class=\"verdict {tone} first\"><p class=\"level\">{}</p><p class=\"headline\">{}</p><ul class=\"plain\">\n",
        c.outcome.words(),
        html(&c.headline)
    );
    for reason in &c.reasons {
        markup!(page, "<li>{}</li>\n", html(reason));
    }
    page.raw("</ul></div>\n");
    if !c.cautions.is_empty() {
        page.raw("<div class=\"verdict notice\"><p class=\"level\">What limits this</p><ul class=\"plain\">\n");
        for caution in &c.cautions {
            markup!(page, "<li>{}</li>\n", html(caution));
        }
        page.raw("</ul></div>\n");
    }
    page.raw("</header>\n");
}

fn sides(page: &mut Page, c: &Comparison) {
    page.raw("<section aria-labelledby=\"sides\"><h2 id=\"sides\">What was compared</h2>\n");
    open_table(page, "What was compared", "", "", &[("Of", false), ("Before", false), ("After", false)]);
    let mut row = |name: &str, before: String, after: String| {
        markup!(page, "<tr><th scope=\"row\">{name}</th><td>{}</td><td>{}</td></tr>\n", html(&before), html(&after));
    };
    let times = |side: &crate::comparison::Side| side.times.iter().map(|t| t.to_string()).collect::<Vec<_>>().join("; ");
    row("Archive", c.before.archive.to_string(), c.after.archive.to_string());
    row("Time", times(&c.before), times(&c.after));
    row("Hosts", count(c.before.hosts), count(c.after.hosts));
    row("Devices", count(c.before.devices), count(c.after.devices));
    row("Windows", count(c.before.windows), count(c.after.windows));
    row("Length of a window", duration(c.before.window_ns), duration(c.after.window_ns));
    row("I/Os compared", count(c.before.ios), count(c.after.ios));
    close_table(page);
    page.raw("</section>\n");
}

/// Before, after, ratio and change of a figure, as cells.
fn cells(f: &Figure) -> String {
    format!(
        "<td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td><td>{}</td>",
        value_in_words(f.before, f.unit),
        value_in_words(f.after, f.unit),
        ratio_in_words(f.ratio),
        change(f.change)
    )
}

fn change(change: crate::comparison::Change) -> String {
    match change {
        crate::comparison::Change::Worse => format!("<span class=\"stall\">{}</span>", change.words()),
        crate::comparison::Change::Better => format!("<b>{}</b>", change.words()),
        _ => change.words().to_owned(),
    }
}

fn overall(page: &mut Page, c: &Comparison) {
    page.raw("<section aria-labelledby=\"overall\"><h2 id=\"overall\">All I/Os</h2>\n<p>Latencies are weighed to the mix of operations and sizes that there was before, so that a change of the mix is not taken for one of the device.</p>\n");
    let columns = [("Figure", false), ("Before", true), ("After", true), ("After / before (95 % interval)", false), ("Change", false)];
    open_table(page, "All I/Os", "", "", &columns);
    for f in &c.overall {
        markup!(page, "<tr><th scope=\"row\">{}</th>{}</tr>\n", html(&f.name), cells(f));
    }
    close_table(page);
    page.raw("</section>\n");
}

fn kinds(page: &mut Page, c: &Comparison) {
    page.raw("<section aria-labelledby=\"kinds\"><h2 id=\"kinds\">By operation and size</h2>\n");
    let columns = [
        ("Kind", false),
        ("I/Os before", true),
        ("I/Os after", true),
        ("Slower after", true),
        ("Figure", false),
        ("Before", true),
        ("After", true),
        ("After / before (95 % interval)", false),
        ("Change", false),
    ];
    open_table(
        page,
        "By operation and size",
        "",
        "Slower after: how often an I/O after is slower than one before; 50 % is no difference",
        &columns,
    );
    for kind in &c.kinds {
        let rows = kind.figures.len().max(1);
        for (i, f) in kind.figures.iter().enumerate() {
            page.raw("<tr>");
            if i == 0 {
                markup!(
                    page,
                    "<th scope=\"rowgroup\" rowspan=\"{rows}\">{}</th><td class=\"num\" rowspan=\"{rows}\">{}</td><td class=\"num\" rowspan=\"{rows}\">{}</td><td class=\"num\" rowspan=\"{rows}\">{}</td>",
                    html(&kind_name(kind)),
                    count(kind.ios_before),
                    count(kind.ios_after),
                    kind.slower.map_or_else(|| "–".to_owned(), |s| percent(s * 100.0))
                );
            }
            markup!(page, "<td class=\"name\">{}</td>{}</tr>\n", html(&f.name), cells(f));
        }
    }
    close_table(page);
    page.raw("</section>\n");
}

fn classes(page: &mut Page, c: &Comparison) {
    page.raw("<section aria-labelledby=\"classes\"><h2 id=\"classes\">Time by class</h2>\n");
    let columns = [("Class", false), ("Before", false), ("After", false), ("Points (95 % interval)", false), ("Change", false)];
    open_table(page, "Time by class", "", "Share of the judged windows", &columns);
    for class in &c.classes {
        markup!(
            page,
            "<tr><th scope=\"row\"><span class=\"chip\">{}{}</span></th>{}{}<td>{}</td><td>{}</td></tr>\n",
            badge(class.class),
            html(&class.name),
            bar(class, class.before),
            bar(class, class.after),
            points_in_words(class.difference),
            change(class.change)
        );
    }
    close_table(page);
    page.raw("</section>\n");
}

/// A share as figure and bar.
fn bar(class: &ClassChange, share: f64) -> String {
    let width = if share.is_finite() { share.clamp(0.0, 100.0) } else { 0.0 };
    format!(
        "<td>{}<svg class=\"share\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"track\" width=\"100\" height=\"10\"/><rect class=\"f{}\" width=\"{width:.1}\" height=\"10\"/></svg></td>",
        percent_words(share),
        crate::class_style::slot(class.class) + 1
    )
}
