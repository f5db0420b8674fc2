/* The framework for components in C: makes, connects and destroys other components, and has all other functions of
 * CCA's BuilderService, TypeMap, AbstractFramework, ComponentRepository, ConnectionEventService, ServiceRegistry and
 * ComponentRelease. cca.hpp has classes over this for C++, cca_framework.f90 a module for Fortran.
 *
 * A component registers a uses port of cca.PlainFramework, which is connected automatically. Components are numbers, 0
 * is none. Type maps are numbers that the port returns and free_map releases; where a function takes properties, 0 is
 * an empty map. Functions with an `index` count from 0 and return 0 or an empty text behind the last. Returned texts
 * live as long as the process. Times are in seconds. */
#ifndef CCA_FRAMEWORK_H
#define CCA_FRAMEWORK_H

#include "cca.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of properties: gov.cca.Type. */
enum {
    CCA_TYPE_NONE = 0,
    CCA_TYPE_INT = 1,
    CCA_TYPE_LONG = 2,
    CCA_TYPE_FLOAT = 3,
    CCA_TYPE_DOUBLE = 4,
    CCA_TYPE_FCOMPLEX = 5,
    CCA_TYPE_DCOMPLEX = 6,
    CCA_TYPE_STRING = 7,
    CCA_TYPE_BOOL = 8,
    CCA_TYPE_INT_ARRAY = 9,
    CCA_TYPE_LONG_ARRAY = 10,
    CCA_TYPE_FLOAT_ARRAY = 11,
    CCA_TYPE_DOUBLE_ARRAY = 12,
    CCA_TYPE_FCOMPLEX_ARRAY = 13,
    CCA_TYPE_DCOMPLEX_ARRAY = 14,
    CCA_TYPE_STRING_ARRAY = 15,
    CCA_TYPE_BOOL_ARRAY = 16
};

/* Events of connections: gov.cca.ports.EventType. */
enum {
    CCA_EVENT_ERROR = -1,
    CCA_EVENT_ALL = 0,
    CCA_EVENT_CONNECT_PENDING = 1,
    CCA_EVENT_CONNECTED = 2,
    CCA_EVENT_DISCONNECT_PENDING = 3,
    CCA_EVENT_DISCONNECTED = 4
};

/* Numbers, lent for a call. */
typedef struct {
    const int64_t *data;
    size_t length;
} cca_integers;

typedef struct {
    int64_t *data;
    size_t length;
} cca_integers_mut;

typedef struct {
    const double *data;
    size_t length;
} cca_doubles;

/* cca.PlainFramework 1.0, available to every component that registers a uses port of it. */
#define CCA_FRAMEWORK_NAME "cca.PlainFramework"
#define CCA_FRAMEWORK_VERSION "1.0"
#define CCA_FRAMEWORK_HASH UINT64_C(0x986bbadd667d3b4c)
typedef struct {
    cca_vtable_header header;
    /* An empty type map (createTypeMap). */
    int32_t (*create_map)(const void *object, uint64_t *result, cca_error *error);
    /* A copy of a type map (cloneTypeMap). */
    int32_t (*clone_map)(const void *object, uint64_t map, uint64_t *result, cca_error *error);
    /* Gives a type map back. */
    int32_t (*free_map)(const void *object, uint64_t map, cca_error *error);
    /* Takes a property away, if it is there. */
    int32_t (*remove_property)(const void *object, uint64_t map, cca_text key, cca_error *error);
    /* The type of a property, CCA's number (CCA_TYPE_…); 0 if no property has that name. */
    int32_t (*property_type)(const void *object, uint64_t map, cca_text key, uint32_t *result, cca_error *error);
    /* Name of a property by its index among those of a type, or among all of type 0. */
    int32_t (*property_key)(const void *object, uint64_t map, uint32_t kind, size_t index, cca_text *result,
                            cca_error *error);
    /* A property with a single value; its type is 0 if no property has that name. */
    int32_t (*property)(const void *object, uint64_t map, cca_text key, cca_value *result, cca_error *error);
    /* Puts a property that is one value: an int, long, float, double, string or bool. */
    int32_t (*put_property)(const void *object, uint64_t map, cca_text key, uint32_t kind, cca_value value,
                            cca_error *error);
    /* Number of elements of a property: 2 for a complex number, its parts; 0 if no property has
     * that name. */
    int32_t (*property_length)(const void *object, uint64_t map, cca_text key, size_t *result, cca_error *error);
    /* Copies the elements of an array of int, long or bool. */
    int32_t (*property_integers)(const void *object, uint64_t map, cca_text key, cca_integers_mut values,
                                 cca_error *error);
    /* Copies the elements of an array of float or double, or of complex numbers, real and imaginary part in turn. */
    int32_t (*property_reals)(const void *object, uint64_t map, cca_text key, cca_doubles_mut values,
                              cca_error *error);
    /* A text of an array of texts. */
    int32_t (*property_text)(const void *object, uint64_t map, cca_text key, size_t index, cca_text *result,
                             cca_error *error);
    /* Puts an array of int, long or bool. */
    int32_t (*put_integers)(const void *object, uint64_t map, cca_text key, uint32_t kind, cca_integers values,
                            cca_error *error);
    /* Puts an array of float or double, a complex number, or an array of these. */
    int32_t (*put_reals)(const void *object, uint64_t map, cca_text key, uint32_t kind, cca_doubles values,
                         cca_error *error);
    /* Puts an array of texts. */
    int32_t (*put_texts)(const void *object, uint64_t map, cca_text key, cca_texts values, cca_error *error);
    /* Makes an instance of a class of the framework's repository (createInstance). With an empty name, the
     * instance is named after the class, with a number. */
    int32_t (*create_instance)(const void *object, cca_text instance, cca_text class_name, uint64_t properties,
                               uint64_t *result, cca_error *error);
    /* A component by its place (getComponentIDs). */
    int32_t (*component_at)(const void *object, size_t index, uint64_t *result, cca_error *error);
    /* The component of a name (getComponentID). */
    int32_t (*component)(const void *object, cca_text instance, uint64_t *result, cca_error *error);
    /* Name of a component (getInstanceName). */
    int32_t (*component_name)(const void *object, uint64_t component, cca_text *result, cca_error *error);
    /* A component as a text (getSerialization). */
    int32_t (*serialization)(const void *object, uint64_t component, cca_text *result, cca_error *error);
    /* The component that such a text names (getDeserialization). */
    int32_t (*deserialization)(const void *object, cca_text text, uint64_t *result, cca_error *error);
    /* A component's properties, as a new map. */
    int32_t (*component_properties)(const void *object, uint64_t component, uint64_t *result, cca_error *error);
    /* Replaces a component's properties. */
    int32_t (*set_component_properties)(const void *object, uint64_t component, uint64_t map, cca_error *error);
    /* Ends a component's connections, releases it, and destroys it. */
    int32_t (*destroy_instance)(const void *object, uint64_t component, double timeout_s, cca_error *error);
    /* Name of a provides port by its place. */
    int32_t (*provided_port)(const void *object, uint64_t component, size_t index, cca_text *result,
                             cca_error *error);
    /* Name of a uses port by its place. */
    int32_t (*used_port)(const void *object, uint64_t component, size_t index, cca_text *result, cca_error *error);
    /* A port's properties, as a new map. */
    int32_t (*port_properties)(const void *object, uint64_t component, cca_text port, uint64_t *result,
                               cca_error *error);
    /* Replaces a port's properties. */
    int32_t (*set_port_properties)(const void *object, uint64_t component, cca_text port, uint64_t map,
                                   cca_error *error);
    /* Connects a uses port to a provides port. Using component and uses port name the connection from then on. */
    int32_t (*connect)(const void *object, uint64_t user, cca_text uses, uint64_t provider, cca_text provides,
                       cca_error *error);
    /* The using component of a connection, by its index among those of a component, or among all if the
     * component is 0 (getConnectionIDs). */
    int32_t (*connection_user)(const void *object, uint64_t component, size_t index, uint64_t *result,
                               cca_error *error);
    /* The uses port of that connection. */
    int32_t (*connection_uses)(const void *object, uint64_t component, size_t index, cca_text *result,
                               cca_error *error);
    /* The providing component of a connection; 0 where the framework itself provides. */
    int32_t (*connection_provider)(const void *object, uint64_t user, cca_text uses, uint64_t *result,
                                   cca_error *error);
    /* The provides port of a connection. */
    int32_t (*connection_provides)(const void *object, uint64_t user, cca_text uses, cca_text *result,
                                   cca_error *error);
    /* A connection's properties, as a new map. */
    int32_t (*connection_properties)(const void *object, uint64_t user, cca_text uses, uint64_t *result,
                                     cca_error *error);
    /* Replaces a connection's properties. */
    int32_t (*set_connection_properties)(const void *object, uint64_t user, cca_text uses, uint64_t map,
                                         cca_error *error);
    /* Takes a connection away. */
    int32_t (*disconnect)(const void *object, uint64_t user, cca_text uses, double timeout_s, cca_error *error);
    /* Takes all connections between two components away, in either direction. */
    int32_t (*disconnect_all)(const void *object, uint64_t first, uint64_t second, double timeout_s,
                              cca_error *error);
    /* Sets a parameter of a component, KEY or PORT.KEY. */
    int32_t (*set_parameter)(const void *object, uint64_t component, cca_text key, cca_value value, cca_error *error);
    /* The value of a component's parameter. */
    int32_t (*parameter)(const void *object, uint64_t component, cca_text port, cca_text key, cca_value *result,
                         cca_error *error);
    /* Name of a class that can be instantiated, by its place (getAvailableComponentClasses). */
    int32_t (*class_at)(const void *object, size_t index, cca_text *result, cca_error *error);
    /* Path of the library of a class; empty if there is no such class. */
    int32_t (*class_library)(const void *object, cca_text class_name, cca_text *result, cca_error *error);
    /* Adds a library, or the component libraries of a folder, to the repository. */
    int32_t (*append_repository_path)(const void *object, cca_text path, cca_error *error);
    /* Adds a listener for connections, a port of interface cca.PlainListener. With kind 0 it hears all events, else
     * those of one type (CCA_EVENT_…). */
    int32_t (*add_listener)(const void *object, int32_t kind, cca_owned_port listener, uint64_t *result,
                            cca_error *error);
    /* Takes a listener away. */
    int32_t (*remove_listener)(const void *object, uint64_t listener, cca_error *error);
    /* A cca.Services port for a part of a program that takes part as an instance of its own (getServices). */
    int32_t (*get_services)(const void *object, cca_text instance, cca_text class_name, uint64_t properties,
                            cca_owned_port *result, cca_error *error);
    /* Ends the part of a program that got services by that name. */
    int32_t (*release_services)(const void *object, cca_text instance, cca_error *error);
    /* Releases and destroys all components. Fails while a port of any is in use. */
    int32_t (*shutdown_framework)(const void *object, cca_error *error);
    /* Another framework, without components: a port of this interface, which ends it when it is released. */
    int32_t (*create_empty_framework)(const void *object, cca_owned_port *result, cca_error *error);
} cca_framework;

/* cca.PlainListener 1.0: the argument of add_listener. The result of connection_activity is
 * ignored. */
#define CCA_LISTENER_NAME "cca.PlainListener"
#define CCA_LISTENER_VERSION "1.0"
#define CCA_LISTENER_HASH UINT64_C(0x3acaa1f28bac2bd3)
typedef struct {
    cca_vtable_header header;
    /* Called for every event it listens for, whoever caused it. */
    int32_t (*connection_activity)(const void *object, int32_t kind, uint64_t user, cca_text uses, uint64_t provider,
                                   cca_text provides, cca_text message, cca_error *error);
} cca_listener;

/* cca.ComponentRelease 1.0: the argument of register_for_release of cca.Services; called before the instance is
 * destroyed. */
#define CCA_COMPONENT_RELEASE_NAME "cca.ComponentRelease"
#define CCA_COMPONENT_RELEASE_VERSION "1.0"
#define CCA_COMPONENT_RELEASE_HASH UINT64_C(0x7d536eace690e571)
typedef struct {
    cca_vtable_header header;
    int32_t (*release_services)(const void *object, cca_error *error);
} cca_component_release;

/* cca.ServiceProvider 1.0: makes a port for each requesting uses port. */
#define CCA_SERVICE_PROVIDER_NAME "cca.ServiceProvider"
#define CCA_SERVICE_PROVIDER_VERSION "1.0"
#define CCA_SERVICE_PROVIDER_HASH UINT64_C(0x19a5166d8f5357b3)
typedef struct {
    cca_vtable_header header;
    int32_t (*create_service)(const void *object, cca_text instance, cca_text uses, cca_owned_port *result, cca_error *error);
} cca_service_provider;

/* cca.ServiceRegistry 1.0, available to every component that registers a uses port of it: connects unconnected uses
 * ports to services. add_service takes a port of interface cca.ServiceProvider, add_singleton_service one port for all. */
#define CCA_SERVICE_REGISTRY_NAME "cca.ServiceRegistry"
#define CCA_SERVICE_REGISTRY_VERSION "1.0"
#define CCA_SERVICE_REGISTRY_HASH UINT64_C(0x82d0cd599f41efcd)
typedef struct {
    cca_vtable_header header;
    int32_t (*add_service)(const void *object, cca_text interface_name, cca_owned_port provider, cca_error *error);
    int32_t (*add_singleton_service)(const void *object, cca_owned_port port, cca_error *error);
    int32_t (*remove_service)(const void *object, cca_text interface_name, cca_error *error);
} cca_service_registry;

#ifdef __cplusplus
}
#endif

#endif
