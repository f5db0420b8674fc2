//! `mastermind redirect` communicates with the process that it asks for, and with no other that took its name.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Command, Stdio};

use mastermind_component::control_name;
use mastermind_tests::Scratch;

/// The imposter never accepts and never answers.
#[test]
fn who_took_the_name_of_another_process_is_not_believed() {
    let mut other = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("a program");
    let name = SocketAddr::from_abstract_name(control_name(other.id())).expect("a name");
    let _imposter = UnixListener::bind_addr(&name).expect("the name is free");
    let scratch = Scratch::new();
    let library = scratch.write("libx.so", "");
    let asked = format!("x={}", library.display());
    let error = scratch
        .mastermind(&["redirect", &other.id().to_string(), &asked])
        .error();
    let own = std::process::id();
    assert!(
        error.contains(&format!("process {own} has taken its name")),
        "{error}"
    );
    drop(other.stdin.take());
    other.wait().expect("a program");
}
