set positional-arguments

# What a call needs lies together (see scripts/order); Rust's own linker knows how where it is the default
order := if arch() == "x86_64" { "-C link-arg=-Wl,--symbol-ordering-file=scripts/order.txt,--no-warn-symbol-ordering" } else { "" }

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

# The binary to ship, with everything it needs of glibc inside: it starts in two thirds of the time
[group('release')]
dist:
    cargo rustc --release --bin oneact -- -C target-feature=+crt-static -C relocation-model=static {{ order }}

# Speed, as ratios within one run (medians)
[group('release')]
bench *args: dist
    scripts/bench "$@"

# Fuzz a target of fuzz/ (reader, catalog or message); needs `cargo install cargo-fuzz`
[group('dev')]
fuzz target seconds='60':
    mkdir -p fuzz/corpus/{{ target }}
    RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none {{ target }} \
        fuzz/corpus/{{ target }} fuzz/seeds/{{ target }} fixtures/scenarios examples -- \
        -max_total_time={{ seconds }} -timeout=20 -max_len=8192 -dict=fuzz/dictionary
