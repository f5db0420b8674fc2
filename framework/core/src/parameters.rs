//! An instance's parameters, by name.

use cca_ports::{ParameterDescription, ParameterPort, ParameterValue, PortError};

use crate::error::FrameworkError;
use crate::framework::{Framework, interface_of};

/// A parameter of an instance.
#[derive(Clone, Debug)]
pub struct InstanceParameter {
    /// The parameter port it is behind.
    pub port: String,
    /// Title of that port's parameters; may be empty.
    pub title: String,
    /// Everything about it but its value.
    pub description: ParameterDescription,
    /// Its value now.
    pub value: ParameterValue,
}

impl Framework {
    /// All parameters of an instance.
    ///
    /// # Errors
    /// An unknown instance; a parameter port that fails.
    pub fn parameters(&self, instance: &str) -> Result<Vec<InstanceParameter>, FrameworkError> {
        let mut parameters = Vec::new();
        for port in self.parameter_ports(instance)? {
            let read = self.with_port::<dyn ParameterPort, _>(instance, &port, |set| {
                Ok((read_all(set)?, set.title()?))
            })?;
            let (read, title) = read.map_err(|source| FrameworkError::Port {
                act: format!("read parameters \"{instance}.{port}\""),
                source,
            })?;
            parameters.extend(
                read.into_iter()
                    .map(|(description, value)| InstanceParameter {
                        port: port.clone(),
                        title: title.to_string(),
                        description,
                        value,
                    }),
            );
        }
        Ok(parameters)
    }

    /// Sets a parameter. `key` is `KEY`, or `PORT.KEY` where an instance has several parameter ports.
    ///
    /// # Errors
    /// An unknown instance or parameter; a value that is not allowed. Nothing is then changed.
    pub fn set_parameter(
        &self,
        instance: &str,
        key: &str,
        value: &toml::Value,
    ) -> Result<(), FrameworkError> {
        let known = self.parameters(instance)?;
        let matches = |p: &&InstanceParameter| match key.split_once('.') {
            Some((port, key)) => p.port == port && p.description.key == key,
            None => p.description.key == key,
        };
        let refuse = |found: String, expected: String| FrameworkError::Parameter {
            instance: instance.into(),
            key: key.into(),
            found,
            expected,
        };
        let Some(parameter) = known.iter().find(matches) else {
            let names: Vec<_> = known
                .iter()
                .map(|p| p.description.key.to_string())
                .collect();
            return Err(refuse("unknown".into(), crate::error::names(&names)));
        };
        let value = match value {
            toml::Value::Boolean(value) => ParameterValue::Bool(*value),
            toml::Value::Integer(value) => ParameterValue::Integer(*value),
            toml::Value::Float(value) => ParameterValue::Real(*value),
            toml::Value::String(value) => ParameterValue::Text(value.as_str().into()),
            other => {
                let found = format!("a value of type {}", other.type_str());
                return Err(refuse(found, parameter.description.default.kind().into()));
            }
        };
        let name = parameter.description.key.clone();
        let set = self.with_port::<dyn ParameterPort, _>(instance, &parameter.port, |port| {
            port.set_value(name.as_str().into(), value)
        })?;
        set.map_err(|error| parameter_error(error, instance, key))
    }

    fn parameter_ports(&self, instance: &str) -> Result<Vec<String>, FrameworkError> {
        let interface = <dyn ParameterPort as cca_abi::Interface>::descriptor().name;
        let state = self.shared.lock();
        let ports = state.instance(instance)?.provides.iter();
        let ports = ports.filter(|(_, provides)| interface_of(&provides.port).name == interface);
        Ok(ports.map(|(name, _)| name.clone()).collect())
    }
}

pub(crate) fn read_all(
    port: &impl ParameterPort,
) -> Result<Vec<(ParameterDescription, ParameterValue)>, PortError> {
    let descriptions = port.descriptions()?;
    let with_value = |description: ParameterDescription| {
        let value = port.value(description.key.as_str().into())?;
        Ok((description, value))
    };
    descriptions.into_iter().map(with_value).collect()
}

/// The parameter set's error is `cannot set parameter "KEY": found, expected wanted`; the user knows the parameter by
/// its instance.
pub(crate) fn parameter_error(error: PortError, instance: &str, key: &str) -> FrameworkError {
    let parts = error.message().split_once("\": ").map(|(_, rest)| rest);
    match parts.and_then(|rest| rest.split_once(", expected ")) {
        Some((found, expected)) => FrameworkError::Parameter {
            instance: instance.into(),
            key: key.into(),
            found: found.into(),
            expected: expected.into(),
        },
        None => FrameworkError::Port {
            act: format!("set parameter \"{instance}.{key}\""),
            source: error,
        },
    }
}
