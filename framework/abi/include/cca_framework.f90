! The framework for components in Fortran: cca_framework.h as a module. A component registers a uses port of
! cca_framework_interface(), gets it, and calls these functions with the result of cca_target(). Components are numbers,
! 0 is none. Type maps are numbers that cca_framework_free_map releases. Indices count from 0; behind the last element
! the result is 0 or an empty text. Times are in seconds.
module cca_framework
    use, intrinsic :: iso_c_binding
    use cca
    implicit none
    private

    character(kind=c_char, len=18), target, save, public :: CCA_FRAMEWORK_NAME = 'cca.PlainFramework'
    character(kind=c_char, len=3), target, save, public :: CCA_FRAMEWORK_VERSION = '1.0'
    integer(c_int64_t), parameter, public :: CCA_FRAMEWORK_HASH = int(z'986bbadd667d3b4c', c_int64_t)

    ! Types of properties: gov.cca.Type.
    integer(c_int32_t), parameter, public :: CCA_TYPE_NONE = 0, CCA_TYPE_INT = 1, CCA_TYPE_LONG = 2, CCA_TYPE_FLOAT = 3, &
        CCA_TYPE_DOUBLE = 4, CCA_TYPE_FCOMPLEX = 5, CCA_TYPE_DCOMPLEX = 6, CCA_TYPE_STRING = 7, CCA_TYPE_BOOL = 8, &
        CCA_TYPE_INT_ARRAY = 9, CCA_TYPE_LONG_ARRAY = 10, CCA_TYPE_FLOAT_ARRAY = 11, CCA_TYPE_DOUBLE_ARRAY = 12, &
        CCA_TYPE_FCOMPLEX_ARRAY = 13, CCA_TYPE_DCOMPLEX_ARRAY = 14, CCA_TYPE_STRING_ARRAY = 15, CCA_TYPE_BOOL_ARRAY = 16

    ! Events of connections: gov.cca.ports.EventType.
    integer(c_int32_t), parameter, public :: CCA_EVENT_ERROR = -1, CCA_EVENT_ALL = 0, CCA_EVENT_CONNECT_PENDING = 1, &
        CCA_EVENT_CONNECTED = 2, CCA_EVENT_DISCONNECT_PENDING = 3, CCA_EVENT_DISCONNECTED = 4

    ! cca.PlainListener 1.0, the argument of cca_framework_add_listener; called for every event it
    ! listens for.
    character(kind=c_char, len=17), target, save, public :: CCA_LISTENER_NAME = 'cca.PlainListener'
    character(kind=c_char, len=3), target, save, public :: CCA_LISTENER_VERSION = '1.0'
    integer(c_int64_t), parameter, public :: CCA_LISTENER_HASH = int(z'3acaa1f28bac2bd3', c_int64_t)
    type, bind(c), public :: cca_listener
        type(cca_vtable_header) :: header
        type(c_funptr) :: connection_activity = c_null_funptr
    end type
    type(cca_interface), target, save :: listener_described

    ! cca.ComponentRelease 1.0, the argument of cca_register_for_release.
    character(kind=c_char, len=20), target, save, public :: CCA_COMPONENT_RELEASE_NAME = 'cca.ComponentRelease'
    character(kind=c_char, len=3), target, save, public :: CCA_COMPONENT_RELEASE_VERSION = '1.0'
    integer(c_int64_t), parameter, public :: CCA_COMPONENT_RELEASE_HASH = int(z'7d536eace690e571', c_int64_t)
    type, bind(c), public :: cca_component_release
        type(cca_vtable_header) :: header
        type(c_funptr) :: release_services = c_null_funptr
    end type
    type(cca_interface), target, save :: component_release_described

    ! cca.ServiceProvider 1.0. Makes a port for each requesting uses port.
    character(kind=c_char, len=19), target, save, public :: CCA_SERVICE_PROVIDER_NAME = 'cca.ServiceProvider'
    character(kind=c_char, len=3), target, save, public :: CCA_SERVICE_PROVIDER_VERSION = '1.0'
    integer(c_int64_t), parameter, public :: CCA_SERVICE_PROVIDER_HASH = int(z'19a5166d8f5357b3', c_int64_t)
    type, bind(c), public :: cca_service_provider
        type(cca_vtable_header) :: header
        type(c_funptr) :: create_service = c_null_funptr
    end type
    type(cca_interface), target, save :: service_provider_described

    ! cca.ServiceRegistry 1.0, available to every component that registers a uses port of it: connects unconnected uses
    ! ports to services.
    character(kind=c_char, len=19), target, save, public :: CCA_SERVICE_REGISTRY_NAME = 'cca.ServiceRegistry'
    character(kind=c_char, len=3), target, save, public :: CCA_SERVICE_REGISTRY_VERSION = '1.0'
    integer(c_int64_t), parameter, public :: CCA_SERVICE_REGISTRY_HASH = int(z'82d0cd599f41efcd', c_int64_t)
    type, bind(c) :: registry_table
        type(cca_vtable_header) :: header
        type(c_funptr) :: add_service
        type(c_funptr) :: add_singleton_service
        type(c_funptr) :: remove_service
    end type
    type(cca_interface), target, save :: registry_described

    type, bind(c) :: list
        type(c_ptr) :: data = c_null_ptr
        integer(c_size_t) :: length = 0
    end type

    type, bind(c) :: framework_table
        type(cca_vtable_header) :: header
        type(c_funptr) :: create_map
        type(c_funptr) :: clone_map
        type(c_funptr) :: free_map
        type(c_funptr) :: remove_property
        type(c_funptr) :: property_type
        type(c_funptr) :: property_key
        type(c_funptr) :: property
        type(c_funptr) :: put_property
        type(c_funptr) :: property_length
        type(c_funptr) :: property_integers
        type(c_funptr) :: property_reals
        type(c_funptr) :: property_text
        type(c_funptr) :: put_integers
        type(c_funptr) :: put_reals
        type(c_funptr) :: put_texts
        type(c_funptr) :: create_instance
        type(c_funptr) :: component_at
        type(c_funptr) :: component
        type(c_funptr) :: component_name
        type(c_funptr) :: serialization
        type(c_funptr) :: deserialization
        type(c_funptr) :: component_properties
        type(c_funptr) :: set_component_properties
        type(c_funptr) :: destroy_instance
        type(c_funptr) :: provided_port
        type(c_funptr) :: used_port
        type(c_funptr) :: port_properties
        type(c_funptr) :: set_port_properties
        type(c_funptr) :: connect
        type(c_funptr) :: connection_user
        type(c_funptr) :: connection_uses
        type(c_funptr) :: connection_provider
        type(c_funptr) :: connection_provides
        type(c_funptr) :: connection_properties
        type(c_funptr) :: set_connection_properties
        type(c_funptr) :: disconnect
        type(c_funptr) :: disconnect_all
        type(c_funptr) :: set_parameter
        type(c_funptr) :: parameter
        type(c_funptr) :: class_at
        type(c_funptr) :: class_library
        type(c_funptr) :: append_repository_path
        type(c_funptr) :: add_listener
        type(c_funptr) :: remove_listener
        type(c_funptr) :: get_services
        type(c_funptr) :: release_services
        type(c_funptr) :: shutdown_framework
        type(c_funptr) :: create_empty_framework
    end type

    type(cca_interface), target, save :: described

    abstract interface
        function function_1(object, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_2(object, a1, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            integer(c_int64_t), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_3(object, a1, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_4(object, a1, a2, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_5(object, a1, a2, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            integer(c_int32_t), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_6(object, a1, a2, a3, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            integer(c_int32_t), value :: a2
            integer(c_size_t), value :: a3
            type(cca_text), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_7(object, a1, a2, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            type(cca_value), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_8(object, a1, a2, a3, a4, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            integer(c_int32_t), value :: a3
            type(cca_value), value :: a4
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_9(object, a1, a2, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            integer(c_size_t), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_10(object, a1, a2, a3, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            type(list), value :: a3
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_11(object, a1, a2, a3, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            integer(c_size_t), value :: a3
            type(cca_text), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_12(object, a1, a2, a3, a4, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            integer(c_int32_t), value :: a3
            type(list), value :: a4
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_13(object, a1, a2, a3, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            type(cca_texts), value :: a3
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_14(object, a1, a2, a3, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: a1
            type(cca_text), value :: a2
            integer(c_int64_t), value :: a3
            integer(c_int64_t), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_15(object, a1, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_size_t), value :: a1
            integer(c_int64_t), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_16(object, a1, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: a1
            integer(c_int64_t), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_17(object, a1, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_18(object, a1, a2, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            integer(c_int64_t), value :: a2
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_19(object, a1, a2, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            real(c_double), value :: a2
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_20(object, a1, a2, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            integer(c_size_t), value :: a2
            type(cca_text), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_21(object, a1, a2, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            integer(c_int64_t), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_22(object, a1, a2, a3, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            integer(c_int64_t), value :: a3
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_23(object, a1, a2, a3, a4, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            integer(c_int64_t), value :: a3
            type(cca_text), value :: a4
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_24(object, a1, a2, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            integer(c_size_t), value :: a2
            integer(c_int64_t), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_25(object, a1, a2, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            type(cca_text), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_26(object, a1, a2, a3, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            real(c_double), value :: a3
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_27(object, a1, a2, a3, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            integer(c_int64_t), value :: a2
            real(c_double), value :: a3
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_28(object, a1, a2, a3, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            type(cca_value), value :: a3
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_29(object, a1, a2, a3, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int64_t), value :: a1
            type(cca_text), value :: a2
            type(cca_text), value :: a3
            type(cca_value), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_30(object, a1, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_size_t), value :: a1
            type(cca_text), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_31(object, a1, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: a1
            type(cca_text), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_32(object, a1, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: a1
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_33(object, a1, a2, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int32_t), value :: a1
            type(cca_owned_port), value :: a2
            integer(c_int64_t), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_34(object, a1, a2, a3, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: a1
            type(cca_text), value :: a2
            integer(c_int64_t), value :: a3
            type(cca_owned_port), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_35(object, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_36(object, found, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_owned_port), intent(out) :: found
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_37(object, a1, a2, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_text), value :: a1
            type(cca_owned_port), value :: a2
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function

        function function_38(object, a1, error) result(status) bind(c)
            import
            type(c_ptr), value :: object
            type(cca_owned_port), value :: a1
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status
        end function
    end interface

    public :: cca_framework_interface
    public :: cca_framework_create_map, cca_framework_clone_map
    public :: cca_framework_free_map, cca_framework_remove_property
    public :: cca_framework_property_type, cca_framework_property_key
    public :: cca_framework_property, cca_framework_put_property
    public :: cca_framework_property_length, cca_framework_property_integers
    public :: cca_framework_property_reals, cca_framework_property_text
    public :: cca_framework_put_integers, cca_framework_put_reals
    public :: cca_framework_put_texts, cca_framework_create_instance
    public :: cca_framework_component_at, cca_framework_component
    public :: cca_framework_component_name, cca_framework_serialization
    public :: cca_framework_deserialization, cca_framework_component_properties
    public :: cca_framework_set_component_properties, cca_framework_destroy_instance
    public :: cca_framework_provided_port, cca_framework_used_port
    public :: cca_framework_port_properties, cca_framework_set_port_properties
    public :: cca_framework_connect, cca_framework_connection_user
    public :: cca_framework_connection_uses, cca_framework_connection_provider
    public :: cca_framework_connection_provides, cca_framework_connection_properties
    public :: cca_framework_set_connection_properties, cca_framework_disconnect
    public :: cca_framework_disconnect_all, cca_framework_set_parameter
    public :: cca_framework_parameter, cca_framework_class_at
    public :: cca_framework_class_library, cca_framework_append_repository_path
    public :: cca_framework_add_listener, cca_framework_remove_listener
    public :: cca_framework_get_services, cca_framework_release_services
    public :: cca_framework_shutdown_framework, cca_framework_create_empty_framework
    public :: cca_listener_port
    public :: cca_component_release_port
    public :: cca_service_provider_port
    public :: cca_service_registry_interface, cca_service_registry_add_service
    public :: cca_service_registry_add_singleton_service, cca_service_registry_remove_service

contains

    ! The description to register a uses port with.
    function cca_framework_interface() result(interface)
        type(c_ptr) :: interface
        type(framework_table) :: table
        described = description(CCA_FRAMEWORK_NAME, CCA_FRAMEWORK_VERSION, CCA_FRAMEWORK_HASH, c_sizeof(table))
        interface = c_loc(described)
    end function

    function integers(values) result(lent)
        integer(c_int64_t), target, contiguous, intent(in) :: values(:)
        type(list) :: lent
        lent%length = size(values, kind=c_size_t)
        if (size(values) > 0) lent%data = c_loc(values(1))
    end function

    function reals(values) result(lent)
        real(c_double), target, contiguous, intent(in) :: values(:)
        type(list) :: lent
        lent%length = size(values, kind=c_size_t)
        if (size(values) > 0) lent%data = c_loc(values(1))
    end function

    function texts(values) result(lent)
        type(cca_text), target, contiguous, intent(in) :: values(:)
        type(cca_texts) :: lent
        lent%length = size(values, kind=c_size_t)
        if (size(values) > 0) lent%data = c_loc(values(1))
    end function

    ! An empty type map (createTypeMap).
    function cca_framework_create_map(framework, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_1), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%create_map, function)
        status = function(framework%object, found, error)
    end function

    ! A copy of a type map (cloneTypeMap).
    function cca_framework_clone_map(framework, map, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_2), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%clone_map, function)
        status = function(framework%object, map, found, error)
    end function

    ! Gives a type map back.
    function cca_framework_free_map(framework, map, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_3), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%free_map, function)
        status = function(framework%object, map, error)
    end function

    ! Takes a property away, if it is there.
    function cca_framework_remove_property(framework, map, key, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_4), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%remove_property, function)
        status = function(framework%object, map, cca_text_of(key), error)
    end function

    ! The type of a property, CCA's number (CCA_TYPE_*); 0 if no property has that name.
    function cca_framework_property_type(framework, map, key, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        integer(c_int32_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_5), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%property_type, function)
        status = function(framework%object, map, cca_text_of(key), found, error)
    end function

    ! Name of a property by its index among those of a type, or among all of type 0.
    function cca_framework_property_key(framework, map, kind, place, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        integer(c_int32_t), intent(in) :: kind
        integer(c_size_t), intent(in) :: place
        character(kind=c_char, len=:), allocatable, intent(out) :: found
        type(cca_text) :: given
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_6), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%property_key, function)
        status = function(framework%object, map, kind, place, given, error)
        found = ''
        if (status == CCA_OK) found = cca_string_of(given)
    end function

    ! A property with a single value; its type is 0 if no property has that name.
    function cca_framework_property(framework, map, key, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        type(cca_value), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_7), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%property, function)
        status = function(framework%object, map, cca_text_of(key), found, error)
    end function

    ! Puts a property that is one value: an int, long, float, double, string or bool.
    function cca_framework_put_property(framework, map, key, kind, value, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        integer(c_int32_t), intent(in) :: kind
        type(cca_value), intent(in) :: value
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_8), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%put_property, function)
        status = function(framework%object, map, cca_text_of(key), kind, value, error)
    end function

    ! Number of elements of a property: 2 for a complex number, its parts; 0 if no property has that
    ! name.
    function cca_framework_property_length(framework, map, key, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        integer(c_size_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_9), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%property_length, function)
        status = function(framework%object, map, cca_text_of(key), found, error)
    end function

    ! Copies the elements of an array of int, long or bool.
    function cca_framework_property_integers(framework, map, key, values, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        integer(c_int64_t), target, contiguous, intent(inout) :: values(:)
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_10), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%property_integers, function)
        status = function(framework%object, map, cca_text_of(key), integers(values), error)
    end function

    ! Copies the elements of an array of float or double, or of complex numbers, real and imaginary part in turn.
    function cca_framework_property_reals(framework, map, key, values, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        real(c_double), target, contiguous, intent(inout) :: values(:)
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_10), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%property_reals, function)
        status = function(framework%object, map, cca_text_of(key), reals(values), error)
    end function

    ! A text of an array of texts.
    function cca_framework_property_text(framework, map, key, place, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        integer(c_size_t), intent(in) :: place
        character(kind=c_char, len=:), allocatable, intent(out) :: found
        type(cca_text) :: given
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_11), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%property_text, function)
        status = function(framework%object, map, cca_text_of(key), place, given, error)
        found = ''
        if (status == CCA_OK) found = cca_string_of(given)
    end function

    ! Puts an array of int, long or bool.
    function cca_framework_put_integers(framework, map, key, kind, values, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        integer(c_int32_t), intent(in) :: kind
        integer(c_int64_t), target, contiguous, intent(in) :: values(:)
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_12), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%put_integers, function)
        status = function(framework%object, map, cca_text_of(key), kind, integers(values), error)
    end function

    ! Puts an array of float or double, a complex number, or an array of these.
    function cca_framework_put_reals(framework, map, key, kind, values, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        integer(c_int32_t), intent(in) :: kind
        real(c_double), target, contiguous, intent(in) :: values(:)
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_12), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%put_reals, function)
        status = function(framework%object, map, cca_text_of(key), kind, reals(values), error)
    end function

    ! Puts an array of texts.
    function cca_framework_put_texts(framework, map, key, values, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: map
        character(kind=c_char, len=*), target, intent(in) :: key
        type(cca_text), target, contiguous, intent(in) :: values(:)
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_13), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%put_texts, function)
        status = function(framework%object, map, cca_text_of(key), texts(values), error)
    end function

    ! Makes an instance of a class of the framework's repository (createInstance). With an empty name, the instance is
    ! named after the class, with a number.
    function cca_framework_create_instance(framework, instance, class_name, properties, found, error) result(status)
        type(cca_port), intent(in) :: framework
        character(kind=c_char, len=*), target, intent(in) :: instance
        character(kind=c_char, len=*), target, intent(in) :: class_name
        integer(c_int64_t), intent(in) :: properties
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_14), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%create_instance, function)
        status = function(framework%object, cca_text_of(instance), cca_text_of(class_name), properties, found, error)
    end function

    ! A component by its place (getComponentIDs).
    function cca_framework_component_at(framework, place, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_size_t), intent(in) :: place
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_15), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%component_at, function)
        status = function(framework%object, place, found, error)
    end function

    ! The component of a name (getComponentID).
    function cca_framework_component(framework, instance, found, error) result(status)
        type(cca_port), intent(in) :: framework
        character(kind=c_char, len=*), target, intent(in) :: instance
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_16), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%component, function)
        status = function(framework%object, cca_text_of(instance), found, error)
    end function

    ! Name of a component (getInstanceName).
    function cca_framework_component_name(framework, component, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        character(kind=c_char, len=:), allocatable, intent(out) :: found
        type(cca_text) :: given
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_17), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%component_name, function)
        status = function(framework%object, component, given, error)
        found = ''
        if (status == CCA_OK) found = cca_string_of(given)
    end function

    ! A component as a text (getSerialization).
    function cca_framework_serialization(framework, component, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        character(kind=c_char, len=:), allocatable, intent(out) :: found
        type(cca_text) :: given
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_17), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%serialization, function)
        status = function(framework%object, component, given, error)
        found = ''
        if (status == CCA_OK) found = cca_string_of(given)
    end function

    ! The component that such a text names (getDeserialization).
    function cca_framework_deserialization(framework, text, found, error) result(status)
        type(cca_port), intent(in) :: framework
        character(kind=c_char, len=*), target, intent(in) :: text
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_16), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%deserialization, function)
        status = function(framework%object, cca_text_of(text), found, error)
    end function

    ! A component's properties, as a new map.
    function cca_framework_component_properties(framework, component, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_2), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%component_properties, function)
        status = function(framework%object, component, found, error)
    end function

    ! Replaces a component's properties.
    function cca_framework_set_component_properties(framework, component, map, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        integer(c_int64_t), intent(in) :: map
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_18), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%set_component_properties, function)
        status = function(framework%object, component, map, error)
    end function

    ! Ends a component's connections, releases it, and destroys it.
    function cca_framework_destroy_instance(framework, component, timeout_s, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        real(c_double), intent(in) :: timeout_s
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_19), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%destroy_instance, function)
        status = function(framework%object, component, timeout_s, error)
    end function

    ! Name of a provides port by its place.
    function cca_framework_provided_port(framework, component, place, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        integer(c_size_t), intent(in) :: place
        character(kind=c_char, len=:), allocatable, intent(out) :: found
        type(cca_text) :: given
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_20), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%provided_port, function)
        status = function(framework%object, component, place, given, error)
        found = ''
        if (status == CCA_OK) found = cca_string_of(given)
    end function

    ! Name of a uses port by its place.
    function cca_framework_used_port(framework, component, place, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        integer(c_size_t), intent(in) :: place
        character(kind=c_char, len=:), allocatable, intent(out) :: found
        type(cca_text) :: given
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_20), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%used_port, function)
        status = function(framework%object, component, place, given, error)
        found = ''
        if (status == CCA_OK) found = cca_string_of(given)
    end function

    ! A port's properties, as a new map.
    function cca_framework_port_properties(framework, component, port_name, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        character(kind=c_char, len=*), target, intent(in) :: port_name
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_21), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%port_properties, function)
        status = function(framework%object, component, cca_text_of(port_name), found, error)
    end function

    ! Replaces a port's properties.
    function cca_framework_set_port_properties(framework, component, port_name, map, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        character(kind=c_char, len=*), target, intent(in) :: port_name
        integer(c_int64_t), intent(in) :: map
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_22), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%set_port_properties, function)
        status = function(framework%object, component, cca_text_of(port_name), map, error)
    end function

    ! Connects a uses port to a provides port. Using component and uses port name the connection from then on.
    function cca_framework_connect(framework, user, uses, provider, provides, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: user
        character(kind=c_char, len=*), target, intent(in) :: uses
        integer(c_int64_t), intent(in) :: provider
        character(kind=c_char, len=*), target, intent(in) :: provides
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_23), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%connect, function)
        status = function(framework%object, user, cca_text_of(uses), provider, cca_text_of(provides), error)
    end function

    ! The using component of a connection, by its index among those of a component, or among all if the
    ! component is 0 (getConnectionIDs).
    function cca_framework_connection_user(framework, component, place, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        integer(c_size_t), intent(in) :: place
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_24), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%connection_user, function)
        status = function(framework%object, component, place, found, error)
    end function

    ! The uses port of that connection.
    function cca_framework_connection_uses(framework, component, place, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        integer(c_size_t), intent(in) :: place
        character(kind=c_char, len=:), allocatable, intent(out) :: found
        type(cca_text) :: given
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_20), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%connection_uses, function)
        status = function(framework%object, component, place, given, error)
        found = ''
        if (status == CCA_OK) found = cca_string_of(given)
    end function

    ! The providing component of a connection; 0 where the framework itself provides.
    function cca_framework_connection_provider(framework, user, uses, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: user
        character(kind=c_char, len=*), target, intent(in) :: uses
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_21), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%connection_provider, function)
        status = function(framework%object, user, cca_text_of(uses), found, error)
    end function

    ! The provides port of a connection.
    function cca_framework_connection_provides(framework, user, uses, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: user
        character(kind=c_char, len=*), target, intent(in) :: uses
        character(kind=c_char, len=:), allocatable, intent(out) :: found
        type(cca_text) :: given
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_25), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%connection_provides, function)
        status = function(framework%object, user, cca_text_of(uses), given, error)
        found = ''
        if (status == CCA_OK) found = cca_string_of(given)
    end function

    ! A connection's properties, as a new map.
    function cca_framework_connection_properties(framework, user, uses, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: user
        character(kind=c_char, len=*), target, intent(in) :: uses
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_21), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%connection_properties, function)
        status = function(framework%object, user, cca_text_of(uses), found, error)
    end function

    ! Replaces a connection's properties.
    function cca_framework_set_connection_properties(framework, user, uses, map, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: user
        character(kind=c_char, len=*), target, intent(in) :: uses
        integer(c_int64_t), intent(in) :: map
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_22), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%set_connection_properties, function)
        status = function(framework%object, user, cca_text_of(uses), map, error)
    end function

    ! Takes a connection away.
    function cca_framework_disconnect(framework, user, uses, timeout_s, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: user
        character(kind=c_char, len=*), target, intent(in) :: uses
        real(c_double), intent(in) :: timeout_s
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_26), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%disconnect, function)
        status = function(framework%object, user, cca_text_of(uses), timeout_s, error)
    end function

    ! Takes all connections between two components away, in either direction.
    function cca_framework_disconnect_all(framework, first, second, timeout_s, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: first
        integer(c_int64_t), intent(in) :: second
        real(c_double), intent(in) :: timeout_s
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_27), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%disconnect_all, function)
        status = function(framework%object, first, second, timeout_s, error)
    end function

    ! Sets a parameter of a component, KEY or PORT.KEY.
    function cca_framework_set_parameter(framework, component, key, value, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        character(kind=c_char, len=*), target, intent(in) :: key
        type(cca_value), intent(in) :: value
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_28), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%set_parameter, function)
        status = function(framework%object, component, cca_text_of(key), value, error)
    end function

    ! The value of a component's parameter.
    function cca_framework_parameter(framework, component, port_name, key, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: component
        character(kind=c_char, len=*), target, intent(in) :: port_name
        character(kind=c_char, len=*), target, intent(in) :: key
        type(cca_value), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_29), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%parameter, function)
        status = function(framework%object, component, cca_text_of(port_name), cca_text_of(key), found, error)
    end function

    ! Name of a class that can be instantiated, by its place (getAvailableComponentClasses).
    function cca_framework_class_at(framework, place, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_size_t), intent(in) :: place
        character(kind=c_char, len=:), allocatable, intent(out) :: found
        type(cca_text) :: given
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_30), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%class_at, function)
        status = function(framework%object, place, given, error)
        found = ''
        if (status == CCA_OK) found = cca_string_of(given)
    end function

    ! Path of the library of a class; empty if there is no such class.
    function cca_framework_class_library(framework, class_name, found, error) result(status)
        type(cca_port), intent(in) :: framework
        character(kind=c_char, len=*), target, intent(in) :: class_name
        character(kind=c_char, len=:), allocatable, intent(out) :: found
        type(cca_text) :: given
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_31), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%class_library, function)
        status = function(framework%object, cca_text_of(class_name), given, error)
        found = ''
        if (status == CCA_OK) found = cca_string_of(given)
    end function

    ! Adds a library, or the component libraries of a folder, to the repository.
    function cca_framework_append_repository_path(framework, path, error) result(status)
        type(cca_port), intent(in) :: framework
        character(kind=c_char, len=*), target, intent(in) :: path
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_32), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%append_repository_path, function)
        status = function(framework%object, cca_text_of(path), error)
    end function

    ! Adds a listener for connections, a port of interface cca.PlainListener. With kind 0 it hears all events, else
    ! those of one type (CCA_EVENT_*).
    function cca_framework_add_listener(framework, kind, listener, found, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int32_t), intent(in) :: kind
        type(cca_owned_port), intent(in) :: listener
        integer(c_int64_t), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_33), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%add_listener, function)
        status = function(framework%object, kind, listener, found, error)
    end function

    ! Takes a listener away.
    function cca_framework_remove_listener(framework, listener, error) result(status)
        type(cca_port), intent(in) :: framework
        integer(c_int64_t), intent(in) :: listener
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_3), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%remove_listener, function)
        status = function(framework%object, listener, error)
    end function

    ! A cca.Services port for a part of a program that takes part as an instance of its own (getServices).
    function cca_framework_get_services(framework, instance, class_name, properties, found, error) result(status)
        type(cca_port), intent(in) :: framework
        character(kind=c_char, len=*), target, intent(in) :: instance
        character(kind=c_char, len=*), target, intent(in) :: class_name
        integer(c_int64_t), intent(in) :: properties
        type(cca_owned_port), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_34), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%get_services, function)
        status = function(framework%object, cca_text_of(instance), cca_text_of(class_name), properties, found, error)
    end function

    ! Ends the part of a program that got services by that name.
    function cca_framework_release_services(framework, instance, error) result(status)
        type(cca_port), intent(in) :: framework
        character(kind=c_char, len=*), target, intent(in) :: instance
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_32), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%release_services, function)
        status = function(framework%object, cca_text_of(instance), error)
    end function

    ! Releases and destroys all components. Fails while a port of any is in use.
    function cca_framework_shutdown_framework(framework, error) result(status)
        type(cca_port), intent(in) :: framework
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_35), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%shutdown_framework, function)
        status = function(framework%object, error)
    end function

    ! Another framework, without components: a port of this interface, which ends it when it is released.
    function cca_framework_create_empty_framework(framework, found, error) result(status)
        type(cca_port), intent(in) :: framework
        type(cca_owned_port), intent(out) :: found
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(framework_table), pointer :: table
        procedure(function_36), pointer :: function
        call c_f_pointer(framework%vtable, table)
        call c_f_procpointer(table%create_empty_framework, function)
        status = function(framework%object, found, error)
    end function

    ! A port of cca.PlainListener: `table` has its function, and lives as long as the process.
    function cca_listener_port(object, table) result(port)
        type(c_ptr), intent(in) :: object
        type(cca_listener), target, intent(inout) :: table
        type(cca_owned_port) :: port
        listener_described = description(CCA_LISTENER_NAME, CCA_LISTENER_VERSION, CCA_LISTENER_HASH, c_sizeof(table))
        table%header = header_of(listener_described)
        port%port%object = object
        port%port%vtable = c_loc(table)
        port%interface = c_loc(listener_described)
    end function

    ! A port of cca.ComponentRelease: `table` has its function, and lives as long as the process.
    function cca_component_release_port(object, table) result(port)
        type(c_ptr), intent(in) :: object
        type(cca_component_release), target, intent(inout) :: table
        type(cca_owned_port) :: port
        component_release_described = description(CCA_COMPONENT_RELEASE_NAME, CCA_COMPONENT_RELEASE_VERSION, &
            CCA_COMPONENT_RELEASE_HASH, c_sizeof(table))
        table%header = header_of(component_release_described)
        port%port%object = object
        port%port%vtable = c_loc(table)
        port%interface = c_loc(component_release_described)
    end function

    ! A port of cca.ServiceProvider: `table` has its function, and lives as long as the process.
    function cca_service_provider_port(object, table) result(port)
        type(c_ptr), intent(in) :: object
        type(cca_service_provider), target, intent(inout) :: table
        type(cca_owned_port) :: port
        service_provider_described = description(CCA_SERVICE_PROVIDER_NAME, CCA_SERVICE_PROVIDER_VERSION, &
            CCA_SERVICE_PROVIDER_HASH, c_sizeof(table))
        table%header = header_of(service_provider_described)
        port%port%object = object
        port%port%vtable = c_loc(table)
        port%interface = c_loc(service_provider_described)
    end function

    ! The description to register a uses port with.
    function cca_service_registry_interface() result(interface)
        type(c_ptr) :: interface
        type(registry_table) :: table
        registry_described = description(CCA_SERVICE_REGISTRY_NAME, CCA_SERVICE_REGISTRY_VERSION, CCA_SERVICE_REGISTRY_HASH, &
            c_sizeof(table))
        interface = c_loc(registry_described)
    end function

    ! Connects each uses port of an interface to a port that `provider`, a port of cca.ServiceProvider,
    ! makes for it.
    function cca_service_registry_add_service(registry, interface_name, provider, error) result(status)
        type(cca_port), intent(in) :: registry
        character(kind=c_char, len=*), target, intent(in) :: interface_name
        type(cca_owned_port), intent(in) :: provider
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(registry_table), pointer :: table
        procedure(function_37), pointer :: function
        call c_f_pointer(registry%vtable, table)
        call c_f_procpointer(table%add_service, function)
        status = function(registry%object, cca_text_of(interface_name), provider, error)
    end function

    ! Leads all uses ports of the port's interface to it.
    function cca_service_registry_add_singleton_service(registry, service, error) result(status)
        type(cca_port), intent(in) :: registry
        type(cca_owned_port), intent(in) :: service
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(registry_table), pointer :: table
        procedure(function_38), pointer :: function
        call c_f_pointer(registry%vtable, table)
        call c_f_procpointer(table%add_singleton_service, function)
        status = function(registry%object, service, error)
    end function

    ! Removes a service; components that already use it keep it.
    function cca_service_registry_remove_service(registry, interface_name, error) result(status)
        type(cca_port), intent(in) :: registry
        character(kind=c_char, len=*), target, intent(in) :: interface_name
        type(cca_error), intent(inout) :: error
        integer(c_int32_t) :: status
        type(registry_table), pointer :: table
        procedure(function_32), pointer :: function
        call c_f_pointer(registry%vtable, table)
        call c_f_procpointer(table%remove_service, function)
        status = function(registry%object, cca_text_of(interface_name), error)
    end function

    function description(name, version, hash, bytes) result(interface)
        character(kind=c_char, len=*), target, intent(in) :: name, version
        integer(c_int64_t), intent(in) :: hash
        integer(c_size_t), intent(in) :: bytes
        type(cca_interface) :: interface
        interface%name = cca_text_of(name)
        interface%version = cca_text_of(version)
        interface%hash = hash
        interface%vtable_size = bytes
    end function

    function header_of(interface) result(header)
        type(cca_interface), intent(in) :: interface
        type(cca_vtable_header) :: header
        header%size = interface%vtable_size
        header%interface = interface%name
        header%version = interface%version
        header%hash = interface%hash
    end function
end module
