! Calls of Fortran, through `use mpi` or, with -DUSE_MPI_F08, through `use mpi_f08`.
! Prints what a recording must have: expect RANK NAME CALLS BYTES
!
!   mpi_io FILE
program fortran_io
#ifdef USE_MPI_F08
    use mpi_f08
    implicit none
    type(MPI_File) :: file
    type(MPI_Info) :: info
    type(MPI_Request) :: request
    type(MPI_Status) :: status
#else
    use mpi
    implicit none
    integer :: file, info, request, status(MPI_STATUS_SIZE)
#endif
    integer, parameter :: rounds = 3, items = 50
    integer :: ierror, rank, round, numbers(items)
    integer(kind=MPI_OFFSET_KIND) :: offset
    character(len=1024) :: path

    call get_command_argument(1, path)
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    numbers = rank
    offset = rank * items * 4
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, "romio_ds_write", "disable", ierror)
    call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, info, file, ierror)
    call check(ierror)
    do round = 1, rounds
        call MPI_File_write_at(file, offset, numbers, items, MPI_INTEGER, status, ierror)
        call check(ierror)
        call MPI_File_write_at_all(file, offset, numbers, items, MPI_INTEGER, status, ierror)
        call check(ierror)
        call MPI_File_iwrite_at(file, offset, numbers, items, MPI_INTEGER, request, ierror)
        call check(ierror)
        call MPI_Wait(request, status, ierror)
        call MPI_File_seek(file, offset, MPI_SEEK_SET, ierror)
        call check(ierror)
        call MPI_File_read_all(file, numbers, items, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
        call check(ierror)
        call MPI_File_read_at_all_begin(file, offset, numbers, items, MPI_INTEGER, ierror)
        call check(ierror)
        call MPI_File_read_at_all_end(file, numbers, status, ierror)
        call check(ierror)
    end do
    call MPI_File_sync(file, ierror)
    call check(ierror)
    call MPI_File_close(file, ierror)
    call check(ierror)
    call say("MPI_File_open", 1, 0)
    call say("MPI_File_write_at", rounds, 4 * items)
    call say("MPI_File_write_at_all", rounds, 4 * items)
    call say("MPI_File_iwrite_at", rounds, 4 * items)
    call say("MPI_File_seek", rounds, 0)
    call say("MPI_File_read_all", rounds, 4 * items)
    call say("MPI_File_read_at_all_begin", rounds, 4 * items)
    call say("MPI_File_read_at_all_end", rounds, 0)
    call say("MPI_File_sync", 1, 0)
    call say("MPI_File_close", 1, 0)
    call MPI_Finalize(ierror)

contains

    subroutine say(name, calls, bytes)
        character(len=*), intent(in) :: name
        integer, intent(in) :: calls, bytes
        print '(a,i0,1x,a,1x,i0,1x,i0)', "expect ", rank, name, calls, calls * bytes
    end subroutine say

    subroutine check(result)
        integer, intent(in) :: result
        integer :: ignored
        if (result /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
    end subroutine check
end program fortran_io
