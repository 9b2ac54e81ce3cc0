//! Pictures in the page: inside it as far as the budget goes, linked beside it beyond.

use std::collections::BTreeSet;

use super::super::Material;
use super::markup::{Page, markup};
use crate::base64;
use crate::escape::html;
use crate::options::Theme;
use crate::pictures::{Picture, PictureKind};

/// Names of the pictures that go inside the page: in the order drawn (fleet, then worst devices
/// first) until the budget is used up.
pub(super) fn embedded(material: Material<'_>) -> BTreeSet<&str> {
    let mut left = material.options.embedded_bytes;
    let mut names = BTreeSet::new();
    for picture in material.pictures {
        if picture.png.len() > left {
            break;
        }
        left -= picture.png.len();
        names.insert(picture.file.as_str());
    }
    names
}

/// Puts a picture, where it was drawn, with a caption.
pub(super) fn figure(page: &mut Page, material: Material<'_>, embedded: &BTreeSet<&str>, kind: PictureKind, caption: &str) {
    let Some(picture) = material.pictures.iter().find(|p| p.kind == kind) else { return };
    if embedded.contains(picture.file.as_str()) {
        inside(page, material.options.theme, picture, caption);
    } else {
        markup!(
            page,
            "<p class=\"beside\"><a href=\"{}\">{}</a> <span class=\"soft\">(picture beside this page)</span></p>\n",
            picture.file,
            html(&picture.title)
        );
    }
}

/// Puts a picture inside the page.
pub(super) fn inside(page: &mut Page, theme: Theme, picture: &Picture, caption: &str) {
    // Drawn at twice the size it is shown at.
    let (width, height) = (picture.width / 2, picture.height / 2);
    // Light pictures are dimmed on a dark page.
    let light = if theme == Theme::Light { " class=\"light\"" } else { "" };
    markup!(
        page,
        "<figure><div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Picture: {}\"><img{light} width=\"{width}\" height=\"{height}\" decoding=\"async\" alt=\"{}\" src=\"data:image/png;base64,{}\"></div>",
        html(&picture.title),
        html(&picture.alt),
        base64::encode(&picture.png)
    );
    let svg = picture.svg_file().map(|file| format!(" <a href=\"{file}\">SVG</a>")).unwrap_or_default();
    markup!(page, "<figcaption>{} <a href=\"{}\">PNG</a>{svg}</figcaption></figure>\n", html(caption), picture.file);
}
