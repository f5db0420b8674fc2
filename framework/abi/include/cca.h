/* The door for components in C: the layouts of cca-abi, version 1.
 *
 * A component library exports `const cca_library *cca_component_v1(void)`. Everything that the
 * function leads to (names, tables, descriptions) must live as long as the process: libraries are
 * never closed.
 *
 * Every function that can fail returns 0, or a status other than 0 after leaving a message by
 * cca_fail(). Objects may be used from several threads at once.
 */
#ifndef CCA_H
#define CCA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CCA_ABI_VERSION 1u

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

/* Where a function leaves the text of its error; the caller's. */
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
} cca_interface;

/* A port with the share of its object that it owns; `release` may be null. */
typedef struct {
    cca_port port;
    void (*release)(const void *object);
    const cca_interface *interface;
} cca_owned_port;

/* What a uses port calls through: read `current` (an atomic load) before each call. */
typedef struct {
    const cca_port *current;
} cca_slot;

/* cca.Services 1.1: what the framework gives a component. `services.object` goes in as `object`. A table may grow at
 * its end: `header.size` says how far it reaches. get_port_nonblocking leaves a null slot if nothing is connected;
 * register_for_release takes a port of interface `cca.ComponentRelease`. The others pass Rust types: not from C. */
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
} cca_services;

/* cca.ReplacementService 1.0, led to whoever registers a uses port of it: replaces what others call, while they call it.
 * reconnect leads a connected uses port to another provides port; replace_instance puts a new instance of a class in the
 * place of one, with its name, its connections and the parameters that both have. The old one is kept until no caller can
 * be inside it. */
#define CCA_REPLACEMENT_SERVICE_NAME "cca.ReplacementService"
#define CCA_REPLACEMENT_SERVICE_VERSION "1.0"
#define CCA_REPLACEMENT_SERVICE_HASH UINT64_C(0x76bb8757d910b6de)
typedef struct {
    cca_vtable_header header;
    int32_t (*reconnect)(const void *object, cca_text user, cca_text uses, cca_text provider, cca_text provides,
                         cca_error *error);
    int32_t (*replace_instance)(const void *object, cca_text instance, cca_text class_name, cca_error *error);
} cca_replacement_service;

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

#ifdef __cplusplus
}

#include <exception>

namespace cca {

/* Runs the body of a method, a callable that returns a status; an exception becomes an error with its words. A caller in
 * C or Rust cannot catch one: what leaves a method there ends the process. */
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
