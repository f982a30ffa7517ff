# make run shows beekond at work, make test tests it; README.md says more.

# Where Swift builds. Names like .build-NAME are ignored by git.
BUILD ?= .build
# Seconds after which `make run` ends by itself; empty: until Ctrl-C.
DURATION ?=
# Parts of names of Python test files, for `make test ONLY=…`.
ONLY ?=

# Benchmarks of `make bench`, by name; empty: all.
BENCH_ONLY ?=
# The machine that `make deb`, `make server-deb` and `make system-test` are for, if it is none like this: ARCH=arm64
# SUITE=trixie. `make on` takes SUITE, too.
ARCH ?=
SUITE ?=
# SIGKILLs of `make conservation`.
KILLS ?= 200
# Of `make fleet`, `make fleet-live` and `make fleet-simulation`; empty: 10, 40, 100,000.
VEHICLES ?=
# Of `make server`.
LISTEN ?= 127.0.0.1:8080
# Of `make overload`.
OVERLOAD_SECONDS ?= 30
# Simulated days of `make soak`; empty: 7. Of `make simulate`: whole days, with a location each second.
DAYS ?=
# Of `make simulate`: how many seeds; one alone; one to shrink; words of Tests/WorldTests/Life.swift; 1: each seed in two processes.
SEEDS ?=
SEED ?=
SHRINK ?=
LIFE ?=
AGAIN ?=
# Of `make nightly`, `make faults`, `make mechanical`; empty: all.
PART ?=
# Of `make release`: its version, where apt will find the repository, the fingerprint of the key that signs; packages that
# exist already; where it goes; REHEARSAL=1 takes what is not released.
VERSION ?=
URL ?=
KEY ?=
ALSO_KEYS ?=
PACKAGES ?=
OUT ?=
REHEARSAL ?=
# What `make on` does in the Debian of SUITE.
DO ?= make test

# Where `make install` puts things, below DESTDIR if that is given.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
CATALOGDIR ?= $(PREFIX)/lib/systemd/catalog
export DESTDIR PREFIX BINDIR DATADIR SYSCONFDIR UNITDIR SYSUSERSDIR CATALOGDIR

PRODUCTS := beekond beekonctl beekon-sim
# What the tests of the release run besides.
ALSO ?=
# lld comes with the toolchain; gold, the default, warns about a function of the runtime library. -s strips. What the
# programs export nobody loads, and it would keep alive what nothing calls: 4 % of each. release.ld leaves out 12 % more,
# and relocations in the short form, which glibc reads since 2.36 (Debian 12), are 7 % less. What would be said for debuggers
# differs from build to build, and left its mark in what stays: without it, the same bytes come out each time.
RELEASE := -c release --static-swift-stdlib -Xswiftc -gnone -Xswiftc -use-ld=lld -Xlinker -s -Xlinker --no-export-dynamic \
    -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --no-eh-frame-hdr -Xlinker -T -Xlinker $(CURDIR)/etc/build/release.ld
# C code of its libraries names its files, by which the folder would be in the program.
SERVER_RELEASE := $(RELEASE) -Xcc -ffile-prefix-map=$(CURDIR)/= --product beekon-server
SWIFT_BUILD := swift build --scratch-path $(BUILD)
# For another machine than this: its architecture and suite.
OWN = $(shell etc/build/cross --here)
OTHER := $(if $(ARCH)$(SUITE),$(if $(filter-out $(OWN),$(ARCH) $(SUITE)),$(or $(ARCH),$(firstword $(OWN))) \
    $(or $(SUITE),$(lastword $(OWN)))))

# The builds share one folder, and SwiftPM uses every core by itself.
.NOTPARALLEL:
.PHONY: help deps build programs run test seconds nightly on lint manuals check server server-build test-server fuzz-server simulate faults mechanical server-deb image image-test conservation test-citus overload fleet pictures fleet-simulation fleet-live bench-server fuzz bench soak system-test test-arm64 install uninstall deb cross release release-test server-cross clean venv

help:  ## Show these verbs
	@sed -n 's/^\([a-z-]*\):.*## */\1\t/p' $(MAKEFILE_LIST) | expand -t 14

deps:  ## Install what is missing on this Debian (sudo only if needed)
	@etc/build/deps

build: deps  ## Build the release: Swift runtime inside, stripped, without ICU
	@for product in $(PRODUCTS) $(ALSO); do $(SWIFT_BUILD) $(RELEASE) --product $$product || exit; done
	@etc/build/binary $(BUILD)/release $(PRODUCTS)

# The same, not optimised, as `make test` builds them, too: a third of the release's time.
programs: deps
	@for product in $(PRODUCTS); do $(SWIFT_BUILD) --product $$product || exit; done

run: programs  ## Receiver, gpsd, beekond and a backend on this machine, live; DURATION=30 ends by itself
	@DURATION="$(DURATION)" etc/demo/run --bin $(BUILD)/debug

test:  ## Build and run every test, of beekon-server, too; ONLY=name runs the Python test files of such a name
	@etc/build/test --build $(BUILD) $(ONLY)

seconds:  ## What each part of the last `make test` took is what the next expects: it begins with the longest
	@etc/build/test --build $(BUILD) --write-seconds

nightly:  ## What takes too long for every change, with one page of results, docs/nightly.md; PART="fuzz swift"
	@etc/build/nightly $(PART)

on:  ## As root: DO="make test" in a Debian of SUITE=trixie that is made for it, with this Swift toolchain and checkout
	@etc/build/in-suite $(or $(SUITE),$(error which suite? SUITE=trixie)) $(DO)

venv:
	@etc/build/venv

lint: deps venv  ## Check format, imports of each target, words out of place, scripts, Python (ruff, mypy)
	@failed=0; \
	swift format lint --strict --recursive Package.swift Sources Tests server/Package.swift server/Sources server/Tests \
	    server/Fuzz || \
	    { failed=1; echo "lint: swift format --in-place FILE mends all but what only you can shorten" >&2; }; \
	etc/build/lint || failed=1; \
	exit $$failed

manuals: deps  ## Write anew what is generated: Swift types of the interface; lists of the manual pages
	@etc/build/methods
	$(SWIFT_BUILD) --build-tests
	@etc/build/manuals --build $(BUILD)
	@BEEKOND_MANUALS=write swift test --skip-build --scratch-path $(BUILD) --filter ManualTests

# Optimised, in a folder of its own: that costs four minutes of a processor, and gives three times the speed.
simulate: deps  ## Hours of a vehicle from SEEDS=200 seeds, or SEED=7, held against what is promised; SHRINK=7 (docs/simulation.md)
	BEEKOND_WORLD=1 swift build --build-tests --scratch-path $(BUILD)-world -Xswiftc -O
	@etc/build/simulate --build $(BUILD)-world $(if $(SHRINK),--shrink $(SHRINK),$(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),200))) \
	    $(if $(DAYS),--days $(DAYS)) $(if $(LIFE),--life "$(LIFE)") $(if $(AGAIN),--again)

faults: deps  ## Mended faults put back, one after the other, for the simulated world to find; PART=1/4 of them
	@etc/build/faults run $(if $(PART),--part $(PART))

mechanical: deps  ## A hundred small changes of the code, likewise; PART=1/4
	@etc/build/faults mechanical $(if $(PART),--part $(PART))

fuzz: deps  ## Fuzz what reads the bytes of others; FUZZ_SECONDS or FUZZ_RUNS for each, FUZZ_ONLY=names
	@BUILD="$(BUILD)" etc/build/fuzz

check:  ## What every change must pass: lint, build and test, where a warning is an error
	@etc/build/check $(BUILD)

server: server-build  ## Build beekon-server, the backend, and run it here with an SQLite file; Ctrl-C ends it; LISTEN=host:port
	@exec etc/demo/server --listen $(LISTEN)

server-build:  ## Build the release of beekon-server in server/.build
	@etc/build/server deps
	swift build --package-path server --scratch-path server/.build $(SERVER_RELEASE)

test-server:  ## Run the tests of beekon-server alone; ONLY=name
	@etc/build/test --build $(BUILD) --server $(ONLY)

fuzz-server:  ## Fuzz what beekon-server reads of uploads, commands and small bodies; FUZZ_SECONDS or FUZZ_RUNS for each
	@etc/build/server deps
	@etc/build/server fuzz

server-deb: $(if $(OTHER),server-cross,server-build)  ## Build the Debian package of beekon-server in server/.build/deb; ARCH=arm64 SUITE=trixie
	@etc/build/server-deb server/.build $(if $(OTHER),$(BUILD) $(OTHER))

image: server-deb  ## Make an image of beekon-server for podman or Docker, in server/.build/image; ARCH=arm64 SUITE=trixie
	@etc/build/deps image
	@etc/build/image server/.build $(OTHER)

image-test: image  ## Test that image as root, in podman, alone and with PostgreSQL and Caddy by etc/compose
	@etc/build/image-test $(BUILD)

conservation: venv  ## 200 kills and 20 immediate stops of PostgreSQL under ten beekond and three servers; KILLS=200
	@etc/build/server deps
	$(SWIFT_BUILD) --product beekond
	@etc/build/server build-tests
	@BEEKOND_BIN="$(abspath $(BUILD))/debug" BEEKOND_SERVER_KILLS="$(KILLS)" etc/build/server run conservation

test-citus: venv server-build  ## Test beekon-server on Citus, kills of each node and the cost included; CITUS=DIR, its source or where it is installed
	@etc/build/server deps
	@etc/build/server build-tests
	@etc/build/citus "$(CITUS)"

overload: venv server-build  ## Ten times what beekon-server can take, and slow senders, for OVERLOAD_SECONDS=30, with the release
	@BEEKON_SERVER_BIN="$(CURDIR)/server/.build/release" BEEKOND_OVERLOAD_SECONDS="$(OVERLOAD_SECONDS)" etc/build/server run overload

fleet: programs venv server-build  ## Ten simulated vehicles, with beekond and gpsd, and beekon-server; Ctrl-C or DURATION=60 ends them; VEHICLES=10
	@etc/demo/fleet --bin $(BUILD)/debug --server server/.build/release --vehicles $(or $(VEHICLES),10) \
	    $(if $(DURATION),--duration $(DURATION))

pictures: deps venv  ## Take the pictures in docs anew: the page's screens and a terminal, as they are now
	@etc/build/server deps
	$(SWIFT_BUILD) --product beekon-sim
	@etc/build/server build-tests
	@.venv/bin/python server/Tests/System/pictures.py --sim $(BUILD)/debug/beekon-sim

fleet-simulation: deps  ## Table and charts of docs/fleet.md: 100,000 vehicles in simulated time; VEHICLES=20000
	$(SWIFT_BUILD) -c release --product beekon-fleet
	@etc/build/fleet-simulation $(BUILD)/release/beekon-fleet $(or $(VEHICLES),100000)

fleet-live: deps venv server-build  ## Vehicles of the simulation against a beekon-server that is killed, in real time; VEHICLES=40
	$(SWIFT_BUILD) --product beekon-fleet
	@cd Tests/System/fleet && BEEKOND_VEHICLES=$(or $(VEHICLES),40) BEEKOND_BIN="$(abspath $(BUILD))/debug" \
	    BEEKON_SERVER_BIN="$(CURDIR)/server/.build/release" $(CURDIR)/.venv/bin/python -m unittest -v test_fleet.LiveTests

bench-server: venv server-build  ## Measure beekon-server beside COPY and bare inserts; BENCH_RUNS=5, BENCH_ONLY="postgres sqlite herd", BENCH_ALONE=1, BENCH_BEFORE=folder
	@.venv/bin/python server/Benchmarks/bench-server $(BENCH_ONLY)

bench: deps  ## Measure beekond beside its peers; BENCH_RUNS=1 for a quick look, BENCH_ONLY=names, BENCH_DIR=folder
	$(SWIFT_BUILD) $(RELEASE)
	@etc/build/deps bench $(BUILD)
	@Tests/Benchmarks/bench --build $(BUILD) $(BENCH_ONLY)

soak: deps  ## A simulated week at 1 Hz, in minutes: memory, files and descriptors must stay as they are; DAYS=7
	$(SWIFT_BUILD) $(RELEASE)
	@Tests/Benchmarks/soak --build $(BUILD) --days $(or $(DAYS),7)

system-test: $(if $(OTHER),build) deb  ## Test the package under a real systemd, and through power cuts; ONLY=name, SUITE=trixie, ARCH=arm64
	@BEEKOND_TARGET="$(OTHER)" etc/build/system-test $(BUILD) $(ONLY)

install:  ## Install what `make build` has built; PREFIX, DESTDIR, SYSCONFDIR, UNITDIR say where
	@etc/build/install $(BUILD)/release

uninstall:  ## Remove what `make install` has put there; configuration and state stay
	@etc/build/install --remove

deb: deps $(if $(OTHER),cross,build)  ## Build the Debian packages in $(BUILD)/deb; ARCH=arm64 SUITE=trixie for another machine
	@etc/build/deb $(BUILD) $(OTHER)

test-arm64: deps venv  ## Run the Swift tests, and Python tests that matter there, with programs for ARM that qemu emulates; ONLY=name
	@etc/build/cross arm64 $(or $(SUITE),trixie) --build $(BUILD) --tests
	@etc/build/test-arm64 $(BUILD) $(or $(SUITE),trixie) $(ONLY)

cross:
	@for product in $(PRODUCTS); do etc/build/cross $(OTHER) --build $(BUILD) -- $(RELEASE) --product $$product || exit; done
	@etc/build/binary $(BUILD)/cross/$(lastword $(OTHER))-$(firstword $(OTHER))/release $(PRODUCTS)

release:  ## Packages, source, a signed apt repository, SBOM and sums of VERSION=0.2.0, with URL=, KEY= (docs/release.md)
	@etc/build/deps release
	@etc/build/release $(or $(VERSION),$(error which version? VERSION=0.2.0)) --url "$(URL)" --key "$(KEY)" \
	    $(addprefix --also-key ,$(ALSO_KEYS)) $(if $(PACKAGES),--packages "$(PACKAGES)") $(if $(OUT),--out "$(OUT)") \
	    $(if $(REHEARSAL),--rehearsal)

release-test:  ## Test as root what a release is, with small packages: apt of both suites installs, upgrades, refuses
	@etc/build/release-test $(BUILD)

server-cross:
	@etc/build/server deps
	@mkdir -p server/.build
	@etc/build/cross $(OTHER) --build $(BUILD) --server -- $(SERVER_RELEASE)

clean:  ## Remove what building, running and testing left here
	rm -rf .build .build-* .build_* .run .venv server/.build
	find Tests etc server/Tests -name __pycache__ -prune -exec rm -rf {} +
