# Everything between a checkout and a running server. Cargo alone suffices for what needs no server.

PG_CONFIG ?= /usr/lib/postgresql/15/bin/pg_config
export PG_CONFIG

# These stay unexpanded until a recipe needs them: on a new machine `packages` has to bring pg_config first.
PG_VERSION = $(shell $(PG_CONFIG) --version)
PG_MAJOR = $(or $(filter 15 16 17 18,$(shell echo '$(PG_VERSION)' | sed 's/^PostgreSQL \([0-9]*\).*/\1/')),\
    $(error pg_dp builds for PostgreSQL 15 to 18, and $(PG_CONFIG) is of "$(PG_VERSION)"))
FOR_PG = --no-default-features --features pg$(PG_MAJOR)

BUILT := $(or $(CARGO_TARGET_DIR),target)
LIBRARY := $(BUILT)/release/libpg_dp.so
# what was released, for the tests, and how one comes from one version to the next
EARLIER = $(wildcard sql/released/*.sql sql/upgrades/*.sql)
SCRIPT := $(BUILT)/pg_dp--$(shell sed -n "s/^default_version = '\(.*\)'/\1/p" pg_dp.control).sql
START := $(shell date +%s)
RUNS ?= 30
VERSIONS ?= 16 17 18

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL: # prerequisites are steps, in their order
.PHONY: help demo test test-server test-doors citus test-versions test-upgrade fuzz fuzz-inputs faults bench accuracy dashboard test-dashboard cluster psql stop packages testpackages build install start unit changes audit proofs valgrind lint clean deb test-deb oci site

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo 'PG_CONFIG=/path/to/pg_config chooses another PostgreSQL, 15 to 18 (now $(PG_CONFIG)).'

demo: start ## build, start a throwaway server, and walk through what pg_dp does
	@eval "$$(pgrx-config/cluster env)"; demo/demo
	@echo "==> finished after $$(($$(date +%s) - $(START))) s in all" >&2

# Tests against a server wait half of their time: meanwhile those that need none compute.
test: packages testpackages ## all tests: those against a server, and those that need none
	@mkdir -p $(BUILT); \
	echo '==> testing what needs no PostgreSQL meanwhile: $(BUILT)/unit.log and $(BUILT)/changes.log' >&2; \
	$(MAKE) --no-print-directory unit >$(BUILT)/unit.log 2>&1 & unit=$$!; \
	$(MAKE) --no-print-directory changes >$(BUILT)/changes.log 2>&1 & changes=$$!; \
	trap "kill $$unit $$changes 2>/dev/null || true" EXIT; \
	failed= alone=; \
	$(MAKE) --no-print-directory test-server || failed='against a server'; \
	echo '==> waiting for what needs no PostgreSQL' >&2; \
	for process in $$unit $$changes; do \
	    wait $$process || alone='without one'; \
	done; \
	failed="$$failed$${alone:+$${failed:+, and }$$alone}"; \
	cat $(BUILT)/unit.log $(BUILT)/changes.log; \
	[ -z "$$failed" ] || { echo "==> failed: tests $$failed, after $$(($$(date +%s) - $(START))) s in all" >&2; exit 1; }
	@echo "==> all tests passed, after $$(($$(date +%s) - $(START))) s in all" >&2

# One test waits while another computes, so there are as many servers as cores.
JOBS ?= $(shell nproc)
test-server: testpackages start ## the tests against a server alone
	@echo '==> testing against PostgreSQL $(PG_MAJOR)' >&2
	@eval "$$(pgrx-config/cluster env)"; JOBS=$(JOBS) tests/run

# What these bring along is much, so they are no part of `test`.
test-doors: start ## tests of the examples for dbt, pandas, DuckDB and Spark, installed under the build directory
	@pgrx-config/packages doors
	@[ -x $(BUILT)/doors/bin/pip ] || python3 -m venv $(BUILT)/doors
	@$(BUILT)/doors/bin/pip install -q --disable-pip-version-check -r tests/workflows/requirements.txt
	@eval "$$(pgrx-config/cluster env)"; tests/run dbt pandas engines

CITUS_PG_CONFIG ?= $(PG_CONFIG)
citus: ## tests with a coordinator of Citus and two workers; CITUS_PG_CONFIG=... is of a PostgreSQL that has it
	@export PG_CONFIG='$(CITUS_PG_CONFIG)' CARGO_TARGET_DIR='$(abspath $(BUILT))/citus'; \
	if [ ! -e "$$($(CITUS_PG_CONFIG) --pkglibdir)/citus.so" ]; then \
	    echo '==> skipped: the PostgreSQL of $(CITUS_PG_CONFIG) has no Citus' >&2; \
	else \
	    $(MAKE) --no-print-directory start; \
	    (eval "$$(pgrx-config/cluster env)"; tests/run citus distributed); \
	fi

# 16 and 18 are those of wheels, 17 is that of a Debian 13.
test-versions: ## the tests against a server, with other versions of PostgreSQL; VERSIONS=18
	@pgrx-config/packages versions
	@failed=; for version in $(VERSIONS); do \
	    folder=$(abspath $(BUILT))/versions/$$version; mkdir -p $$folder; \
	    case $$version in \
	        17) there="pgrx-config/debian $$folder/root" ;; \
	        *) there=; export PG_CONFIG=$$(pgrx-config/wheel $$version $$folder) ;; \
	    esac; \
	    $$there env CARGO_TARGET_DIR=$$folder/target bash -c \
	        'make --no-print-directory test-server; status=$$?; pgrx-config/cluster stop; exit $$status' | tee $$folder/tests || \
	        failed="$$failed $$version"; \
	done; \
	for version in $(VERSIONS); do \
	    echo "==> PostgreSQL $$version:"; \
	    sed -n '/^FAILED [^ ]*$$\|^skipped [^ ]*:\|^[0-9]* passed, /p' $(BUILT)/versions/$$version/tests; \
	done; \
	[ -z "$$failed" ] || { echo "==> failed with PostgreSQL$$failed" >&2; exit 1; }

UPGRADE_TO ?= 18
test-upgrade: start ## pg_upgrade to a newer PostgreSQL, which a wheel brings; UPGRADE_TO=16, or NEW_PG_CONFIG=... of one that has pg_dp
	@pgrx-config/packages versions
	@new='$(NEW_PG_CONFIG)'; \
	if [ -z "$$new" ]; then \
	    new=$$(pgrx-config/wheel $(UPGRADE_TO) $(BUILT)/versions/$(UPGRADE_TO)); \
	    CARGO_TARGET_DIR=$(abspath $(BUILT))/versions/$(UPGRADE_TO)/target $(MAKE) --no-print-directory install PG_CONFIG="$$new"; \
	fi; \
	eval "$$(pgrx-config/cluster env)"; NEW_PG_CONFIG="$$new" tests/run pg_upgrade

# As often as a test calls, each time from the next seed and on a new server.
CALLS ?= 200000
SEED ?= $(START)
fuzz: start ## calls of all functions with hostile arguments; CALLS=1000000 of them, from SEED=..., which makes the same calls again
	@eval "$$(pgrx-config/cluster env)"; for ((made = 0; made < $(CALLS); made += 20000)); do \
	    export SEED=$$(($(SEED) + made / 20000)) CALLS=$$(($(CALLS) - made < 20000 ? $(CALLS) - made : 20000)); \
	    echo "==> seed $$SEED" >&2; \
	    tests/run fuzz; \
	done

# Without a server, and without sanitizers, so with any toolchain.
SECONDS_EACH ?= 60
fuzz-inputs: ## mutate values of all types as text and bytes, words and noisy tables, guided by coverage; SECONDS_EACH=60
	@tests/inputs/run $(SECONDS_EACH)

STRIKES ?= 20
faults: testpackages start ## kills, full disks, no memory, clock jumps, failovers, many sessions: what they leave of ledger and releases; STRIKES=20 of each
	@eval "$$(pgrx-config/cluster env)"; RUNS=$(STRIKES) tests/run faults

bench: start ## measure speed and memory: docs/performance.md; TARGET=release prints one of benches/, QUICK=1 tries
	@eval "$$(pgrx-config/cluster env)"; benches/run $(TARGET)

accuracy: ## write accuracy.md, rivals.md, coverage.md, range-accuracy.md, adaptive-accuracy.md and bound-accuracy.md in docs/, the errors of all methods; RUNS=30, or QUICK=1 for a check
ifdef QUICK
	@echo '==> checking accuracy' >&2
	@cargo run --profile test --no-default-features --example accuracy -- quick $(BUILT)/accuracy
else
	@cargo run --profile pure --no-default-features --example accuracy -- $(RUNS) docs
	@cargo run --profile pure --no-default-features --example accuracy -- coverage $$((10 * $(RUNS))) docs
	@cargo run --profile pure --no-default-features --example range_accuracy -- $$((20 * $(RUNS))) docs
	@cargo run --profile pure --no-default-features --example adaptive_accuracy -- $(RUNS) docs
	@cargo run --profile pure --no-default-features --example bound_accuracy -- $$((10 * $(RUNS))) docs
endif

dashboard: start ## Apache Superset with a dashboard of the demo, on this machine: docs/dashboard.md
	@eval "$$(pgrx-config/cluster env)"; DASHBOARD=$(BUILT)/dashboard dashboard/superset start

test-dashboard: start ## drive the dashboard in a browser; ACCEPT=1 writes the pictures of docs/dashboard.md
	@eval "$$(pgrx-config/cluster env)"; DASHBOARD=$(BUILT)/dashboard dashboard/superset test

cluster: start ## start the throwaway server; eval "$(make cluster)" points psql at it
	@pgrx-config/cluster env

psql: start ## psql in the throwaway server
	@pgrx-config/cluster psql

stop: ## stop the throwaway server and remove its data; stop the dashboard
	@DASHBOARD=$(BUILT)/dashboard dashboard/superset stop
	@pgrx-config/cluster stop

packages: ## install the Debian packages that are missing
	@pgrx-config/packages

testpackages:
	@pgrx-config/packages tests

build: packages ## build the extension
	@echo '==> building pg_dp for PostgreSQL $(PG_MAJOR)$(if $(wildcard $(LIBRARY)),, (first time: about 3 minutes))' >&2
	@PGRX_PG_CONFIG_PATH='$(PG_CONFIG)' cargo build --release $(FOR_PG) >&2

# The parts in the order of their numbers. The folder has changed when one was added or removed.
$(SCRIPT): sql $(wildcard sql/*.sql) pg_dp.control
	@mkdir -p $(@D)
	@cat sql/*.sql >$@

# Only what has changed. install(1) writes a new file instead of into the old one, which running servers have mapped.
install: build $(SCRIPT) ## install it where that PostgreSQL looks for extensions
	@put() { \
	    cmp -s "$$1" "$$2" && return; \
	    echo "==> installing $$2" >&2; \
	    $$([ -w "$$(dirname "$$2")" ] || echo sudo) install -m "$$3" "$$1" "$$2" >&2; \
	}; \
	put $(LIBRARY) "$$($(PG_CONFIG) --pkglibdir)/pg_dp.so" 755; \
	for file in pg_dp.control $(SCRIPT) $(EARLIER); do \
	    put $$file "$$($(PG_CONFIG) --sharedir)/extension/$${file##*/}" 644; \
	done

deb: packages ## packages of the last commit for Debian and Red Hat's family, with a list of crates, an archive for PGXN and checksums, in target/packages
	@pgrx-config/packages deb
	@rm -rf $(BUILT)/packages
	@packaging/make $(BUILT)/packages

test-deb: deb ## install that in a Debian 12 without compiler and network, and build it again elsewhere, to compare
	@packaging/try $(BUILT)/packages/postgresql-$(PG_MAJOR)-pg-dp_*.deb
	@packaging/same_files $(BUILT)/packages/*.deb $(BUILT)/packages/*.rpm
	@again=$$(mktemp -d); trap 'rm -rf "$$again"' EXIT; \
	git clone -q . "$$again/elsewhere"; \
	(unset CARGO_TARGET_DIR; "$$again/elsewhere/packaging/make" "$$again/out"); \
	cmp $(BUILT)/packages/SHA256SUMS "$$again/out/SHA256SUMS"; \
	echo '==> built again elsewhere: the same bytes' >&2

# For Debian's 15 the one of a wheel is taken, which is built for as another's is.
oci: packages ## an image for volumes of extensions, which PostgreSQL 18 has, in target/packages-18; tried there, after its installation by pip
	@pgrx-config/packages oci
	@if [ $(PG_MAJOR) -lt 18 ]; then export PG_CONFIG=$$(pgrx-config/wheel 18 $(BUILT)/versions/18); fi; \
	major=$$("$$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'); \
	rm -rf "$(BUILT)/packages-$$major"; \
	packaging/make "$(BUILT)/packages-$$major"; \
	packaging/try_image "$(BUILT)/packages-$$major"/*.oci.tar

site: ## the documentation as a site, by mdBook, which is built first, in target/site/html; every link of it is tried
	@packaging/site $(BUILT)/site

start: install
	@pgrx-config/cluster start

# Of the programs in reports/ those alone are built that have tests: `lint` looks at all of them.
unit: ## the tests that need no PostgreSQL
	@echo '==> testing what needs no PostgreSQL' >&2
	@cargo test --no-default-features --tests
	@cargo test --no-default-features --doc
	@$(MAKE) --no-print-directory accuracy QUICK=1

changes: packages ## what CONTRIBUTING.md lists, tried on toys, mistakes that must not compile, and whether all planted bugs apply
	@echo '==> trying the changes of tests/changes' >&2
	@PGRX_PG_CONFIG_PATH='$(PG_CONFIG)' FOR_PG='$(FOR_PG)' tests/changes/run
	@tests/audit/run applies

audit: packages testpackages start ## what each mechanism charges beside what its releases prove, and planted bugs with the tests that catch them
	@pgrx-config/packages valgrind
	@echo '==> the mechanisms' >&2
	@tests/audit/run mechanisms
	@echo '==> planting bugs, one after the other' >&2
	@eval "$$(pgrx-config/cluster env)"; export PGRX_PG_CONFIG_PATH='$(PG_CONFIG)' FOR_PG='$(FOR_PG)'; failed=; \
	tests/audit/run server-bugs >$(BUILT)/audit/server-bugs 2>&1 & server=$$!; \
	tests/audit/run bugs || failed=1; \
	echo; \
	wait $$server || failed=1; \
	cat $(BUILT)/audit/server-bugs; \
	[ -z "$$failed" ]

proofs: ## lemmas about the samplers' integers, for all inputs, by a solver
	@pgrx-config/packages proofs
	@tests/proofs/run

valgrind: ## what is unsafe without PostgreSQL, its tests under valgrind
	@pgrx-config/packages valgrind
	@cargo test --no-default-features --config 'target."cfg(unix)".runner = "valgrind -q --error-exitcode=1"' --lib -- \
	    --test-threads=1 work::

# The release profile shares bindgen's run over the headers with `build`.
lint: packages ## rustfmt and clippy
	@echo '==> checking format and lints, without PostgreSQL and with $(PG_MAJOR)' >&2
	@cargo fmt --check
	@cargo clippy --all-targets --no-default-features -- -D warnings
	@PGRX_PG_CONFIG_PATH='$(PG_CONFIG)' cargo clippy --release $(FOR_PG) -- -D warnings

clean: stop ## remove the server and all that was built
	@cargo clean
