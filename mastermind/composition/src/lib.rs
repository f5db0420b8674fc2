//! Call graph, composite model, choice.
