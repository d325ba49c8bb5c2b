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

# Speed, as ratios within one run (medians)
[group('release')]
bench *args:
    cargo build --release
    scripts/bench "$@"
