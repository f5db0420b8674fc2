//! The extension module exports only its own entry: with the entry of component libraries, which the crates below have,
//! a search of a folder for libraries would treat the module as one.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
}
