// CCA in C++ (C++17): classes as gov.cca has them, over cca.h and cca_framework.h. Errors are exceptions, ports and type maps give
// themselves back.
//
//     class Driver final : public gov::cca::Component, public gov::cca::ports::GoPort {
//       public:
//         void setServices(const gov::cca::Services &services) override {
//             services.addGoPort(*this, "go");
//             services.registerBuilderPort("builder");
//             services_ = services;
//         }
//         int go() override {
//             auto builder = services_.getBuilderService("builder");
//             auto id = builder.createInstance("s", "StarterComponent");
//             return 0;
//         }
//       private:
//         gov::cca::Services services_;
//     };
//     CCA_LIBRARY(CCA_CLASS(Driver, "demo.Driver", "1.0", "What it is."))
#ifndef CCA_HPP
#define CCA_HPP

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cca_framework.h"

namespace gov {
namespace cca {

// gov.cca.CCAException, with the status of cca.h as its type.
class CCAException : public std::runtime_error {
  public:
    CCAException(int32_t type, const std::string &note) : std::runtime_error(note), type_(type) {}
    int32_t getCCAExceptionType() const { return type_; }

  private:
    int32_t type_;
};

inline cca_text lend(std::string_view text) { return { text.data(), text.size() }; }

inline std::string owned(cca_text text) { return std::string(text.data == nullptr ? "" : text.data, text.length); }

inline void check(int32_t status, const cca_error &error) {
    if (status != CCA_OK) throw CCAException(status, std::string(error.text, error.length));
}

class AbstractFramework;
class Services;

// A port of an object that lives as long as any holder of the port. Its table and the description of its interface live
// as long as the process.
template <typename Object>
cca_owned_port owned_port(std::shared_ptr<Object> object, const cca_vtable_header &header, const cca_interface &interface_description) {
    using Kept = std::shared_ptr<Object>;
    const auto release = [](const void *kept) { delete static_cast<const Kept *>(kept); };
    return { { new Kept(std::move(object)), &header }, release, &interface_description };
}

// The object of such a port.
template <typename Object>
Object &object_of(const void *port) {
    return **static_cast<const std::shared_ptr<Object> *>(port);
}

// A port that was got; it is released with the last copy.
template <typename Table>
class PortRef {
  public:
    PortRef() = default;

    // Calls a function of the provider that is connected at this moment.
    template <typename... Parameters, typename... Arguments>
    void call(int32_t (*Table::*function)(const void *, Parameters...), Arguments... arguments) const {
        const cca_port port = target_();
        const Table *table = reinterpret_cast<const Table *>(port.vtable);
        cca_error error{};
        check((table->*function)(port.object, arguments..., &error), error);
    }

    // The same of a function with a result.
    template <typename Result, typename... Parameters, typename... Arguments>
    Result ask(int32_t (*Table::*function)(const void *, Parameters...), Arguments... arguments) const {
        Result result{};
        call(function, arguments..., &result);
        return result;
    }

    explicit operator bool() const { return static_cast<bool>(target_); }

    // A port passed by the framework, to be released by its last user.
    static PortRef of(const cca_owned_port &given) {
        PortRef port;
        port.target_ = [given] { return given.port; };
        port.keeper_ = std::shared_ptr<void>(nullptr, [given](void *) {
            if (given.release != nullptr) given.release(given.port.object);
        });
        return port;
    }

  private:
    friend class Services;
    std::function<cca_port()> target_;
    std::shared_ptr<void> keeper_;
};

using FrameworkRef = PortRef<cca_framework>;

// gov.cca.TypeMap: a value is read as the type it was put as. Copies are the same map; cloneTypeMap makes another.
class TypeMap {
  public:
    explicit TypeMap(const FrameworkRef &framework)
        : TypeMap(framework, framework.ask<uint64_t>(&cca_framework::create_map)) {}

    TypeMap(const FrameworkRef &framework, uint64_t number)
        : framework_(framework), map_(new uint64_t(number), [framework](uint64_t *map) {
              try {
                  framework.call(&cca_framework::free_map, *map);
              } catch (const CCAException &) {
                  // The framework is gone, and the map with it.
              }
              delete map;
          }) {}

    uint64_t number() const { return *map_; }

    TypeMap cloneTypeMap() const {
        return { framework_, framework_.ask<uint64_t>(&cca_framework::clone_map, number()) };
    }
    TypeMap cloneEmpty() const { return TypeMap(framework_); }

    int32_t getInt(const std::string &key, int32_t otherwise) const {
        return is(key, CCA_TYPE_INT) ? static_cast<int32_t>(value(key).integer) : otherwise;
    }
    int64_t getLong(const std::string &key, int64_t otherwise) const {
        return is(key, CCA_TYPE_LONG) ? value(key).integer : otherwise;
    }
    float getFloat(const std::string &key, float otherwise) const {
        return is(key, CCA_TYPE_FLOAT) ? static_cast<float>(value(key).real) : otherwise;
    }
    double getDouble(const std::string &key, double otherwise) const {
        return is(key, CCA_TYPE_DOUBLE) ? value(key).real : otherwise;
    }
    bool getBool(const std::string &key, bool otherwise) const {
        return is(key, CCA_TYPE_BOOL) ? value(key).integer != 0 : otherwise;
    }
    std::string getString(const std::string &key, const std::string &otherwise) const {
        return is(key, CCA_TYPE_STRING) ? owned(value(key).text) : otherwise;
    }
    std::complex<float> getFcomplex(const std::string &key, std::complex<float> otherwise) const {
        return is(key, CCA_TYPE_FCOMPLEX) ? complexes<float>(key)[0] : otherwise;
    }
    std::complex<double> getDcomplex(const std::string &key, std::complex<double> otherwise) const {
        return is(key, CCA_TYPE_DCOMPLEX) ? complexes<double>(key)[0] : otherwise;
    }
    std::vector<int32_t> getIntArray(const std::string &key, const std::vector<int32_t> &otherwise) const {
        return is(key, CCA_TYPE_INT_ARRAY) ? integers<int32_t>(key) : otherwise;
    }
    std::vector<int64_t> getLongArray(const std::string &key, const std::vector<int64_t> &otherwise) const {
        return is(key, CCA_TYPE_LONG_ARRAY) ? integers<int64_t>(key) : otherwise;
    }
    std::vector<bool> getBoolArray(const std::string &key, const std::vector<bool> &otherwise) const {
        return is(key, CCA_TYPE_BOOL_ARRAY) ? integers<bool>(key) : otherwise;
    }
    std::vector<float> getFloatArray(const std::string &key, const std::vector<float> &otherwise) const {
        if (!is(key, CCA_TYPE_FLOAT_ARRAY)) return otherwise;
        const std::vector<double> found = reals(key);
        return std::vector<float>(found.begin(), found.end());
    }
    std::vector<double> getDoubleArray(const std::string &key, const std::vector<double> &otherwise) const {
        return is(key, CCA_TYPE_DOUBLE_ARRAY) ? reals(key) : otherwise;
    }
    std::vector<std::complex<float>> getFcomplexArray(const std::string &key,
                                                      const std::vector<std::complex<float>> &otherwise) const {
        return is(key, CCA_TYPE_FCOMPLEX_ARRAY) ? complexes<float>(key) : otherwise;
    }
    std::vector<std::complex<double>> getDcomplexArray(const std::string &key,
                                                       const std::vector<std::complex<double>> &otherwise) const {
        return is(key, CCA_TYPE_DCOMPLEX_ARRAY) ? complexes<double>(key) : otherwise;
    }
    std::vector<std::string> getStringArray(const std::string &key, const std::vector<std::string> &otherwise) const {
        if (!is(key, CCA_TYPE_STRING_ARRAY)) return otherwise;
        std::vector<std::string> found(length(key));
        for (size_t i = 0; i < found.size(); ++i)
            found[i] = owned(framework_.ask<cca_text>(&cca_framework::property_text, number(), lend(key), i));
        return found;
    }

    void putInt(const std::string &key, int32_t number) { put(key, CCA_TYPE_INT, { CCA_INTEGER, number, 0.0, {} }); }
    void putLong(const std::string &key, int64_t number) { put(key, CCA_TYPE_LONG, { CCA_INTEGER, number, 0.0, {} }); }
    void putFloat(const std::string &key, float number) { put(key, CCA_TYPE_FLOAT, { CCA_REAL, 0, number, {} }); }
    void putDouble(const std::string &key, double number) { put(key, CCA_TYPE_DOUBLE, { CCA_REAL, 0, number, {} }); }
    void putBool(const std::string &key, bool truth) { put(key, CCA_TYPE_BOOL, { CCA_BOOL, truth, 0.0, {} }); }
    void putString(const std::string &key, const std::string &text) {
        put(key, CCA_TYPE_STRING, { CCA_STRING, 0, 0.0, lend(text) });
    }
    void putFcomplex(const std::string &key, std::complex<float> z) {
        putReals(key, CCA_TYPE_FCOMPLEX, { z.real(), z.imag() });
    }
    void putDcomplex(const std::string &key, std::complex<double> z) {
        putReals(key, CCA_TYPE_DCOMPLEX, { z.real(), z.imag() });
    }
    void putIntArray(const std::string &key, const std::vector<int32_t> &values) {
        putIntegers(key, CCA_TYPE_INT_ARRAY, { values.begin(), values.end() });
    }
    void putLongArray(const std::string &key, const std::vector<int64_t> &values) {
        putIntegers(key, CCA_TYPE_LONG_ARRAY, values);
    }
    void putBoolArray(const std::string &key, const std::vector<bool> &values) {
        putIntegers(key, CCA_TYPE_BOOL_ARRAY, { values.begin(), values.end() });
    }
    void putFloatArray(const std::string &key, const std::vector<float> &values) {
        putReals(key, CCA_TYPE_FLOAT_ARRAY, { values.begin(), values.end() });
    }
    void putDoubleArray(const std::string &key, const std::vector<double> &values) {
        putReals(key, CCA_TYPE_DOUBLE_ARRAY, values);
    }
    void putFcomplexArray(const std::string &key, const std::vector<std::complex<float>> &values) {
        putReals(key, CCA_TYPE_FCOMPLEX_ARRAY, parts(values));
    }
    void putDcomplexArray(const std::string &key, const std::vector<std::complex<double>> &values) {
        putReals(key, CCA_TYPE_DCOMPLEX_ARRAY, parts(values));
    }
    void putStringArray(const std::string &key, const std::vector<std::string> &values) {
        std::vector<cca_text> texts;
        for (const std::string &value : values) texts.push_back(lend(value));
        framework_.call(&cca_framework::put_texts, number(), lend(key), cca_texts{ texts.data(), texts.size() });
    }

    void remove(const std::string &key) { framework_.call(&cca_framework::remove_property, number(), lend(key)); }
    bool hasKey(const std::string &key) const { return typeOf(key) != CCA_TYPE_NONE; }
    uint32_t typeOf(const std::string &key) const {
        return framework_.ask<uint32_t>(&cca_framework::property_type, number(), lend(key));
    }
    std::vector<std::string> getAllKeys(uint32_t type = CCA_TYPE_NONE) const {
        std::vector<std::string> keys;
        for (size_t i = 0;; ++i) {
            const cca_text key = framework_.ask<cca_text>(&cca_framework::property_key, number(), type, i);
            if (key.length == 0) return keys;
            keys.push_back(owned(key));
        }
    }

  private:
    // Whether a property is there; of another type it is an error, gov.cca.TypeMismatchException.
    bool is(const std::string &key, uint32_t type) const {
        const uint32_t found = typeOf(key);
        if (found != CCA_TYPE_NONE && found != type)
            throw CCAException(CCA_BAD_PROPERTIES, "cannot use property \"" + key + "\": type " + std::to_string(found) +
                                                       ", expected " + std::to_string(type));
        return found == type;
    }
    cca_value value(const std::string &key) const {
        return framework_.ask<cca_value>(&cca_framework::property, number(), lend(key));
    }
    size_t length(const std::string &key) const {
        return framework_.ask<size_t>(&cca_framework::property_length, number(), lend(key));
    }
    template <typename Number>
    std::vector<Number> integers(const std::string &key) const {
        std::vector<int64_t> found(length(key));
        framework_.call(&cca_framework::property_integers, number(), lend(key), cca_integers_mut{ found.data(), found.size() });
        std::vector<Number> numbers;
        for (int64_t one : found) numbers.push_back(static_cast<Number>(one));
        return numbers;
    }
    std::vector<double> reals(const std::string &key) const {
        std::vector<double> found(length(key));
        framework_.call(&cca_framework::property_reals, number(), lend(key), cca_doubles_mut{ found.data(), found.size() });
        return found;
    }
    template <typename Real>
    std::vector<std::complex<Real>> complexes(const std::string &key) const {
        const std::vector<double> found = reals(key);
        std::vector<std::complex<Real>> numbers;
        for (size_t i = 0; i + 1 < found.size(); i += 2)
            numbers.emplace_back(static_cast<Real>(found[i]), static_cast<Real>(found[i + 1]));
        return numbers;
    }
    template <typename Real>
    static std::vector<double> parts(const std::vector<std::complex<Real>> &values) {
        std::vector<double> numbers;
        for (const std::complex<Real> &z : values) {
            numbers.push_back(z.real());
            numbers.push_back(z.imag());
        }
        return numbers;
    }
    void put(const std::string &key, uint32_t type, cca_value value) {
        framework_.call(&cca_framework::put_property, number(), lend(key), type, value);
    }
    void putIntegers(const std::string &key, uint32_t type, const std::vector<int64_t> &values) {
        framework_.call(&cca_framework::put_integers, number(), lend(key), type, cca_integers{ values.data(), values.size() });
    }
    void putReals(const std::string &key, uint32_t type, const std::vector<double> &values) {
        framework_.call(&cca_framework::put_reals, number(), lend(key), type, cca_doubles{ values.data(), values.size() });
    }

    FrameworkRef framework_;
    std::shared_ptr<uint64_t> map_;
};

// gov.cca.ComponentID.
class ComponentID {
  public:
    ComponentID() = default;
    ComponentID(const FrameworkRef &framework, uint64_t number) : framework_(framework), number_(number) {}
    std::string getInstanceName() const {
        return owned(framework_.ask<cca_text>(&cca_framework::component_name, number_));
    }
    std::string getSerialization() const {
        return owned(framework_.ask<cca_text>(&cca_framework::serialization, number_));
    }
    uint64_t number() const { return number_; }
    bool operator==(const ComponentID &other) const { return number_ == other.number_; }
    bool operator!=(const ComponentID &other) const { return number_ != other.number_; }

  private:
    FrameworkRef framework_;
    uint64_t number_ = 0;
};

// gov.cca.ConnectionID.
class ConnectionID {
  public:
    ConnectionID() = default;
    ConnectionID(ComponentID user, std::string uses, ComponentID provider, std::string provides)
        : user_(std::move(user)), provider_(std::move(provider)), uses_(std::move(uses)), provides_(std::move(provides)) {}
    const ComponentID &getUser() const { return user_; }
    const ComponentID &getProvider() const { return provider_; }
    const std::string &getUserPortName() const { return uses_; }
    const std::string &getProviderPortName() const { return provides_; }

  private:
    ComponentID user_, provider_;
    std::string uses_, provides_;
};

namespace ports {

// gov.cca.ports.GoPort. A result other than 0 and an exception are failures.
class GoPort {
  public:
    virtual ~GoPort() = default;
    virtual int go() = 0;
};

// gov.cca.ports.ConnectionEvent.
struct ConnectionEvent {
    int32_t type; // CCA_EVENT_…
    ComponentID user;
    std::string userPortName;
    uint64_t provider; // 0 for the framework itself
    std::string providerPortName;
    std::string message;
};

using ConnectionEventListener = std::function<void(const ConnectionEvent &)>;

// gov.cca.ports.BuilderService.
class BuilderService {
  public:
    explicit BuilderService(const FrameworkRef &framework) : framework_(framework) {}

    ComponentID createInstance(const std::string &name, const std::string &className) const {
        return made(framework_.ask<uint64_t>(&cca_framework::create_instance, lend(name), lend(className), uint64_t(0)));
    }
    ComponentID createInstance(const std::string &name, const std::string &className, const TypeMap &properties) const {
        return made(
            framework_.ask<uint64_t>(&cca_framework::create_instance, lend(name), lend(className), properties.number()));
    }
    std::vector<ComponentID> getComponentIDs() const {
        std::vector<ComponentID> found;
        for (size_t i = 0;; ++i) {
            const uint64_t number = framework_.ask<uint64_t>(&cca_framework::component_at, i);
            if (number == 0) return found;
            found.push_back(made(number));
        }
    }
    ComponentID getComponentID(const std::string &name) const {
        return made(framework_.ask<uint64_t>(&cca_framework::component, lend(name)));
    }
    ComponentID getDeserialization(const std::string &text) const {
        return made(framework_.ask<uint64_t>(&cca_framework::deserialization, lend(text)));
    }
    TypeMap getComponentProperties(const ComponentID &component) const {
        return { framework_, framework_.ask<uint64_t>(&cca_framework::component_properties, component.number()) };
    }
    void setComponentProperties(const ComponentID &component, const TypeMap &properties) const {
        framework_.call(&cca_framework::set_component_properties, component.number(), properties.number());
    }
    void destroyInstance(const ComponentID &component, double timeout) const {
        framework_.call(&cca_framework::destroy_instance, component.number(), timeout);
    }
    std::vector<std::string> getProvidedPortNames(const ComponentID &component) const {
        return names(&cca_framework::provided_port, component);
    }
    std::vector<std::string> getUsedPortNames(const ComponentID &component) const {
        return names(&cca_framework::used_port, component);
    }
    TypeMap getPortProperties(const ComponentID &component, const std::string &port) const {
        return { framework_, framework_.ask<uint64_t>(&cca_framework::port_properties, component.number(), lend(port)) };
    }
    void setPortProperties(const ComponentID &component, const std::string &port, const TypeMap &properties) const {
        framework_.call(&cca_framework::set_port_properties, component.number(), lend(port), properties.number());
    }
    ConnectionID connect(const ComponentID &user, const std::string &uses, const ComponentID &provider,
                         const std::string &provides) const {
        framework_.call(&cca_framework::connect, user.number(), lend(uses), provider.number(), lend(provides));
        return { user, uses, provider, provides };
    }
    std::vector<ConnectionID> getConnectionIDs(const std::vector<ComponentID> &components = {}) const {
        std::vector<ConnectionID> found;
        if (components.empty()) add_connections(found, 0);
        for (const ComponentID &component : components) add_connections(found, component.number());
        return found;
    }
    TypeMap getConnectionProperties(const ConnectionID &connection) const {
        return { framework_, framework_.ask<uint64_t>(&cca_framework::connection_properties, connection.getUser().number(),
                                                      lend(connection.getUserPortName())) };
    }
    void setConnectionProperties(const ConnectionID &connection, const TypeMap &properties) const {
        framework_.call(&cca_framework::set_connection_properties, connection.getUser().number(),
                        lend(connection.getUserPortName()), properties.number());
    }
    void disconnect(const ConnectionID &connection, double timeout) const {
        framework_.call(&cca_framework::disconnect, connection.getUser().number(), lend(connection.getUserPortName()),
                        timeout);
    }
    void disconnectAll(const ComponentID &first, const ComponentID &second, double timeout) const {
        framework_.call(&cca_framework::disconnect_all, first.number(), second.number(), timeout);
    }

    // gov.cca.ports.ComponentRepository, with Ccaffeine's additions.
    std::vector<std::string> getAvailableComponentClasses() const {
        std::vector<std::string> found;
        for (size_t i = 0;; ++i) {
            const cca_text name = framework_.ask<cca_text>(&cca_framework::class_at, i);
            if (name.length == 0) return found;
            found.push_back(owned(name));
        }
    }
    void appendRepositoryPath(const std::string &path) const {
        framework_.call(&cca_framework::append_repository_path, lend(path));
    }

    // gov.cca.ports.ConnectionEventService. The listener is kept until it is removed.
    uint64_t addConnectionEventListener(int32_t type, ConnectionEventListener listener) const;
    void removeConnectionEventListener(uint64_t listener) const {
        framework_.call(&cca_framework::remove_listener, listener);
    }

    // Parameters of a component, KEY or PORT.KEY.
    void setParameter(const ComponentID &component, const std::string &key, double value) const {
        set(component, key, { CCA_REAL, 0, value, {} });
    }
    void setParameter(const ComponentID &component, const std::string &key, int64_t value) const {
        set(component, key, { CCA_INTEGER, value, 0.0, {} });
    }
    void setParameter(const ComponentID &component, const std::string &key, int value) const {
        setParameter(component, key, static_cast<int64_t>(value));
    }
    void setParameter(const ComponentID &component, const std::string &key, bool value) const {
        set(component, key, { CCA_BOOL, value, 0.0, {} });
    }
    void setParameter(const ComponentID &component, const std::string &key, const std::string &value) const {
        set(component, key, { CCA_STRING, 0, 0.0, lend(value) });
    }
    cca_value getParameter(const ComponentID &component, const std::string &port, const std::string &key) const {
        return framework_.ask<cca_value>(&cca_framework::parameter, component.number(), lend(port), lend(key));
    }

    TypeMap createTypeMap() const { return TypeMap(framework_); }

  private:
    ComponentID made(uint64_t number) const { return { framework_, number }; }

    std::vector<std::string> names(int32_t (*cca_framework::*function)(const void *, uint64_t, size_t, cca_text *, cca_error *),
                                   const ComponentID &component) const {
        std::vector<std::string> found;
        for (size_t i = 0;; ++i) {
            const cca_text name = framework_.ask<cca_text>(function, component.number(), i);
            if (name.length == 0) return found;
            found.push_back(owned(name));
        }
    }

    void add_connections(std::vector<ConnectionID> &found, uint64_t component) const {
        for (size_t i = 0;; ++i) {
            const uint64_t user = framework_.ask<uint64_t>(&cca_framework::connection_user, component, i);
            if (user == 0) return;
            const std::string uses = owned(framework_.ask<cca_text>(&cca_framework::connection_uses, component, i));
            const uint64_t provider = framework_.ask<uint64_t>(&cca_framework::connection_provider, user, lend(uses));
            const std::string provides = owned(framework_.ask<cca_text>(&cca_framework::connection_provides, user, lend(uses)));
            found.emplace_back(made(user), uses, made(provider), provides);
        }
    }

    void set(const ComponentID &component, const std::string &key, cca_value value) const {
        framework_.call(&cca_framework::set_parameter, component.number(), lend(key), value);
    }

    FrameworkRef framework_;
};

// gov.cca.ports.ServiceProvider: makes a port for each requesting uses port, by owned_port() or
// goPort().
class ServiceProvider {
  public:
    virtual ~ServiceProvider() = default;
    virtual cca_owned_port createService(const std::string &instance, const std::string &usesPort) = 0;
};

// gov.cca.ports.ServiceRegistry: connects unconnected uses ports to services, by the name of their interface.
class ServiceRegistry {
  public:
    explicit ServiceRegistry(PortRef<cca_service_registry> registry) : registry_(std::move(registry)) {}
    void addService(const std::string &type, std::shared_ptr<ServiceProvider> provider) const;
    // One port for all users of the interface.
    void addSingletonService(const cca_owned_port &port) const {
        registry_.call(&cca_service_registry::add_singleton_service, port);
    }
    void removeService(const std::string &type) const {
        registry_.call(&cca_service_registry::remove_service, lend(type));
    }

  private:
    PortRef<cca_service_registry> registry_;
};

} // namespace ports

// Runs a body that throws as a function of a table.
template <typename Body>
int32_t guarded(cca_error *error, Body &&body) {
    return ::cca::guarded(error, [&]() -> int32_t {
        try {
            return body();
        } catch (const CCAException &exception) {
            cca_fail(error, exception.what());
            return exception.getCCAExceptionType();
        }
    });
}

inline uint64_t ports::BuilderService::addConnectionEventListener(int32_t type, ConnectionEventListener listener) const {
    struct Heard {
        FrameworkRef framework;
        ConnectionEventListener listener;
        static int32_t activity(const void *object, int32_t kind, uint64_t user, cca_text uses, uint64_t provider,
                                cca_text provides, cca_text message, cca_error *error) {
            return gov::cca::guarded(error, [&]() -> int32_t {
                const Heard *self = static_cast<const Heard *>(object);
                self->listener({ kind, ComponentID(self->framework, user), owned(uses), provider, owned(provides),
                                 owned(message) });
                return CCA_OK;
            });
        }
        static void release(const void *object) { delete static_cast<const Heard *>(object); }
    };
    static const cca_listener TABLE = {
        { sizeof(cca_listener), CCA_TEXT(CCA_LISTENER_NAME), CCA_TEXT(CCA_LISTENER_VERSION), CCA_LISTENER_HASH }, Heard::activity
    };
    static const cca_interface INTERFACE = { CCA_TEXT(CCA_LISTENER_NAME), CCA_TEXT(CCA_LISTENER_VERSION), CCA_LISTENER_HASH,
                                             sizeof(cca_listener), nullptr, 0, nullptr, 0, nullptr, nullptr };
    const cca_owned_port port = { { new Heard{ framework_, std::move(listener) }, &TABLE.header }, Heard::release, &INTERFACE };
    return framework_.ask<uint64_t>(&cca_framework::add_listener, type, port);
}

inline void ports::ServiceRegistry::addService(const std::string &type, std::shared_ptr<ServiceProvider> provider) const {
    struct Asked {
        static int32_t create(const void *object, cca_text instance, cca_text uses, cca_owned_port *port, cca_error *error) {
            return gov::cca::guarded(error, [&]() -> int32_t {
                *port = object_of<ServiceProvider>(object).createService(owned(instance), owned(uses));
                return CCA_OK;
            });
        }
    };
    static const cca_service_provider TABLE = { { sizeof(cca_service_provider), CCA_TEXT(CCA_SERVICE_PROVIDER_NAME),
                                                  CCA_TEXT(CCA_SERVICE_PROVIDER_VERSION), CCA_SERVICE_PROVIDER_HASH },
                                                Asked::create };
    static const cca_interface INTERFACE = { CCA_TEXT(CCA_SERVICE_PROVIDER_NAME), CCA_TEXT(CCA_SERVICE_PROVIDER_VERSION),
                                             CCA_SERVICE_PROVIDER_HASH, sizeof(cca_service_provider), nullptr, 0, nullptr, 0,
                                             nullptr, nullptr };
    registry_.call(&cca_service_registry::add_service, lend(type), owned_port(std::move(provider), TABLE.header, INTERFACE));
}

// The description of cca.Go.
inline const cca_interface &go_interface() {
    static const cca_interface GO = { CCA_TEXT(CCA_GO_NAME), CCA_TEXT(CCA_GO_VERSION), CCA_GO_HASH, sizeof(cca_go_vtable),
                                      nullptr, 0, nullptr, 0, nullptr, nullptr };
    return GO;
}

inline int32_t gone(ports::GoPort &port, cca_error *error) {
    return guarded(error, [&]() -> int32_t {
        return port.go() == 0 ? CCA_OK : cca_fail(error, "go returned another code than 0");
    });
}

// A port of cca.Go, as a service.
inline cca_owned_port goPort(std::shared_ptr<ports::GoPort> port) {
    struct Started {
        static int32_t go(const void *object, cca_error *error) { return gone(object_of<ports::GoPort>(object), error); }
    };
    static const cca_go_vtable TABLE = {
        { sizeof(cca_go_vtable), CCA_TEXT(CCA_GO_NAME), CCA_TEXT(CCA_GO_VERSION), CCA_GO_HASH }, Started::go
    };
    return owned_port(std::move(port), TABLE.header, go_interface());
}

// gov.cca.ComponentRelease: called before the instance that registered it is destroyed.
class ComponentRelease {
  public:
    virtual ~ComponentRelease() = default;
    virtual void releaseServices(const Services &services) = 0;
};

namespace ports {

// gov.cca.ports.ParameterSetListener: called after a parameter was set, by any component or by the
// framework.
class ParameterSetListener {
  public:
    virtual ~ParameterSetListener() = default;
    virtual void updatedParameterValue(const std::string &portName, const std::string &fieldName) = 0;
};

// gov.cca.ports.ParameterGetListener: called before the parameters are described; may add some.
class ParameterGetListener {
  public:
    virtual ~ParameterGetListener() = default;
    virtual void updateParameterPort(const std::string &portName) = 0;
};

} // namespace ports

// gov.cca.Services. Copies refer to the same object.
class Services {
  public:
    Services() = default;
    explicit Services(cca_port services) : services_(services) {}
    explicit Services(const cca_owned_port &given) : services_(given.port), keeper_(PortRef<cca_services>::of(given)) {}

    std::string getInstanceName() const {
        cca_error error{};
        cca_text name{};
        check(table()->component_name(services_.object, &name, &error), error);
        return owned(name);
    }

    // Adds any port: its table and the description of its interface live as long as the process.
    void addProvidesPort(const std::string &name, const void *object, const cca_vtable_header &header,
                         const cca_interface &interface_description) const {
        cca_error error{};
        const cca_owned_port port = { { object, &header }, nullptr, &interface_description };
        check(table()->add_provides_port(services_.object, lend(name), port, &error), error);
    }

    void addGoPort(ports::GoPort &port, const std::string &name) const {
        static const cca_go_vtable GO = {
            { sizeof(cca_go_vtable), CCA_TEXT(CCA_GO_NAME), CCA_TEXT(CCA_GO_VERSION), CCA_GO_HASH }, go
        };
        addProvidesPort(name, &port, GO.header, go_interface());
    }

    // Declares that a provided port keeps nothing between two calls, so that another class may take its place between them.
    void declareStateless(const std::string &port) const {
        cca_error error{};
        const cca_value yes = { CCA_BOOL, 1, 0.0, { nullptr, 0 } };
        check(table()->set_port_property(services_.object, lend(port), cca_text_of("stateless"), yes, &error), error);
    }

    void removeProvidesPort(const std::string &name) const {
        cca_error error{};
        check(table()->remove_provides_port(services_.object, lend(name), &error), error);
    }

    void registerUsesPort(const std::string &name, const cca_interface &interface_description) const {
        cca_error error{};
        check(table()->register_uses_port(services_.object, lend(name), &interface_description, &error), error);
    }

    void registerBuilderPort(const std::string &name) const {
        static const cca_interface FRAMEWORK = { CCA_TEXT(CCA_FRAMEWORK_NAME), CCA_TEXT(CCA_FRAMEWORK_VERSION),
                                                 CCA_FRAMEWORK_HASH, sizeof(cca_framework), nullptr, 0, nullptr, 0, nullptr,
                                                 nullptr };
        registerUsesPort(name, FRAMEWORK);
    }

    void registerGoPort(const std::string &name) const { registerUsesPort(name, go_interface()); }

    void registerServiceRegistryPort(const std::string &name) const {
        static const cca_interface REGISTRY = { CCA_TEXT(CCA_SERVICE_REGISTRY_NAME), CCA_TEXT(CCA_SERVICE_REGISTRY_VERSION),
                                                CCA_SERVICE_REGISTRY_HASH, sizeof(cca_service_registry), nullptr, 0, nullptr, 0,
                                                nullptr, nullptr };
        registerUsesPort(name, REGISTRY);
    }

    // Registers `release`, which is called before the instance is destroyed.
    void registerForRelease(std::shared_ptr<ComponentRelease> release) const {
        struct Ended {
            std::shared_ptr<ComponentRelease> release;
            Services services;
            static int32_t call(const void *object, cca_error *error) {
                return guarded(error, [&]() -> int32_t {
                    const Ended &ended = object_of<Ended>(object);
                    ended.release->releaseServices(ended.services);
                    return CCA_OK;
                });
            }
        };
        static const cca_component_release TABLE = { { sizeof(cca_component_release), CCA_TEXT(CCA_COMPONENT_RELEASE_NAME),
                                                       CCA_TEXT(CCA_COMPONENT_RELEASE_VERSION), CCA_COMPONENT_RELEASE_HASH },
                                                     Ended::call };
        static const cca_interface INTERFACE = { CCA_TEXT(CCA_COMPONENT_RELEASE_NAME), CCA_TEXT(CCA_COMPONENT_RELEASE_VERSION),
                                                 CCA_COMPONENT_RELEASE_HASH, sizeof(cca_component_release), nullptr, 0, nullptr,
                                                 0, nullptr, nullptr };
        // The owner of the given services is not kept: they would keep themselves alive.
        const auto ended = std::make_shared<Ended>(Ended{ std::move(release), Services(services_) });
        cca_error error{};
        check(table()->register_for_release(services_.object, owned_port(ended, TABLE.header, INTERFACE), &error), error);
    }

    void unregisterUsesPort(const std::string &name) const {
        cca_error error{};
        check(table()->unregister_uses_port(services_.object, lend(name), &error), error);
    }

    // Gets a port; it is released when the last copy of the result is destroyed.
    template <typename Table>
    PortRef<Table> getPort(const std::string &name) const {
        cca_error error{};
        const cca_slot *slot = nullptr;
        check(table()->get_port(services_.object, lend(name), &slot, &error), error);
        return got<Table>(name, slot);
    }

    // The same, but returns a port that is false if nothing is connected.
    template <typename Table>
    PortRef<Table> getPortNonblocking(const std::string &name) const {
        cca_error error{};
        const cca_slot *slot = nullptr;
        check(table()->get_port_nonblocking(services_.object, lend(name), &slot, &error), error);
        return slot == nullptr ? PortRef<Table>() : got<Table>(name, slot);
    }

    // A property of a port of the component; its type is CCA_NONE if no property has that name.
    cca_value getPortProperty(const std::string &port, const std::string &key) const {
        cca_error error{};
        cca_value value{};
        check(table()->port_property(services_.object, lend(port), lend(key), &value, &error), error);
        return value;
    }
    void setPortProperty(const std::string &port, const std::string &key, const cca_value &value) const {
        cca_error error{};
        check(table()->set_port_property(services_.object, lend(port), lend(key), value, &error), error);
    }
    std::vector<std::string> getPortPropertyKeys(const std::string &port) const {
        std::vector<std::string> keys;
        for (size_t i = 0;; ++i) {
            cca_error error{};
            cca_text key{};
            check(table()->port_property_key(services_.object, lend(port), i, &key, &error), error);
            if (key.length == 0) return keys;
            keys.push_back(owned(key));
        }
    }

    // Parameters: add the port first, then its parameters. Read a parameter whenever its value is
    // needed.
    void addParameterPort(const std::string &port) const {
        cca_error error{};
        check(table()->add_parameter_port(services_.object, lend(port), &error), error);
    }
    void addParameter(const std::string &port, const std::string &key, int64_t otherwise, double lower, double upper,
                      const std::string &help) const {
        add(port, key, { CCA_INTEGER, otherwise, 0.0, {} }, lower, upper, help);
    }
    void addParameter(const std::string &port, const std::string &key, double otherwise, double lower, double upper,
                      const std::string &help) const {
        add(port, key, { CCA_REAL, 0, otherwise, {} }, lower, upper, help);
    }
    void addParameter(const std::string &port, const std::string &key, bool otherwise, const std::string &help) const {
        add(port, described(key, { CCA_BOOL, otherwise ? 1 : 0, 0.0, {} }, help));
    }
    // A text, one of the choices if there are any.
    void addParameter(const std::string &port, const std::string &key, const std::string &otherwise,
                      const std::string &help, const std::vector<std::string> &choices = {}) const {
        std::vector<cca_text> lent;
        for (const std::string &choice : choices) lent.push_back(lend(choice));
        cca_parameter parameter = described(key, { CCA_STRING, 0, 0.0, lend(otherwise) }, help);
        parameter.choices = { lent.data(), lent.size() };
        add(port, parameter);
    }
    // Without this overload a text would convert to bool.
    void addParameter(const std::string &port, const std::string &key, const char *otherwise, const std::string &help,
                      const std::vector<std::string> &choices = {}) const {
        addParameter(port, key, std::string(otherwise), help, choices);
    }
    // Sets a parameter of this component, as other components do through the port.
    void setParameter(const std::string &port, const std::string &key, int64_t value) const {
        set(port, key, { CCA_INTEGER, value, 0.0, {} });
    }
    void setParameter(const std::string &port, const std::string &key, int value) const {
        setParameter(port, key, static_cast<int64_t>(value));
    }
    void setParameter(const std::string &port, const std::string &key, double value) const {
        set(port, key, { CCA_REAL, 0, value, {} });
    }
    void setParameter(const std::string &port, const std::string &key, bool value) const {
        set(port, key, { CCA_BOOL, value ? 1 : 0, 0.0, {} });
    }
    void setParameter(const std::string &port, const std::string &key, const std::string &value) const {
        set(port, key, { CCA_STRING, 0, 0.0, lend(value) });
    }
    void setParameter(const std::string &port, const std::string &key, const char *value) const {
        setParameter(port, key, std::string(value));
    }
    // gov.cca.ports.ParameterPortFactory: title of the parameters, group of those added from now on, prompt for a
    // value.
    void setBatchTitle(const std::string &port, const std::string &title) const {
        cca_error error{};
        check(table()->set_parameter_title(services_.object, lend(port), lend(title), &error), error);
    }
    void setGroupName(const std::string &port, const std::string &group) const {
        cca_error error{};
        check(table()->begin_parameter_group(services_.object, lend(port), lend(group), &error), error);
    }
    void setPrompt(const std::string &port, const std::string &key, const std::string &prompt) const {
        cca_error error{};
        check(table()->set_parameter_prompt(services_.object, lend(port), lend(key), lend(prompt), &error), error);
    }
    // Listeners are kept as long as the instance lives.
    void registerUpdatedListener(const std::string &port, std::shared_ptr<ports::ParameterSetListener> listener) const {
        listen(port, { std::move(listener), nullptr });
    }
    void registerUpdater(const std::string &port, std::shared_ptr<ports::ParameterGetListener> updater) const {
        listen(port, { nullptr, std::move(updater) });
    }
    cca_value getParameter(const std::string &port, const std::string &key) const {
        cca_error error{};
        cca_value value{};
        check(table()->parameter(services_.object, lend(port), lend(key), &value, &error), error);
        return value;
    }

    // The port behind a uses port of registerBuilderPort(), as either of CCA's two interfaces.
    ports::BuilderService getBuilderService(const std::string &name) const {
        return ports::BuilderService(getPort<cca_framework>(name));
    }
    AbstractFramework getFramework(const std::string &name) const;

    ports::ServiceRegistry getServiceRegistry(const std::string &name) const {
        return ports::ServiceRegistry(getPort<cca_service_registry>(name));
    }

  private:
    static int32_t go(const void *object, cca_error *error) {
        return gone(*static_cast<ports::GoPort *>(const_cast<void *>(object)), error);
    }

    template <typename Table>
    PortRef<Table> got(const std::string &name, const cca_slot *slot) const {
        PortRef<Table> port;
        port.target_ = [slot] { return cca_target(slot); };
        const cca_port services = services_;
        port.keeper_ = std::shared_ptr<void>(nullptr, [services, name](void *) {
            cca_error ignored{};
            cca_services_table(services)->release_port(services.object, lend(name), &ignored);
        });
        return port;
    }

    static cca_parameter described(const std::string &key, cca_value otherwise, const std::string &help) {
        cca_parameter parameter{};
        parameter.key = lend(key);
        parameter.default_value = otherwise;
        parameter.help = lend(help);
        return parameter;
    }

    void add(const std::string &port, const std::string &key, cca_value otherwise, double lower, double upper,
             const std::string &help) const {
        cca_parameter parameter = described(key, otherwise, help);
        parameter.has_bounds = 1;
        parameter.lower = lower;
        parameter.upper = upper;
        add(port, parameter);
    }

    void add(const std::string &port, const cca_parameter &parameter) const {
        cca_error error{};
        check(table()->add_parameter(services_.object, lend(port), parameter, &error), error);
    }

    void set(const std::string &port, const std::string &key, const cca_value &value) const {
        cca_error error{};
        check(table()->set_parameter(services_.object, lend(port), lend(key), value, &error), error);
    }

    // Listeners for the parameters of a port; either may be missing.
    struct ParameterListeners {
        std::shared_ptr<ports::ParameterSetListener> set;
        std::shared_ptr<ports::ParameterGetListener> get;
        static int32_t updated(const void *object, cca_text port, cca_text key, cca_error *error) {
            return guarded(error, [&]() -> int32_t {
                const ParameterListeners &self = object_of<ParameterListeners>(object);
                if (self.set) self.set->updatedParameterValue(owned(port), owned(key));
                return CCA_OK;
            });
        }
        static int32_t update(const void *object, cca_text port, cca_error *error) {
            return guarded(error, [&]() -> int32_t {
                const ParameterListeners &self = object_of<ParameterListeners>(object);
                if (self.get) self.get->updateParameterPort(owned(port));
                return CCA_OK;
            });
        }
    };

    void listen(const std::string &port, ParameterListeners listeners) const {
        static const cca_parameter_listener TABLE = { { sizeof(cca_parameter_listener), CCA_TEXT(CCA_PARAMETER_LISTENER_NAME),
                                                        CCA_TEXT(CCA_PARAMETER_LISTENER_VERSION), CCA_PARAMETER_LISTENER_HASH },
                                                      ParameterListeners::updated, ParameterListeners::update };
        static const cca_interface INTERFACE = { CCA_TEXT(CCA_PARAMETER_LISTENER_NAME), CCA_TEXT(CCA_PARAMETER_LISTENER_VERSION),
                                                 CCA_PARAMETER_LISTENER_HASH, sizeof(cca_parameter_listener), nullptr, 0, nullptr,
                                                 0, nullptr, nullptr };
        const auto heard = std::make_shared<ParameterListeners>(std::move(listeners));
        cca_error error{};
        check(table()->add_parameter_listener(services_.object, lend(port), owned_port(heard, TABLE.header, INTERFACE), &error),
              error);
    }

    const cca_services *table() const { return cca_services_table(services_); }

    cca_port services_{};
    PortRef<cca_services> keeper_;
};

// gov.cca.AbstractFramework.
class AbstractFramework {
  public:
    explicit AbstractFramework(FrameworkRef framework) : framework_(std::move(framework)) {}

    TypeMap createTypeMap() const { return TypeMap(framework_); }

    // Services for a part of a program that acts as an instance of its own, until it releases them.
    Services getServices(const std::string &instance, const std::string &className, const TypeMap &properties) const {
        return Services(framework_.ask<cca_owned_port>(&cca_framework::get_services, lend(instance), lend(className),
                                                       properties.number()));
    }
    void releaseServices(const Services &services) const {
        const std::string instance = services.getInstanceName();
        framework_.call(&cca_framework::release_services, lend(instance));
    }

    // Releases and destroys all components; fails while a port of any of them is in use.
    void shutdownFramework() const { framework_.call(&cca_framework::shutdown_framework); }

    // Another framework, without components, which ends when the last copy is destroyed.
    AbstractFramework createEmptyFramework() const {
        return AbstractFramework(FrameworkRef::of(framework_.ask<cca_owned_port>(&cca_framework::create_empty_framework)));
    }

    ports::BuilderService getBuilderService() const { return ports::BuilderService(framework_); }

  private:
    FrameworkRef framework_;
};

inline AbstractFramework Services::getFramework(const std::string &name) const {
    return AbstractFramework(getPort<cca_framework>(name));
}

// gov.cca.Component.
class Component {
  public:
    virtual ~Component() = default;
    virtual void setServices(const Services &services) = 0;
    virtual void releaseServices() {}
};

// The functions of a component class.
template <typename Class>
struct ComponentClass {
    static Component *self(const void *object) { return static_cast<Component *>(const_cast<void *>(object)); }
    static int32_t set_services(const void *object, cca_port services, cca_error *error) {
        return guarded(error, [&]() -> int32_t {
            self(object)->setServices(Services(services));
            return CCA_OK;
        });
    }
    static int32_t release_services(const void *object, cca_error *error) {
        return guarded(error, [&]() -> int32_t {
            self(object)->releaseServices();
            return CCA_OK;
        });
    }
    static void destroy(const void *object) { delete self(object); }
    static int32_t create(cca_component *component, cca_error *error) {
        static const cca_component_vtable TABLE = { sizeof(cca_component_vtable), set_services, release_services, destroy };
        return guarded(error, [&]() -> int32_t {
            component->object = static_cast<Component *>(new Class);
            component->vtable = &TABLE;
            return CCA_OK;
        });
    }
};

} // namespace cca
} // namespace gov

// One class of a library: the C++ class, its name, version and description.
#define CCA_CLASS(Class, name, version, doc) \
    { CCA_TEXT(name), CCA_TEXT(version), CCA_TEXT(doc), gov::cca::ComponentClass<Class>::create }

// The entry of a library, with its classes.
#define CCA_LIBRARY(...)                                                                                                      \
    extern "C" const cca_library *cca_component_v2() {                                                                        \
        static const cca_class CLASSES[] = { __VA_ARGS__ };                                                                   \
        static const cca_library LIBRARY = { CCA_ABI_VERSION, sizeof(CLASSES) / sizeof(CLASSES[0]), CLASSES, { nullptr, 0 } }; \
        return &LIBRARY;                                                                                                      \
    }

#endif
