//! The key for hashes of secrets, as a database keeps it.

use super::{
    super::{
        canonical::sha256,
        store::{Engine, Result, Tx, Value},
    },
    Head,
};

impl Tx<'_> {
    /// The key; none until it is made.
    pub(crate) fn secret_key(&mut self) -> Result<Option<[u8; 32]>> {
        let table = self.keys();
        let text = format!("SELECT key FROM {table} WHERE name = 'secrets'");
        let found = self.db.run(&text, &[])?.into_iter().flatten().next();
        match found {
            None => Ok(None),
            Some(Value::Bytes(key)) if key.len() == 32 => Ok(key.try_into().ok()),
            Some(_) => Err(self.damaged("its key for secrets does not have 32 bytes".to_owned())),
        }
    }

    /// The SHA-256 of the key. In PostgreSQL, users who may not read the key may read this.
    pub(crate) fn secret_key_sha256(&mut self) -> Result<Option<String>> {
        if self.engine == Engine::Sqlite {
            return Ok(self.secret_key()?.map(sha256));
        }
        let text = "SELECT sha256 FROM public.oneact_key_hashes WHERE name = 'secrets'";
        let found = self.db.run(text, &[])?;
        Ok(found.into_iter().flatten().find_map(Value::text))
    }

    /// Whether a link says that a key was made.
    pub(crate) fn had_secret_key(&mut self) -> Result<bool> {
        let made: Option<Head> = self.one("WHERE event = 'keyed' LIMIT 1", &[])?;
        Ok(made.is_some())
    }

    /// Writes the key. It is refused if there is one already.
    pub(crate) fn put_secret_key(&mut self, key: &[u8; 32]) -> Result<()> {
        let table = self.keys();
        let text = format!("INSERT INTO {table} (name, key) VALUES ('secrets', ?1)");
        self.db.run(&text, &[Value::Bytes(key.to_vec())]).map(drop)
    }

    fn keys(&self) -> &'static str {
        self.engine.choose(["ledger_keys", "public.oneact_keys"])
    }
}
