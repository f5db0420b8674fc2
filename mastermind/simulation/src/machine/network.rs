//! Which class a link is of: in a node, between nodes of a switch, between switches of a group, and between all others.
//!
//! Nodes that follow each other share a switch, and switches that follow each other a group, as ranks that follow each other share a node.
//! Each class has LogGP parameters of its own. Messages of other processes delay none: a link is as wide as all that use it need. So a
//! message concerns its two processes alone, which the engines' windows and horizons rest on; contention on a shared link would need one
//! order over all of its senders.

use super::{Link, Machine};

/// The links between nodes that are near each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearLink {
    /// So many nodes are near each other, ≥ 1.
    pub nodes: u32,
    /// The link of any two of them.
    pub link: Link,
}

impl Machine {
    /// The links of a switch and of a group, where it has such.
    fn near(&self) -> impl Iterator<Item = &NearLink> {
        [&self.switch, &self.group].into_iter().flatten()
    }

    /// Whether all links between nodes are of one class.
    #[inline]
    pub(crate) fn is_flat(&self) -> bool {
        self.switch.is_none() && self.group.is_none()
    }

    /// A link of each class between nodes.
    pub(crate) fn node_links(&self) -> impl Iterator<Item = &Link> {
        let near = self.near().map(|near| &near.link);
        near.chain([&self.inter])
    }

    /// A link of each class.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        self.node_links().chain([&self.intra])
    }

    /// The link between two nodes.
    #[inline]
    pub(crate) fn node_link(&self, a: u32, b: u32) -> &Link {
        if self.is_flat() {
            return &self.inter;
        }
        let is_near = |near: &&NearLink| a / near.nodes == b / near.nodes;
        self.near()
            .find(is_near)
            .map_or(&self.inter, |near| &near.link)
    }
}
