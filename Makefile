# The two commands of the README are `make demo` and `make test`; `make help` lists the others.
CARGO  ?= cargo
PREFIX ?= /usr/local
SECONDS_PER_FUZZ_TARGET ?= 60
# Of the hosts and containers that the portable library is for; 2.17 is that of CentOS 7.
GLIBC  ?= 2.17

PLIMSOLL = target/release/plimsoll
# Beside the program, where it looks for it.
LIBRARY  = target/release/libplimsoll.so

.PHONY: help demo screenshots test bench check fuzz mutants miri deny generate install install-c build library library-portable \
    needs needs-test test-mariadb test-fuzz

help:
	@echo 'make demo      the main job end to end, on test-bed targets of this machine'
	@echo 'make test      all tests (loop-device tests need root and say when they are skipped)'
	@echo 'make test-mariadb  those that need a MariaDB, for `--features mariadb` (part of make test)'
	@echo 'make test-fuzz  whether the fuzz targets compile (part of make test)'
	@echo 'make screenshots  pictures of the documentation, from pages of the demo'
	@echo 'make bench     benchmarks: each prints a ratio to a baseline of the same run'
	@echo 'make check     formatting, clippy, documentation, rules of the tree'
	@echo 'make fuzz      every fuzz target for $(SECONDS_PER_FUZZ_TARGET) s'
	@echo 'make mutants   CRATE=route SHARD=0/20: changes that no test notices (all: many hours)'
	@echo 'make miri      undefined behaviour in what is loaded into other programs (needs nightly Rust)'
	@echo 'make deny      licences, duplicates and known vulnerabilities of dependencies'
	@echo 'make generate  man pages and docs/numbers.md from the code'
	@echo 'make library-portable  the preload library for hosts and containers with glibc $(GLIBC) or newer'
	@echo 'make install   PREFIX=$(PREFIX): binary, libraries, header, man pages, completions'
	@echo 'make install-c PREFIX=$(PREFIX): the library for programs in C alone, with its header and pkg-config file'

needs:
	@scripts/need 'Rust links with the C compiler' cc=gcc /usr/include/stdio.h=libc6-dev
	@scripts/need 'the test bed makes loop devices and file systems' losetup=mount mkfs.ext4=e2fsprogs

# Tests that miss one of these say so and are skipped: this must not fail where nothing can be installed.
needs-test: needs
	-@scripts/need 'tests record MPI programs of two libraries, in C and Fortran' \
	    mpicc.openmpi=libopenmpi-dev mpirun.openmpi=openmpi-bin \
	    mpicc.mpich=libmpich-dev mpirun.mpich=mpich gfortran=gfortran
	-@scripts/need 'tests record Python programs that use MPI and HDF5' /usr/bin/python3=python3 \
	    /usr/lib/python3/dist-packages/mpi4py=python3-mpi4py \
	    /usr/lib/python3/dist-packages/h5py=python3-h5py \
	    /usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi=python3-h5py-mpi
	-@scripts/need 'tests write files of netCDF below a mount' \
	    /usr/lib/python3/dist-packages/netCDF4=python3-netcdf4 /usr/include/pnetcdf.h=libpnetcdf-dev
	-@scripts/need 'tests record programs for another C library and with capabilities' \
	    musl-gcc=musl-tools setcap=libcap2-bin
	-@scripts/need 'tests record everyday programs and compare with what the kernel saw' \
	    fio=fio sqlite3=sqlite3 git=git strace=strace fakeroot=fakeroot
	-@scripts/need 'tests mount containers as files' fusermount3=fuse3
	-@scripts/need 'tests let Prometheus scrape the monitor' prometheus=prometheus
	-@scripts/need 'tests import what MariaDB dumps and answers' /usr/sbin/mariadbd=mariadb-server
	-@scripts/need 'tests measure a network file system on this machine' glusterfs=glusterfs-client
	-@scripts/need 'tests divide large questions among the tasks of a Slurm on this machine' \
	    slurmctld=slurmctld slurmd=slurmd srun=slurm-client munged=munge

build: needs library
	$(CARGO) build --release --package plimsoll --package plimsoll-stow-c

# On its own, so that no other crate's features get into it.
library: needs
	$(CARGO) build --release --manifest-path crates/preload/Cargo.toml --target-dir target/preload
	@scripts/check-library target/preload/release/libplimsoll.so
	@mkdir -p target/release
	@# Under another name first: programs that have the old one loaded must not find another in its place.
	cp target/preload/release/libplimsoll.so $(LIBRARY).new
	mv $(LIBRARY).new $(LIBRARY)

library-portable: needs
	scripts/build-portable-library target/portable $(GLIBC)
	@scripts/check-library target/portable/libplimsoll.so $(GLIBC)

demo: build
	cc -O2 -o target/release/checkpoint demo/checkpoint.c
	scripts/demo $(PLIMSOLL) target/release/checkpoint target/demo

# Pictures of the documentation, from pages of real runs.
screenshots: demo
	@scripts/need 'pictures of pages are taken by a browser' chromium=chromium
	scripts/screenshots $(PLIMSOLL) target/demo docs/images

test: needs-test library
	@# Open MPI 4 fails if two mpirun make this directory at the same moment: it is there before, and not empty, so that none removes it.
	-@mkdir -p -m 700 "$${TMPDIR:-/tmp}/ompi.$$(hostname).$$(id -u)/kept"
	$(CARGO) test --workspace
	$(MAKE) test-mariadb
	$(MAKE) test-fuzz
	$(CARGO) test --manifest-path crates/preload/Cargo.toml --target-dir target/preload
	$(CARGO) xtask tidy
	@echo 'make test: all passed'

# What is built only for those who ask for it: LMT's databases where they are.
test-mariadb:
	$(CARGO) test --package plimsoll-import --features mariadb --test mariadb

# Fuzz targets are outside the workspace: nothing else notices when they do not compile any more.
test-fuzz: needs
	@scripts/need 'libFuzzer is C++' c++=g++
	$(CARGO) check --locked --manifest-path fuzz/Cargo.toml --target-dir target

bench: build
	$(CARGO) bench --package plimsoll-benches

check:
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path crates/preload/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy --release --manifest-path crates/preload/Cargo.toml --target-dir target/preload --features inverted-backend -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --quiet
	$(CARGO) xtask tidy
	@echo 'make check: all passed'

fuzz: needs
	scripts/fuzz $(SECONDS_PER_FUZZ_TARGET)

mutants: needs
	SHARD='$(SHARD)' scripts/mutants $(CRATE)

miri: needs
	scripts/miri

deny: needs
	scripts/deny

generate:
	$(CARGO) xtask generate

# Whatever the umask is: what is installed nobody else may write to.
install: build install-c
	install -D -m 755 $(PLIMSOLL) $(DESTDIR)$(PREFIX)/bin/plimsoll
	install -D -m 755 $(LIBRARY) $(DESTDIR)$(PREFIX)/lib/plimsoll/libplimsoll.so
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	for shell in bash zsh fish; do $(PLIMSOLL) completions $$shell > target/release/plimsoll.$$shell || exit 1; done
	install -m 644 target/release/plimsoll.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/plimsoll
	install -m 644 target/release/plimsoll.zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_plimsoll
	install -m 644 target/release/plimsoll.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/plimsoll.fish
	@echo 'make install: plimsoll is in $(DESTDIR)$(PREFIX)/bin'

# For programs in C that write containers, alone: needs nothing else of this tree.
install-c: needs
	$(CARGO) build --release --package plimsoll-stow-c
	install -D -m 644 include/plimsoll_stow.h $(DESTDIR)$(PREFIX)/include/plimsoll_stow.h
	install -D -m 755 target/release/libplimsoll_stow_c.so $(DESTDIR)$(PREFIX)/lib/libplimsoll_stow.so.1
	ln -sf libplimsoll_stow.so.1 $(DESTDIR)$(PREFIX)/lib/libplimsoll_stow.so
	install -m 644 target/release/libplimsoll_stow_c.a $(DESTDIR)$(PREFIX)/lib/libplimsoll_stow.a
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e "s|@VERSION@|$$($(CARGO) pkgid --package plimsoll-stow-c | sed 's/.*[#@]//')|" \
	    include/plimsoll_stow.pc.in > target/release/plimsoll_stow.pc
	install -m 644 target/release/plimsoll_stow.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/plimsoll_stow.pc
	@echo 'make install-c: pkg-config --cflags --libs plimsoll_stow'
