//! The clusters: what each is called, how large it is, what its members suffer from.

use std::collections::BTreeSet;

use super::super::Material;
use super::figures;
use super::markup::{Page, badge, close_table, markup, open_table, percent};
use crate::escape::html;
use crate::pictures::PictureKind;
use crate::quantity::count;

/// Writes the section.
pub(super) fn section(page: &mut Page, material: Material<'_>, embedded: &BTreeSet<&str>) {
    let view = material.view;
    page.raw("<section aria-labelledby=\"clusters\"><h2 id=\"clusters\">Clusters</h2>\n");
    if view.clusters.is_empty() {
        page.raw("<p>Nothing was clustered: there are too few full windows.</p></section>\n");
        return;
    }
    page.raw("<p>Windows that behave alike, grouped without knowing the classes. A cluster takes the name of the class most of its members are in; one that fits no class is an unrecognised pattern.</p>\n");
    let columns =
        [("Cluster", true), ("Name", false), ("Windows", true), ("In that class", true), ("Symptom", false), ("Root causes", false)];
    open_table(page, "Clusters", "", "", &columns);
    for c in &view.clusters {
        let causes: Vec<String> = c.root_causes.iter().map(|s| format!("{} {}", html(&s.name), percent(s.percent))).collect();
        markup!(
            page,
            "<tr><th scope=\"row\" class=\"num\">{}</th><td><span class=\"chip\">{}{}</span></td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td><td>{}</td></tr>\n",
            c.cluster,
            badge(c.class),
            html(&c.name),
            count(c.windows),
            percent(c.class_percent),
            html(&c.symptom),
            causes.join(", ")
        );
    }
    close_table(page);
    figures::figure(page, material, embedded, PictureKind::Dendrogram, "How the windows join into clusters, and where the tree was cut.");
    figures::figure(page, material, embedded, PictureKind::Embedding, "The windows in the plane of the embedding, by class.");
    page.raw("</section>\n");
}
