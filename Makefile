# SPDX-License-Identifier: Apache-2.0
# The usual ways in. Each target installs what it needs (Debian packages), builds, and runs; see CONTRIBUTING.md.

# A clone elsewhere finds what this one compiled.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

.DEFAULT_GOAL := help
.PHONY: demo test sanitize threads soak bench repro fuzz lint docs clean help

demo:   ## a 10,000-GPU cluster under two policies (MUSTER_DATA=... for a recorded trace), then a live server and a kill -9
	@tools/bootstrap build python
	@tools/build release muster
	@tools/demo

test:   ## build with both compilers, run every test, compare their decisions
	@tools/bootstrap build test
	@tools/test

sanitize: ## the tests of most rooms under address and undefined-behaviour sanitizers
	@tools/bootstrap build test
	@tools/test --sanitized

threads: ## the tests of server, api and driver under the thread sanitizer
	@tools/bootstrap build test
	@tools/test --threads

soak:   ## kill -9 of the server at MUSTER_CRASH_POINTS (10,000) random points under load; hours
	@tools/bootstrap build python
	@tools/build release muster
	@MUSTER_BINARY="$(CURDIR)/build/release/src/muster" MUSTER_CRASH_POINTS="$${MUSTER_CRASH_POINTS:-10000}" \
	  /usr/bin/python3 test/e2e/crash_test.py

bench:  ## measure, and compare with bench/requirements.json
	@tools/bootstrap build bench
	@tools/bench

repro:  ## run the experiments of tools/repro_rows.py and compare with their bounds
	@tools/bootstrap build python
	@tools/build release muster
	@tools/repro

fuzz:   ## each fuzz target for FUZZ_SECONDS (20); builds them with clang first
	@tools/bootstrap build fuzz
	@tools/fuzz

lint:   ## format, clang-tidy, include edges, headers
	@tools/bootstrap build test lint
	@tools/lint

docs:   ## write docs/reference from the program, and check the links
	@tools/bootstrap build python
	@tools/build release muster
	@tools/docs

clean:  ## remove everything built
	rm -rf build

help:   ## this list
	@sed -n 's/^\([a-z]*\): *## /\1\t/p' Makefile | expand -t 10
