//! How the tables come to be: from nothing, from specification 004's two schemas, once.

use super::*;
use crate::ledger::record::Which;
use crate::ledger::sha256;

/// Specification 004, 'Current Schema' and 'Updated Schema'.
const CURRENT: &str = r#"CREATE EXTENSION IF NOT EXISTS "uuid-ossp";
CREATE TABLE IF NOT EXISTS public.agent_actions (
  id uuid PRIMARY KEY DEFAULT uuid_generate_v4(), agent_name text, action_type text, target_type text,
  target_id uuid, outcome text, payload jsonb, confidence_score numeric, session_id uuid,
  timestamp timestamptz DEFAULT now());"#;
const UPDATED: &str = r#"CREATE EXTENSION IF NOT EXISTS "uuid-ossp";
CREATE TABLE IF NOT EXISTS public.agent_actions (
  id uuid PRIMARY KEY DEFAULT uuid_generate_v4(), agent_name text, action_type text, target_type text,
  target_id uuid, outcome text, request jsonb, request_hash text, response jsonb, confidence_score numeric,
  session_id uuid, step_index integer, timestamp timestamptz DEFAULT now());"#;

const SESSION: &str = "0198a7c2-0000-7000-8000-00000000000a";

/// Everything there is in a schema, as text: tables, columns, indices, triggers, functions, rights.
const EVERYTHING: &str = "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, c.relacl, c.oid \
    FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = 'public'::regnamespace \
    UNION ALL SELECT tgname, NULL, NULL, NULL, NULL, oid FROM pg_trigger \
    UNION ALL SELECT proname, NULL, NULL, NULL, proacl, oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace \
    ORDER BY 1, 2, 6";

fn database(schema: &str) -> String {
    let name = Cluster::shared().database();
    Cluster::shared().sql(&name, schema);
    name
}

fn refusal(database: &str) -> StoreError {
    match PostgresStore::open(&Cluster::shared().uri(database), Wish::Write) {
        Ok(_) => panic!("{database} was opened"),
        Err(error) => error,
    }
}

#[test]
fn the_checksums_are_those_of_the_texts() {
    let schema = super::super::super::migrations::POSTGRES;
    assert_eq!(schema.checksum, sha256(schema.text));
}

#[test]
fn a_new_database_has_specification_004s_thirteen_columns() {
    let (_, name) = fresh();
    let columns = Cluster::shared().sql(
        &name,
        "SELECT string_agg(column_name || ' ' || data_type || coalesce(' ' || column_default, ''), ', ' ORDER BY ordinal_position) \
         FROM information_schema.columns WHERE table_name = 'agent_actions' AND ordinal_position <= 13",
    );
    assert_eq!(
        columns,
        "id uuid uuid_generate_v4(), agent_name text, action_type text, target_type text, target_id uuid, \
         outcome text, request jsonb, request_hash text, response jsonb, confidence_score numeric, \
         session_id uuid, step_index integer, timestamp timestamp with time zone now()"
    );
}

#[test]
fn opening_twice_changes_nothing() {
    for schema in ["SELECT 1", CURRENT, UPDATED] {
        let name = database(schema);
        drop(open(&name));
        let once = Cluster::shared().sql(&name, EVERYTHING);
        drop(open(&name));
        assert_eq!(Cluster::shared().sql(&name, EVERYTHING), once);
        assert_eq!(
            Cluster::shared().sql(&name, "SELECT version, name FROM oneact_migrations"),
            "1|the ledger"
        );
    }
}

#[test]
fn eight_programs_that_open_a_new_database_at_once_all_can() {
    let name = Cluster::shared().database();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| open(&name));
        }
    });
}

#[test]
fn rows_of_the_current_schema_stay_as_history() {
    let name = database(CURRENT);
    let id = "11111111-2222-4333-8444-555555555555";
    Cluster::shared().sql(
        &name,
        &format!(
            "INSERT INTO agent_actions (id, agent_name, action_type, outcome, payload, confidence_score, session_id, timestamp) \
             VALUES ('{id}', 'planner', 'CAP-1', 'success', '{{\"success\": true}}', 0.9, '{SESSION}', '2025-01-01T00:00:00.5Z')"
        ),
    );
    let mut store = open(&name);
    write(&mut store, |tx| {
        let seq = append(tx)?;
        tx.put(&session(SESSION))?;
        let step_index = tx.next_step(SESSION)?;
        tx.put(&Row {
            step_index,
            ..row(SESSION, seq)
        })
    })
    .unwrap();
    let [old, new] = <[Row; 2]>::try_from(ask(&mut store, &Which::session(SESSION))).unwrap();
    assert_eq!((old.step_index, new.step_index, new.seq), (0, 1, Some(1)));
    assert_eq!(
        (
            old.id.as_str(),
            old.state,
            old.seq,
            old.request_hash.as_str()
        ),
        (id, None, None, "")
    );
    assert_eq!(old.response.as_deref(), Some(r#"{"success": true}"#));
    assert_eq!(
        (old.timestamp.as_str(), old.confidence_score, old.outcome),
        ("2025-01-01T00:00:00.500Z", Some(0.9), RowOutcome::Success)
    );
    // Also by its hash it is never found.
    let asked = Which::success(SESSION, "");
    assert_eq!(ask(&mut store, &asked), []);
    assert_eq!(ask(&mut store, &Which::id_begins("11111111-")), [old]);
}

#[test]
fn input_and_input_hash_become_request_and_request_hash() {
    let name = database(CURRENT);
    let cluster = Cluster::shared();
    cluster.sql(
        &name,
        "ALTER TABLE agent_actions ADD input jsonb, ADD input_hash text",
    );
    cluster.sql(
        &name,
        "INSERT INTO agent_actions (input, input_hash) VALUES ('{\"a\": 1}', 'abc')",
    );
    let mut store = open(&name);
    let old = ask(&mut store, &Which::newest()).remove(0);
    assert_eq!(
        (old.request.as_deref(), old.request_hash.as_str()),
        (Some(r#"{"a": 1}"#), "abc")
    );
}

#[test]
fn a_table_of_another_program_is_left_alone() {
    let others = [
        (
            "CREATE TABLE agent_actions (id integer)",
            "it has no column agent_name",
        ),
        (
            "CREATE TABLE agent_actions (name text)",
            "it has no column id",
        ),
        (
            "CREATE VIEW agent_actions AS SELECT 1 AS id",
            "it has no column agent_name",
        ),
        ("CREATE TABLE ledger_events (id integer)", "ledger_events"),
        ("CREATE TABLE oneact_claims (id integer)", "oneact_claims"),
    ];
    for (schema, why) in others {
        let name = database(schema);
        let before = Cluster::shared().sql(&name, EVERYTHING);
        let refused = refusal(&name);
        assert_eq!(refused.trouble, Trouble::Foreign, "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
        assert_eq!(Cluster::shared().sql(&name, EVERYTHING), before);
    }
    let demanding = format!("{UPDATED} ALTER TABLE agent_actions ADD tenant text NOT NULL");
    let refused = refusal(&database(&demanding)).to_string();
    assert!(refused.contains("tenant is required"), "{refused}");
    let crowded = format!("{UPDATED} ALTER TABLE agent_actions ADD state integer");
    let refused = refusal(&database(&crowded)).to_string();
    assert!(refused.contains("type integer"), "{refused}");
}

#[test]
fn a_database_that_is_not_utf8_is_refused() {
    let name = "latin";
    let made = format!("CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0");
    Cluster::shared().sql("postgres", &made);
    let refused = refusal(name);
    assert_eq!(refused.trouble, Trouble::Foreign, "{refused}");
}

#[test]
fn a_ledger_of_a_newer_program_can_be_read_and_not_written() {
    let (_, name) = fresh();
    let newer = "INSERT INTO oneact_migrations VALUES (2, 'later', 'x', '9.0')";
    Cluster::shared().sql(&name, newer);
    let refused = refusal(&name);
    assert_eq!(refused.trouble, Trouble::Newer, "{refused}");
    let versions = "has schema version 2, but this program knows only version 1:";
    assert!(refused.to_string().contains(versions), "{refused}");
    let uri = Cluster::shared().uri(&name);
    let refused = PostgresStore::open(&uri, Wish::Decide).err().unwrap();
    assert_eq!(refused.trouble, Trouble::Newer, "{refused}");
    let mut store = PostgresStore::open(&uri, Wish::Read).unwrap();
    assert_eq!(ask(&mut store, &Which::newest()), []);
}

#[test]
fn a_migration_that_was_changed_afterwards_is_found() {
    for change in [
        "UPDATE oneact_migrations SET checksum = 'other'",
        "DELETE FROM oneact_migrations",
    ] {
        let (_, name) = fresh();
        Cluster::shared().sql(&name, change);
        let refused = refusal(&name);
        assert_eq!(refused.trouble, Trouble::HalfMigrated, "{refused}");
    }
}

#[test]
fn whoever_looks_or_decides_makes_nothing() {
    let name = Cluster::shared().database();
    let uri = Cluster::shared().uri(&name);
    for wish in [Wish::Read, Wish::Decide] {
        let refused = PostgresStore::open(&uri, wish).err().unwrap();
        assert!(
            refused
                .to_string()
                .contains("the database contains no ledger yet"),
            "{refused}"
        );
    }
    assert_eq!(Cluster::shared().sql(&name, EVERYTHING), "");
}

#[test]
fn somebody_with_the_rights_of_the_writer_alone_records_and_changes_nothing() {
    let (_, name) = fresh();
    let cluster = Cluster::shared();
    cluster.sql(&name, "CREATE ROLE clerk LOGIN IN ROLE oneact_writer");
    let uri = cluster.uri_of("clerk", &name);
    let mut store = PostgresStore::open(&uri, Wish::Write).unwrap();
    write(&mut store, |tx| {
        let seq = append(tx)?;
        tx.put(&session("sess-1"))?;
        tx.put(&row("sess-1", seq))?;
        let id = row("sess-1", seq).id;
        let by = taken_back(tx, &id)?;
        tx.revoke(&id, by)?;
        let by = pruned(tx, &id)?;
        tx.prune(&id, by)?;
        let another = append(tx)?;
        tx.put(&row("sess-1", another))?;
        tx.put_secret_key(&[7; 32])
    })
    .unwrap();
    for change in [
        "SET ROLE clerk; UPDATE agent_actions SET outcome = 'error'",
        "SET ROLE clerk; DELETE FROM ledger_events",
        "SET ROLE clerk; ALTER TABLE ledger_events DISABLE TRIGGER ALL",
        "SET ROLE oneact_reader; SELECT * FROM oneact_keys",
        "SET ROLE clerk; UPDATE oneact_claims SET effects = 'none'",
        "SET ROLE clerk; DELETE FROM oneact_claims",
        "SET ROLE clerk; UPDATE oneact_votes SET answer = 'approved'",
        "SET ROLE oneact_reader; UPDATE oneact_claims SET state = 'ended', ended = 0",
    ] {
        let refused = cluster.try_sql(&name, change).unwrap_err();
        let denied = refused.contains("permission denied") || refused.contains("must be owner");
        assert!(denied, "{change}: {refused}");
    }
    cluster.sql(
        &name,
        "SET ROLE oneact_reader; SELECT * FROM agent_actions, ledger_events",
    );
}

#[test]
fn the_writer_puts_no_link_out_of_its_order_by_operators_of_its_own() {
    let (_, name) = fresh();
    let cluster = Cluster::shared();
    let mut store = PostgresStore::open(&cluster.uri(&name), Wish::Write).unwrap();
    write(&mut store, |tx| append(tx).map(drop)).unwrap();
    cluster.sql(
        &name,
        "CREATE ROLE operator LOGIN IN ROLE oneact_writer; CREATE SCHEMA own AUTHORIZATION operator;
         SET ROLE operator;
         CREATE FUNCTION own.never(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
         CREATE FUNCTION own.never(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
         CREATE OPERATOR own.<> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = own.never);
         CREATE OPERATOR own.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = own.never)",
    );
    let refused = cluster.try_sql(
        &name,
        "SET ROLE operator; SET search_path = own, pg_catalog;
         INSERT INTO public.ledger_events SELECT 5000, operation_id, session_id, 5000, event, at, actor, body,
           repeat('0', 64), repeat('1', 64) FROM public.ledger_events LIMIT 1",
    );
    let refused = refused.unwrap_err();
    assert!(refused.contains("is not the next one"), "{refused}");
}

#[test]
fn rows_from_before_oneact_are_changed_only_by_those_who_may_change_the_table() {
    let name = database(CURRENT);
    let cluster = Cluster::shared();
    cluster.sql(
        &name,
        "INSERT INTO agent_actions (agent_name) VALUES ('old')",
    );
    open(&name);
    cluster.sql(&name, "CREATE ROLE scribe LOGIN IN ROLE oneact_writer");
    let change = "UPDATE agent_actions SET response = '{}' WHERE seq IS NULL";
    let refused = cluster.try_sql(&name, &format!("SET ROLE scribe; {change}"));
    assert!(refused.unwrap_err().contains("is from before oneact"));
    cluster.sql(&name, change);
}

#[test]
fn somebody_who_may_not_make_tables_is_told_who_has_to() {
    let name = Cluster::shared().database();
    let cluster = Cluster::shared();
    cluster.sql(&name, "CREATE ROLE guest LOGIN");
    let refused = PostgresStore::open(&cluster.uri_of("guest", &name), Wish::Write)
        .err()
        .unwrap();
    assert_eq!(refused.trouble, Trouble::ReadOnly, "{refused}");
    let said = refused.to_string();
    assert!(said.contains("do not exist yet"), "{refused}");
    assert!(
        said.contains("once as the owner of the database"),
        "{refused}"
    );
    // Nor may a stranger look into one that is there.
    let (_, name) = fresh();
    let refused = PostgresStore::open(&cluster.uri_of("guest", &name), Wish::Read)
        .err()
        .unwrap();
    assert!(
        refused.to_string().contains("permission denied"),
        "{refused}"
    );
}

#[test]
fn an_owner_who_may_not_make_roles_has_a_ledger_all_the_same() {
    let cluster = Cluster::start(cluster::Signed::ByItself);
    cluster.sql("postgres", "CREATE ROLE tenant LOGIN");
    cluster.sql("postgres", "CREATE DATABASE theirs OWNER tenant");
    let uri = cluster.uri_of("tenant", "theirs");
    let mut store = PostgresStore::open(&uri, Wish::Write).unwrap();
    write(&mut store, |tx| append(tx).map(drop)).unwrap();
    let roles = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'oneact\\_%'";
    assert_eq!(cluster.sql("theirs", roles), "0");
}

#[test]
fn what_the_database_grants_to_everybody_is_taken_back() {
    let name = database(
        "CREATE ROLE anon; ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO anon",
    );
    drop(open(&name));
    let seen = "SET ROLE anon; SELECT * FROM oneact_keys";
    assert!(Cluster::shared().try_sql(&name, seen).is_err());
}
