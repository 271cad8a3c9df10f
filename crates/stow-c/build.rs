//! Names the shared library, so that programs find it under the name that it is installed as.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libplimsoll_stow.so.1");
    println!("cargo::rerun-if-changed=build.rs");
}
