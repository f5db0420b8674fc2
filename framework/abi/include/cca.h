/* The door for components in C: the layouts of cca-abi, version 2.
 *
 * A component library exports `const cca_library *cca_component_v2(void)`. Everything that the
 * function leads to (names, tables, descriptions) must live as long as the process: libraries are
 * never closed.
 *
 * Every function that can fail returns 0, or a status other than 0 after leaving a message by
 * cca_fail(). Objects may be used from several threads at once.
 *
 * A whole library, which provides one port (`new component --language c` writes such a file):
 *
 *     typedef struct { cca_port services; } instance;
 *     static int32_t go(const void *object, cca_error *error) { ...; return CCA_OK; }
 *     static const cca_go_vtable GO = { CCA_HEADER(CCA_GO, cca_go_vtable), go };
 *     static const cca_interface GO_INTERFACE = CCA_INTERFACE(CCA_GO, cca_go_vtable);
 *     static int32_t set_services(instance *own, cca_port services, cca_error *error) {
 *         own->services = services;
 *         return cca_add_provides_port(services, "go", own, &GO.header, &GO_INTERFACE, error);
 *     }
 *     CCA_COMPONENT(instance, set_services)
 *     CCA_LIBRARY(CCA_CLASS(instance, "demo.Hello", "1.0", "Says hello."))
 */
#ifndef CCA_H
#define CCA_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CCA_ABI_VERSION 2u

/* A text with its length; UTF-8, no terminating zero. CCA_TEXT is for string literals. */
typedef struct {
    const char *data;
    size_t length;
} cca_text;

#define CCA_TEXT(literal) { literal, sizeof(literal) - 1 }

/* Statuses; see ErrorCode in cca-abi. */
enum {
    CCA_OK = 0,
    CCA_FAILED = 1,
    CCA_PANICKED = 2,
    CCA_PORT_NOT_DEFINED = 10,
    CCA_PORT_ALREADY_DEFINED = 11,
    CCA_PORT_NOT_CONNECTED = 12,
    CCA_PORT_NOT_IN_USE = 13,
    CCA_USES_PORT_NOT_RELEASED = 14,
    CCA_BAD_PORT_NAME = 15,
    CCA_BAD_PORT_TYPE = 16,
    CCA_BAD_PARAMETER = 17,
    CCA_BAD_PROPERTIES = 18,
    CCA_BAD_PORT_INFO = 19,
    CCA_OUT_OF_MEMORY = 20,
    CCA_NETWORK_ERROR = 21
};

/* Buffer, owned by the caller, for the text of an error. A character 0x1f in the text, which is never displayed, marks
 * that the text names the instance that raised the error; pass it on with the text. */
typedef struct {
    uint32_t length;
    char text[1020];
} cca_error;

/* Leaves a message and gives the status to return. */
static inline int32_t cca_fail(cca_error *error, const char *message) {
    if (error != NULL && message != NULL) {
        size_t length = strlen(message);
        if (length > sizeof error->text) length = sizeof error->text;
        memcpy(error->text, message, length);
        error->length = (uint32_t)length;
    }
    return CCA_FAILED;
}

/* The first member of every table of functions. */
typedef struct {
    size_t size; /* of the whole table, in bytes */
    cca_text interface;
    cca_text version;
    uint64_t hash; /* of the interface's signature: from the interface's own header */
} cca_vtable_header;

/* A port: an object and the table of functions that work on it. */
typedef struct {
    const void *object;
    const cca_vtable_header *vtable;
} cca_port;

/* An interface as a library knows it. From C: name, version, hash and size; the rest zero. */
typedef struct {
    cca_text name;
    cca_text version;
    uint64_t hash;
    size_t vtable_size;
    const void *methods;
    size_t n_methods;
    const void *layouts;
    size_t n_layouts;
    void (*new_proxy)(void);
    void (*new_dispatcher)(void);
} cca_interface;

/* The beginning of a table of functions, and its interface for the framework. Both take the names of the interface's header:
 * CCA_HEADER(HYDRO_FLUX, hydro_flux_vtable) uses HYDRO_FLUX_NAME, HYDRO_FLUX_VERSION and HYDRO_FLUX_HASH. */
#define CCA_HEADER(PREFIX, vtable) { sizeof(vtable), CCA_TEXT(PREFIX##_NAME), CCA_TEXT(PREFIX##_VERSION), PREFIX##_HASH }
#define CCA_INTERFACE(PREFIX, vtable)                                                                                  \
    { CCA_TEXT(PREFIX##_NAME), CCA_TEXT(PREFIX##_VERSION), PREFIX##_HASH, sizeof(vtable), NULL, 0, NULL, 0, NULL, NULL }

/* A port with the share of its object that it owns; `release` may be null. */
typedef struct {
    cca_port port;
    void (*release)(const void *object);
    const cca_interface *interface;
} cca_owned_port;

/* Target of a uses port: read `current` (an atomic load) before each call. */
typedef struct {
    const cca_port *current;
} cca_slot;

/* Type of a parameter or a property. */
enum {
    CCA_NONE = 0, /* it is not there */
    CCA_BOOL = 1, /* `integer`, not 0 for true */
    CCA_INTEGER = 2,
    CCA_REAL = 3,
    CCA_STRING = 4 /* `text` */
};

/* A value of one of these types. Texts that the framework returns live as long as the process. */
typedef struct {
    uint32_t kind;
    int64_t integer;
    double real;
    cca_text text;
} cca_value;

/* Texts, lent for a call. */
typedef struct {
    const cca_text *data;
    size_t length;
} cca_texts;

/* A parameter; its type is the type of the default. Optional fields are zero. */
typedef struct {
    cca_text key;
    cca_value default_value;
    uint32_t has_bounds; /* not 0: the value is between `lower` and `upper`, both allowed */
    double lower;
    double upper;
    cca_texts choices; /* the texts allowed; any if none */
    cca_text unit;
    cca_text help;
} cca_parameter;

/* cca.Services 1.4: the functions that the framework offers a component. Pass `services.object` as `object`. A table
 * may grow at its end: `header.size` gives its length. get_port_nonblocking returns a null slot if nothing is
 * connected; register_for_release takes a port of interface `cca.ComponentRelease`. Five functions pass Rust types; the
 * functions at the end do the same with C types. */
typedef struct {
    cca_vtable_header header;
    int32_t (*add_provides_port)(const void *object, cca_text name, cca_owned_port port, cca_error *error);
    int32_t (*remove_provides_port)(const void *object, cca_text name, cca_error *error);
    int32_t (*register_uses_port)(const void *object, cca_text name, const cca_interface *interface, cca_error *error);
    int32_t (*unregister_uses_port)(const void *object, cca_text name, cca_error *error);
    int32_t (*get_port)(const void *object, cca_text name, const cca_slot **slot, cca_error *error);
    int32_t (*release_port)(const void *object, cca_text name, cca_error *error);
    int32_t (*instance_name)(const void *object, void *rust_string, cca_error *error); /* not from C */
    int32_t (*get_port_nonblocking)(const void *object, cca_text name, const cca_slot **slot, cca_error *error);
    int32_t (*create_type_map)(const void *object, void *rust_map, cca_error *error); /* not from C */
    int32_t (*get_port_properties)(const void *object, cca_text name, void *rust_map, cca_error *error); /* not from C */
    void (*set_port_properties)(void); /* not from C */
    int32_t (*get_component_id)(const void *object, void *rust_id, cca_error *error); /* not from C */
    int32_t (*register_for_release)(const void *object, cca_owned_port release, cca_error *error);
    /* Name and number of the instance. */
    int32_t (*component_name)(const void *object, cca_text *name, cca_error *error);
    int32_t (*component_serial)(const void *object, uint64_t *serial, cca_error *error);
    /* Properties of a port of the component. The type of a missing property is CCA_NONE; the name behind the last one
     * is empty. */
    int32_t (*port_property)(const void *object, cca_text port, cca_text key, cca_value *value, cca_error *error);
    int32_t (*set_port_property)(const void *object, cca_text port, cca_text key, cca_value value, cca_error *error);
    int32_t (*port_property_key)(const void *object, cca_text port, size_t index, cca_text *key, cca_error *error);
    /* Parameters: add the port first, then its parameters. Read a parameter whenever its value is
     * needed. */
    int32_t (*add_parameter_port)(const void *object, cca_text port, cca_error *error);
    int32_t (*add_parameter)(const void *object, cca_text port, cca_parameter parameter, cca_error *error);
    int32_t (*parameter)(const void *object, cca_text port, cca_text key, cca_value *value, cca_error *error);
    /* Since 1.4. Sets a parameter of this component, as other components do through the port. */
    int32_t (*set_parameter)(const void *object, cca_text port, cca_text key, cca_value value, cca_error *error);
    /* Title of the parameters, group of the parameters that are added from now on, and prompt that asks a
     * user for a value. */
    int32_t (*set_parameter_title)(const void *object, cca_text port, cca_text title, cca_error *error);
    int32_t (*begin_parameter_group)(const void *object, cca_text port, cca_text group, cca_error *error);
    int32_t (*set_parameter_prompt)(const void *object, cca_text port, cca_text key, cca_text prompt, cca_error *error);
    /* Takes a port of interface cca.ParameterListener, kept as long as the instance lives. */
    int32_t (*add_parameter_listener)(const void *object, cca_text port, cca_owned_port listener, cca_error *error);
} cca_services;

/* cca.ParameterListener 1.0: the argument of add_parameter_listener. The results of its functions are
 * ignored. */
#define CCA_PARAMETER_LISTENER_NAME "cca.ParameterListener"
#define CCA_PARAMETER_LISTENER_VERSION "1.0"
#define CCA_PARAMETER_LISTENER_HASH UINT64_C(0x25fd526fc5ed8668)
typedef struct {
    cca_vtable_header header;
    /* A parameter was set, by any component or by the framework; it already has its new value. */
    int32_t (*updated_parameter_value)(const void *object, cca_text port, cca_text key, cca_error *error);
    /* The parameters are about to be described; some may be added before. */
    int32_t (*update_parameter_port)(const void *object, cca_text port, cca_error *error);
} cca_parameter_listener;

/* cca.ReplacementService 1.0, available to every component that registers a uses port of it: replaces providers while
 * they are called. reconnect connects a uses port to another provides port; replace_instance replaces an instance by a
 * new instance of a class, with the same name, the same connections and the parameters that both classes have. The old
 * instance is kept until no caller can be inside it. */
#define CCA_REPLACEMENT_SERVICE_NAME "cca.ReplacementService"
#define CCA_REPLACEMENT_SERVICE_VERSION "1.0"
#define CCA_REPLACEMENT_SERVICE_HASH UINT64_C(0x76bb8757d910b6de)
typedef struct {
    cca_vtable_header header;
    int32_t (*reconnect)(const void *object, cca_text user, cca_text uses, cca_text provider, cca_text provides,
                         cca_error *error);
    int32_t (*replace_instance)(const void *object, cca_text instance, cca_text class_name, cca_error *error);
} cca_replacement_service;

/* cca.PerfModel 1.0, available to every component that registers a uses port of it: predictions of models while the run
 * goes on. predict: time of a call of CLASS::PORT.METHOD at "q=4000,axis=y". total: exclusive time of all calls
 * recorded so far on this rank, if an instance were of another class (both empty: the assembly as it is). best: the
 * class that would be fastest at an instance for these calls; the text lives as long as the process. */
#define CCA_PERF_MODEL_NAME "cca.PerfModel"
#define CCA_PERF_MODEL_VERSION "1.0"
#define CCA_PERF_MODEL_HASH UINT64_C(0xeb0005d0a0e6c06e)
/* Seconds, with the ends of the 95 % interval; extrapolated: not 0 if a parameter is outside the measured range. */
typedef struct {
    double value_s;
    double lower_s;
    double upper_s;
    uint8_t extrapolated;
} cca_predicted_time;
typedef struct {
    cca_vtable_header header;
    int32_t (*predict)(const void *object, cca_text method, cca_text at, cca_predicted_time *time, cca_error *error);
    int32_t (*total)(const void *object, cca_text instance, cca_text class_name, cca_predicted_time *time,
                     cca_error *error);
    int32_t (*best)(const void *object, cca_text instance, cca_text *class_name, cca_error *error);
} cca_perf_model;

/* The table of the services that set_services gets. */
static inline const cca_services *cca_services_table(cca_port services) {
    return (const cca_services *)(const void *)services.vtable;
}

/* Current provider of a uses port: call it before each call, since a provider may be replaced between
 * two calls. */
static inline cca_port cca_target(const cca_slot *slot) {
    return *__atomic_load_n(&slot->current, __ATOMIC_ACQUIRE);
}

/* A text of a string with a terminating zero. */
static inline cca_text cca_text_of(const char *string) {
    cca_text text;
    text.data = string;
    text.length = strlen(string);
    return text;
}

/* Provides a port: an object, its table of functions and the interface. All of them live as long as the instance. */
static inline int32_t cca_add_provides_port(cca_port services, const char *name, const void *object,
                                            const cca_vtable_header *table, const cca_interface *interface,
                                            cca_error *error) {
    cca_owned_port port;
    memset(&port, 0, sizeof port);
    port.port.object = object;
    port.port.vtable = table;
    port.interface = interface;
    return cca_services_table(services)->add_provides_port(services.object, cca_text_of(name), port, error);
}

/* Declares that a provided port keeps nothing between two calls, so that another class may take its place between them. */
static inline int32_t cca_declare_stateless(cca_port services, const char *port, cca_error *error) {
    cca_value yes;
    memset(&yes, 0, sizeof yes);
    yes.kind = CCA_BOOL;
    yes.integer = 1;
    return cca_services_table(services)->set_port_property(services.object, cca_text_of(port), cca_text_of("stateless"),
                                                           yes, error);
}

/* Registers a uses port. */
static inline int32_t cca_register_uses_port(cca_port services, const char *name, const cca_interface *interface,
                                             cca_error *error) {
    return cca_services_table(services)->register_uses_port(services.object, cca_text_of(name), interface, error);
}

/* Gets a uses port to call through, until cca_release_port(): the slot that functions of generated headers take. */
static inline int32_t cca_get_port(cca_port services, const char *name, const cca_slot **slot, cca_error *error) {
    return cca_services_table(services)->get_port(services.object, cca_text_of(name), slot, error);
}

/* Gives a uses port back. */
static inline int32_t cca_release_port(cca_port services, const char *name, cca_error *error) {
    return cca_services_table(services)->release_port(services.object, cca_text_of(name), error);
}

/* cca.Go 1.0, which starts an assembly. */
#define CCA_GO_NAME "cca.Go"
#define CCA_GO_VERSION "1.0"
#define CCA_GO_HASH UINT64_C(0xbc26258f047d825b)

typedef struct {
    cca_vtable_header header;
    int32_t (*go)(const void *object, cca_error *error);
} cca_go_vtable;

/* cca.Progress 1.0, available to every component that registers a uses port of it: each rank reports after each of its
 * steps the fraction of the work that is done, 0 to 1, and a short description. An adaptive run changes classes between
 * two steps. */
#define CCA_PROGRESS_NAME "cca.Progress"
#define CCA_PROGRESS_VERSION "1.0"
#define CCA_PROGRESS_HASH UINT64_C(0xe23ff7b157c5bba8)
typedef struct {
    cca_vtable_header header;
    int32_t (*report)(const void *object, double fraction, cca_text state, cca_error *error);
} cca_progress;

/* How all_reduce combines values; any other value is an error. */
enum { CCA_MIN = 0, CCA_MAX = 1, CCA_SUM = 2 };

/* Doubles, lent for a call. */
typedef struct {
    double *data;
    size_t length;
} cca_doubles_mut;

/* cca.Comm 1.0, the communicator: an unconnected uses port of it is connected to the framework's. fortran_handle is
 * MPI's handle, for MPI_Comm_f2c; 0 without MPI. Every rank calls barrier, all_reduce and broadcast in the same order. */
#define CCA_COMM_NAME "cca.Comm"
#define CCA_COMM_VERSION "1.0"
#define CCA_COMM_HASH UINT64_C(0x03b611c6ac2f0c5b)

typedef struct {
    cca_vtable_header header;
    int32_t (*rank)(const void *object, int32_t *rank, cca_error *error);
    int32_t (*size)(const void *object, int32_t *size, cca_error *error);
    int32_t (*fortran_handle)(const void *object, int32_t *handle, cca_error *error);
    int32_t (*barrier)(const void *object, cca_error *error);
    int32_t (*all_reduce)(const void *object, uint32_t reduction, cca_doubles_mut values, cca_error *error);
    int32_t (*broadcast)(const void *object, int32_t root, cca_doubles_mut values, cca_error *error);
    void (*gather)(void);    /* not from C: use MPI by the handle */
    void (*send)(void);      /* not from C */
    int32_t (*receive)(const void *object, int32_t from, int32_t tag, size_t length, uint64_t *request, cca_error *error);
    void (*wait_some)(void); /* not from C */
    int32_t (*abort)(const void *object, int32_t code, cca_error *error);
} cca_comm_vtable;

/* The functions of a component. */
typedef struct {
    size_t size; /* of this table, in bytes */
    int32_t (*set_services)(const void *object, cca_port services, cca_error *error);
    int32_t (*release_services)(const void *object, cca_error *error);
    void (*destroy)(const void *object);
} cca_component_vtable;

/* An instance of a component class. */
typedef struct {
    const void *object;
    const cca_component_vtable *vtable;
} cca_component;

/* A component class. */
typedef struct {
    cca_text name;
    cca_text version;
    cca_text doc;
    int32_t (*create)(cca_component *component, cca_error *error);
} cca_class;

/* A library's classes. `layout_abi` is left empty from C. */
typedef struct {
    uint32_t abi_version;
    uint32_t n_classes;
    const cca_class *classes;
    cca_text layout_abi;
} cca_library;

#ifndef __cplusplus

/* Boilerplate of a component class in C: `Type` is the struct of an instance and starts as zeros; `set_services_of` is
 * int32_t (Type *own, cca_port services, cca_error *error); `at_end`, void (Type *own), is called before the struct is
 * freed. */
#define CCA_COMPONENT_ENDING(Type, set_services_of, at_end)                                                           \
    static int32_t Type##_set_services(const void *object, cca_port services, cca_error *error) {                     \
        return set_services_of((Type *)(uintptr_t)object, services, error);                                           \
    }                                                                                                                 \
    static int32_t Type##_release_services(const void *object, cca_error *error) {                                    \
        (void)object;                                                                                                 \
        (void)error;                                                                                                  \
        return CCA_OK;                                                                                                \
    }                                                                                                                 \
    static void Type##_destroy(const void *object) {                                                                  \
        at_end((Type *)(uintptr_t)object);                                                                            \
        free((Type *)(uintptr_t)object);                                                                              \
    }                                                                                                                 \
    static int32_t Type##_create(cca_component *component, cca_error *error) {                                        \
        static const cca_component_vtable TABLE = { sizeof(cca_component_vtable), Type##_set_services,                \
                                                    Type##_release_services, Type##_destroy };                        \
        component->object = calloc(1, sizeof(Type));                                                                  \
        component->vtable = &TABLE;                                                                                   \
        return component->object != NULL ? CCA_OK : cca_fail(error, "no memory for an instance");                     \
    }

/* The same for instances that own nothing but their struct. */
#define CCA_COMPONENT(Type, set_services_of) CCA_COMPONENT_ENDING(Type, set_services_of, (void))

/* One class of a library: the struct of a CCA_COMPONENT, the class's name, version and description. cca.hpp has the same two
 * for C++. */
#define CCA_CLASS(Type, name, version, doc) { CCA_TEXT(name), CCA_TEXT(version), CCA_TEXT(doc), Type##_create }

/* The entry of a library, with its classes. */
#define CCA_LIBRARY(...)                                                                                              \
    const cca_library *cca_component_v2(void);                                                                        \
    const cca_library *cca_component_v2(void) {                                                                       \
        static const cca_class CLASSES[] = { __VA_ARGS__ };                                                           \
        static const cca_library LIBRARY = { CCA_ABI_VERSION, sizeof(CLASSES) / sizeof(CLASSES[0]), CLASSES,          \
                                             { NULL, 0 } };                                                           \
        return &LIBRARY;                                                                                              \
    }

#endif

#ifdef __cplusplus
}

#include <exception>

namespace cca {

/* Runs the body of a method, a callable that returns a status, and turns an exception into an error with the
 * exception's text. A caller in C or Rust cannot catch an exception: one that leaves a method ends the process. */
template <typename Body>
int32_t guarded(cca_error *error, Body &&body) {
    try {
        return body();
    } catch (const std::exception &exception) {
        return cca_fail(error, exception.what());
    } catch (const char *message) {
        return cca_fail(error, message);
    }
}

} // namespace cca
#endif

#endif
