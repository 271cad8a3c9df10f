# The two commands of the README are `make demo` and `make test`; `make help` lists the others.
CARGO  ?= cargo
PREFIX ?= /usr/local
SECONDS_PER_FUZZ_TARGET ?= 60

PLIMSOLL = target/release/plimsoll

.PHONY: help demo test bench check fuzz generate install build needs

help:
	@echo 'make demo      the main job end to end, on test-bed targets of this machine'
	@echo 'make test      all tests (loop-device tests need root and say when they are skipped)'
	@echo 'make bench     benchmarks: each prints a ratio to a baseline of the same run'
	@echo 'make check     formatting, clippy, documentation, rules of the tree'
	@echo 'make fuzz      every fuzz target for $(SECONDS_PER_FUZZ_TARGET) s'
	@echo 'make generate  man pages and docs/numbers.md from the code'
	@echo 'make install   PREFIX=$(PREFIX): binary, man pages, completions'

needs:
	@scripts/need 'Rust links with the C compiler' cc=gcc /usr/include/stdio.h=libc6-dev
	@scripts/need 'the test bed makes loop devices and file systems' losetup=mount mkfs.ext4=e2fsprogs

build: needs
	$(CARGO) build --release --package plimsoll

demo: build
	scripts/demo $(PLIMSOLL)

test: needs
	$(CARGO) test --workspace
	$(CARGO) xtask tidy
	@echo 'make test: all passed'

bench: build
	$(CARGO) bench --package plimsoll-benches

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --quiet
	$(CARGO) xtask tidy
	@echo 'make check: all passed'

fuzz: needs
	scripts/fuzz $(SECONDS_PER_FUZZ_TARGET)

generate:
	$(CARGO) xtask generate

install: build
	install -D -m 755 $(PLIMSOLL) $(DESTDIR)$(PREFIX)/bin/plimsoll
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(PLIMSOLL) completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/plimsoll
	$(PLIMSOLL) completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_plimsoll
	$(PLIMSOLL) completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/plimsoll.fish
	@echo 'make install: plimsoll is in $(DESTDIR)$(PREFIX)/bin'
