//! Replaces an instance by one of another class, while it is called.
//!
//! The new instance is made while the old one exists, under the same name and another number, with ports, parameters
//! and connections of its own; then, under the framework's lock, every slot that led to the old one is moved to the new
//! one and the name with it. The old one exists until no caller can be inside it, that is, until its users have
//! released its ports; then it is released and destroyed. Every step that can fail runs before the slots are moved, so
//! a replacement that fails leaves the old instance unchanged. `lead` makes the targets, with their proxies.
//!
//! ```text
//! replace_instance("flux", "hydro.EfmFlux"), while rhs calls flux:
//!
//! add_successor        a second entry "flux", which no port leads to
//! start_instance       the component registers its ports
//! succeed              values of parameters, connections, saved state from the old one
//! plan                 where each slot will lead, through a proxy where it is monitored; again if connections have changed
//! take_place           under the lock: rhs.flux ──► the new one, and the name; the call in flight ends on the old one
//! give_up_replaced     rhs has released its port: released, destroyed
//! ```
//!
//! # Decisions
//!
//! A swap is one store to each slot (`core/src/lead.rs`, `core/src/replace.rs`; for components the
//! port `cca.ReplacementService`). `reconnect` connects a uses port to another provider.
//! `replace_instance` makes the new instance while the old one exists, under the same name and
//! another number, with its ports, parameters and connections, and under the framework's lock moves
//! every slot and the name; the old one is released when only its entry keeps its ports. As long as
//! it may be called, its uses ports are moved with those of other instances. Connections and
//! parameters for which the new class has no port or key are kept with the entry, for a later class
//! that has them. Switching back and forth while a caller stays inside reuses the targets that are
//! kept already, so a million swaps keep no more targets than there are providers. A method is
//! registered once for each instance and class, so records name the class that ran; the logs have a
//! `Swap` for each instance that was added or changed its class.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;

use cca_abi::{Interface, RSlice, RawPort};
use cca_loader::Class;
use cca_ports::{
    ComponentId, CounterPort, ParameterPort, ParameterValue, PortConnection, STATELESS,
    StatefulComponentPort, TypeMap, WHOLE_STEPS,
};

use crate::connections::{ConnectionId, fits};
use crate::connector::Target;
use crate::error::FrameworkError;
use crate::framework::{Framework, call_provided, end_connection, interface_of, origin_of};
use crate::lead::{Change, Way};
use crate::monitor::{Monitoring, announce_instance};
use crate::parameters::{parameter_error, read_all};
use crate::state::{Connection, Entry, Provided, State, Uses};

/// Ports of an instance that can be called as long as this is kept, wherever the connections lead by
/// then.
#[derive(Clone)]
pub struct KeptWays {
    instance: String,
    ways: Vec<KeptWay>,
}

/// The target of one connection.
#[derive(Clone)]
struct KeptWay {
    used: User,
    target: Arc<Target>,
}

/// A user of an instance.
#[derive(Clone)]
struct User {
    /// Port of the instance that is used.
    provides: String,
    user: ComponentId,
    /// Port of the user.
    uses: String,
}

/// Former targets of connections that were led back: dropping it may run code of components, so it is dropped on the
/// thread that runs them.
#[must_use = "drop it where components may run"]
pub struct LedBack {
    _unreachable: Vec<Vec<Arc<Target>>>,
}

impl KeptWays {
    /// Provides port and its target, one for each connection that led to it.
    pub fn ports(&self) -> impl Iterator<Item = (&str, NonNull<RawPort>)> {
        let ways = self.ways.iter();
        ways.map(|way| (way.used.provides.as_str(), way.target.pair()))
    }
}

/// A uses port that leads to the old instance and is to lead to the new one.
struct Move {
    user: ComponentId,
    connection: ConnectionId,
    port: Arc<Provided>,
}

/// Changes that are made in the moment of the replacement.
struct Plan {
    moves: Vec<Move>,
    ways: Vec<Way>,
    monitoring: Option<Arc<Monitoring>>,
}

impl Framework {
    /// Replaces an instance by a new instance of a class of the framework's repository, while any number of threads
    /// call it: each thread's next call goes to the new one, a call in flight ends on the old one. The new one has the
    /// same name, connections and properties, the values of the parameters that both have, and the state that the old
    /// one saves (`cca.StatefulComponent`). Connections and values that it has no port or key for are kept for a later
    /// instance that has them. The old one is released and destroyed when no caller can be inside it any more.
    ///
    /// # Errors
    /// No such instance or class; an instance that is no component; a port that is connected and that the class lacks or
    /// has of another type; a uses port of the class that nothing provides; the class's own. The old instance then stays.
    pub fn replace_instance(&self, instance: &str, class: &str) -> Result<(), FrameworkError> {
        let (class, old, new) = self.add_successor(instance, class)?;
        let replaced = self
            .start_instance(&new, &class)
            .and_then(|()| self.succeed(&old, &new));
        if replaced.is_err() {
            self.give_up(&new);
        }
        self.give_up_replaced();
        replaced
    }

    /// Enters an instance that is to take another's place.
    fn add_successor(
        &self,
        instance: &str,
        class: &str,
    ) -> Result<(Class, ComponentId, ComponentId), FrameworkError> {
        let mut state = self.shared.lock();
        if state.is_shut_down {
            return Err(FrameworkError::ShutDown);
        }
        let found = state.repository.class(class).cloned();
        let class = found.ok_or_else(|| state.repository.unknown(instance, class))?;
        let old = state.id(instance);
        let entry = state.exactly(&old)?;
        refuse_unfit(instance, entry)?;
        let properties = entry.properties.clone();
        let serial = state.next_serial(instance);
        let entry = Entry::new(serial, origin_of(&class), properties);
        state.namesakes.insert(serial, entry);
        let name = instance.into();
        Ok((class, old, ComponentId { name, serial }))
    }

    fn succeed(&self, old: &ComponentId, new: &ComponentId) -> Result<(), FrameworkError> {
        self.hand_over_parameters(old, new)?;
        self.connect_as(old, new)?;
        self.hand_over_state(old, new)?;
        let moved_connections = {
            let state = self.shared.lock();
            let moves = moves(&state, old, new)?;
            let current = moves
                .iter()
                .filter(|to_move| state.exactly(&to_move.user).is_ok());
            current
                .map(|to_move| to_move.events(old, new))
                .collect::<Vec<_>>()
        };
        self.move_and_notify(&moved_connections, || {
            loop {
                let plan = self.plan(old, new)?;
                let mut state = self.shared.lock();
                if is_outdated(&state, &plan, old, new)? {
                    continue;
                }
                let unreachable = take_place(&mut state, plan, old, new)?;
                drop(state);
                drop(unreachable);
                return Ok(());
            }
        })?;
        self.announce(new);
        Ok(())
    }

    /// Copies the values of the parameters that both have, or that an earlier one had; the others are kept for later
    /// instances.
    fn hand_over_parameters(
        &self,
        old: &ComponentId,
        new: &ComponentId,
    ) -> Result<(), FrameworkError> {
        let mut values = {
            let state = self.shared.lock();
            state.exactly(old)?.left_behind.parameters.clone()
        };
        for (name, port) in self.parameter_ports_of(old)? {
            for (description, value) in self.read_parameters(old, &name, &port)? {
                values.insert((name.clone(), description.key.into()), value);
            }
        }
        for (name, port) in self.parameter_ports_of(new)? {
            for (description, _) in self.read_parameters(new, &name, &port)? {
                let key = (name.clone(), description.key.to_string());
                let Some(value) = values.remove(&key) else {
                    continue;
                };
                let set = call_provided::<dyn ParameterPort, _>(&port, &new.name, |port| {
                    port.set_value(key.1.as_str().into(), value)
                })?;
                set.map_err(|error| parameter_error(error, &new.name, &key.1))?;
            }
        }
        self.shared.lock().entry_mut(new)?.left_behind.parameters = values;
        Ok(())
    }

    /// Copies the state that the old one's `cca.StatefulComponent` saves, if both have that port.
    fn hand_over_state(&self, old: &ComponentId, new: &ComponentId) -> Result<(), FrameworkError> {
        type State = dyn StatefulComponentPort;
        let (from, to) = (self.ports_of::<State>(old)?, self.ports_of::<State>(new)?);
        let (Some((_, from)), Some((port, to))) = (from.first(), to.first()) else {
            return Ok(());
        };
        let failed = |act: &str, class: &ComponentId, source| FrameworkError::Port {
            act: format!("{act} state \"{}.{port}\"", class.name),
            source,
        };
        let saved = call_provided::<State, _>(from, &old.name, |port| port.save())?;
        let saved = saved.map_err(|error| failed("save", old, error))?;
        let restored = call_provided::<State, _>(to, &new.name, |port| {
            port.restore(RSlice::from_slice(&saved))
        })?;
        restored.map_err(|error| failed("restore", new, error))
    }

    /// The present targets of connections to an instance, with proxies if the connections are monitored. While they are
    /// kept the instance is not destroyed, even after another has replaced it.
    ///
    /// # Errors
    /// No such instance.
    pub fn keep_ways_to(&self, instance: &str) -> Result<KeptWays, FrameworkError> {
        let state = self.shared.lock();
        let mut ways = Vec::new();
        for used in users(&state, &state.id(instance))? {
            let User { user, uses, .. } = &used;
            let connector = &state.entry(user)?.uses_port(&user.name, uses)?.connector;
            ways.extend(connector.current().map(|target| KeptWay { used, target }));
        }
        let instance = instance.into();
        Ok(KeptWays { instance, ways })
    }

    /// Leads the connections to an instance that has been replaced back to the former one, from the next call on: one
    /// store each, from any thread, while calls are in flight. The new instance keeps its place until it is replaced
    /// while no call runs. A connection that leads elsewhere by now is left alone.
    pub fn lead_back(&self, ways: &KeptWays) -> LedBack {
        let mut state = self.shared.lock();
        let mut unreachable = Vec::new();
        for way in &ways.ways {
            let User {
                provides,
                user,
                uses,
            } = &way.used;
            let entry = state.entry_mut(user);
            let Ok(uses) = entry.and_then(|entry| entry.uses_port_mut(&user.name, uses)) else {
                continue;
            };
            let connection = uses.connection.as_ref();
            let is_there = |of: &Connection| of.provider == ways.instance && of.port == *provides;
            if connection.is_some_and(is_there) {
                unreachable.push(uses.connector.point_to(Some(Arc::clone(&way.target))));
            }
        }
        LedBack {
            _unreachable: unreachable,
        }
    }

    /// Whether an instance may be replaced between any two calls: it hands its state over (`cca.StatefulComponent`), or
    /// declares that the answers of all its ports, but those of parameters and counters, depend on no earlier call
    /// ([`STATELESS`]).
    ///
    /// # Errors
    /// No such instance.
    pub fn may_be_replaced(&self, instance: &str) -> Result<bool, FrameworkError> {
        let id = self.component_id(instance)?;
        Ok(!self.ports_of::<dyn StatefulComponentPort>(&id)?.is_empty()
            || self.is_stateless(instance)?)
    }

    /// Whether an instance declares that the answers of all its ports, but those of parameters and counters, depend on
    /// no earlier call.
    ///
    /// # Errors
    /// No such instance.
    pub fn is_stateless(&self, instance: &str) -> Result<bool, FrameworkError> {
        self.ports_are(instance, |properties| {
            properties.get(STATELESS, false).unwrap_or(false)
        })
    }

    /// Whether single calls of an instance may be answered by another class than the others of the same step: it is
    /// stateless, and no port declares that it answers whole steps ([`WHOLE_STEPS`]).
    ///
    /// # Errors
    /// No such instance.
    pub fn may_share_steps(&self, instance: &str) -> Result<bool, FrameworkError> {
        let is_whole = |properties: &TypeMap| properties.get(WHOLE_STEPS, false).unwrap_or(false);
        Ok(self.is_stateless(instance)?
            && self.ports_are(instance, |properties| !is_whole(properties))?)
    }

    /// Whether a predicate is true of the properties of all ports of an instance, but those of parameters and
    /// counters.
    fn ports_are(
        &self,
        instance: &str,
        is: impl Fn(&TypeMap) -> bool,
    ) -> Result<bool, FrameworkError> {
        let of_no_state = [
            <dyn ParameterPort as Interface>::descriptor().name,
            <dyn CounterPort as Interface>::descriptor().name,
        ];
        for port in self.instance(instance)?.provides {
            if of_no_state.contains(&port.interface.name) {
                continue;
            }
            let properties = self.port_properties(instance, &port.name)?;
            if !is(&properties) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn parameter_ports_of(
        &self,
        id: &ComponentId,
    ) -> Result<Vec<(String, Arc<Provided>)>, FrameworkError> {
        self.ports_of::<dyn ParameterPort>(id)
    }

    /// Provides ports of an interface.
    fn ports_of<P: Interface + ?Sized>(
        &self,
        id: &ComponentId,
    ) -> Result<Vec<(String, Arc<Provided>)>, FrameworkError> {
        let interface = P::descriptor().name;
        let state = self.shared.lock();
        let ports = state.entry(id)?.provides.iter();
        let ports = ports.filter(|(_, provides)| interface_of(&provides.port).name == interface);
        Ok(ports
            .map(|(name, provides)| (name.clone(), Arc::clone(&provides.port)))
            .collect())
    }

    fn read_parameters(
        &self,
        id: &ComponentId,
        name: &str,
        port: &Arc<Provided>,
    ) -> Result<Vec<(cca_ports::ParameterDescription, ParameterValue)>, FrameworkError> {
        let read = call_provided::<dyn ParameterPort, _>(port, &id.name, read_all)?;
        read.map_err(|source| FrameworkError::Port {
            act: format!("read parameters \"{}.{name}\"", id.name),
            source,
        })
    }

    /// Leads each uses port of the new instance to where the old one's of that name leads, or led for one before it, or to a
    /// service.
    fn connect_as(&self, old: &ComponentId, new: &ComponentId) -> Result<(), FrameworkError> {
        let uses: Vec<_> = {
            let state = self.shared.lock();
            state.entry(new)?.uses.keys().cloned().collect()
        };
        for uses in uses {
            let (is_known, found) = {
                let state = self.shared.lock();
                if state
                    .entry(new)?
                    .uses_port(&new.name, &uses)?
                    .connection
                    .is_some()
                {
                    // A service that the component has got already.
                    continue;
                }
                let before = state.exactly(old)?;
                let known = before.uses.get(&uses);
                let connection = known.and_then(|known| known.connection.as_ref());
                let found = match (connection, before.left_behind.connections.get(&uses)) {
                    (Some(found), _) => Some(destination(&state, new, &uses, found)?),
                    (None, Some(end)) if known.is_none() => left_behind(&state, new, &uses, end),
                    (None, _) => None,
                };
                (known.is_some(), found)
            };
            match found {
                Some((connection, port)) => {
                    self.lead(new, &connection, &port, Change::Connect)?;
                }
                None if self.connect_service(new, &uses)? || is_known => {}
                None => {
                    return Err(FrameworkError::NotConnected {
                        instance: new.name.to_string(),
                        port: uses,
                    });
                }
            }
        }
        let mut state = self.shared.lock();
        let mut left = state.exactly(old)?.left_behind.connections.clone();
        for (uses, port) in &state.exactly(old)?.uses {
            if let Some(found) = &port.connection {
                left.insert(uses.clone(), (found.provider.clone(), found.port.clone()));
            }
        }
        let entry = state.entry_mut(new)?;
        left.retain(|uses, _| !entry.uses.contains_key(uses));
        entry.left_behind.connections = left;
        Ok(())
    }

    /// Everything that can fail, or that runs a component's or the monitor's code.
    fn plan(&self, old: &ComponentId, new: &ComponentId) -> Result<Plan, FrameworkError> {
        let (moves, monitoring) = {
            let state = self.shared.lock();
            (moves(&state, old, new)?, state.monitoring.clone())
        };
        let ways = moves
            .iter()
            .map(|m| self.way_of(&m.user, &m.connection, &m.port, Change::Reconnect))
            .collect::<Result<_, _>>()?;
        Ok(Plan {
            moves,
            ways,
            monitoring,
        })
    }

    /// Reports to the monitor an instance that none of its connections may have reported.
    fn announce(&self, id: &ComponentId) {
        let (monitoring, origin, label) = {
            let state = self.shared.lock();
            let origin = state.entry(id).ok().map(|entry| Arc::clone(&entry.class));
            (state.monitoring.clone(), origin, state.label.clone())
        };
        if let (Some(monitoring), Some(origin)) = (monitoring, origin) {
            announce_instance(&monitoring.monitor, &format!("{label}{}", id.name), &origin);
        }
    }

    /// Releases and destroys every replaced instance that no caller can be inside any more.
    pub(crate) fn give_up_replaced(&self) {
        loop {
            let left = {
                let mut state = self.shared.lock();
                let is_left =
                    |entry: &&mut Entry| entry.is_replaced && !entry.is_ending && entry.is_left();
                let left = state.namesakes.values_mut().find(is_left);
                left.map(|entry| {
                    entry.is_ending = true;
                    entry.serial
                })
            };
            let Some(serial) = left else { return };
            let name = self.shared.lock().order.get(&serial).cloned();
            let name = name.unwrap_or_default().into();
            self.give_up(&ComponentId { name, serial });
        }
    }

    /// Releases and destroys an instance without connections to it.
    fn give_up(&self, id: &ComponentId) {
        self.say_goodbye(id);
        let unreachable: Vec<_> = {
            let mut state = self.shared.lock();
            let entry = state.entry_mut(id);
            let uses = entry.map(|entry| entry.uses.values_mut());
            uses.into_iter().flatten().map(end_connection).collect()
        };
        drop(unreachable);
        self.remove_entry(id);
    }
}

/// Only components can be replaced, and not while they are destroyed.
fn refuse_unfit(instance: &str, entry: &Entry) -> Result<(), FrameworkError> {
    let instance = || instance.to_string();
    if entry.is_ending {
        let instance = instance();
        return Err(FrameworkError::BeingDestroyed { instance });
    }
    if entry.component.is_none() {
        let instance = instance();
        return Err(FrameworkError::NotAComponent { instance });
    }
    Ok(())
}

/// Where a uses port of the new instance leads, given where the old one's led; to itself if that led to itself.
fn destination(
    state: &State,
    new: &ComponentId,
    uses: &str,
    old: &Connection,
) -> Result<(ConnectionId, Arc<Provided>), FrameworkError> {
    let connection = ConnectionId {
        user: new.name.to_string(),
        uses: uses.into(),
        provider: old.provider.clone(),
        provides: old.port.clone(),
    };
    let port = match old.provider == *new.name {
        true => Arc::clone(&state.entry(new)?.provides_port(&new.name, &old.port)?.port),
        false => Arc::clone(&old.provided),
    };
    Ok((connection, port))
}

/// Where a uses port led that one before the old instance had; `None` if that is not there any more.
fn left_behind(
    state: &State,
    new: &ComponentId,
    uses: &str,
    (provider, provides): &(String, String),
) -> Option<(ConnectionId, Arc<Provided>)> {
    let port = match *provider == *new.name {
        true => state.entry(new).ok()?.provides.get(provides)?,
        false => state.provides(provider, provides).ok()?,
    };
    let connection = ConnectionId {
        user: new.name.to_string(),
        uses: uses.into(),
        provider: provider.clone(),
        provides: provides.clone(),
    };
    Some((connection, Arc::clone(&port.port)))
}

/// The users of an instance, including replaced instances that may still be called: if the code of a class keeps its
/// ports in variables of the library, a later instance continues to call through the ports of an earlier one.
fn users(state: &State, of: &ComponentId) -> Result<Vec<User>, FrameworkError> {
    let mut users = Vec::new();
    let replaced = state.namesakes.values();
    let replaced = replaced.filter(|entry| entry.is_replaced && !entry.is_ending);
    let replaced: Vec<_> = replaced.collect();
    for (provides, port) in &state.exactly(of)?.provides {
        let user = |user: ComponentId, uses: &String| User {
            provides: provides.clone(),
            user,
            uses: uses.clone(),
        };
        let current = port.users.iter();
        users.extend(current.map(|(name, uses)| user(state.id(name), uses)));
        for entry in &replaced {
            let name = state.order.get(&entry.serial).cloned().unwrap_or_default();
            let leads_here = |uses: &Uses| {
                let connection = uses.connection.as_ref();
                connection.is_some_and(|c| Arc::ptr_eq(&c.provided, &port.port))
            };
            for (uses, _) in entry.uses.iter().filter(|(_, uses)| leads_here(uses)) {
                let id = ComponentId {
                    name: name.as_str().into(),
                    serial: entry.serial,
                };
                users.push(user(id, uses));
            }
        }
    }
    Ok(users)
}

/// The connections that lead to the old instance, all of which the new one must fit.
fn moves(state: &State, old: &ComponentId, new: &ComponentId) -> Result<Vec<Move>, FrameworkError> {
    let mut moves = Vec::new();
    let users = users(state, old)?.into_iter();
    for used in users.filter(|used| used.user.name != old.name) {
        let User {
            provides,
            user,
            uses,
        } = used;
        let port = &state.entry(new)?.provides_port(&new.name, &provides)?.port;
        let connection = ConnectionId {
            user: user.name.to_string(),
            uses,
            provider: new.name.to_string(),
            provides,
        };
        let uses = state
            .entry(&user)?
            .uses_port(&user.name, &connection.uses)?;
        fits(&connection, uses.interface, port)?;
        moves.push(Move {
            user,
            connection,
            port: Arc::clone(port),
        });
    }
    Ok(moves)
}

impl Move {
    /// The connection before and after.
    fn events(&self, old: &ComponentId, new: &ComponentId) -> (PortConnection, PortConnection) {
        let connection = |provider: &ComponentId| PortConnection {
            user: self.user.clone(),
            uses: self.connection.uses.as_str().into(),
            provider: provider.clone(),
            provides: self.connection.provides.as_str().into(),
        };
        (connection(old), connection(new))
    }

    fn ends(&self) -> (&ComponentId, &ConnectionId) {
        (&self.user, &self.connection)
    }
}

/// Whether connections came or went, or monitoring began, since the plan was made.
///
/// # Errors
/// The old instance is gone, or is being destroyed.
fn is_outdated(
    state: &State,
    plan: &Plan,
    old: &ComponentId,
    new: &ComponentId,
) -> Result<bool, FrameworkError> {
    if state.is_shut_down {
        return Err(FrameworkError::ShutDown);
    }
    refuse_unfit(&old.name, state.exactly(old)?)?;
    let now = moves(state, old, new)?;
    let same_moves = now
        .iter()
        .map(Move::ends)
        .eq(plan.moves.iter().map(Move::ends));
    let monitoring = |monitoring: &Option<Arc<Monitoring>>| monitoring.as_ref().map(Arc::as_ptr);
    Ok(!same_moves || monitoring(&plan.monitoring) != monitoring(&state.monitoring))
}

/// Moves every slot and the name. Nothing here fails once the plan is up to date.
///
/// # Returns
/// Targets that may be dropped without the lock.
fn take_place(
    state: &mut State,
    plan: Plan,
    old: &ComponentId,
    new: &ComponentId,
) -> Result<impl Sized + use<>, FrameworkError> {
    let mut unreachable = Vec::new();
    for (to_move, way) in plan.moves.iter().zip(plan.ways) {
        let ConnectionId { user, uses, .. } = &to_move.connection;
        let is_current = state.exactly(&to_move.user).is_ok();
        let entry = state.entry_mut(&to_move.user)?;
        let uses_port = entry.uses_port_mut(user, uses)?;
        let before = uses_port.connection.as_mut().map(|connection| {
            let provided = Arc::clone(&to_move.port);
            let provided = std::mem::replace(&mut connection.provided, provided);
            (
                provided,
                std::mem::replace(&mut connection.monitor, way.monitor),
            )
        });
        unreachable.push((before, uses_port.connector.point_to(Some(way.target))));
        let provides = &to_move.connection.provides;
        let port = state.entry_mut(new)?.provides.get_mut(provides);
        if let Some(port) = port.filter(|_| is_current) {
            port.users.insert((user.clone(), uses.clone()));
        }
    }
    take_name(state, old, new)?;
    Ok(unreachable)
}

fn take_name(
    state: &mut State,
    old: &ComponentId,
    new: &ComponentId,
) -> Result<(), FrameworkError> {
    state.exactly(old)?;
    let Some(successor) = state.namesakes.remove(&new.serial) else {
        // Fails, because it is gone.
        return state.entry(new).map(drop);
    };
    state.unserved.insert(new.name.to_string());
    let replaced = state.instances.insert(new.name.to_string(), successor);
    if let Some(mut replaced) = replaced {
        replaced.is_replaced = true;
        replaced.provides.values_mut().for_each(|p| p.users.clear());
        note_user(state, &old.name, &replaced.uses, false);
        state.namesakes.insert(old.serial, replaced);
    }
    // Taken out for a moment, since it may use ports of its own.
    let uses = std::mem::take(&mut state.instance_mut(&new.name)?.uses);
    note_user(state, &new.name, &uses, true);
    state.instance_mut(&new.name)?.uses = uses;
    Ok(())
}

/// Notes at the providers' ports that an instance uses them, or does so no longer.
fn note_user(state: &mut State, instance: &str, uses: &BTreeMap<String, Uses>, is_user: bool) {
    for (name, port) in uses {
        let connection = port.connection.as_ref();
        let Some(users) = connection.and_then(|connection| state.users_mut(connection)) else {
            continue;
        };
        let end = (instance.to_string(), name.clone());
        if is_user {
            users.insert(end);
        } else {
            users.remove(&end);
        }
    }
}
