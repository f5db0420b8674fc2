/* The common end of the C components in these examples that provide one port. Include it after the table, with these defined:
 *
 *     CLASS_NAME      "fft.Fftw"
 *     CLASS_DOC       what it does, in a sentence
 *     PORT_NAME       name of the port that it provides
 *     PORT_TABLE      the table of its functions
 *     PORT_INTERFACE  the interface, from the ports' source
 */
static int32_t set_services(const void *object, cca_port services, cca_error *error) {
    const cca_owned_port port = { { object, &PORT_TABLE.header }, NULL, &PORT_INTERFACE };
    const cca_services *table = cca_services_table(services);
    const cca_value yes = { CCA_BOOL, 1, 0.0, { NULL, 0 } };
    int32_t status = table->add_provides_port(services.object, cca_text_of(PORT_NAME), port, error);
    /* No call depends on an earlier one, so the instance may be replaced between any two calls. */
    return status != CCA_OK ? status
                            : table->set_port_property(services.object, cca_text_of(PORT_NAME), cca_text_of("stateless"),
                                                       yes, error);
}

static int32_t release_services(const void *object, cca_error *error) {
    (void)object;
    (void)error;
    return CCA_OK;
}

static void destroy(const void *object) { (void)object; }

static const cca_component_vtable COMPONENT = { sizeof COMPONENT, set_services, release_services, destroy };

static int32_t create(cca_component *component, cca_error *error) {
    (void)error;
    component->object = &COMPONENT;
    component->vtable = &COMPONENT;
    return CCA_OK;
}

static const cca_class CLASSES[] = { { CCA_TEXT(CLASS_NAME), CCA_TEXT("1.0"), CCA_TEXT(CLASS_DOC), create } };
static const cca_library LIBRARY = { CCA_ABI_VERSION, 1, CLASSES, { NULL, 0 } };
const cca_library *cca_component_v2(void);
const cca_library *cca_component_v2(void) { return &LIBRARY; }
