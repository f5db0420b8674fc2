/* The ports of model.h described, with their proxies and dispatchers: made by `mastermind proxy`. To be compiled with a
 * component that uses them. */
#define _GNU_SOURCE
#include "model_ports.h"

#include <stdlib.h>

#include "cca_expression.h"
#include "cca_port_proxy.h"

static const cca_text cca_labels_0[] = { CCA_TEXT("MODEL_FINE"), CCA_TEXT("MODEL_COARSE"), CCA_TEXT("(other)") };
static inline uint64_t cca_label_0(int64_t value) {
    if (value == (int64_t)MODEL_FINE) return 0;
    if (value == (int64_t)MODEL_COARSE) return 1;
    return 2;
}

/* model.Model */

typedef struct {
    const cca_slot *target;
    const cca_recorder *recorder;
    const cca_proxy_method *methods[6];
} model_model_proxy;

static int32_t model_model_record_initialize(const void *object_, const char *name, int *result_, cca_error *error_) {
    const model_model_proxy *proxy_ = (const model_model_proxy *)object_;
    const cca_proxy_method *method_ = proxy_->methods[0];
    cca_port target_ = cca_target(proxy_->target);
    const model_model_vtable *table_ = (const model_model_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    const cca_port *instead_ = cca_instead(method_, NULL, 0);
    if (instead_ != NULL)
        return ((const model_model_vtable *)(const void *)instead_->vtable)->initialize(instead_->object, name, result_, error_);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, NULL, 0);
    int32_t status_ = table_->initialize(target_.object, name, result_, error_);
    int cca_is_valid = 1;
    if (recorded_) {
        int failed_ = status_ != CCA_OK;
        if (!failed_) {
            __typeof__(*result_) result = *result_;
            failed_ = (((int64_t)(result)) != ((int64_t)0)) != 0 && cca_is_valid;
        }
        cca_recording_end(&call_, 0, failed_);
    }
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const model_model_vtable *)(const void *)before_->vtable)->initialize(before_->object, name, result_, error_);
    return status_;
}

static int32_t model_model_record_update(const void *object_, int *result_, cca_error *error_) {
    const model_model_proxy *proxy_ = (const model_model_proxy *)object_;
    const cca_proxy_method *method_ = proxy_->methods[1];
    cca_port target_ = cca_target(proxy_->target);
    const model_model_vtable *table_ = (const model_model_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    const cca_port *instead_ = cca_instead(method_, NULL, 0);
    if (instead_ != NULL)
        return ((const model_model_vtable *)(const void *)instead_->vtable)->update(instead_->object, result_, error_);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, NULL, 0);
    int32_t status_ = table_->update(target_.object, result_, error_);
    if (recorded_) cca_recording_end(&call_, 0, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const model_model_vtable *)(const void *)before_->vtable)->update(before_->object, result_, error_);
    return status_;
}

static int32_t model_model_record_get_value(const void *object_, model_grid grid, double *values, int count, int *result_, cca_error *error_) {
    const model_model_proxy *proxy_ = (const model_model_proxy *)object_;
    const cca_proxy_method *method_ = proxy_->methods[2];
    cca_port target_ = cca_target(proxy_->target);
    const model_model_vtable *table_ = (const model_model_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    int cca_is_valid = 1;
    uint64_t words_[] = { (uint64_t)(int64_t)((int64_t)(count)), cca_label_0((int64_t)(grid)), (uint64_t)(int64_t)cca_quotient(((int64_t)12), ((int64_t)(count)), &cca_is_valid) };
    const cca_port *instead_ = cca_instead(method_, cca_is_valid ? words_ : NULL, 3);
    if (instead_ != NULL)
        return ((const model_model_vtable *)(const void *)instead_->vtable)->get_value(instead_->object, grid, values, count, result_, error_);
    /* A call whose parameters make no sense is counted as lost. */
    if (!cca_is_valid)
        cca_lose_parameters(proxy_->recorder, cca_thread_context(proxy_->recorder), method_);
    int recorded_ = cca_is_valid && cca_recording_begin(&call_, proxy_->recorder, method_, words_, 3);
    int32_t status_ = table_->get_value(target_.object, grid, values, count, result_, error_);
    if (recorded_) {
        int failed_ = status_ != CCA_OK;
        if (!failed_) {
            __typeof__(*result_) result = *result_;
            failed_ = (((int64_t)(result)) < ((int64_t)0)) != 0 && cca_is_valid;
        }
        cca_recording_end(&call_, 3, failed_);
    }
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const model_model_vtable *)(const void *)before_->vtable)->get_value(before_->object, grid, values, count, result_, error_);
    return status_;
}

static int32_t model_model_record_get_time(const void *object_, double *result_, cca_error *error_) {
    const model_model_proxy *proxy_ = (const model_model_proxy *)object_;
    const cca_proxy_method *method_ = proxy_->methods[3];
    cca_port target_ = cca_target(proxy_->target);
    const model_model_vtable *table_ = (const model_model_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    const cca_port *instead_ = cca_instead(method_, NULL, 0);
    if (instead_ != NULL)
        return ((const model_model_vtable *)(const void *)instead_->vtable)->get_time(instead_->object, result_, error_);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, NULL, 0);
    int32_t status_ = table_->get_time(target_.object, result_, error_);
    if (recorded_) cca_recording_end(&call_, 0, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const model_model_vtable *)(const void *)before_->vtable)->get_time(before_->object, result_, error_);
    return status_;
}

static int32_t model_model_record_finalize(const void *object_, cca_error *error_) {
    const model_model_proxy *proxy_ = (const model_model_proxy *)object_;
    const cca_proxy_method *method_ = proxy_->methods[4];
    cca_port target_ = cca_target(proxy_->target);
    const model_model_vtable *table_ = (const model_model_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    const cca_port *instead_ = cca_instead(method_, NULL, 0);
    if (instead_ != NULL)
        return ((const model_model_vtable *)(const void *)instead_->vtable)->finalize(instead_->object, error_);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, NULL, 0);
    int32_t status_ = table_->finalize(target_.object, error_);
    if (recorded_) cca_recording_end(&call_, 0, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const model_model_vtable *)(const void *)before_->vtable)->finalize(before_->object, error_);
    return status_;
}

static int32_t model_model_record_get_names(const void *object_, char **names, int *result_, cca_error *error_) {
    const model_model_proxy *proxy_ = (const model_model_proxy *)object_;
    const cca_proxy_method *method_ = proxy_->methods[5];
    cca_port target_ = cca_target(proxy_->target);
    const model_model_vtable *table_ = (const model_model_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    const cca_port *instead_ = cca_instead(method_, NULL, 0);
    if (instead_ != NULL)
        return ((const model_model_vtable *)(const void *)instead_->vtable)->get_names(instead_->object, names, result_, error_);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, NULL, 0);
    int32_t status_ = table_->get_names(target_.object, names, result_, error_);
    if (recorded_) cca_recording_end(&call_, 0, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const model_model_vtable *)(const void *)before_->vtable)->get_names(before_->object, names, result_, error_);
    return status_;
}

static const model_model_vtable model_model_proxy_table = {
    MODEL_MODEL_HEADER,
    model_model_record_initialize,
    model_model_record_update,
    model_model_record_get_value,
    model_model_record_get_time,
    model_model_record_finalize,
    model_model_record_get_names,
};

static int32_t model_model_new_proxy(const cca_slot *target, const cca_recorder *recorder, cca_proxy_methods methods,
    cca_owned_port *proxy, cca_error *error) {
    if (recorder->version != CCA_RECORDING_VERSION || methods.length != 6)
        return cca_fail(error, "cannot make a proxy: its source is of another version, expected this one's; make it again");
    model_model_proxy *made = (model_model_proxy *)malloc(sizeof *made);
    if (made == NULL) return cca_fail(error, "cannot make a proxy: no memory");
    made->target = target;
    made->recorder = recorder;
    for (size_t place = 0; place < 6; place++) made->methods[place] = methods.data[place];
    proxy->port.object = made;
    proxy->port.vtable = &model_model_proxy_table.header;
    proxy->release = cca_release_made;
    proxy->interface = &model_model_interface;
    return CCA_OK;
}

static int32_t model_model_dispatch_initialize(const void *object_, const char *name, int *result_, cca_error *error_) {
    cca_port target_ = cca_decided((const cca_dispatcher *)object_, 0, NULL);
    if (target_.vtable == NULL) {
        memset(result_, 0, sizeof *result_);
        return CCA_OK;
    }
    return ((const model_model_vtable *)(const void *)target_.vtable)->initialize(target_.object, name, result_, error_);
}

static int32_t model_model_dispatch_update(const void *object_, int *result_, cca_error *error_) {
    cca_port target_ = cca_decided((const cca_dispatcher *)object_, 1, NULL);
    if (target_.vtable == NULL) {
        memset(result_, 0, sizeof *result_);
        return CCA_OK;
    }
    return ((const model_model_vtable *)(const void *)target_.vtable)->update(target_.object, result_, error_);
}

static int32_t model_model_dispatch_get_value(const void *object_, model_grid grid, double *values, int count, int *result_, cca_error *error_) {
    int cca_is_valid = 1;
    uint64_t words_[] = { (uint64_t)(int64_t)((int64_t)(count)), cca_label_0((int64_t)(grid)), (uint64_t)(int64_t)cca_quotient(((int64_t)12), ((int64_t)(count)), &cca_is_valid) };
    (void)cca_is_valid;
    cca_port target_ = cca_decided((const cca_dispatcher *)object_, 2, words_);
    if (target_.vtable == NULL) {
        memset(result_, 0, sizeof *result_);
        return CCA_OK;
    }
    return ((const model_model_vtable *)(const void *)target_.vtable)->get_value(target_.object, grid, values, count, result_, error_);
}

static int32_t model_model_dispatch_get_time(const void *object_, double *result_, cca_error *error_) {
    cca_port target_ = cca_decided((const cca_dispatcher *)object_, 3, NULL);
    if (target_.vtable == NULL) {
        memset(result_, 0, sizeof *result_);
        cca_poison_double(target_, result_, 1);
        return CCA_OK;
    }
    return ((const model_model_vtable *)(const void *)target_.vtable)->get_time(target_.object, result_, error_);
}

static int32_t model_model_dispatch_finalize(const void *object_, cca_error *error_) {
    cca_port target_ = cca_decided((const cca_dispatcher *)object_, 4, NULL);
    if (target_.vtable == NULL) {
        return CCA_OK;
    }
    return ((const model_model_vtable *)(const void *)target_.vtable)->finalize(target_.object, error_);
}

static int32_t model_model_dispatch_get_names(const void *object_, char **names, int *result_, cca_error *error_) {
    cca_port target_ = cca_decided((const cca_dispatcher *)object_, 5, NULL);
    if (target_.vtable == NULL) {
        memset(result_, 0, sizeof *result_);
        return CCA_OK;
    }
    return ((const model_model_vtable *)(const void *)target_.vtable)->get_names(target_.object, names, result_, error_);
}

static const model_model_vtable model_model_dispatcher_table = {
    MODEL_MODEL_HEADER,
    model_model_dispatch_initialize,
    model_model_dispatch_update,
    model_model_dispatch_get_value,
    model_model_dispatch_get_time,
    model_model_dispatch_finalize,
    model_model_dispatch_get_names,
};

static int32_t model_model_new_dispatcher(const cca_slot *const *providers, cca_decisions decisions, cca_owned_port *dispatcher,
    cca_error *error) {
    return cca_new_dispatcher(providers, decisions, 6, &model_model_dispatcher_table.header, &model_model_interface, dispatcher, error);
}

static const cca_parameter_description model_model_get_value_parameters[] = {
    { CCA_TEXT("count"), CCA_PARAMETER_INTEGER, CCA_TEXT(""), { NULL, 0 } },
    { CCA_TEXT("grid"), CCA_PARAMETER_ENUMERATION, CCA_TEXT(""), { cca_labels_0, 3 } },
    { CCA_TEXT("share"), CCA_PARAMETER_INTEGER, CCA_TEXT(""), { NULL, 0 } },
};

static const cca_method_description model_model_methods[] = {
    { CCA_TEXT("initialize"), CCA_TEXT("int initialize(const char *name)"), CCA_TEXT(""), { NULL, 0 } },
    { CCA_TEXT("update"), CCA_TEXT("int update(void)"), CCA_TEXT(""), { NULL, 0 } },
    { CCA_TEXT("get_value"), CCA_TEXT("int get_value(model_grid grid, double *values, int count)"), CCA_TEXT(""), { model_model_get_value_parameters, 3 } },
    { CCA_TEXT("get_time"), CCA_TEXT("double get_time(void)"), CCA_TEXT(""), { NULL, 0 } },
    { CCA_TEXT("finalize"), CCA_TEXT("void finalize(void)"), CCA_TEXT(""), { NULL, 0 } },
    { CCA_TEXT("get_names"), CCA_TEXT("int get_names(char **names)"), CCA_TEXT(""), { NULL, 0 } },
};

const cca_interface model_model_interface = { CCA_TEXT(MODEL_MODEL_NAME), CCA_TEXT(MODEL_MODEL_VERSION), MODEL_MODEL_HASH,
    sizeof(model_model_vtable), model_model_methods, 6, NULL, 0, (void (*)(void))model_model_new_proxy,
    (void (*)(void))model_model_new_dispatcher };
