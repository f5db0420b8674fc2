//! The wavefront of POEMS as a model.

/// The wavefront of POEMS section 2: eight octants, pairs of them from each corner.
pub fn sweep(px: u32, py: u32, k: u32, angles: u32, bytes: u32, block_ns: u32) -> String {
    format!(
        r#"
[model]
name = "sweep"
main = "Main"
[globals]
px = {px}
py = {py}
octant = 0
[activities.Main]
flow = [{{ loop = "octants", count = 8, variable = "i", body = [{{ action = "next", code = "octant = i" }}, {{ activity = "Octant" }}] }}]
[activities.Octant]
locals = {{ x = "process % px", y = "div(process, px)", dx = "octant < 4 ? 1 : -1", dy = "octant % 4 < 2 ? 1 : -1", west = "x - dx >= 0 && x - dx < px ? process - dx : none", north = "y - dy >= 0 && y - dy < py ? process - dy * px : none", east = "x + dx >= 0 && x + dx < px ? process + dx : none", south = "y + dy >= 0 && y + dy < py ? process + dy * px : none" }}
flow = [{{ loop = "blocks", count = "{k} * {angles}", body = [
    {{ recv = "west", from = "west" }},
    {{ recv = "north", from = "north" }},
    {{ action = "block", cost = "ns({block_ns})" }},
    {{ send = "east", to = "east", bytes = {bytes} }},
    {{ send = "south", to = "south", bytes = {bytes} }},
] }}]
"#
    )
}
