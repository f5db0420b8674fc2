! The ports of solver.sidl for Fortran: made by `mastermind proxy`. Edit the SIDL and make them again.
! Each function returns CCA_OK, or another status after cca_fail(). To be linked with what the C compiler makes of
! solver_ports.c, and compiled after cca.f90.
module solver_ports
    use, intrinsic :: iso_c_binding
    use cca
    implicit none
    private

    ! How a matrix is kept.
    integer(c_int32_t), parameter, public :: SOLVER_STORAGE_FULL = 0_c_int32_t
    integer(c_int32_t), parameter, public :: SOLVER_STORAGE_BANDED = 1_c_int32_t
    integer(c_int32_t), parameter, public :: SOLVER_STORAGE_PACKED = 2_c_int32_t

    type, bind(c), public :: solver_owned_text
        type(c_ptr) :: data = c_null_ptr
        integer(c_size_t) :: length = 0
        type(c_funptr) :: release = c_null_funptr
    end type

    type, bind(c), public :: solver_double_slice
        type(c_ptr) :: data = c_null_ptr
        integer(c_size_t) :: length = 0
    end type

    type, bind(c), public :: solver_double_slice_mut
        type(c_ptr) :: data = c_null_ptr
        integer(c_size_t) :: length = 0
    end type

    type, bind(c), public :: solver_double_owned
        type(c_ptr) :: data = c_null_ptr
        integer(c_size_t) :: length = 0
        type(c_funptr) :: release = c_null_funptr
    end type

    type, bind(c), public :: solver_double_array2_mut
        type(solver_double_slice_mut) :: elements
        integer(c_int64_t) :: lower(2), extent(2), stride(2)
    end type

    type, bind(c), public :: solver_effort
        integer(c_int32_t) :: steps
        real(c_double) :: residual
    end type

    ! What every part of a calculation can say of itself.
    character(kind=c_char, len=10), target, save, public :: DEMO_NAMED_NAME = 'demo.Named'
    character(kind=c_char, len=3), target, save, public :: DEMO_NAMED_VERSION = '1.0'
    integer(c_int64_t), parameter, public :: DEMO_NAMED_HASH = int(z'efd202c398b6bbeb', c_int64_t)

    type, bind(c), public :: demo_named_vtable
        type(cca_vtable_header) :: header
        type(c_funptr) :: get_name = c_null_funptr
    end type

    type, bind(c), public :: solver_solver_sort_numbers_result
        logical(c_bool) :: result
        real(c_double) :: least
        real(c_double) :: greatest
        type(solver_double_owned) :: sorted
    end type

    ! Solves systems of linear equations.
    character(kind=c_char, len=11), target, save, public :: DEMO_SOLVER_NAME = 'demo.Solver'
    character(kind=c_char, len=3), target, save, public :: DEMO_SOLVER_VERSION = '1.0'
    integer(c_int64_t), parameter, public :: DEMO_SOLVER_HASH = int(z'1c5ab89e69f3cd3e', c_int64_t)

    type, bind(c), public :: demo_solver_vtable
        type(cca_vtable_header) :: header
        type(c_funptr) :: get_name = c_null_funptr
        type(c_funptr) :: solve = c_null_funptr
        type(c_funptr) :: norm = c_null_funptr
        type(c_funptr) :: get_effort = c_null_funptr
        type(c_funptr) :: sort_numbers = c_null_funptr
        type(c_funptr) :: scale_table = c_null_funptr
    end type

    abstract interface
        ! Its name.
        function demo_named_get_name_function(object, result, error) result(status_) bind(c)
            import
            type(c_ptr), value :: object
            type(solver_owned_text), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
        end function

        ! Its name.
        function demo_solver_get_name_function(object, result, error) result(status_) bind(c)
            import
            type(c_ptr), value :: object
            type(solver_owned_text), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
        end function

        ! Solves A x = b.
        !
        ! The matrix has n rows of n numbers.
        ! SIDL: throws SingularMatrix.
        ! SIDL: require square: n > 0.
        ! SIDL: ensure result >= 0.
        function demo_solver_solve_function(object, n, storage, a, b, x, result, error) result(status_) bind(c)
            import
            type(c_ptr), value :: object
            integer(c_int32_t), value :: n
            integer(c_int32_t), value :: storage
            type(solver_double_slice), value :: a
            type(solver_double_slice), value :: b
            type(solver_double_slice_mut), value :: x
            integer(c_int32_t), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
        end function

        ! The norm of a vector.
        function demo_solver_norm_function(object, v, order, result, error) result(status_) bind(c)
            import
            type(c_ptr), value :: object
            type(solver_double_slice), value :: v
            integer(c_int32_t), value :: order
            real(c_double), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
        end function

        ! What the last solution took.
        function demo_solver_get_effort_function(object, result, error) result(status_) bind(c)
            import
            type(c_ptr), value :: object
            type(solver_effort), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
        end function

        ! The least and the greatest of some numbers, and all of them in order.
        function demo_solver_sort_numbers_function(object, values, result, error) result(status_) bind(c)
            import
            type(c_ptr), value :: object
            type(solver_double_slice), value :: values
            type(solver_solver_sort_numbers_result), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
        end function

        ! The sum of a table of numbers, scaled in place.
        function demo_solver_scale_table_function(object, factor, table, result, error) result(status_) bind(c)
            import
            type(c_ptr), value :: object
            real(c_double), value :: factor
            type(solver_double_array2_mut), value :: table
            real(c_double), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
        end function

    end interface

    ! What the C source defines. These are no procedures, but Fortran has no other name for what lies elsewhere.
    interface
        subroutine described_demo_named() bind(c, name='demo_named_interface')
        end subroutine
        subroutine described_demo_solver() bind(c, name='demo_solver_interface')
        end subroutine
    end interface

    public :: solver_double_slice_of
    public :: solver_double_slice_mut_of
    public :: solver_double_array2_mut_of
    public :: demo_named_interface, demo_named_header, demo_named_get_name, demo_named_get_name_function
    public :: demo_solver_interface, demo_solver_header, demo_solver_get_name, demo_solver_get_name_function, demo_solver_solve, &
        demo_solver_solve_function, demo_solver_norm, demo_solver_norm_function, demo_solver_get_effort, &
        demo_solver_get_effort_function, demo_solver_sort_numbers, demo_solver_sort_numbers_function, demo_solver_scale_table, &
        demo_solver_scale_table_function

contains

    ! Lends an array, which must live as long as it is used.
    function solver_double_slice_of(values) result(lent)
        real(c_double), target, contiguous, intent(in) :: values(:)
        type(solver_double_slice) :: lent
        lent%length = size(values, kind=c_size_t)
        if (size(values) > 0) lent%data = c_loc(values(1))
    end function

    ! Lends an array, which must live as long as it is used.
    function solver_double_slice_mut_of(values) result(lent)
        real(c_double), target, contiguous, intent(inout) :: values(:)
        type(solver_double_slice_mut) :: lent
        lent%length = size(values, kind=c_size_t)
        if (size(values) > 0) lent%data = c_loc(values(1))
    end function

    ! Lends an array, which must live as long as it is used.
    function solver_double_array2_mut_of(values) result(lent)
        real(c_double), target, contiguous, intent(inout) :: values(:, :)
        type(solver_double_array2_mut) :: lent
        lent%elements%length = size(values, kind=c_size_t)
        lent%lower = 1
        lent%extent = shape(values, kind=c_int64_t)
        lent%stride(1) = 1
        lent%stride(2) = lent%stride(1)*lent%extent(1)
        if (size(values) > 0) lent%elements%data = c_loc(values(1, 1))
    end function

    ! For cca_add_provides_port and cca_register_uses_port.
    function demo_named_interface() result(address)
        type(c_ptr) :: address
        address = transfer(c_funloc(described_demo_named), address)
    end function

    ! What a table of functions begins with.
    function demo_named_header() result(header)
        type(cca_vtable_header) :: header
        type(demo_named_vtable) :: table
        header%size = c_sizeof(table)
        header%interface = cca_text_of(DEMO_NAMED_NAME)
        header%version = cca_text_of(DEMO_NAMED_VERSION)
        header%hash = DEMO_NAMED_HASH
    end function

    function demo_named_get_name(slot, result, error) result(status_)
            type(c_ptr), intent(in) :: slot
            type(solver_owned_text), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
            type(cca_port) :: target_
            type(demo_named_vtable), pointer :: table_
            procedure(demo_named_get_name_function), pointer :: function_
        target_ = cca_target(slot)
        call c_f_pointer(target_%vtable, table_)
        call c_f_procpointer(table_%get_name, function_)
        status_ = function_(target_%object, result, error)
    end function

    ! For cca_add_provides_port and cca_register_uses_port.
    function demo_solver_interface() result(address)
        type(c_ptr) :: address
        address = transfer(c_funloc(described_demo_solver), address)
    end function

    ! What a table of functions begins with.
    function demo_solver_header() result(header)
        type(cca_vtable_header) :: header
        type(demo_solver_vtable) :: table
        header%size = c_sizeof(table)
        header%interface = cca_text_of(DEMO_SOLVER_NAME)
        header%version = cca_text_of(DEMO_SOLVER_VERSION)
        header%hash = DEMO_SOLVER_HASH
    end function

    function demo_solver_get_name(slot, result, error) result(status_)
            type(c_ptr), intent(in) :: slot
            type(solver_owned_text), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
            type(cca_port) :: target_
            type(demo_solver_vtable), pointer :: table_
            procedure(demo_solver_get_name_function), pointer :: function_
        target_ = cca_target(slot)
        call c_f_pointer(target_%vtable, table_)
        call c_f_procpointer(table_%get_name, function_)
        status_ = function_(target_%object, result, error)
    end function

    function demo_solver_solve(slot, n, storage, a, b, x, result, error) result(status_)
            type(c_ptr), intent(in) :: slot
            integer(c_int32_t), intent(in) :: n
            integer(c_int32_t), intent(in) :: storage
            type(solver_double_slice), intent(in) :: a
            type(solver_double_slice), intent(in) :: b
            type(solver_double_slice_mut), intent(in) :: x
            integer(c_int32_t), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
            type(cca_port) :: target_
            type(demo_solver_vtable), pointer :: table_
            procedure(demo_solver_solve_function), pointer :: function_
        target_ = cca_target(slot)
        call c_f_pointer(target_%vtable, table_)
        call c_f_procpointer(table_%solve, function_)
        status_ = function_(target_%object, n, storage, a, b, x, result, error)
    end function

    function demo_solver_norm(slot, v, order, result, error) result(status_)
            type(c_ptr), intent(in) :: slot
            type(solver_double_slice), intent(in) :: v
            integer(c_int32_t), intent(in) :: order
            real(c_double), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
            type(cca_port) :: target_
            type(demo_solver_vtable), pointer :: table_
            procedure(demo_solver_norm_function), pointer :: function_
        target_ = cca_target(slot)
        call c_f_pointer(target_%vtable, table_)
        call c_f_procpointer(table_%norm, function_)
        status_ = function_(target_%object, v, order, result, error)
    end function

    function demo_solver_get_effort(slot, result, error) result(status_)
            type(c_ptr), intent(in) :: slot
            type(solver_effort), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
            type(cca_port) :: target_
            type(demo_solver_vtable), pointer :: table_
            procedure(demo_solver_get_effort_function), pointer :: function_
        target_ = cca_target(slot)
        call c_f_pointer(target_%vtable, table_)
        call c_f_procpointer(table_%get_effort, function_)
        status_ = function_(target_%object, result, error)
    end function

    function demo_solver_sort_numbers(slot, values, result, error) result(status_)
            type(c_ptr), intent(in) :: slot
            type(solver_double_slice), intent(in) :: values
            type(solver_solver_sort_numbers_result), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
            type(cca_port) :: target_
            type(demo_solver_vtable), pointer :: table_
            procedure(demo_solver_sort_numbers_function), pointer :: function_
        target_ = cca_target(slot)
        call c_f_pointer(target_%vtable, table_)
        call c_f_procpointer(table_%sort_numbers, function_)
        status_ = function_(target_%object, values, result, error)
    end function

    function demo_solver_scale_table(slot, factor, table, result, error) result(status_)
            type(c_ptr), intent(in) :: slot
            real(c_double), intent(in) :: factor
            type(solver_double_array2_mut), intent(in) :: table
            real(c_double), intent(out) :: result
            type(cca_error), intent(inout) :: error
            integer(c_int32_t) :: status_
            type(cca_port) :: target_
            type(demo_solver_vtable), pointer :: table_
            procedure(demo_solver_scale_table_function), pointer :: function_
        target_ = cca_target(slot)
        call c_f_pointer(target_%vtable, table_)
        call c_f_procpointer(table_%scale_table, function_)
        status_ = function_(target_%object, factor, table, result, error)
    end function
end module
