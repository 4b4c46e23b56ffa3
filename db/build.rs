//! Makes builds of this crate use the committed query data in `.sqlx/`, whatever `DATABASE_URL`
//! a developer's shell holds for some other project. `scripts/sqlx-prepare` sets `SQLX_OFFLINE`
//! to `false` to check the queries against a database made from the migrations.

fn main() {
    println!("cargo:rerun-if-changed=../migrations");
    println!("cargo:rerun-if-changed=../.sqlx");
    for name in ["SQLX_OFFLINE", "SQLX_OFFLINE_DIR", "DATABASE_URL"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if std::env::var_os("SQLX_OFFLINE").is_none() {
        println!("cargo:rustc-env=SQLX_OFFLINE=true");
    }
}
