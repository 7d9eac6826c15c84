# Causeway: every command that a developer or a CI needs. `make` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build deb deb-test systemd-test packaging-test reproducible sbom p4 p4-test demo bench instructions test interop smf console guides lint docs book figures fuzz fuzz-smoke ci clean

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: ## Install the system packages that build, demo and tests need (as root; else say which)
	@scripts/setup all

build: ## Build the release binary, target/release/causeway
	@scripts/setup build
	cargo build --release --locked -p causeway

# CAUSEWAY_BINARY names one that is there already.
release_binary = $(or $(CAUSEWAY_BINARY),target/release/causeway)
build_release = $(if $(CAUSEWAY_BINARY),,cargo build --release --locked -p causeway)

deb: ## Build the Debian package, target/debian/causeway_VERSION_ARCH.deb, and beside it what it contains
	@scripts/setup build
	$(build_release)
	@scripts/deb $(release_binary)
	@scripts/sbom

deb-test: ## Install, run, upgrade and purge the package of make deb in a bare Debian root
	@packaging/test-deb

systemd-test: ## Install and use the package of make deb in a bare Debian root whose first process is systemd
	@scripts/setup --want systemd
	@packaging/test-systemd

packaging-test: ## Read the chart, the compose files and the container files with the tools of their kind
	@packaging/check

reproducible: ## Build the release binary twice in different folders, and compare
	@scripts/reproducible $(REPRODUCIBLE_ARGS)

sbom: ## List everything that the binary contains, as CycloneDX: target/debian/causeway_VERSION.cdx.json
	@scripts/sbom

demo: ## Build, then show a whole 5G user plane at work in under a minute; DATAPLANE=switch: on a model of a P4 switch; DATAPLANE=hybrid: on such a model before the fast path; DATAPLANE=xplane: with a memory server
	@scripts/setup build net
	@scripts/setup --want capture
	$(build_release)
	$(release_binary) demo $(if $(DATAPLANE),--dataplane $(DATAPLANE)) $(DEMO_ARGS)

bench: ## Run the benchmarks of docs/performance.md on core CORE (default 1): target/bench
	@scripts/benchmarks $(or $(CORE),1)

p4: ## Compile the P4 programs, where the compiler is on PATH: target/p4
	@scripts/p4

p4-test: ## Send packets through the P4 programs, on BMv2 where it is on PATH, and on the model
	@scripts/p4 test

instructions: ## Count instructions per packet and per PFCP request, and compare them with their ceilings
	@scripts/instructions

test: ## Run all tests, as CI does: unit, property, conformance, end-to-end, third-party clients
	@scripts/test

interop: ## Run only the third-party PFCP and GTP clients against a UPF
	@scripts/setup build
	@scripts/setup --want net capture go python
	@tests/interop/run

smf: ## Run only the real SMFs of Open5GS and free5GC, where they are installed: tests/smf/README.md
	@scripts/setup build
	@scripts/setup --want net capture go
	@tests/smf/run

console: ## Run only the console in a real Chromium: screenshots in target/causeway/console
	@scripts/setup build
	@scripts/setup --want net python
	@scripts/setup --want console
	@tests/console/run

guides: ## Run only the commands of docs/guides, and compare their output: target/causeway/guides
	@scripts/setup build
	@scripts/setup --want net capture python
	@tests/guides/run

lint: ## Format, clippy, shellcheck, figures, licences and advisories of dependencies
	@scripts/lint

docs: ## Build the API documentation with warnings denied: target/doc
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked

book: ## Build the site of docs/ with mdBook, and check its links: target/book
	@scripts/book

figures: ## Draw docs/figures/*.svg from the sources beside them
	@scripts/figures

fuzz-smoke: ## Fuzz every decoder for 10 seconds (TIME=60 for longer)
	@scripts/fuzz smoke $(or $(TIME),10)

fuzz: ## Fuzz one decoder until stopped: make fuzz TARGET=name [ARGS=...]
	@scripts/fuzz run $(TARGET) $(ARGS)

ci: ## Run everything that CI runs
	@.ci/run

clean: ## Remove what was built
	cargo clean
	rm -rf fuzz/target fuzz/corpus-new fuzz/artifacts demo-out experiment-out
