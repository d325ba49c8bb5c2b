//! TLS: whom `sslmode` believes.

use super::{
    cluster::{Cluster, Signed},
    *,
};

/// Opens over the network; answers whether the connection is encrypted, or why it cannot be had.
fn encrypted(cluster: &Cluster, host: &str, keys: &str) -> Result<bool, StoreError> {
    let keys = keys.replace("ROOT", cluster.dir.join("root.crt").to_str().unwrap());
    let uri = cluster.network_uri(host, "postgres", &keys);
    let store = PostgresStore::open(&uri, Wish::Write)?;
    let ask = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    Ok(store.open.line.rows(ask, &[]).unwrap()[0].get(0))
}

fn refused(cluster: &Cluster, host: &str, keys: &str) -> String {
    let error = encrypted(cluster, host, keys).unwrap_err();
    assert_eq!(error.trouble, Trouble::Unreachable, "{error}");
    error.to_string()
}

fn believed(cluster: &Cluster) {
    for (host, keys, tls) in [
        ("localhost", "sslmode=disable", false),
        ("localhost", "", true),
        ("127.0.0.1", "sslmode=require", true),
        ("localhost", "sslmode=verify-full&sslrootcert=ROOT", true),
        ("localhost", "sslmode=require&channel_binding=require", true),
    ] {
        assert_eq!(
            encrypted(cluster, host, keys).unwrap(),
            tls,
            "{host} {keys}"
        );
    }
    // The certificate is for `localhost`.
    let said = refused(cluster, "127.0.0.1", "sslmode=verify-full&sslrootcert=ROOT");
    assert!(said.contains("not valid for name"), "{said}");
    // And nobody whom this machine believes has signed it.
    let said = refused(cluster, "localhost", "sslmode=verify-full");
    assert!(said.contains("certificate"), "{said}");
}

#[test]
fn a_certificate_of_an_authority_is_believed_as_far_as_sslmode_says() {
    believed(Cluster::shared());
}

#[test]
fn a_certificate_that_signed_itself_is_believed_where_it_is_named() {
    let cluster = Cluster::start(Signed::ByItself);
    believed(&cluster);
    // Another one that signed itself is not.
    let other = Cluster::shared().dir.join("root.crt");
    let keys = format!("sslmode=verify-full&sslrootcert={}", other.display());
    let said = refused(&cluster, "localhost", &keys);
    assert!(said.contains("certificate"), "{said}");
}

#[test]
fn a_root_certificate_that_is_not_there_is_named() {
    let said = refused(
        Cluster::shared(),
        "localhost",
        "sslmode=verify-full&sslrootcert=/no/root.crt",
    );
    assert!(said.contains("/no/root.crt"), "{said}");
}
