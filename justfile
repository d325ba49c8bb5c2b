set positional-arguments

# List the recipes
default:
    @just --list

# Formatting, lints, types: quick
[group('dev')]
check:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings

# All tests; or those whose name holds a word: just test scenario
[group('dev')]
test word='':
    scripts/test {{ word }}

# Rewrite the expected envelopes of fixtures/scenarios from what the binary answers now
[group('dev')]
bless *words:
    scripts/setup-tests
    ONEACT_BLESS=1 cargo test --test scenarios -- "$@"

# Write THIRD-PARTY.md anew: what is linked into the binary, with licences and their texts
[group('dev')]
third-party:
    scripts/third-party

# Write the models of the clients anew, after a change of schemas/
[group('dev')]
generate-clients:
    scripts/setup-tests
    scripts/generate-clients

# Known vulnerabilities of the dependencies; needs the network
[group('release')]
advisories:
    scripts/deny advisories

# Speed, as ratios within one run (medians)
[group('release')]
bench *args:
    cargo build --release
    scripts/bench "$@"

# What takes too long for the suite: the sample of docs/temporal.md killed at ten places (temporal), the recipes of
# docs/engines.md (engines), two hosts of which one is cut off and one killed (hosts; needs root)
[group('release')]
proof what:
    scripts/setup-tests
    cargo build --release
    {{ if what == "temporal" { "scripts/test-clients temporal" } else { "scripts/proof-" + what } }}

# Fuzz a target of fuzz/ (fuzz/README.md lists them); needs `cargo install cargo-fuzz`
[group('dev')]
fuzz target seconds='60':
    mkdir -p fuzz/corpus/{{ target }}
    RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none {{ target }} \
        fuzz/corpus/{{ target }} fuzz/seeds/{{ target }} fixtures/scenarios examples -- \
        -max_total_time={{ seconds }} -timeout=20 -max_len=8192 -dict=fuzz/dictionary
