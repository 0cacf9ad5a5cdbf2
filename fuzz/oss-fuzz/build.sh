#!/bin/bash -eu
# Builds the fuzz targets for OSS-Fuzz, in its image `base-builder-rust`, which sets SRC, OUT, WORK, SANITIZER, CFLAGS,
# CXXFLAGS, RUSTFLAGS and LIB_FUZZING_ENGINE. For each target, $OUT gets the program, TARGET_seed_corpus.zip,
# TARGET.dict and TARGET.options. `fuzz/oss-fuzz/check` runs this script outside the image.

cd "$SRC/mcp-sansio"

# The start inputs. The program that writes them is no fuzz target, and needs no sanitizers.
begin=${WORK:-/tmp}/begin
env -u RUSTFLAGS -u CFLAGS -u CXXFLAGS -u LIB_FUZZING_ENGINE \
    cargo run --locked --quiet -p mcp-sansio-proptests --bin corpus -- "$begin"

# The profile `release` in fuzz/Cargo.toml keeps debug assertions and overflow checks.
cd fuzz
cargo fuzz build -O
programs=${CARGO_TARGET_DIR:-target}/$(rustc -vV | sed -n "s/^host: //p")/release

for source in fuzz_targets/*.rs; do
    target=$(basename "$source" .rs)
    cp "$programs/$target" "$OUT/"
    inputs=("$begin/$target")
    [ ! -d "seeds/$target" ] || inputs+=("seeds/$target")
    rm -f "$OUT/${target}_seed_corpus.zip"
    # -j: file names without folders. The names differ: they are digests, or words.
    zip -jrq "$OUT/${target}_seed_corpus.zip" "${inputs[@]}"
    cp mcp.dict "$OUT/$target.dict"
    cp oss-fuzz/target.options "$OUT/$target.options"
done
