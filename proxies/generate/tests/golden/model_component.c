/* Components that provide the structs of functions of model.h out of a library that fills them: made by `mastermind proxy`.
 * To be compiled with model_ports.c. */
#define _GNU_SOURCE
#include "model_ports.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* A class of components. */
struct class {
    const char *port;
    const char *library;  /* where its functions are, unless the parameter says another; empty for none */
    const char *register_; /* the function of it that fills the struct, likewise */
    const cca_vtable_header *table;
    const cca_interface *interface;
};

/* A component. */
struct instance {
    const struct class *class;
    cca_port services;
    pthread_mutex_t lock;
    void *filled; /* null until the first call */
};

static const char PARAMETERS[] = "library";

/* A parameter as a string; null, and an error, if it is none. */
static char *parameter(const struct instance *instance, const char *key, cca_error *error) {
    cca_value value;
    const cca_services *services = cca_services_table(instance->services);
    if (services->parameter(instance->services.object, cca_text_of(PARAMETERS), cca_text_of(key), &value, error) != CCA_OK) return NULL;
    if (value.kind != CCA_STRING || value.text.length == 0) {
        char message[200];
        snprintf(message, sizeof message, "cannot fill the struct: parameter \"%s\" is empty, expected %s", key,
                 strcmp(key, "path") == 0 ? "the path of a library" : "the name of its function that fills the struct");
        cca_fail(error, message);
        return NULL;
    }
    char *text = strndup(value.text.data, value.text.length);
    if (text == NULL) cca_fail(error, "cannot fill the struct: no memory");
    return text;
}

/* The struct, filled by the library. */
static void *fill(const struct instance *instance, size_t size, cca_error *error) {
    char message[1000] = "";
    void *made = NULL;
    char *path = parameter(instance, "path", error);
    char *name = path == NULL ? NULL : parameter(instance, "register", error);
    if (name != NULL) {
        /* Its own calls stay in it; it is never closed. */
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        void *function = library == NULL ? NULL : dlsym(library, name);
        if (library == NULL) {
            snprintf(message, sizeof message, "cannot open library: %s", dlerror());
        } else if (function == NULL) {
            snprintf(message, sizeof message, "cannot fill the struct: \"%s\" has no function \"%s\", expected one that fills it", path, name);
        } else if ((made = calloc(1, size)) == NULL) {
            snprintf(message, sizeof message, "cannot fill the struct: no memory");
        } else {
            ((void (*)(void *))function)(made);
        }
        if (made == NULL) cca_fail(error, message);
    }
    free(path);
    free(name);
    return made;
}

static void *filled(struct instance *instance, size_t size, cca_error *error) {
    void *known = __atomic_load_n(&instance->filled, __ATOMIC_ACQUIRE);
    if (known != NULL) return known;
    pthread_mutex_lock(&instance->lock);
    if (instance->filled == NULL) __atomic_store_n(&instance->filled, fill(instance, size, error), __ATOMIC_RELEASE);
    known = instance->filled;
    pthread_mutex_unlock(&instance->lock);
    return known;
}

static int32_t add_text(const cca_services *table, cca_port services, const char *key, const char *text, const char *help,
                        cca_error *error) {
    cca_parameter parameter;
    memset(&parameter, 0, sizeof parameter);
    parameter.key = cca_text_of(key);
    parameter.default_value.kind = CCA_STRING;
    parameter.default_value.text = cca_text_of(text);
    parameter.help = cca_text_of(help);
    return table->add_parameter(services.object, cca_text_of(PARAMETERS), parameter, error);
}

static int32_t set_services(const void *object, cca_port services, cca_error *error) {
    struct instance *instance = (struct instance *)(uintptr_t)object;
    const struct class *class = instance->class;
    const cca_services *table = cca_services_table(services);
    instance->services = services;
    int32_t status = table->add_parameter_port(services.object, cca_text_of(PARAMETERS), error);
    if (status == CCA_OK)
        status = add_text(table, services, "path", class->library, "File of the library that fills the struct.", error);
    if (status == CCA_OK)
        status = add_text(table, services, "register", class->register_, "Its function that fills the struct.", error);
    const cca_owned_port port = { { object, class->table }, NULL, class->interface };
    return status != CCA_OK ? status : table->add_provides_port(services.object, cca_text_of(class->port), port, error);
}

static int32_t release_services(const void *object, cca_error *error) {
    (void)object;
    (void)error;
    return CCA_OK;
}

static void destroy(const void *object) {
    struct instance *instance = (struct instance *)(uintptr_t)object;
    /* What the struct leads to is the library's. */
    free(instance->filled);
    pthread_mutex_destroy(&instance->lock);
    free(instance);
}

static const cca_component_vtable COMPONENT = { sizeof COMPONENT, set_services, release_services, destroy };

static int32_t create(const struct class *class, cca_component *component, cca_error *error) {
    struct instance *instance = (struct instance *)calloc(1, sizeof *instance);
    if (instance == NULL) return cca_fail(error, "cannot create a component: no memory");
    instance->class = class;
    pthread_mutex_init(&instance->lock, NULL);
    component->object = instance;
    component->vtable = &COMPONENT;
    return CCA_OK;
}

/* model.Model, as the library fills it. */
static struct Model *model_model_of(const void *object_, cca_error *error_) {
    return (struct Model *)filled((struct instance *)(uintptr_t)object_, sizeof(struct Model), error_);
}

static int32_t model_model_provide_initialize(const void *object_, const char *name, int *result_, cca_error *error_) {
    struct Model *self_ = model_model_of(object_, error_);
    if (self_ == NULL) return CCA_FAILED;
    if (self_->initialize == NULL) return cca_fail(error_, "cannot call \"initialize\": the library has left it out of the struct");
    *result_ = self_->initialize(self_, name);
    return CCA_OK;
}

static int32_t model_model_provide_update(const void *object_, int *result_, cca_error *error_) {
    struct Model *self_ = model_model_of(object_, error_);
    if (self_ == NULL) return CCA_FAILED;
    if (self_->update == NULL) return cca_fail(error_, "cannot call \"update\": the library has left it out of the struct");
    *result_ = self_->update(self_);
    return CCA_OK;
}

static int32_t model_model_provide_get_value(const void *object_, model_grid grid, double *values, int count, int *result_, cca_error *error_) {
    struct Model *self_ = model_model_of(object_, error_);
    if (self_ == NULL) return CCA_FAILED;
    if (self_->get_value == NULL) return cca_fail(error_, "cannot call \"get_value\": the library has left it out of the struct");
    *result_ = self_->get_value(self_, grid, values, count);
    return CCA_OK;
}

static int32_t model_model_provide_get_time(const void *object_, double *result_, cca_error *error_) {
    struct Model *self_ = model_model_of(object_, error_);
    if (self_ == NULL) return CCA_FAILED;
    if (self_->get_time == NULL) return cca_fail(error_, "cannot call \"get_time\": the library has left it out of the struct");
    *result_ = self_->get_time(self_);
    return CCA_OK;
}

static int32_t model_model_provide_finalize(const void *object_, cca_error *error_) {
    struct Model *self_ = model_model_of(object_, error_);
    if (self_ == NULL) return CCA_FAILED;
    if (self_->finalize == NULL) return cca_fail(error_, "cannot call \"finalize\": the library has left it out of the struct");
    self_->finalize(self_);
    return CCA_OK;
}

static int32_t model_model_provide_get_names(const void *object_, char **names, int *result_, cca_error *error_) {
    struct Model *self_ = model_model_of(object_, error_);
    if (self_ == NULL) return CCA_FAILED;
    if (self_->get_names == NULL) return cca_fail(error_, "cannot call \"get_names\": the library has left it out of the struct");
    *result_ = self_->get_names(self_, names);
    return CCA_OK;
}

static const model_model_vtable model_model_provided = {
    MODEL_MODEL_HEADER,
    model_model_provide_initialize,
    model_model_provide_update,
    model_model_provide_get_value,
    model_model_provide_get_time,
    model_model_provide_finalize,
    model_model_provide_get_names,
};

static int32_t create_0(cca_component *component, cca_error *error) {
    static const struct class class = { "model", "libmodel.so", "register_doubling", &model_model_provided.header, &model_model_interface };
    return create(&class, component, error);
}

static int32_t create_1(cca_component *component, cca_error *error) {
    static const struct class class = { "model", "libmodel.so", "register_halving", &model_model_provided.header, &model_model_interface };
    return create(&class, component, error);
}

static int32_t create_2(cca_component *component, cca_error *error) {
    static const struct class class = { "model", "", "", &model_model_provided.header, &model_model_interface };
    return create(&class, component, error);
}

static const cca_class CLASSES[] = {
    { CCA_TEXT("model.Doubling"), CCA_TEXT("1.0"), CCA_TEXT("What register_doubling of libmodel.so fills the struct with."), create_0 },
    { CCA_TEXT("model.Halving"), CCA_TEXT("1.0"), CCA_TEXT("What register_halving of libmodel.so fills the struct with."), create_1 },
    { CCA_TEXT("model.Model"), CCA_TEXT("1.0"), CCA_TEXT("What a library fills the struct with."), create_2 },
};
static const cca_library LIBRARY = { CCA_ABI_VERSION, 3, CLASSES, { NULL, 0 } };
__attribute__((visibility("default"))) const cca_library *cca_component_v2(void);
const cca_library *cca_component_v2(void) { return &LIBRARY; }
