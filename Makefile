# gemmtree: `make demo` and `make test` do all their own set-up; the other targets say what they do.

CARGO ?= cargo
PREFIX ?= /usr/local
# Inputs for `make fuzz`.
RUNS ?= 300000
TARGET := $(or $(CARGO_TARGET_DIR),target)
BIN := $(TARGET)/release
# Not of the workspace, so it is formatted and linted by itself.
FREESTANDING := selector-core/freestanding
AARCH64 := aarch64-unknown-linux-gnu
export CARGO_TERM_COLOR ?= auto

.PHONY: help setup build demo test check kernels-all figures-kernels figures-main figures-runtime figures-selector figures-trainer aarch64 check-aarch64 check-c check-intel check-oclgrind gen9-table test-selector-aarch64 bench peers fuzz sizes install install-c clean

help:
	@echo 'make demo           the whole loop on this machine, measured to launched (about 10 minutes the first time)'
	@echo 'make test           everything that must hold; what CI runs'
	@echo 'make check          formatting, lints and documentation only'
	@echo 'make kernels-all    every kernel on every case against the reference (hours)'
	@echo 'make check-oclgrind a few kernels of each family in a simulator that finds races and wrong accesses'
	@echo 'make check-c        the C programs in a memory checker'
	@echo 'make gen9-table     what the compiler for Gen9 makes of each kernel (minutes; only what has changed)'
	@echo 'make figures-main   print the measured figures beside their targets'
	@echo 'make figures-selector the same of the selector: speed beside compiled ifs, sizes, instructions'
	@echo 'make figures-trainer the same of the trainer: scores on two data sets, other methods, times (about 20 minutes)'
	@echo 'make figures-kernels the kernels beside other libraries on this CPU, and kept runs of other devices (up to 40 minutes)'
	@echo 'make figures-runtime what a call costs beside a bare enqueue, and a whole network on this CPU beside CLBlast (about 20 minutes)'
	@echo 'make peers          install the peers that figures-selector and figures-kernels measure if they are there'
	@echo 'make bench          time the selector'
	@echo 'make fuzz           RUNS=300000 inputs against the reader of models; more find more'
	@echo 'make sizes          prove that the reader of models cannot panic, and print its size'
	@echo 'make aarch64        build gemmtree-board for 64-bit ARM boards'
	@echo 'make test-selector-aarch64 run the tests of the selector as an ARM program in an emulator'
	@echo 'make check-aarch64  run it in an emulated ARM root with PoCL (needs root)'
	@echo 'make check-intel    check the kernels on Intel'"'"'s OpenCL runtime for CPUs (after make peers)'
	@echo 'make install        put both programs under PREFIX ($(PREFIX))'
	@echo 'make install-c      put the C library and its headers there'
	@echo 'make clean          remove what was built'

setup:
	@bash .ci/setup

build: setup
	$(CARGO) build --release --package trainer --package device-runtime

demo: build
	$(BIN)/gemmtree demo

check:
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path $(FREESTANDING)/Cargo.toml --check
	$(CARGO) fmt --manifest-path selector-core/fuzz/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --all-features -- --deny warnings
	@cp Cargo.lock $(FREESTANDING)/Cargo.lock
	$(CARGO) clippy --manifest-path $(FREESTANDING)/Cargo.toml --target-dir $(TARGET)/freestanding -- --deny warnings
	RUSTDOCFLAGS='--deny warnings' $(CARGO) doc --workspace --no-deps --quiet

test:
	@bash .ci/setup --aarch64 --emulator --bare-metal --fuzz --browser --oclgrind --memcheck
	$(MAKE) check
	$(MAKE) aarch64
	$(CARGO) test --workspace
	$(MAKE) test-selector-aarch64
	$(MAKE) fuzz
	$(MAKE) build
	$(BIN)/gemmtree-board check --sources --seconds 120 --seed 1
	$(MAKE) check-oclgrind

kernels-all: build
	$(BIN)/gemmtree-board check --sources --all

check-oclgrind:
	@bash .ci/setup --oclgrind
	$(CARGO) build --release --package device-runtime --bin gemmtree-board --example faults
	@bash device-runtime/oclgrind/check.sh

check-c:
	@bash .ci/setup --memcheck
	$(CARGO) test --package gemmtree --test memory

# `make gen9-table ONLY=starter` compiles the starter set alone.
gen9-table:
	@bash .ci/setup --gen9
	@$(CARGO) build --quiet --package boards --example gen9-table
	@$(TARGET)/debug/examples/gen9-table $(ONLY)

figures-main: build
	@$(CARGO) build --release --package benches --quiet
	@$(BIN)/figures main

peers:
	@bash .ci/setup --peers
	@bash benches/peers/setup.sh

# Needs what `make peers` installs; the only device here with sub-groups and arithmetic in 16 bits.
check-intel: build
	@[ -e build/intel-opencl/environment ] || { echo 'error: no Intel runtime; run make peers first' >&2; exit 1; }
	@. build/intel-opencl/environment && $(BIN)/gemmtree-board check --sources --few --text
	@. build/intel-opencl/environment && $(BIN)/gemmtree-board check --sources --family subgroup --seconds 120 --text

# After `make peers`; without them a peer or device is skipped. The machine should have nothing else to do.
figures-kernels: build
	@$(CARGO) build --release --package benches --quiet
	@$(BIN)/figures kernels

# The machine should have nothing else to do.
figures-runtime: build
	@$(CARGO) build --release --package benches --quiet
	@$(BIN)/figures runtime

figures-selector: build
	@bash .ci/setup --aarch64 --emulator --figures
	@$(CARGO) build --release --package benches --quiet
	@$(BIN)/figures selector

figures-trainer: build
	@$(CARGO) build --release --package benches --quiet
	@$(BIN)/figures trainer

bench: setup
	$(CARGO) bench --package benches

fuzz:
	@bash .ci/setup --fuzz
	@bash selector-core/fuzz/run.sh $(RUNS)

sizes:
	@bash .ci/setup --bare-metal
	$(CARGO) test --package selector-core --test freestanding
	@cat selector-core/sizes.tsv

aarch64:
	@bash .ci/setup --aarch64
	@bash boards/aarch64/build.sh

test-selector-aarch64:
	@bash .ci/setup --aarch64 --emulator
	@bash boards/aarch64/test-selector.sh

check-aarch64: aarch64
	@bash boards/aarch64/check.sh

install: build
	install -D --mode 755 $(BIN)/gemmtree $(DESTDIR)$(PREFIX)/bin/gemmtree
	install -D --mode 755 $(BIN)/gemmtree-board $(DESTDIR)$(PREFIX)/bin/gemmtree-board

# Headers, both kinds of library, and what pkg-config and CMake look for.
install-c: setup
	$(CARGO) build --release --package gemmtree
	bash device-runtime/capi/install.sh $(BIN) $(PREFIX)

clean:
	$(CARGO) clean
	rm -rf build selector-core/fuzz/artifacts selector-core/fuzz/corpus
