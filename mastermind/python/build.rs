//! The extension module exports its own entry only: the entry of component libraries, which the crates beneath have, would make
//! one of it for who looks through a folder of libraries.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
}
