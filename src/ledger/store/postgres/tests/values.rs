//! Texts that PostgreSQL cannot keep as they are, and the UUIDs of ids.

use super::super::{
    super::columns::uuid,
    statement::{given, kept},
};

#[test]
fn a_text_with_a_nul_is_kept_without_one_and_given_back_as_it_was() {
    for text in [
        "",
        "plain",
        "a\0b",
        "\0",
        "\u{10FFFD}",
        "\u{10FFFD}0\0\u{10FFFD}1",
    ] {
        assert!(!kept(text).contains('\0'));
        assert_eq!(given(kept(text).into_owned()), text);
    }
}

#[test]
fn an_id_that_is_a_uuid_is_its_own_and_another_has_version_five() {
    let id = "0198a7c2-0000-7000-8000-00000000000a";
    assert_eq!(uuid(id), id);
    assert_eq!(uuid(&id.to_uppercase()), id);
    let derived = uuid("sess-20260224-1000");
    assert_eq!(derived.get(14..15), Some("5"));
    let sql = "CREATE EXTENSION \"uuid-ossp\"; SELECT uuid_generate_v5(uuid_ns_url(), 'oneact:sess-20260224-1000')";
    let cluster = super::Cluster::shared();
    assert_eq!(cluster.sql(&cluster.database(), sql), derived);
}
