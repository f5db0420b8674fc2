//! Notifies listeners of connections that are made and ended.

use std::sync::Arc;

use cca_abi::OwnedPort;
use cca_ports::{
    ConnectionEvent, ConnectionEventKind, ConnectionEventListenerPort, PortConnection,
};

use crate::connections::ConnectionId;
use crate::error::FrameworkError;
use crate::framework::{Framework, call_provided};
use crate::state::{FRAMEWORK, Provided, State};

/// A listening port.
pub struct Listener {
    id: u64,
    kind: ConnectionEventKind,
    port: Arc<Provided>,
}

impl Framework {
    /// Adds a listener, a port of interface `cca.ConnectionEventListener`.
    ///
    /// # Returns
    /// The number that removes it.
    ///
    /// # Errors
    /// It is of another interface.
    pub fn add_connection_event_listener(
        &self,
        kind: ConnectionEventKind,
        listener: OwnedPort,
    ) -> Result<u64, FrameworkError> {
        let port = Provided::own(listener);
        // Nothing is called; only whether it could be is found out.
        call_provided::<dyn ConnectionEventListenerPort, _>(&port, FRAMEWORK, |_| ())?;
        let mut state = self.shared.lock();
        state.serial += 1;
        let id = state.serial;
        state.listeners.push(Listener { id, kind, port });
        Ok(id)
    }

    /// Removes a listener. An event in flight may still reach it.
    ///
    /// # Errors
    /// There is no such listener.
    pub fn remove_connection_event_listener(&self, listener: u64) -> Result<(), FrameworkError> {
        let mut state = self.shared.lock();
        let at = state.listeners.iter().position(|l| l.id == listener);
        let at = at.ok_or(FrameworkError::UnknownListener { listener })?;
        let removed = state.listeners.remove(at);
        drop(state);
        drop(removed);
        Ok(())
    }

    /// Changes a connection, and notifies the listeners before and after.
    pub(crate) fn change_and_notify(
        &self,
        connection: &ConnectionId,
        before: ConnectionEventKind,
        after: ConnectionEventKind,
        change: impl FnOnce() -> Result<(), FrameworkError>,
    ) -> Result<(), FrameworkError> {
        let connection = port_connection(&self.shared.lock(), connection);
        self.notify(before, &connection, None);
        let changed = change();
        match &changed {
            Ok(()) => self.notify(after, &connection, None),
            Err(error) => self.notify(ConnectionEventKind::Error, &connection, Some(error)),
        }
        changed
    }

    /// Moves connections from one provider to another, and notifies the listeners before and after.
    ///
    /// # Arguments
    /// * `moves` - each connection before and after
    pub(crate) fn move_and_notify(
        &self,
        moves: &[(PortConnection, PortConnection)],
        change: impl FnOnce() -> Result<(), FrameworkError>,
    ) -> Result<(), FrameworkError> {
        use ConnectionEventKind::{
            ConnectPending, Connected, DisconnectPending, Disconnected, Error,
        };
        for (before, after) in moves {
            self.notify(DisconnectPending, before, None);
            self.notify(ConnectPending, after, None);
        }
        let changed = change();
        for (before, after) in moves {
            match &changed {
                Ok(()) => {
                    self.notify(Disconnected, before, None);
                    self.notify(Connected, after, None);
                }
                Err(error) => self.notify(Error, after, Some(error)),
            }
        }
        changed
    }

    fn notify(
        &self,
        kind: ConnectionEventKind,
        connection: &PortConnection,
        error: Option<&FrameworkError>,
    ) {
        let listeners: Vec<_> = {
            let state = self.shared.lock();
            let wanted = |l: &&Listener| l.kind == kind || l.kind == ConnectionEventKind::All;
            let listeners = state.listeners.iter().filter(wanted);
            listeners.map(|l| Arc::clone(&l.port)).collect()
        };
        for listener in listeners {
            let event = ConnectionEvent {
                kind,
                connection: connection.clone(),
                message: error.map_or_else(String::new, ToString::to_string).into(),
            };
            // A listener cannot veto an event.
            let _ =
                call_provided::<dyn ConnectionEventListenerPort, _>(&listener, FRAMEWORK, |port| {
                    port.connection_activity(event)
                });
        }
    }
}

/// A connection as it crosses the border.
pub fn port_connection(state: &State, connection: &ConnectionId) -> PortConnection {
    PortConnection {
        user: state.id(&connection.user),
        uses: connection.uses.as_str().into(),
        provider: state.id(&connection.provider),
        provides: connection.provides.as_str().into(),
    }
}
