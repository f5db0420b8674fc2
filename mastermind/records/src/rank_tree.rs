//! Sums over ranks that do not depend on how the ranks are distributed over processes.
//!
//! A floating-point sum depends on the order of its terms. Several processes that each sum a block of ranks would
//! therefore print other last digits than a single process. Here the ranks' numbers determine the order: the values of
//! ranks 2k and 2k+1 are combined, then the results of two such pairs, and so on, as in a binary tree with the ranks as
//! leaves. Any process may combine the nodes that it has, and the result is the same.
//!
//! ```text
//!             0..8
//!        ┌─────┴─────┐
//!      0..4         4..8        ranks 0 to 2 in one process: nodes 0..2 and 2
//!     ┌──┴──┐      ┌──┴──┐      ranks 3 to 7 in another one: nodes 3 and 4..8
//!   0..2   2..4  4..6   6..8    appended: 2 and 3 combine, then 0..2 and 2..4, then the halves
//! ```
//!
//! # Decisions
//!
//! Sums over ranks are combined in a tree over the ranks' numbers (`records/rank_tree`), whichever process computes a
//! node. One process and several that a launcher started therefore print the same bytes, although floating-point sums
//! depend on their order. Several processes divide the logs by rank and send their nodes in a tree of messages
//! (`component/tree`). The notes on a run are combined likewise (`cli/run_facts`), and the first process prints them
//! once.

use serde::{Deserialize, Serialize};

/// Values of consecutive ranks, combined as far as possible.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankTree<T> {
    /// Ascending; if no rank is missing, there are at most two nodes per level.
    nodes: Vec<Node<T>>,
}

/// The combined values of the ranks `place << level .. (place + 1) << level`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Node<T> {
    level: u32,
    place: u32,
    value: T,
}

impl<T> Default for RankTree<T> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

impl<T> RankTree<T> {
    /// Adds the value of a later rank.
    ///
    /// # Arguments
    /// * `join` - adds the value of later ranks to that of earlier ones
    pub fn push(&mut self, rank: u32, value: T, join: impl FnMut(&mut T, T)) {
        let node = Node {
            level: 0,
            place: rank,
            value,
        };
        self.push_node(node, join);
    }

    /// Adds a tree whose ranks are all later than these.
    ///
    /// # Arguments
    /// * `join` - as of [`RankTree::push`]
    pub fn append(&mut self, later: Self, mut join: impl FnMut(&mut T, T)) {
        for node in later.nodes {
            self.push_node(node, &mut join);
        }
    }

    /// Adds the values of other ranks, in any position.
    ///
    /// # Arguments
    /// * `other` - has no rank of `self`
    pub fn merge(&mut self, other: Self, mut join: impl FnMut(&mut T, T)) {
        let mut nodes = std::mem::take(&mut self.nodes);
        nodes.extend(other.nodes);
        nodes.sort_by_key(|node| u64::from(node.place) << node.level);
        for node in nodes {
            self.push_node(node, &mut join);
        }
    }

    fn push_node(&mut self, mut node: Node<T>, mut join: impl FnMut(&mut T, T)) {
        let are_siblings = |left: &Node<T>, right: &Node<T>| {
            left.level == right.level
                && left.place.is_multiple_of(2)
                && left.place + 1 == right.place
        };
        while let Some(mut left) = self.nodes.pop_if(|left| are_siblings(left, &node)) {
            join(&mut left.value, node.value);
            node = Node {
                level: left.level + 1,
                place: left.place / 2,
                value: left.value,
            };
        }
        self.nodes.push(node);
    }

    /// The combined values of all ranks; `None` without ranks.
    pub fn into_joined(self, mut join: impl FnMut(&mut T, T)) -> Option<T> {
        let values = self.nodes.into_iter().map(|node| node.value);
        values.reduce(|mut joined, value| {
            join(&mut joined, value);
            joined
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A join whose result shows the order of its calls.
    fn join(left: &mut String, right: String) {
        *left = format!("({left}{right})");
    }

    fn tree(ranks: &[u32]) -> RankTree<String> {
        let mut tree = RankTree::default();
        for rank in ranks {
            tree.push(*rank, rank.to_string(), join);
        }
        tree
    }

    #[test]
    fn who_joins_what_does_not_matter() {
        let all: Vec<u32> = (0..11).filter(|rank| *rank != 6).collect();
        let expected = tree(&all).into_joined(join).unwrap();
        assert_eq!(expected, "((((((01)(23))(45))7)(89))10)");
        for first in 0..=all.len() {
            for second in first..=all.len() {
                let mut joined = tree(&all[..first]);
                let mut middle = tree(&all[first..second]);
                middle.append(tree(&all[second..]), join);
                joined.append(middle, join);
                assert_eq!(joined.into_joined(join).as_ref(), Some(&expected));
            }
        }
        assert_eq!(tree(&[]).into_joined(join), None);
    }

    #[test]
    fn ranks_may_lie_between_one_another() {
        let all: Vec<u32> = (0..23).collect();
        let expected = tree(&all).into_joined(join).unwrap();
        for n_parts in [2, 3, 5] {
            let of_part = |part: u32| Vec::from_iter((part..23).step_by(n_parts as usize));
            let mut merged = tree(&of_part(n_parts - 1));
            for part in 0..n_parts - 1 {
                merged.merge(tree(&of_part(part)), join);
            }
            assert_eq!(merged.into_joined(join).as_ref(), Some(&expected));
        }
    }

    #[test]
    fn few_nodes_stand_for_many_ranks() {
        let ranks: Vec<u32> = (3..100_000).collect();
        let mut counted = RankTree::default();
        for rank in ranks {
            counted.push(rank, 1_u32, |sum, more| *sum += more);
        }
        assert!(counted.nodes.len() < 34, "{}", counted.nodes.len());
        assert_eq!(counted.into_joined(|sum, more| *sum += more), Some(99_997));
    }
}
