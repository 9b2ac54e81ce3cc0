//! The top of the linkage tree with the height at which it was cut.

use super::canvas::{Anchor, Canvas, Frame, Type};
use super::marks;
use crate::error::ReportError;
use crate::options::Options;
use crate::quantity::{counted, figure, shorten};
use crate::view::{Dendrogram, ReportView};

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 640.0;
const PLOT: Frame = Frame { left: 76.0, top: 92.0, right: 1176.0, bottom: 486.0 };

/// A node's place: x, and the height it hangs at.
type Node = (f64, f64);

/// Draws the tree.
///
/// # Errors
/// [`ReportError::Drawing`].
pub(crate) fn draw(view: &ReportView, tree: &Dendrogram, options: &Options, file: &str) -> Result<super::Drawn, ReportError> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, options);
    let paper = canvas.paper;
    let title = "How the windows join into clusters".to_owned();
    let total: u64 = tree.leaves.iter().map(|l| l.size).fold(0, u64::saturating_add);
    let subtitle = format!(
        "Average linkage of {}; the last {} of the tree",
        counted(total, "window", "windows"),
        counted(tree.merges.len() as u64, "merge", "merges")
    );
    marks::title(&mut canvas, 24.0, WIDTH - 48.0, &title, &subtitle);
    let highest =
        tree.merges.iter().map(|m| m.height).chain([tree.cut_height]).filter(|h| h.is_finite()).fold(0.0, f64::max).max(1e-6) * 1.06;
    let y = |height: f64| PLOT.bottom - PLOT.height() * (if height.is_finite() { height } else { 0.0 }).clamp(0.0, highest) / highest;
    let step = round_step(highest / 9.0);
    let mut tick = 0.0;
    while tick <= highest {
        canvas.rule((PLOT.left, y(tick)), (PLOT.right, y(tick)), 1.0, paper.grid);
        canvas.text((PLOT.left - 8.0, y(tick) + 4.5), &figure(Some(tick)), Type::regular(12.5, paper.ink), Anchor::End);
        tick += step;
    }
    canvas.text_up(
        (26.0, (PLOT.top + PLOT.bottom) / 2.0),
        "Cosine distance of the joined parts",
        Type::bold(13.0, paper.ink),
        Anchor::Middle,
    );

    let order = leaf_order(tree);
    let spacing = PLOT.width() / order.len().max(1) as f64;
    let mut places: Vec<Node> = vec![(PLOT.left, 0.0); tree.leaves.len()];
    for (place, &leaf) in order.iter().enumerate() {
        if let Some(node) = places.get_mut(leaf) {
            node.0 = PLOT.left + spacing * (place as f64 + 0.5);
        }
    }
    let thickness = if order.len() > 120 { 1.0 } else { 1.5 };
    for merge in &tree.merges {
        let (Some(&a), Some(&b)) = (places.get(merge.a), places.get(merge.b)) else { continue };
        let top = y(merge.height);
        let colour = if merge.height > tree.cut_height { paper.ink } else { paper.axis.towards(paper.ink, 0.3) };
        canvas.rule((a.0, y(a.1)), (a.0, top), thickness, colour);
        canvas.rule((b.0, y(b.1)), (b.0, top), thickness, colour);
        canvas.rule((a.0 - thickness / 2.0, top), (b.0 + thickness / 2.0, top), thickness, colour);
        places.push(((a.0 + b.0) / 2.0, merge.height));
    }
    let cut = y(tree.cut_height);
    canvas.dashes((PLOT.left, cut), (PLOT.right, cut), 2.0, paper.alarm);
    canvas.haloed(
        (PLOT.left + 4.0, cut - 7.0),
        &format!("cut at {}", figure(Some(tree.cut_height))),
        Type::bold(12.5, paper.alarm),
        Anchor::Start,
    );
    clusters(&mut canvas, view, tree, &order, spacing);
    let words = "How to read it: every fork joins two groups of windows; the higher the fork, the less alike they are. Groups joined below the dashed line are one cluster. Blocks below the tree are the clusters, numbered, in the colour of the class most of their windows are in.";
    canvas.paragraph((24.0, HEIGHT - 34.0), WIDTH - 48.0, words, Type::regular(12.5, paper.soft));
    super::Drawn::finish(canvas, file, title, subtitle)
}

/// Leaves from left to right: each root's subtree in turn, without recursion.
fn leaf_order(tree: &Dendrogram) -> Vec<usize> {
    let leaves = tree.leaves.len();
    let mut is_child = vec![false; leaves + tree.merges.len()];
    for merge in &tree.merges {
        for node in [merge.a, merge.b] {
            if let Some(child) = is_child.get_mut(node) {
                *child = true;
            }
        }
    }
    let mut order = Vec::with_capacity(leaves);
    let mut stack: Vec<usize> = (0..is_child.len()).rev().filter(|&node| !is_child[node]).collect();
    while let Some(node) = stack.pop() {
        match node.checked_sub(leaves).and_then(|i| tree.merges.get(i)) {
            Some(merge) => stack.extend([merge.b, merge.a]),
            None => order.push(node),
        }
    }
    order
}

/// Blocks of neighbouring leaves of one cluster, numbered; names where there is room.
fn clusters(canvas: &mut Canvas, view: &ReportView, tree: &Dendrogram, order: &[usize], spacing: f64) {
    let paper = canvas.paper;
    let mut blocks: Vec<(Option<u32>, usize, usize)> = Vec::new();
    for (place, cluster) in order.iter().map(|&leaf| tree.leaves.get(leaf).and_then(|l| l.cluster)).enumerate() {
        match blocks.last_mut() {
            Some(block) if block.0 == cluster => block.2 = place + 1,
            _ => blocks.push((cluster, place, place + 1)),
        }
    }
    let mut low = false;
    let mut free_from = [f64::NEG_INFINITY; 2];
    for (cluster, from, to) in blocks {
        let summary = view.clusters.iter().find(|c| Some(c.cluster) == cluster);
        let colour = paper.class(summary.and_then(|c| c.class));
        let frame = Frame {
            left: PLOT.left + spacing * from as f64,
            right: PLOT.left + spacing * to as f64,
            top: PLOT.bottom + 8.0,
            bottom: PLOT.bottom + 30.0,
        };
        let inner = Frame { left: frame.left + 1.0, right: (frame.right - 1.0).max(frame.left + 2.0), ..frame };
        canvas.rect(inner, colour, 1.0);
        let middle = (frame.left + frame.right) / 2.0;
        let number = cluster.map_or_else(|| "?".to_owned(), |c| c.to_string());
        let style = Type::bold(12.5, colour.readable_ink());
        if canvas.text_width(&number, style) + 4.0 <= inner.width() {
            canvas.text((middle, frame.top + 15.5), &number, style, Anchor::Middle);
        }
        // Names take turns on two lines, and are left out rather than overlap.
        let name = format!("{number} {}", summary.map_or("", |c| c.name.as_str()));
        let small = Type::regular(12.0, paper.ink);
        let name = canvas.fitted(&shorten(&name, 40), small, (frame.width() * 2.0).max(120.0));
        let half = canvas.text_width(&name, small) / 2.0;
        let center = middle.clamp(PLOT.left + half, (PLOT.right - half).max(PLOT.left + half));
        for line in [usize::from(low), usize::from(!low)] {
            if center - half > free_from[line] {
                let y = PLOT.bottom + 48.0 + 18.0 * line as f64;
                canvas.text((center, y), &name, small, Anchor::Middle);
                free_from[line] = center + half + 10.0;
                break;
            }
        }
        low = !low;
    }
}

/// The step 1, 2 or 5 times a power of ten at or above `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&step| step >= least * 0.999).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Leaf, Merge};

    #[test]
    fn leaves_are_ordered_by_the_tree_even_when_it_is_a_forest() {
        let leaf = Leaf { cluster: None, size: 1 };
        let merge = |a, b, height| Merge { a, b, height, size: 2 };
        let tree = Dendrogram { leaves: vec![leaf; 5], merges: vec![merge(0, 3, 0.1), merge(5, 1, 0.2)], cut_height: 0.15 };
        assert_eq!(leaf_order(&tree), [2, 4, 0, 3, 1]);
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(0.3), 0.5);
        assert_eq!(round_step(1.0), 1.0);
        assert!((round_step(0.06) - 0.1).abs() < 1e-12);
    }
}
