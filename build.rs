//! Embeds every SQL file under `queries/` under its path without the ending.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("queries");
    println!("cargo::rerun-if-changed=queries");
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    // Two levels only: the folder itself and its kinds.
    collect(&root, &mut files)?;
    for entry in fs::read_dir(&root)? {
        let path = entry?.path();
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, &mut files)?;
        }
    }
    files.sort();
    let mut code = String::from("pub(super) const FILES: &[(&str, &str)] = &[\n");
    for path in &files {
        let name = path
            .strip_prefix(&root)?
            .with_extension("")
            .components()
            .map(|c| c.as_os_str().to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join("/");
        println!("cargo::rerun-if-changed={}", path.display());
        writeln!(code, "    ({name:?}, include_str!({:?})),", path.display())?;
    }
    code.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("queries.rs"), code)?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "sql") {
            files.push(path);
        }
    }
    Ok(())
}
