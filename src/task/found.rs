//! The strict reader of values. A wrong type is an error that says where the value is, what it must be and what it is.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::{
    Failure, Fault,
    keys::{listed, printable, quoted, unknown_key},
};

/// A value of a document.
#[derive(Debug, Clone)]
pub(crate) struct Found<'a> {
    /// Where it is: `action_plan[2].operation.pattern`; empty for the document itself.
    pub(crate) place: String,
    pub(crate) value: &'a Value,
    /// The class of what is wrong with the document.
    fault: Fault,
}

impl<'a> Found<'a> {
    pub(crate) fn new(place: &str, value: &'a Value, fault: Fault) -> Self {
        Self {
            place: place.to_owned(),
            value,
            fault,
        }
    }

    /// Where a key of the object is, or would be. The key may be foreign.
    pub(crate) fn place_of(&self, key: &str) -> String {
        let key = printable(key);
        match self.place.as_str() {
            "" => key,
            place => format!("{place}.{key}"),
        }
    }

    /// The value of a key, if it is there.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        Some(Self {
            place: self.place_of(key),
            value: self.value.get(key)?,
            fault: self.fault,
        })
    }

    /// Reads the value of a key that may be missing or null.
    pub(crate) fn optional<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let found = self.get(key).filter(|found| !found.value.is_null());
        found.map(|found| read(&found)).transpose()
    }

    /// Reads the value of a key that must be there.
    pub(crate) fn required<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let found = self.get(key);
        let missing = || Failure::new(self.fault, format!("`{}` is missing", self.place_of(key)));
        read(&found.ok_or_else(missing)?)
    }

    /// What is wrong with the value.
    pub(crate) fn wrong(&self, problem: impl Display) -> Failure {
        Failure::new(self.fault, format!("`{}` {problem}", self.place))
    }

    /// The value is something else than what is wanted. A text is not shown, because it may be a secret.
    pub(crate) fn must_be(&self, wanted: &str) -> Failure {
        let is = match self.value {
            Value::Null => "null; leave the key out if nothing is meant",
            Value::Bool(_) => "a boolean",
            Value::Number(number) => &format!("the number {}", printable(&number.to_string())),
            Value::String(text) if text.is_empty() => "an empty text",
            Value::String(_) => "a text",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.wrong(format!("must be {wanted}, and is {is}"))
    }

    /// What was made of the value, or why it could not be made.
    pub(crate) fn fits<T>(&self, made: Result<T, impl Display>) -> Result<T, Failure> {
        made.map_err(|why| Failure::new(self.fault, format!("`{}`: {why}", self.place)))
    }

    pub(crate) fn text(&self) -> Result<&'a str, Failure> {
        self.value.as_str().ok_or_else(|| self.must_be("a text"))
    }

    /// A text that says something.
    pub(crate) fn name(&self) -> Result<&'a str, Failure> {
        let text = self.value.as_str().filter(|text| !text.is_empty());
        text.ok_or_else(|| self.must_be("a non-empty text"))
    }

    pub(crate) fn owned(&self) -> Result<String, Failure> {
        self.text().map(str::to_owned)
    }

    pub(crate) fn flag(&self) -> Result<bool, Failure> {
        let flag = self.value.as_bool();
        flag.ok_or_else(|| self.must_be("true or false"))
    }

    pub(crate) fn whole(&self) -> Result<u64, Failure> {
        let number = self.value.as_u64().filter(|number| *number >= 1);
        number.ok_or_else(|| self.must_be("a whole number from 1 on"))
    }

    pub(crate) fn object(&self) -> Result<&'a Map<String, Value>, Failure> {
        let object = self.value.as_object();
        object.ok_or_else(|| self.must_be("an object"))
    }

    pub(crate) fn list(&self) -> Result<Vec<Self>, Failure> {
        let items = self.value.as_array();
        let items = items.ok_or_else(|| self.must_be("an array"))?;
        let item = |(at, value)| Self {
            place: format!("{}[{at}]", self.place),
            value,
            fault: self.fault,
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// A list of which every item is read so.
    pub(crate) fn each<T>(
        &self,
        read: impl FnMut(&Self) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        self.list()?.iter().map(read).collect()
    }

    /// An object of which every member is read so.
    pub(crate) fn members<T>(
        &self,
        read: impl Fn(&Self) -> Result<T, Failure>,
    ) -> Result<Vec<(String, T)>, Failure> {
        let names = self.object()?.keys();
        let members = names.filter_map(|name| Some((name, self.get(name)?)));
        members
            .map(|(name, member)| Ok((name.clone(), read(&member)?)))
            .collect()
    }

    /// Refuses an object with other keys.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Failure> {
        let mut keys = self.object()?.keys();
        match keys.find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let unknown = unknown_key(&printable(key), known.iter().copied());
                Err(self.wrong(format!("has the {unknown}")))
            }
        }
    }

    /// What one of these words stands for.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Failure> {
        let text = self.text()?;
        let said = words.iter().find(|(word, _)| *word == text);
        said.map(|(_, meaning)| *meaning)
            .ok_or_else(|| self.unknown(text, words.iter().map(|(word, _)| *word)))
    }

    pub(crate) fn unknown<'w>(
        &self,
        text: &str,
        known: impl IntoIterator<Item = &'w str>,
    ) -> Failure {
        let known = listed(known);
        self.wrong(format!("is {}; known are {known}", quoted(text)))
    }
}
