! The door for components in Fortran: cca.h as a module, Fortran 2008 with ISO_C_BINDING.
!
! A component library exports cca_component_v2, a function bind(c) that returns c_loc of a cca_library. Everything
! reachable from it has the attributes target and save, because libraries are never closed. Texts are borrowed:
! cca_text_of() points into its argument, which must be a target that lives as long as the text is used (for names in
! descriptions: as long as the process). cca_header_of, cca_class_of and cca_library_of keep copies of their texts, so a
! component needs no such variables (`new component --language fortran` writes one).
module cca
    use, intrinsic :: iso_c_binding
    implicit none
    private

    integer(c_int32_t), parameter, public :: CCA_ABI_VERSION = 2

    integer(c_int32_t), parameter, public :: CCA_OK = 0, CCA_FAILED = 1, CCA_BAD_PARAMETER = 17

    ! Type of a parameter or a property.
    integer(c_int32_t), parameter, public :: CCA_NONE = 0, CCA_BOOL = 1, CCA_INTEGER = 2, CCA_REAL = 3, CCA_STRING = 4

    ! How all_reduce combines values.
    integer(c_int32_t), parameter, public :: CCA_MIN = 0, CCA_MAX = 1, CCA_SUM = 2

    ! A text with its length; UTF-8.
    type, bind(c), public :: cca_text
        type(c_ptr) :: data = c_null_ptr
        integer(c_size_t) :: length = 0
    end type

    ! Buffer, owned by the caller, for the text of an error. A character 31 in the text marks that it names the
    ! instance.
    type, bind(c), public :: cca_error
        integer(c_int32_t) :: length = 0
        character(kind=c_char) :: text(1020)
    end type

    ! The first member of every table of functions.
    type, bind(c), public :: cca_vtable_header
        integer(c_size_t) :: size = 0
        type(cca_text) :: interface
        type(cca_text) :: version
        integer(c_int64_t) :: hash = 0
    end type

    ! An object and the table of functions that work on it.
    type, bind(c), public :: cca_port
        type(c_ptr) :: object = c_null_ptr
        type(c_ptr) :: vtable = c_null_ptr
    end type

    ! An interface as a library knows it: name, version, hash and size of the table; the rest stays as it is.
    type, bind(c), public :: cca_interface
        type(cca_text) :: name
        type(cca_text) :: version
        integer(c_int64_t) :: hash = 0
        integer(c_size_t) :: vtable_size = 0
        type(c_ptr) :: methods = c_null_ptr
        integer(c_size_t) :: n_methods = 0
        type(c_ptr) :: layouts = c_null_ptr
        integer(c_size_t) :: n_layouts = 0
        type(c_funptr) :: new_proxy = c_null_funptr
        type(c_funptr) :: new_dispatcher = c_null_funptr
    end type

    ! A port with the share of its object that it owns; release may be null.
    type, bind(c), public :: cca_owned_port
        type(cca_port) :: port
        type(c_funptr) :: release = c_null_funptr
        type(c_ptr) :: interface = c_null_ptr
    end type

    ! A value of one of the types above.
    type, bind(c), public :: cca_value
        integer(c_int32_t) :: kind = CCA_NONE
        integer(c_int64_t) :: integer = 0
        real(c_double) :: real = 0
        type(cca_text) :: text
    end type

    ! Texts, lent for a call.
    type, bind(c), public :: cca_texts
        type(c_ptr) :: data = c_null_ptr
        integer(c_size_t) :: length = 0
    end type

    ! A parameter; its type is the type of the default.
    type, bind(c), public :: cca_parameter
        type(cca_text) :: key
        type(cca_value) :: default_value
        integer(c_int32_t) :: has_bounds = 0
        real(c_double) :: lower = 0
        real(c_double) :: upper = 0
        type(cca_texts) :: choices
        type(cca_text) :: unit
        type(cca_text) :: help
    end type

    ! cca.Services 1.4, function by function as in cca.h.
    type, bind(c), public :: cca_services
        type(cca_vtable_header) :: header
        type(c_funptr) :: add_provides_port
        type(c_funptr) :: remove_provides_port
        type(c_funptr) :: register_uses_port
        type(c_funptr) :: unregister_uses_port
        type(c_funptr) :: get_port
        type(c_funptr) :: release_port
        type(c_funptr) :: instance_name
        type(c_funptr) :: get_port_nonblocking
        type(c_funptr) :: create_type_map
        type(c_funptr) :: get_port_properties
        type(c_funptr) :: set_port_properties
        type(c_funptr) :: get_component_id
        type(c_funptr) :: register_for_release
        type(c_funptr) :: component_name
        type(c_funptr) :: component_serial
        type(c_funptr) :: port_property
        type(c_funptr) :: set_port_property
        type(c_funptr) :: port_property_key
        type(c_funptr) :: add_parameter_port
        type(c_funptr) :: add_parameter
        type(c_funptr) :: parameter
        type(c_funptr) :: set_parameter
        type(c_funptr) :: set_parameter_title
        type(c_funptr) :: begin_parameter_group
        type(c_funptr) :: set_parameter_prompt
        type(c_funptr) :: add_parameter_listener
    end type

    ! cca.ParameterListener 1.0: updated_parameter_value(object, port, key, error) is called after a parameter was set,
    ! update_parameter_port(object, port, error) before the parameters are described. Their results are ignored.
    character(kind=c_char, len=21), target, save, public :: CCA_PARAMETER_LISTENER_NAME = 'cca.ParameterListener'
    character(kind=c_char, len=3), target, save, public :: CCA_PARAMETER_LISTENER_VERSION = '1.0'
    integer(c_int64_t), parameter, public :: CCA_PARAMETER_LISTENER_HASH = int(z'25fd526fc5ed8668', c_int64_t)
    type, bind(c), public :: cca_parameter_listener
        type(cca_vtable_header) :: header
        type(c_funptr) :: updated_parameter_value = c_null_funptr
        type(c_funptr) :: update_parameter_port = c_null_funptr
    end type

    type(cca_interface), target, save :: parameter_listener_described

    ! The functions of a component.
    type, bind(c), public :: cca_component_vtable
        integer(c_size_t) :: size = 0
        type(c_funptr) :: set_services = c_null_funptr
        type(c_funptr) :: release_services = c_null_funptr
        type(c_funptr) :: destroy = c_null_funptr
    end type

    ! An instance of a component class.
    type, bind(c), public :: cca_component
        type(c_ptr) :: object = c_null_ptr
        type(c_ptr) :: vtable = c_null_ptr
    end type

    ! A component class; create is a function like the one below.
    type, bind(c), public :: cca_class
        type(cca_text) :: name
        type(cca_text) :: version
        type(cca_text) :: doc
        type(c_funptr) :: create = c_null_funptr
    end type

    ! A library's classes.
    type, bind(c), public :: cca_library
        integer(c_int32_t) :: abi_version = CCA_ABI_VERSION
        integer(c_int32_t) :: n_classes = 0
        type(c_ptr) :: classes = c_null_ptr
        type(cca_text) :: layout_abi
    end type

    ! cca.Go 1.0, which starts an assembly.
    character(kind=c_char, len=6), target, save, public :: CCA_GO_NAME = 'cca.Go'
    character(kind=c_char, len=3), target, save, public :: CCA_GO_VERSION = '1.0'
    integer(c_int64_t), parameter, public :: CCA_GO_HASH = int(z'bc26258f047d825b', c_int64_t)

    type, bind(c), public :: cca_go_vtable
        type(cca_vtable_header) :: header
        type(c_funptr) :: go = c_null_funptr
    end type

    ! cca.Comm 1.0, the communicator.
    character(kind=c_char, len=8), target, save, public :: CCA_COMM_NAME = 'cca.Comm'
    character(kind=c_char, len=3), target, save, public :: CCA_COMM_VERSION = '1.0'
    integer(c_int64_t), parameter, public :: CCA_COMM_HASH = int(z'03b611c6ac2f0c5b', c_int64_t)

    type, bind(c) :: comm_vtable
        type(cca_vtable_header) :: header
        type(c_funptr) :: rank
        type(c_funptr) :: size
        type(c_funptr) :: fortran_handle
        type(c_funptr) :: barrier
        type(c_funptr) :: all_reduce
        type(c_funptr) :: broadcast
        type(c_funptr) :: gather
        type(c_funptr) :: send
        type(c_funptr) :: receive
        type(c_funptr) :: wait_some
        type(c_funptr) :: abort
    end type

    type, bind(c) :: doubles
        type(c_ptr) :: data = c_null_ptr
        integer(c_size_t) :: length = 0
    end type

    abstract interface
        function named_function(object, name, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: name
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function provides_function(object, name, port, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: name
            type(cca_owned_port), value :: port
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function uses_function(object, name, interface, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: name
            type(c_ptr), value :: interface
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function slot_function(object, name, slot, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: name
            type(c_ptr), intent(out) :: slot
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function given_function(object, given, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_owned_port), value :: given
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function add_parameter_function(object, port, parameter, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: port
            type(cca_parameter), value :: parameter
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function value_function(object, port, key, value, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: port
            type(cca_text), value :: key
            type(cca_value), intent(out) :: value
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function put_function(object, port, key, value, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: port
            type(cca_text), value :: key
            type(cca_value), value :: value
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function texts_function(object, first, second, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: first
            type(cca_text), value :: second
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function three_texts_function(object, first, second, third, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: first
            type(cca_text), value :: second
            type(cca_text), value :: third
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function text_function(object, text, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), intent(out) :: text
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function integer_function(object, number, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int32_t), intent(out) :: number
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function plain_function(object, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function reduce_function(object, reduction, values, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int32_t), value :: reduction
            type(doubles), value :: values
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function broadcast_function(object, root, values, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int32_t), value :: root
            type(doubles), value :: values
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function
    end interface

    public :: cca_text_of, cca_string_of, cca_fail, cca_real_value, cca_integer_value, cca_logical_value, cca_string_value
    public :: cca_add_provides_port, cca_register_uses_port, cca_unregister_uses_port
    public :: cca_remove_provides_port, cca_get_port, cca_get_port_nonblocking, cca_release_port, cca_target
    public :: cca_register_for_release
    public :: cca_component_name, cca_port_property, cca_set_port_property
    public :: cca_add_parameter_port, cca_add_parameter, cca_get_parameter, cca_set_parameter
    public :: cca_set_parameter_title, cca_begin_parameter_group, cca_set_parameter_prompt, cca_add_parameter_listener
    public :: cca_comm_rank, cca_comm_size, cca_comm_fortran_handle, cca_comm_barrier, cca_comm_all_reduce
    public :: cca_comm_broadcast
    public :: cca_kept_text, cca_header_of, cca_interface_of, cca_component_table, cca_class_of, cca_library_of
    public :: cca_declare_stateless

    ! Result of cca_library_of: one library for each dynamic library that this module is compiled into.
    type(cca_library), target, save :: own_library

contains

    ! A text that lives as long as the process, of any string.
    function cca_kept_text(string) result(text)
        character(kind=c_char, len=*), intent(in) :: string
        type(cca_text) :: text
        character(kind=c_char, len=:), pointer :: kept
        allocate(character(kind=c_char, len=len(string)) :: kept)
        kept = string
        text = cca_text_of(kept)
    end function

    ! The beginning of a table of functions, whose size is c_sizeof of the table.
    function cca_header_of(name, version, hash, size) result(header)
        character(kind=c_char, len=*), intent(in) :: name, version
        integer(c_int64_t), intent(in) :: hash
        integer(c_size_t), intent(in) :: size
        type(cca_vtable_header) :: header
        header%size = size
        header%interface = cca_kept_text(name)
        header%version = cca_kept_text(version)
        header%hash = hash
    end function

    ! An interface for the framework, of the header of its tables.
    function cca_interface_of(header) result(interface)
        type(cca_vtable_header), intent(in) :: header
        type(cca_interface) :: interface
        interface%name = header%interface
        interface%version = header%version
        interface%hash = header%hash
        interface%vtable_size = header%size
    end function

    ! The functions of a component class: c_funloc of its set_services and its destroy. Nothing is done when services are
    ! released. They come by value: gfortran keeps a constant that is passed by reference in memory that cannot be relocated.
    function cca_component_table(set_services, destroy) result(table)
        type(c_funptr), value :: set_services, destroy
        type(cca_component_vtable) :: table
        table%size = c_sizeof(table)
        table%set_services = set_services
        table%release_services = c_funloc(release_nothing)
        table%destroy = destroy
    end function

    function release_nothing(object, error) result(status) bind(c, name='')
        type(c_ptr), value :: object
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        status = CCA_OK
        if (.not. c_associated(object)) status = cca_fail(error, 'no instance')
    end function

    ! A class of a library; create is c_funloc of the function that makes an instance.
    function cca_class_of(name, version, doc, create) result(class)
        character(kind=c_char, len=*), intent(in) :: name, version, doc
        type(c_funptr), value :: create
        type(cca_class) :: class
        class%name = cca_kept_text(name)
        class%version = cca_kept_text(version)
        class%doc = cca_kept_text(doc)
        class%create = create
    end function

    ! Result of cca_component_v2: the library with these classes.
    function cca_library_of(classes) result(library)
        type(cca_class), intent(in) :: classes(:)
        type(c_ptr) :: library
        type(cca_class), pointer :: kept(:)
        if (own_library%n_classes == 0) then
            allocate(kept(size(classes)))
            kept = classes
            own_library%classes = c_loc(kept)
            own_library%n_classes = size(kept)
        end if
        library = c_loc(own_library)
    end function

    ! Declares that a provided port keeps nothing between two calls, so that another class may take its place between them.
    function cca_declare_stateless(services, port, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        status = cca_set_port_property(services, port, 'stateless', cca_logical_value(.true.), error)
    end function

    ! A text that is lent: `string` must live as long as it is used.
    function cca_text_of(string) result(text)
        character(kind=c_char, len=*), target, intent(in) :: string
        type(cca_text) :: text
        text%length = len(string, c_size_t)
        if (len(string) > 0) text%data = c_loc(string(1:1))
    end function

    ! The characters of a text.
    function cca_string_of(text) result(string)
        type(cca_text), intent(in) :: text
        character(kind=c_char, len=:), allocatable :: string
        character(kind=c_char), pointer :: characters(:)
        integer(c_size_t) :: i
        allocate(character(kind=c_char, len=text%length) :: string)
        if (text%length == 0) return
        call c_f_pointer(text%data, characters, [text%length])
        do i = 1, text%length
            string(i:i) = characters(i)
        end do
    end function

    ! Leaves a message and gives the status to return.
    function cca_fail(error, message) result(status)
        type(cca_error), intent(inout) :: error
        character(kind=c_char, len=*), intent(in) :: message
        integer(c_int32_t) :: status
        integer :: i
        error%length = min(len(message), size(error%text))
        do i = 1, error%length
            error%text(i) = message(i:i)
        end do
        status = CCA_FAILED
    end function

    function cca_real_value(number) result(value)
        real(c_double), intent(in) :: number
        type(cca_value) :: value
        value%kind = CCA_REAL
        value%real = number
    end function

    function cca_integer_value(number) result(value)
        integer(c_int64_t), intent(in) :: number
        type(cca_value) :: value
        value%kind = CCA_INTEGER
        value%integer = number
    end function

    function cca_logical_value(truth) result(value)
        logical, intent(in) :: truth
        type(cca_value) :: value
        value%kind = CCA_BOOL
        value%integer = merge(1_c_int64_t, 0_c_int64_t, truth)
    end function

    ! `string` must live as long as the value is used.
    function cca_string_value(string) result(value)
        character(kind=c_char, len=*), target, intent(in) :: string
        type(cca_value) :: value
        value%kind = CCA_STRING
        value%text = cca_text_of(string)
    end function

    function table_of(services) result(table)
        type(cca_port), intent(in) :: services
        type(cca_services), pointer :: table
        call c_f_pointer(services%vtable, table)
    end function

    ! Adds a provided port: `vtable` and `interface` are c_loc of a table and a cca_interface that live as long as the process.
    function cca_add_provides_port(services, name, object, vtable, interface, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: name
        type(c_ptr), intent(in) :: object, vtable, interface
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(provides_function), pointer :: function
        type(cca_owned_port) :: port
        table => table_of(services)
        call c_f_procpointer(table%add_provides_port, function)
        port%port%object = object
        port%port%vtable = vtable
        port%interface = interface
        status = function(services%object, cca_text_of(name), port, error)
    end function

    function cca_register_uses_port(services, name, interface, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: name
        type(c_ptr), intent(in) :: interface
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(uses_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%register_uses_port, function)
        status = function(services%object, cca_text_of(name), interface, error)
    end function

    ! Takes a provided port away.
    function cca_remove_provides_port(services, name, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: name
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(named_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%remove_provides_port, function)
        status = function(services%object, cca_text_of(name), error)
    end function

    ! Takes a used port away that is not in use, with its connection.
    function cca_unregister_uses_port(services, name, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: name
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(named_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%unregister_uses_port, function)
        status = function(services%object, cca_text_of(name), error)
    end function

    ! The slot of a uses port, valid until the port is released; cca_target() gives the provider
    ! behind it.
    function cca_get_port(services, name, slot, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: name
        type(c_ptr), intent(out) :: slot
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(slot_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%get_port, function)
        status = function(services%object, cca_text_of(name), slot, error)
    end function

    ! The same, but the slot is c_null_ptr if nothing is connected.
    function cca_get_port_nonblocking(services, name, slot, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: name
        type(c_ptr), intent(out) :: slot
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(slot_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%get_port_nonblocking, function)
        status = function(services%object, cca_text_of(name), slot, error)
    end function

    ! Has a port of cca.ComponentRelease, as cca_component_release_port() of cca_framework makes it, called before the instance is
    ! destroyed.
    function cca_register_for_release(services, release, error) result(status)
        type(cca_port), intent(in) :: services
        type(cca_owned_port), intent(in) :: release
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(given_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%register_for_release, function)
        status = function(services%object, release, error)
    end function

    function cca_release_port(services, name, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: name
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(named_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%release_port, function)
        status = function(services%object, cca_text_of(name), error)
    end function

    ! The current provider behind a slot. Call it before each call, since a provider may be replaced
    ! between two calls.
    function cca_target(slot) result(port)
        type(c_ptr), intent(in) :: slot
        type(cca_port) :: port
        type(c_ptr), pointer, volatile :: current
        type(cca_port), pointer :: target
        call c_f_pointer(slot, current)
        call c_f_pointer(current, target)
        port = target
    end function

    ! Name of the instance.
    function cca_component_name(services, name, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=:), allocatable, intent(out) :: name
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(text_function), pointer :: function
        type(cca_text) :: text
        table => table_of(services)
        call c_f_procpointer(table%component_name, function)
        status = function(services%object, text, error)
        if (status == CCA_OK) name = cca_string_of(text)
    end function

    ! A property of a port of the component; its type is CCA_NONE if no property has that name.
    function cca_port_property(services, port, key, value, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port, key
        type(cca_value), intent(out) :: value
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(value_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%port_property, function)
        status = function(services%object, cca_text_of(port), cca_text_of(key), value, error)
    end function

    function cca_set_port_property(services, port, key, value, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port, key
        type(cca_value), intent(in) :: value
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(put_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%set_port_property, function)
        status = function(services%object, cca_text_of(port), cca_text_of(key), value, error)
    end function

    ! Provides a parameter port, to which cca_add_parameter adds.
    function cca_add_parameter_port(services, port, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(named_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%add_parameter_port, function)
        status = function(services%object, cca_text_of(port), error)
    end function

    ! Adds a parameter of the default's type. A number without `lower` and `upper` has no bounds; a text must be one of
    ! the `choices` if any are given (blanks at their ends do not count).
    function cca_add_parameter(services, port, key, default_value, error, lower, upper, unit, help, choices) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port, key
        type(cca_value), intent(in) :: default_value
        type(cca_error), intent(inout) :: error
        real(c_double), intent(in), optional :: lower, upper
        character(kind=c_char, len=*), target, intent(in), optional :: unit, help
        character(kind=c_char, len=*), target, intent(in), optional :: choices(:)
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(add_parameter_function), pointer :: function
        type(cca_parameter) :: parameter
        type(cca_text), allocatable, target :: texts(:)
        integer :: i
        table => table_of(services)
        call c_f_procpointer(table%add_parameter, function)
        parameter%key = cca_text_of(key)
        parameter%default_value = default_value
        parameter%lower = -huge(0.0_c_double)
        parameter%upper = huge(0.0_c_double)
        if (present(lower)) parameter%lower = lower
        if (present(upper)) parameter%upper = upper
        if (present(lower) .or. present(upper)) parameter%has_bounds = 1
        if (present(unit)) parameter%unit = cca_text_of(unit)
        if (present(help)) parameter%help = cca_text_of(help)
        if (present(choices)) then
            allocate(texts(size(choices)))
            do i = 1, size(choices)
                texts(i) = cca_text_of(choices(i))
                texts(i)%length = len_trim(choices(i))
            end do
            if (size(texts) > 0) parameter%choices%data = c_loc(texts)
            parameter%choices%length = size(texts)
        end if
        status = function(services%object, cca_text_of(port), parameter, error)
    end function

    ! Sets a parameter of this component, as other components do through the port.
    function cca_set_parameter(services, port, key, value, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port, key
        type(cca_value), intent(in) :: value
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(put_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%set_parameter, function)
        status = function(services%object, cca_text_of(port), cca_text_of(key), value, error)
    end function

    ! Sets the title of a parameter port: the purpose of its parameters.
    function cca_set_parameter_title(services, port, title, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port, title
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(texts_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%set_parameter_title, function)
        status = function(services%object, cca_text_of(port), cca_text_of(title), error)
    end function

    ! Begins a group for the parameters that are added from now on.
    function cca_begin_parameter_group(services, port, group, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port, group
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(texts_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%begin_parameter_group, function)
        status = function(services%object, cca_text_of(port), cca_text_of(group), error)
    end function

    ! Sets the prompt that asks a user for a parameter.
    function cca_set_parameter_prompt(services, port, key, prompt, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port, key, prompt
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(three_texts_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%set_parameter_prompt, function)
        status = function(services%object, cca_text_of(port), cca_text_of(key), cca_text_of(prompt), error)
    end function

    ! Has both functions of `listener` called with `object`, as long as the instance lives; `listener` lives as long as the process.
    function cca_add_parameter_listener(services, port, object, listener, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port
        type(c_ptr), intent(in) :: object
        type(cca_parameter_listener), target, intent(inout) :: listener
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(provides_function), pointer :: function
        type(cca_owned_port) :: given
        parameter_listener_described%name = cca_text_of(CCA_PARAMETER_LISTENER_NAME)
        parameter_listener_described%version = cca_text_of(CCA_PARAMETER_LISTENER_VERSION)
        parameter_listener_described%hash = CCA_PARAMETER_LISTENER_HASH
        parameter_listener_described%vtable_size = c_sizeof(listener)
        listener%header%size = c_sizeof(listener)
        listener%header%interface = parameter_listener_described%name
        listener%header%version = parameter_listener_described%version
        listener%header%hash = CCA_PARAMETER_LISTENER_HASH
        given%port%object = object
        given%port%vtable = c_loc(listener)
        given%interface = c_loc(parameter_listener_described)
        table => table_of(services)
        call c_f_procpointer(table%add_parameter_listener, function)
        status = function(services%object, cca_text_of(port), given, error)
    end function

    function cca_get_parameter(services, port, key, value, error) result(status)
        type(cca_port), intent(in) :: services
        character(kind=c_char, len=*), target, intent(in) :: port, key
        type(cca_value), intent(out) :: value
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_services), pointer :: table
        procedure(value_function), pointer :: function
        table => table_of(services)
        call c_f_procpointer(table%parameter, function)
        status = function(services%object, cca_text_of(port), cca_text_of(key), value, error)
    end function

    function comm_of(slot, target) result(table)
        type(c_ptr), intent(in) :: slot
        type(cca_port), intent(out) :: target
        type(comm_vtable), pointer :: table
        target = cca_target(slot)
        call c_f_pointer(target%vtable, table)
    end function

    function cca_comm_rank(slot, rank, error) result(status)
        type(c_ptr), intent(in) :: slot
        integer(c_int32_t), intent(out) :: rank
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_port) :: target
        type(comm_vtable), pointer :: table
        procedure(integer_function), pointer :: function
        table => comm_of(slot, target)
        call c_f_procpointer(table%rank, function)
        status = function(target%object, rank, error)
    end function

    function cca_comm_size(slot, size, error) result(status)
        type(c_ptr), intent(in) :: slot
        integer(c_int32_t), intent(out) :: size
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_port) :: target
        type(comm_vtable), pointer :: table
        procedure(integer_function), pointer :: function
        table => comm_of(slot, target)
        call c_f_procpointer(table%size, function)
        status = function(target%object, size, error)
    end function

    ! The communicator for MPI itself (`use mpi`); 0 without MPI.
    function cca_comm_fortran_handle(slot, handle, error) result(status)
        type(c_ptr), intent(in) :: slot
        integer(c_int32_t), intent(out) :: handle
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_port) :: target
        type(comm_vtable), pointer :: table
        procedure(integer_function), pointer :: function
        table => comm_of(slot, target)
        call c_f_procpointer(table%fortran_handle, function)
        status = function(target%object, handle, error)
    end function

    function cca_comm_barrier(slot, error) result(status)
        type(c_ptr), intent(in) :: slot
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_port) :: target
        type(comm_vtable), pointer :: table
        procedure(plain_function), pointer :: function
        table => comm_of(slot, target)
        call c_f_procpointer(table%barrier, function)
        status = function(target%object, error)
    end function

    ! Combines `values` elementwise over the ranks; every rank gets the result.
    function cca_comm_all_reduce(slot, reduction, values, error) result(status)
        type(c_ptr), intent(in) :: slot
        integer(c_int32_t), intent(in) :: reduction
        real(c_double), target, contiguous, intent(inout) :: values(:)
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_port) :: target
        type(comm_vtable), pointer :: table
        procedure(reduce_function), pointer :: function
        table => comm_of(slot, target)
        call c_f_procpointer(table%all_reduce, function)
        status = function(target%object, reduction, lent(values), error)
    end function

    ! Gives the root's `values` to every rank.
    function cca_comm_broadcast(slot, root, values, error) result(status)
        type(c_ptr), intent(in) :: slot
        integer(c_int32_t), intent(in) :: root
        real(c_double), target, contiguous, intent(inout) :: values(:)
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(cca_port) :: target
        type(comm_vtable), pointer :: table
        procedure(broadcast_function), pointer :: function
        table => comm_of(slot, target)
        call c_f_procpointer(table%broadcast, function)
        status = function(target%object, root, lent(values), error)
    end function

    function lent(values) result(list)
        real(c_double), target, contiguous, intent(inout) :: values(:)
        type(doubles) :: list
        list%length = size(values, kind=c_size_t)
        if (size(values) > 0) list%data = c_loc(values(1))
    end function
end module
