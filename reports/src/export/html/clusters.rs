//! The clusters: what each is called, how large it is, what its members suffer from.

use std::collections::BTreeSet;

use super::super::Material;
use super::figures;
use super::markup::{Page, badge, close_table, markup, open_table, percent};
use crate::escape::html;
use crate::labels::reference_words;
use crate::pictures::PictureKind;
use crate::quantity::{count, counted};
use crate::view::{ReportView, Share};

/// Writes the section.
pub(super) fn section(page: &mut Page, material: Material<'_>, embedded: &BTreeSet<&str>) {
    let view = material.view;
    page.raw("<section aria-labelledby=\"clusters\"><h2 id=\"clusters\">Clusters</h2>\n");
    if view.clusters.is_empty() {
        page.raw("<p>Nothing was clustered: there are too few full windows.</p>\n");
        known(page, view);
        page.raw("</section>\n");
        return;
    }
    page.raw("<p>Windows that behave alike, grouped without knowing the classes. A cluster takes the name of the class most of its members are in; one that fits no class is an unrecognised pattern.</p>\n");
    let columns =
        [("Cluster", true), ("Name", false), ("Windows", true), ("In that class", true), ("Symptom", false), ("Root causes", false)];
    open_table(page, "Clusters", "", "", &columns);
    for c in &view.clusters {
        markup!(
            page,
            "<tr><th scope=\"row\" class=\"num\">{}</th><td><span class=\"chip\">{}{}</span></td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td><td>{}</td></tr>\n",
            c.cluster,
            badge(c.class),
            html(&c.name),
            count(c.windows),
            percent(c.class_percent),
            html(&c.symptom),
            causes(&c.root_causes)
        );
    }
    close_table(page);
    known(page, view);
    figures::figure(page, material, embedded, PictureKind::Dendrogram, "How the windows join into clusters, and where the tree was cut.");
    figures::figure(page, material, embedded, PictureKind::Embedding, "The windows in the plane of the embedding, by class.");
    page.raw("</section>\n");
}

/// What is novel to the model that was given, and what the reference model says.
fn known(page: &mut Page, view: &ReportView) {
    let known = &view.known;
    if let Some(model) = &known.model {
        markup!(page, "<h3 id=\"novel\">Novel windows</h3>\n<p>Windows were placed in the clusters of <code>{}</code>. ", html(model));
        if known.novel_windows == 0 {
            page.raw("It knows the like of every one.</p>\n");
        } else {
            markup!(
                page,
                "It knows nothing like {}; they have no cluster. Those that are alike are candidates for new classes.</p>\n",
                counted(known.novel_windows, "window", "windows")
            );
            open_table(page, "Novel windows", "", "", &[("Candidate", true), ("Windows", true), ("Root causes by the rules", false)]);
            for c in &known.candidates {
                markup!(
                    page,
                    "<tr><th scope=\"row\" class=\"num\">{}</th><td class=\"num\">{}</td><td>{}</td></tr>\n",
                    c.candidate,
                    count(c.windows),
                    causes(&c.root_causes)
                );
            }
            close_table(page);
        }
    }
    if let Some(sentence) = known.reference.map(|r| reference_words(&r)) {
        markup!(page, "<p id=\"reference\">{}</p>\n", html(&sentence));
    }
}

fn causes(shares: &[Share]) -> String {
    let causes: Vec<String> = shares.iter().map(|s| format!("{} {}", html(&s.name), percent(s.percent))).collect();
    causes.join(", ")
}
