/* The ports of solver.sidl described, with their proxies and dispatchers: made by `mastermind proxy`. To be compiled with a component. */
#include "solver_ports.h"

#include <stdlib.h>

#include "cca_port_proxy.h"

static const cca_text storage_labels[] = { CCA_TEXT("full"), CCA_TEXT("banded"), CCA_TEXT("packed") };

/* demo.Named */

typedef struct {
    const cca_slot *target;
    const cca_recorder *recorder;
    const cca_proxy_method *methods[1];
} demo_named_proxy;

static int32_t demo_named_record_get_name(const void *object, solver_owned_text *result, cca_error *error) {
    const demo_named_proxy *proxy_ = (const demo_named_proxy *)object;
    const cca_proxy_method *method_ = proxy_->methods[0];
    cca_port target_ = cca_target(proxy_->target);
    const demo_named_vtable *table_ = (const demo_named_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    const cca_port *instead_ = cca_instead(method_, NULL, 0);
    if (instead_ != NULL)
        return ((const demo_named_vtable *)(const void *)instead_->vtable)->get_name(instead_->object, result, error);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, NULL, 0);
    int32_t status_ = table_->get_name(target_.object, result, error);
    if (recorded_) cca_recording_end(&call_, 0, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const demo_named_vtable *)(const void *)before_->vtable)->get_name(before_->object, result, error);
    return status_;
}

static const demo_named_vtable demo_named_proxy_table = { DEMO_NAMED_HEADER, demo_named_record_get_name };

static int32_t demo_named_new_proxy(const cca_slot *target, const cca_recorder *recorder, cca_proxy_methods methods,
    cca_owned_port *proxy, cca_error *error) {
    if (recorder->version != CCA_RECORDING_VERSION || methods.length != 1)
        return cca_fail(error, "cannot make a proxy: its source is of another version, expected this one's; make it again");
    demo_named_proxy *made = (demo_named_proxy *)malloc(sizeof *made);
    if (made == NULL) return cca_fail(error, "cannot make a proxy: no memory");
    made->target = target;
    made->recorder = recorder;
    for (size_t place = 0; place < 1; place++) made->methods[place] = methods.data[place];
    proxy->port.object = made;
    proxy->port.vtable = &demo_named_proxy_table.header;
    proxy->release = cca_release_made;
    proxy->interface = &demo_named_interface;
    return CCA_OK;
}

static int32_t demo_named_dispatch_get_name(const void *object, solver_owned_text *result, cca_error *error) {
    cca_port target_ = cca_decided((const cca_dispatcher *)object, 0, NULL);
    if (target_.vtable == NULL) {
        return cca_fail(error, "cannot leave out method \"get_name\": it returns more than numbers, expected numbers alone");
    }
    return ((const demo_named_vtable *)(const void *)target_.vtable)->get_name(target_.object, result, error);
}

static const demo_named_vtable demo_named_dispatcher_table = { DEMO_NAMED_HEADER, demo_named_dispatch_get_name };

static int32_t demo_named_new_dispatcher(const cca_slot *const *providers, cca_decisions decisions, cca_owned_port *dispatcher,
    cca_error *error) {
    return cca_new_dispatcher(providers, decisions, 1, &demo_named_dispatcher_table.header, &demo_named_interface, dispatcher, error);
}

static const cca_method_description demo_named_methods[] = {
    { CCA_TEXT("get_name"), CCA_TEXT("get_name() -> OwnedText"), CCA_TEXT("Its name."), { NULL, 0 } },
};

const cca_interface demo_named_interface = { CCA_TEXT(DEMO_NAMED_NAME), CCA_TEXT(DEMO_NAMED_VERSION), DEMO_NAMED_HASH,
    sizeof(demo_named_vtable), demo_named_methods, 1, NULL, 0, (void (*)(void))demo_named_new_proxy,
    (void (*)(void))demo_named_new_dispatcher };

/* demo.Solver */

typedef struct {
    const cca_slot *target;
    const cca_recorder *recorder;
    const cca_proxy_method *methods[6];
} demo_solver_proxy;

static int32_t demo_solver_record_get_name(const void *object, solver_owned_text *result, cca_error *error) {
    const demo_solver_proxy *proxy_ = (const demo_solver_proxy *)object;
    const cca_proxy_method *method_ = proxy_->methods[0];
    cca_port target_ = cca_target(proxy_->target);
    const demo_solver_vtable *table_ = (const demo_solver_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    const cca_port *instead_ = cca_instead(method_, NULL, 0);
    if (instead_ != NULL)
        return ((const demo_solver_vtable *)(const void *)instead_->vtable)->get_name(instead_->object, result, error);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, NULL, 0);
    int32_t status_ = table_->get_name(target_.object, result, error);
    if (recorded_) cca_recording_end(&call_, 0, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const demo_solver_vtable *)(const void *)before_->vtable)->get_name(before_->object, result, error);
    return status_;
}

static int32_t demo_solver_record_solve(const void *object, int32_t n, solver_storage storage, solver_double_slice a, solver_double_slice b, solver_double_slice_mut x, int32_t *result, cca_error *error) {
    const demo_solver_proxy *proxy_ = (const demo_solver_proxy *)object;
    const cca_proxy_method *method_ = proxy_->methods[1];
    cca_port target_ = cca_target(proxy_->target);
    const demo_solver_vtable *table_ = (const demo_solver_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    uint64_t words_[2] = { 0 };
    words_[0] = (uint64_t)((int64_t)n);
    words_[1] = (uint64_t)((int64_t)storage);
    const cca_port *instead_ = cca_instead(method_, words_, 2);
    if (instead_ != NULL)
        return ((const demo_solver_vtable *)(const void *)instead_->vtable)->solve(instead_->object, n, storage, a, b, x, result, error);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, words_, 2);
    int32_t status_ = table_->solve(target_.object, n, storage, a, b, x, result, error);
    if (recorded_) cca_recording_end(&call_, 2, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const demo_solver_vtable *)(const void *)before_->vtable)->solve(before_->object, n, storage, a, b, x, result, error);
    return status_;
}

static int32_t demo_solver_record_norm(const void *object, solver_double_slice v, int32_t order, double *result, cca_error *error) {
    const demo_solver_proxy *proxy_ = (const demo_solver_proxy *)object;
    const cca_proxy_method *method_ = proxy_->methods[2];
    cca_port target_ = cca_target(proxy_->target);
    const demo_solver_vtable *table_ = (const demo_solver_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    uint64_t words_[3] = { 0 };
    words_[0] = (uint64_t)((int64_t)v.length);
    words_[1] = (uint64_t)((int64_t)((uint64_t)((int64_t)INT64_C(2)) * (uint64_t)((int64_t)v.length)));
    words_[2] = (uint64_t)((int64_t)order);
    const cca_port *instead_ = cca_instead(method_, words_, 3);
    if (instead_ != NULL)
        return ((const demo_solver_vtable *)(const void *)instead_->vtable)->norm(instead_->object, v, order, result, error);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, words_, 3);
    int32_t status_ = table_->norm(target_.object, v, order, result, error);
    if (recorded_) cca_recording_end(&call_, 3, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const demo_solver_vtable *)(const void *)before_->vtable)->norm(before_->object, v, order, result, error);
    return status_;
}

static int32_t demo_solver_record_get_effort(const void *object, solver_effort *result, cca_error *error) {
    const demo_solver_proxy *proxy_ = (const demo_solver_proxy *)object;
    const cca_proxy_method *method_ = proxy_->methods[3];
    cca_port target_ = cca_target(proxy_->target);
    const demo_solver_vtable *table_ = (const demo_solver_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    const cca_port *instead_ = cca_instead(method_, NULL, 0);
    if (instead_ != NULL)
        return ((const demo_solver_vtable *)(const void *)instead_->vtable)->get_effort(instead_->object, result, error);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, NULL, 0);
    int32_t status_ = table_->get_effort(target_.object, result, error);
    if (recorded_) cca_recording_end(&call_, 0, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const demo_solver_vtable *)(const void *)before_->vtable)->get_effort(before_->object, result, error);
    return status_;
}

static int32_t demo_solver_record_sort_numbers(const void *object, solver_double_slice values, solver_solver_sort_numbers_result *result, cca_error *error) {
    const demo_solver_proxy *proxy_ = (const demo_solver_proxy *)object;
    const cca_proxy_method *method_ = proxy_->methods[4];
    cca_port target_ = cca_target(proxy_->target);
    const demo_solver_vtable *table_ = (const demo_solver_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    uint64_t words_[2] = { 0 };
    words_[0] = (uint64_t)((int64_t)values.length);
    const cca_port *instead_ = cca_instead(method_, words_, 2);
    if (instead_ != NULL)
        return ((const demo_solver_vtable *)(const void *)instead_->vtable)->sort_numbers(instead_->object, values, result, error);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, words_, 2);
    int32_t status_ = table_->sort_numbers(target_.object, values, result, error);
    if (recorded_ && status_ == CCA_OK) {
        words_[1] = (uint64_t)((int64_t)result->sorted.length);
    }
    if (recorded_) cca_recording_end(&call_, 2, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const demo_solver_vtable *)(const void *)before_->vtable)->sort_numbers(before_->object, values, result, error);
    return status_;
}

static int32_t demo_solver_record_scale_table(const void *object, double factor, solver_double_array2_mut table, double *result, cca_error *error) {
    const demo_solver_proxy *proxy_ = (const demo_solver_proxy *)object;
    const cca_proxy_method *method_ = proxy_->methods[5];
    cca_port target_ = cca_target(proxy_->target);
    const demo_solver_vtable *table_ = (const demo_solver_vtable *)(const void *)target_.vtable;
    cca_recording call_;
    uint64_t words_[1] = { 0 };
    words_[0] = (uint64_t)((int64_t)(table.extent[0] * table.extent[1]));
    const cca_port *instead_ = cca_instead(method_, words_, 1);
    if (instead_ != NULL)
        return ((const demo_solver_vtable *)(const void *)instead_->vtable)->scale_table(instead_->object, factor, table, result, error);
    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, words_, 1);
    int32_t status_ = table_->scale_table(target_.object, factor, table, result, error);
    if (recorded_) cca_recording_end(&call_, 1, status_ != CCA_OK);
    const cca_port *before_ = cca_before(method_);
    if (status_ != CCA_OK && before_ != NULL)
        return ((const demo_solver_vtable *)(const void *)before_->vtable)->scale_table(before_->object, factor, table, result, error);
    return status_;
}

static const demo_solver_vtable demo_solver_proxy_table = { DEMO_SOLVER_HEADER, demo_solver_record_get_name, demo_solver_record_solve, demo_solver_record_norm, demo_solver_record_get_effort, demo_solver_record_sort_numbers, demo_solver_record_scale_table };

static int32_t demo_solver_new_proxy(const cca_slot *target, const cca_recorder *recorder, cca_proxy_methods methods,
    cca_owned_port *proxy, cca_error *error) {
    if (recorder->version != CCA_RECORDING_VERSION || methods.length != 6)
        return cca_fail(error, "cannot make a proxy: its source is of another version, expected this one's; make it again");
    demo_solver_proxy *made = (demo_solver_proxy *)malloc(sizeof *made);
    if (made == NULL) return cca_fail(error, "cannot make a proxy: no memory");
    made->target = target;
    made->recorder = recorder;
    for (size_t place = 0; place < 6; place++) made->methods[place] = methods.data[place];
    proxy->port.object = made;
    proxy->port.vtable = &demo_solver_proxy_table.header;
    proxy->release = cca_release_made;
    proxy->interface = &demo_solver_interface;
    return CCA_OK;
}

static int32_t demo_solver_dispatch_get_name(const void *object, solver_owned_text *result, cca_error *error) {
    cca_port target_ = cca_decided((const cca_dispatcher *)object, 0, NULL);
    if (target_.vtable == NULL) {
        return cca_fail(error, "cannot leave out method \"get_name\": it returns more than numbers, expected numbers alone");
    }
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->get_name(target_.object, result, error);
}

static int32_t demo_solver_dispatch_solve(const void *object, int32_t n, solver_storage storage, solver_double_slice a, solver_double_slice b, solver_double_slice_mut x, int32_t *result, cca_error *error) {
    uint64_t words_[2] = { 0 };
    words_[0] = (uint64_t)((int64_t)n);
    words_[1] = (uint64_t)((int64_t)storage);
    cca_port target_ = cca_decided((const cca_dispatcher *)object, 1, words_);
    if (target_.vtable == NULL) {
        cca_poison_double(target_, x.data, x.length);
        memset(result, 0, sizeof *result);
        return CCA_OK;
    }
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->solve(target_.object, n, storage, a, b, x, result, error);
}

static int32_t demo_solver_dispatch_norm(const void *object, solver_double_slice v, int32_t order, double *result, cca_error *error) {
    uint64_t words_[3] = { 0 };
    words_[0] = (uint64_t)((int64_t)v.length);
    words_[1] = (uint64_t)((int64_t)((uint64_t)((int64_t)INT64_C(2)) * (uint64_t)((int64_t)v.length)));
    words_[2] = (uint64_t)((int64_t)order);
    cca_port target_ = cca_decided((const cca_dispatcher *)object, 2, words_);
    if (target_.vtable == NULL) {
        memset(result, 0, sizeof *result);
        cca_poison_double(target_, result, 1);
        return CCA_OK;
    }
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->norm(target_.object, v, order, result, error);
}

static int32_t demo_solver_dispatch_get_effort(const void *object, solver_effort *result, cca_error *error) {
    cca_port target_ = cca_decided((const cca_dispatcher *)object, 3, NULL);
    if (target_.vtable == NULL) {
        memset(result, 0, sizeof *result);
        return CCA_OK;
    }
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->get_effort(target_.object, result, error);
}

static int32_t demo_solver_dispatch_sort_numbers(const void *object, solver_double_slice values, solver_solver_sort_numbers_result *result, cca_error *error) {
    uint64_t words_[2] = { 0 };
    words_[0] = (uint64_t)((int64_t)values.length);
    cca_port target_ = cca_decided((const cca_dispatcher *)object, 4, words_);
    if (target_.vtable == NULL) {
        return cca_fail(error, "cannot leave out method \"sort_numbers\": it returns more than numbers, expected numbers alone");
    }
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->sort_numbers(target_.object, values, result, error);
}

static int32_t demo_solver_dispatch_scale_table(const void *object, double factor, solver_double_array2_mut table, double *result, cca_error *error) {
    uint64_t words_[1] = { 0 };
    words_[0] = (uint64_t)((int64_t)(table.extent[0] * table.extent[1]));
    cca_port target_ = cca_decided((const cca_dispatcher *)object, 5, words_);
    if (target_.vtable == NULL) {
        memset(result, 0, sizeof *result);
        cca_poison_double(target_, result, 1);
        return CCA_OK;
    }
    return ((const demo_solver_vtable *)(const void *)target_.vtable)->scale_table(target_.object, factor, table, result, error);
}

static const demo_solver_vtable demo_solver_dispatcher_table = { DEMO_SOLVER_HEADER, demo_solver_dispatch_get_name, demo_solver_dispatch_solve, demo_solver_dispatch_norm, demo_solver_dispatch_get_effort, demo_solver_dispatch_sort_numbers, demo_solver_dispatch_scale_table };

static int32_t demo_solver_new_dispatcher(const cca_slot *const *providers, cca_decisions decisions, cca_owned_port *dispatcher,
    cca_error *error) {
    return cca_new_dispatcher(providers, decisions, 6, &demo_solver_dispatcher_table.header, &demo_solver_interface, dispatcher, error);
}

static const cca_parameter_description demo_solver_solve_parameters[] = {
    { CCA_TEXT("n"), CCA_PARAMETER_INTEGER, CCA_TEXT(""), { NULL, 0 } },
    { CCA_TEXT("storage"), CCA_PARAMETER_ENUMERATION, CCA_TEXT(""), { storage_labels, 3 } },
};

static const cca_parameter_description demo_solver_norm_parameters[] = {
    { CCA_TEXT("q"), CCA_PARAMETER_INTEGER, CCA_TEXT(""), { NULL, 0 } },
    { CCA_TEXT("work"), CCA_PARAMETER_INTEGER, CCA_TEXT(""), { NULL, 0 } },
    { CCA_TEXT("p"), CCA_PARAMETER_INTEGER, CCA_TEXT(""), { NULL, 0 } },
};

static const cca_parameter_description demo_solver_sort_numbers_parameters[] = {
    { CCA_TEXT("values"), CCA_PARAMETER_INTEGER, CCA_TEXT(""), { NULL, 0 } },
    { CCA_TEXT("sorted"), CCA_PARAMETER_INTEGER, CCA_TEXT(""), { NULL, 0 } },
};

static const cca_parameter_description demo_solver_scale_table_parameters[] = {
    { CCA_TEXT("table"), CCA_PARAMETER_INTEGER, CCA_TEXT(""), { NULL, 0 } },
};

static const cca_method_description demo_solver_methods[] = {
    { CCA_TEXT("get_name"), CCA_TEXT("get_name() -> OwnedText"), CCA_TEXT("Its name."), { NULL, 0 } },
    { CCA_TEXT("solve"), CCA_TEXT("solve(n: i32, storage: Storage, a: RSlice<'_, f64>, b: RSlice<'_, f64>, x: RSliceMut<'_, f64>) -> i32"), CCA_TEXT("Solves A x = b."), { demo_solver_solve_parameters, 2 } },
    { CCA_TEXT("norm"), CCA_TEXT("norm(v: RSlice<'_, f64>, order: i32) -> f64"), CCA_TEXT("The norm of a vector."), { demo_solver_norm_parameters, 3 } },
    { CCA_TEXT("get_effort"), CCA_TEXT("get_effort() -> Effort"), CCA_TEXT("What the last solution took."), { NULL, 0 } },
    { CCA_TEXT("sort_numbers"), CCA_TEXT("sort_numbers(values: RSlice<'_, f64>) -> SolverSortNumbersResult"), CCA_TEXT("The least and the greatest of some numbers, and all of them in order."), { demo_solver_sort_numbers_parameters, 2 } },
    { CCA_TEXT("scale_table"), CCA_TEXT("scale_table(factor: f64, table: LentArrayMut<'_, f64, 2>) -> f64"), CCA_TEXT("The sum of a table of numbers, scaled in place."), { demo_solver_scale_table_parameters, 1 } },
};

const cca_interface demo_solver_interface = { CCA_TEXT(DEMO_SOLVER_NAME), CCA_TEXT(DEMO_SOLVER_VERSION), DEMO_SOLVER_HASH,
    sizeof(demo_solver_vtable), demo_solver_methods, 6, NULL, 0, (void (*)(void))demo_solver_new_proxy,
    (void (*)(void))demo_solver_new_dispatcher };
