# Everything a contributor does with the tree. `make` alone explains itself.

GO      ?= go
BIN     ?= bin/clawbot
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X clawbot/internal/version.Version=$(VERSION)
LINT_VERSION := v2.15.0

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## a static binary in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/clawbot

.PHONY: deps
deps: ## install what the tests need and is missing (a real redis-server, a real browser, a sandbox)
	@scripts/install-test-deps

.PHONY: test
test: deps ## every test, with the race detector, in random order
	$(GO) vet ./...
	$(GO) test -race -shuffle=on ./...

.PHONY: lint
lint: ## gofmt and golangci-lint
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION) run

.PHONY: bench
bench: ## benchmarks, in the form that benchstat reads, then the real binary under load
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) run ./internal/load -idle 30s -turns 1000 -chats 1,200,1000,5000
	$(GO) run ./internal/load -exchanges 0 -limits -stream 10s -chats 20

.PHONY: allocs
allocs: ## compare allocations per operation with the committed limits
	@scripts/check-allocs

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 30s)
	@scripts/fuzz $(or $(FUZZTIME),30s)

.PHONY: chaos-short
chaos-short: deps ## a minute of chaos: the design for 8s, two broken builds and what they are compared with
	$(GO) run -tags chaos ./internal/chaos -duration 8s -sessions 20 -ttl 2s -mutants append,dedupe

.PHONY: chaos
chaos: deps ## replicas under faults for DURATION (default 20s) with SESSIONS chats (40) and leases of TTL (1s), a rolling update, failovers, then the checker's own test
	$(GO) run -tags chaos ./internal/chaos -duration $(or $(DURATION),20s) -sessions $(or $(SESSIONS),40) -ttl $(or $(TTL),1s)
