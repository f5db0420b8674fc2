//! Which class a link is of: in a node, between nodes of a switch, between switches of a group, and between all others.
//!
//! Consecutive nodes share a switch, and consecutive switches a group, as consecutive ranks share a node. Each class has LogGP
//! parameters of its own. A link is as wide as all that use it need, so a message concerns only its two processes. Links that
//! lead up from a switch or a group are the exception if the machine file gives their number (`events/shared_links.rs`).

use super::{Link, Machine};

/// The ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkClass {
    /// Processes of a node.
    Intra,
    /// Nodes of a switch.
    Switch,
    /// Nodes of a group of switches.
    Group,
    /// All other nodes.
    Inter,
}

impl LinkClass {
    /// All.
    pub const ALL: [Self; 4] = [Self::Intra, Self::Switch, Self::Group, Self::Inter];

    /// The name of its table in a machine file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Intra => "intra",
            Self::Switch => "switch",
            Self::Group => "group",
            Self::Inter => "inter",
        }
    }
}

/// The links between nodes that are near each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearLink {
    /// Number of nodes that are near each other, ≥ 1.
    pub nodes: u32,
    /// The link of any two of them.
    pub link: Link,
    /// Number of links that lead up from them to the rest of the machine, and of those down, ≥ 1: messages share these.
    /// `None` for as many as they need.
    pub uplinks: Option<u32>,
}

impl Machine {
    /// The links of a switch and of a group, if it has such.
    fn near(&self) -> impl Iterator<Item = &NearLink> {
        [&self.switch, &self.group].into_iter().flatten()
    }

    /// Whether all links between nodes are of one class.
    #[inline]
    pub(crate) fn is_flat(&self) -> bool {
        self.switch.is_none() && self.group.is_none()
    }

    /// Places on the path between two nodes where messages may share links: up from the switch, up from the group, down
    /// to the group, down to the switch.
    pub(crate) const PLACES: usize = 4;

    /// Whether messages share links anywhere.
    pub(crate) fn has_shared_links(&self) -> bool {
        self.near().any(|near| near.uplinks.is_some())
    }

    /// Which switch or group the links are of that messages between two nodes share at a place, and how many there are.
    pub(crate) fn uplinks_at(&self, place: usize, [from, to]: [u32; 2]) -> Option<(u32, u32)> {
        let places = [
            (&self.switch, from),
            (&self.group, from),
            (&self.group, to),
            (&self.switch, to),
        ];
        let (near, node) = places[place];
        let NearLink { nodes, uplinks, .. } = near.as_ref()?;
        let leaves = from / nodes != to / nodes;
        uplinks.filter(|_| leaves).map(|n| (node / nodes, n))
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
        self.link_of(self.class_between(a, b))
    }

    /// The class of the link between two nodes.
    pub(crate) fn class_between(&self, a: u32, b: u32) -> LinkClass {
        let is_near = |near: &NearLink| a / near.nodes == b / near.nodes;
        match (&self.switch, &self.group) {
            _ if a == b => LinkClass::Intra,
            (Some(switch), _) if is_near(switch) => LinkClass::Switch,
            (_, Some(group)) if is_near(group) => LinkClass::Group,
            _ => LinkClass::Inter,
        }
    }

    /// The link of a class; of a class that the machine does not have, the link between all other nodes.
    pub fn link_of(&self, class: LinkClass) -> &Link {
        match (class, &self.switch, &self.group) {
            (LinkClass::Intra, ..) => &self.intra,
            (LinkClass::Switch, Some(near), _) | (LinkClass::Group, _, Some(near)) => &near.link,
            _ => &self.inter,
        }
    }

    /// Lets all latencies take `factor` times as long, in whole nanoseconds.
    pub fn scale_latency(&mut self, factor: f64) {
        let near = [&mut self.switch, &mut self.group].into_iter().flatten();
        let links = near.map(|near| &mut near.link);
        for link in links.chain([&mut self.inter, &mut self.intra]) {
            link.latency_ns = (link.latency_ns as f64 * factor).round() as u64;
        }
    }
}
