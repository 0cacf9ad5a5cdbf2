//! The header for C is that of the functions.

use std::fs;
use std::path::Path;

use cbindgen::{Builder, Config};

/// Generates the header. `WRITE_HEADER=1` writes it instead of comparing it.
#[test]
fn the_header_is_generated_from_the_functions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut builder = Builder::new().with_config(config);
    for file in ["connection", "error", "event", "functions", "text"] {
        builder = builder.with_src(root.join("src").join(file).with_extension("rs"));
    }
    let mut generated = Vec::new();
    builder.generate().unwrap().write(&mut generated);
    let (path, generated) =
        (root.join("include/mcp_sansio.h"), String::from_utf8(generated).unwrap());
    if std::env::var_os("WRITE_HEADER").is_some() {
        fs::write(path, generated).unwrap();
        return;
    }
    let header = fs::read_to_string(path).unwrap();
    assert!(header == generated, "run the test with WRITE_HEADER=1, and look at the difference");
}
