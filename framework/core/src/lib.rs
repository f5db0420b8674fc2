//! Framework, connections and assemblies.
