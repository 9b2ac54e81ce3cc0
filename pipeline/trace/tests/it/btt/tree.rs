//! The tree in which btt keeps the bios of a device that have not completed.
//!
//! It is written out because its shape shows in btt's answers: its search for the bios within a request
//! does not look to the right of a node that ends behind the request. A bio that was split ends behind
//! its requests and is never taken out, so what lies beside it in the tree is missed. The shape is that
//! of a red-black tree as in any textbook; what was found by experiment is the search and that a second
//! bio of the same first sector takes the first one's node.

/// No node.
const NIL: usize = usize::MAX;

#[derive(Debug, Clone, Copy)]
struct Node<T> {
    left: usize,
    right: usize,
    parent: usize,
    red: bool,
    start: u64,
    end: u64,
    value: T,
}

/// Extents `start..end` with a value each, by their start.
#[derive(Debug)]
pub(super) struct Tree<T> {
    nodes: Vec<Node<T>>,
    root: usize,
}

impl<T: Copy> Tree<T> {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), root: NIL }
    }

    /// Puts an extent in; one of the same start is replaced where it is.
    pub(super) fn insert(&mut self, start: u64, end: u64, value: T) {
        let (mut parent, mut at) = (NIL, self.root);
        while at != NIL {
            parent = at;
            let node = &mut self.nodes[at];
            if start == node.start {
                (node.end, node.value) = (end, value);
                return;
            }
            at = if start < node.start { node.left } else { node.right };
        }
        let new = self.nodes.len();
        self.nodes.push(Node { left: NIL, right: NIL, parent, red: true, start, end, value });
        if parent == NIL {
            self.root = new;
        } else if start < self.nodes[parent].start {
            self.nodes[parent].left = new;
        } else {
            self.nodes[parent].right = new;
        }
        self.repair_insertion(new);
    }

    /// The nodes within `start..end`, as far as btt finds them.
    pub(super) fn within(&self, start: u64, end: u64) -> Vec<usize> {
        let (mut found, mut waiting) = (Vec::new(), vec![self.root]);
        while let Some(at) = waiting.pop() {
            if at == NIL {
                continue;
            }
            let node = &self.nodes[at];
            if start <= node.start && node.end <= end {
                found.push(at);
            }
            if node.end < end {
                waiting.push(node.right);
            }
            if start < node.start {
                waiting.push(node.left);
            }
        }
        found
    }

    pub(super) fn value(&mut self, node: usize) -> &mut T {
        &mut self.nodes[node].value
    }

    fn red(&self, at: usize) -> bool {
        at != NIL && self.nodes[at].red
    }

    /// Puts `new` where its parent has `old`.
    fn relink(&mut self, parent: usize, old: usize, new: usize) {
        if parent == NIL {
            self.root = new;
        } else if self.nodes[parent].left == old {
            self.nodes[parent].left = new;
        } else {
            self.nodes[parent].right = new;
        }
    }

    /// Lets a child take its parent's place: the right child if `left`, else the left one.
    fn rotate(&mut self, at: usize, left: bool) {
        let up = if left { self.nodes[at].right } else { self.nodes[at].left };
        let inner = if left { self.nodes[up].left } else { self.nodes[up].right };
        let parent = self.nodes[at].parent;
        if left {
            (self.nodes[at].right, self.nodes[up].left) = (inner, at);
        } else {
            (self.nodes[at].left, self.nodes[up].right) = (inner, at);
        }
        if inner != NIL {
            self.nodes[inner].parent = at;
        }
        self.relink(parent, at, up);
        self.nodes[up].parent = parent;
        self.nodes[at].parent = up;
    }

    fn repair_insertion(&mut self, mut at: usize) {
        while self.red(self.nodes[at].parent) {
            let mut parent = self.nodes[at].parent;
            let grandparent = self.nodes[parent].parent;
            let on_left = self.nodes[grandparent].left == parent;
            let uncle = if on_left { self.nodes[grandparent].right } else { self.nodes[grandparent].left };
            if self.red(uncle) {
                self.nodes[uncle].red = false;
                self.nodes[parent].red = false;
                self.nodes[grandparent].red = true;
                at = grandparent;
                continue;
            }
            let inner = if on_left { self.nodes[parent].right } else { self.nodes[parent].left };
            if inner == at {
                self.rotate(parent, on_left);
                (at, parent) = (parent, at);
            }
            self.nodes[parent].red = false;
            self.nodes[grandparent].red = true;
            self.rotate(grandparent, !on_left);
        }
        let root = self.root;
        self.nodes[root].red = false;
    }

    /// Takes a node out.
    pub(super) fn remove(&mut self, at: usize) {
        let Node { left, right, parent, red, .. } = self.nodes[at];
        let (child, child_parent, removed_red);
        if left == NIL || right == NIL {
            child = if left == NIL { right } else { left };
            (child_parent, removed_red) = (parent, red);
            if child != NIL {
                self.nodes[child].parent = parent;
            }
            self.relink(parent, at, child);
        } else {
            // The next one to the right takes its place.
            let mut next = right;
            while self.nodes[next].left != NIL {
                next = self.nodes[next].left;
            }
            self.relink(parent, at, next);
            child = self.nodes[next].right;
            removed_red = self.nodes[next].red;
            let above = self.nodes[next].parent;
            if above == at {
                child_parent = next;
            } else {
                child_parent = above;
                if child != NIL {
                    self.nodes[child].parent = above;
                }
                self.nodes[above].left = child;
                self.nodes[next].right = right;
                self.nodes[right].parent = next;
            }
            self.nodes[next].parent = parent;
            self.nodes[next].red = red;
            self.nodes[next].left = left;
            self.nodes[left].parent = next;
        }
        if !removed_red {
            self.repair_removal(child, child_parent);
        }
    }

    fn repair_removal(&mut self, mut at: usize, mut parent: usize) {
        while !self.red(at) && at != self.root {
            let on_left = self.nodes[parent].left == at;
            let sibling_of = |tree: &Self, parent: usize| if on_left { tree.nodes[parent].right } else { tree.nodes[parent].left };
            let mut sibling = sibling_of(self, parent);
            if self.red(sibling) {
                self.nodes[sibling].red = false;
                self.nodes[parent].red = true;
                self.rotate(parent, on_left);
                sibling = sibling_of(self, parent);
            }
            let children = |tree: &Self, of: usize| {
                let node = &tree.nodes[of];
                if on_left { (node.left, node.right) } else { (node.right, node.left) }
            };
            let (near, far) = children(self, sibling);
            if !self.red(near) && !self.red(far) {
                self.nodes[sibling].red = true;
                (at, parent) = (parent, self.nodes[parent].parent);
                continue;
            }
            if !self.red(far) {
                self.nodes[near].red = false;
                self.nodes[sibling].red = true;
                self.rotate(sibling, !on_left);
                sibling = sibling_of(self, parent);
            }
            self.nodes[sibling].red = self.nodes[parent].red;
            self.nodes[parent].red = false;
            let (_, far) = children(self, sibling);
            self.nodes[far].red = false;
            self.rotate(parent, on_left);
            at = self.root;
            break;
        }
        if at != NIL {
            self.nodes[at].red = false;
        }
    }
}
