//! A diagram as its author drew it: nodes, edges, groups and notes with their texts, before it is interpreted as a
//! program.
//!
//! Each reader fills a [`Picture`], which is all that drawing needs. Texts are lines of [`Run`]s, in which marks of the
//! form (`**bold**`, `<b>`, `//italic//`) have become properties (`marks`).

mod colours;
mod layout;
mod marks;
mod measure;
mod shapes;
mod svg;

pub use marks::{Line, Run, letters};
pub(crate) use marks::{creole, markdown, plain};
pub use svg::svg;

/// A diagram.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Picture {
    /// Its name in the file, or its number.
    pub name: String,
    /// Its title.
    pub title: Vec<Line>,
    /// Where edges lead.
    pub direction: Direction,
    /// Nodes, in the order of the file.
    pub nodes: Vec<PictureNode>,
    /// Edges, in the order of the file.
    pub edges: Vec<PictureEdge>,
    /// Partitions, swimlanes, subgraphs: each after the one that contains it.
    pub groups: Vec<PictureGroup>,
}

/// Where the edges of a diagram lead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// From top to bottom.
    #[default]
    Down,
    /// From bottom to top.
    Up,
    /// From left to right.
    Right,
    /// From right to left.
    Left,
}

/// A node, or a note.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureNode {
    /// Its text.
    pub text: Vec<Line>,
    /// Its form.
    pub shape: Shape,
    /// Colours that the author chose.
    pub colours: Colours,
    /// The innermost group that contains it.
    pub group: Option<usize>,
    /// For a note, the node that it is next to.
    pub about: Option<usize>,
}

/// The form of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A full circle: the begin.
    Initial,
    /// A full circle in a ring: the end.
    Final,
    /// A circle with a cross: the end of one path.
    FlowFinal,
    /// A box with round corners, as an action has.
    Rounded,
    /// A box.
    Rectangle,
    /// A box with half circles as sides.
    Stadium,
    /// A box with double sides.
    Subroutine,
    /// A cylinder.
    Cylinder,
    /// A circle around a text.
    Circle,
    /// Two circles around a text.
    DoubleCircle,
    /// A diamond: a decision or a merge.
    Diamond,
    /// A hexagon.
    Hexagon,
    /// A parallelogram that leans to the right.
    LeanRight,
    /// A parallelogram that leans to the left.
    LeanLeft,
    /// A trapezoid whose long side is below.
    Trapezoid,
    /// A trapezoid whose long side is above.
    TrapezoidTop,
    /// A box with a notch on its left.
    Flag,
    /// A sheet of paper.
    Document,
    /// A bar: a fork or a join.
    Bar,
    /// A text without a border.
    Text,
    /// A note.
    Note,
}

/// Colours as the author wrote them; an invalid colour leaves the choice to the drawing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Colours {
    /// Of the area.
    pub fill: Option<String>,
    /// Of the border, or the line.
    pub stroke: Option<String>,
    /// Of the text.
    pub text: Option<String>,
}

/// An edge.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureEdge {
    /// Its source.
    pub from: usize,
    /// Its target.
    pub to: usize,
    /// A group that is its source instead of the node.
    pub from_group: Option<usize>,
    /// A group that is its target instead of the node.
    pub to_group: Option<usize>,
    /// Its label, as written.
    pub label: Vec<Line>,
    /// How its line is drawn.
    pub stroke: Stroke,
    /// Whether it has a tip at its begin, and at its end.
    pub tips: [bool; 2],
    /// The colour of its line.
    pub colour: Option<String>,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// As usual.
    Solid,
    /// Dashed.
    Dashed,
    /// Thick.
    Thick,
    /// It is not drawn: it only orders its ends.
    Hidden,
}

/// A frame around nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureGroup {
    /// Its title.
    pub title: Vec<Line>,
    /// The group that contains it.
    pub parent: Option<usize>,
    /// Colours that the author chose.
    pub colours: Colours,
    /// Whether it is a swimlane: drawn next to the others, over the whole height.
    pub is_lane: bool,
}
