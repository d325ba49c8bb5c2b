//! DuckDB's library, loaded at run time: the functions of its C API that oneact calls, behind safe types.
//!
//! The values of this file free what they hold, in the order in which they borrow each other. Texts of the library are
//! copied before anything else is called.
#![expect(
    unsafe_code,
    reason = "a library that is loaded at run time has no safe interface"
)]

use std::{
    error::Error as _,
    ffi::{CStr, CString, c_char, c_double, c_int, c_void},
    path::Path,
    ptr::{null, null_mut},
};

use libloading::os::unix::{Library as Loaded, RTLD_LAZY, RTLD_LOCAL};

type State = c_int;
type Handle = *mut c_void;
type Text = *const c_char;

/// `duckdb_result`. Its fields are the library's own.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawResult([u64; 6]);

/// `duckdb_hugeint`: the lower and the upper half.
#[repr(C)]
struct Huge(u64, i64);

/// The functions, each under its name without `duckdb_`.
macro_rules! functions {
    ($($name:ident($($type:ty),*) $(-> $result:ty)?;)*) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Functions {
            /// # Safety
            /// The library has DuckDB's C API, in version 1.
            unsafe fn of(library: &Loaded) -> Result<Self, libloading::Error> {
                // SAFETY: these are the signatures of `duckdb.h`.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!("duckdb_", stringify!($name)))?,)*
                    })
                }
            }
        }
    };
}

functions! {
    library_version() -> Text;
    create_config(*mut Handle) -> State;
    set_config(Handle, Text, Text) -> State;
    destroy_config(*mut Handle);
    open_ext(Text, *mut Handle, Handle, *mut *mut c_char) -> State;
    close(*mut Handle);
    connect(Handle, *mut Handle) -> State;
    disconnect(*mut Handle);
    free(*mut c_void);
    query(Handle, Text, *mut RawResult) -> State;
    destroy_result(*mut RawResult);
    result_error(*mut RawResult) -> Text;
    result_return_type(RawResult) -> c_int;
    row_count(*mut RawResult) -> u64;
    rows_changed(*mut RawResult) -> u64;
    value_int64(*mut RawResult, u64, u64) -> i64;
    value_varchar(*mut RawResult, u64, u64) -> Text;
    extract_statements(Handle, Text, *mut Handle) -> u64;
    extract_statements_error(Handle) -> Text;
    destroy_extracted(*mut Handle);
    prepare_extracted_statement(Handle, Handle, u64, *mut Handle) -> State;
    prepare_error(Handle) -> Text;
    destroy_prepare(*mut Handle);
    prepared_statement_type(Handle) -> c_int;
    nparams(Handle) -> u64;
    parameter_name(Handle, u64) -> Text;
    bind_parameter_index(Handle, *mut u64, Text) -> State;
    bind_null(Handle, u64) -> State;
    bind_boolean(Handle, u64, bool) -> State;
    bind_int64(Handle, u64, i64) -> State;
    bind_uint64(Handle, u64, u64) -> State;
    bind_hugeint(Handle, u64, Huge) -> State;
    bind_double(Handle, u64, c_double) -> State;
    bind_varchar_length(Handle, u64, Text, u64) -> State;
    execute_prepared(Handle, *mut RawResult) -> State;
}

/// What the engine says about an error, word for word.
pub(super) type Said = String;

/// A loaded library. It stays loaded for the rest of the process.
pub(super) struct Library {
    functions: Functions,
}

/// A connection to a database, which is closed with it.
pub(super) struct Connection<'l> {
    functions: &'l Functions,
    database: Handle,
    handle: Handle,
}

/// The statements of a text, at least one.
pub(super) struct Statements<'c> {
    connection: &'c Connection<'c>,
    handle: Handle,
    count: u64,
}

/// A statement that can be executed once its parameters are bound.
pub(super) struct Prepared<'c> {
    connection: &'c Connection<'c>,
    handle: Handle,
}

/// What a statement gave.
pub(super) struct Given<'c> {
    functions: &'c Functions,
    raw: RawResult,
}

/// A value of a parameter.
#[derive(Debug, PartialEq)]
pub(super) enum Bound<'v> {
    Null,
    Boolean(bool),
    Integer(i64),
    Unsigned(u64),
    Huge(i128),
    Double(f64),
    Text(&'v str),
}

/// A copy of a text of the library.
///
/// # Safety
/// It is null, or ends with a zero byte.
unsafe fn copied(text: Text) -> Option<String> {
    // SAFETY: the caller says so.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
    text.map(|text| text.to_string_lossy().into_owned())
}

fn c_text(text: &str) -> Result<CString, Said> {
    CString::new(text).map_err(|_| "the text contains a NUL character".to_owned())
}

impl Library {
    pub(super) fn load(path: &Path) -> Result<Self, Said> {
        // SAFETY: loading it runs its code. The operator chose the library, and this process is jailed.
        let loaded = unsafe { Loaded::open(Some(path), RTLD_LAZY | RTLD_LOCAL) };
        let said = |error: libloading::Error| {
            let why = error.source().map(|why| format!(": {why}"));
            format!("{error}{}", why.unwrap_or_default())
        };
        let loaded = loaded.map_err(said)?;
        // SAFETY: a library with all these names is DuckDB's.
        let functions = unsafe { Functions::of(&loaded) }.map_err(said)?;
        // Its threads may be running until the process ends.
        std::mem::forget(loaded);
        Ok(Self { functions })
    }

    /// `v1.5.6`
    pub(super) fn version(&self) -> String {
        // SAFETY: the library gives a constant.
        unsafe { copied((self.functions.library_version)()) }.unwrap_or_default()
    }

    /// Opens a database file, or one in memory, with these settings.
    pub(super) fn open(
        &self,
        path: Option<&str>,
        settings: &[(&str, String)],
    ) -> Result<Connection<'_>, Said> {
        let functions = &self.functions;
        let path = path.map(c_text).transpose()?;
        let path = path.as_ref().map_or(null(), |path| path.as_ptr());
        let settings: Vec<(CString, CString)> = settings
            .iter()
            .map(|(name, value)| Ok((c_text(name)?, c_text(value)?)))
            .collect::<Result<_, Said>>()?;
        let (mut config, mut error) = (null_mut(), null_mut());
        let mut made = Connection {
            functions,
            database: null_mut(),
            handle: null_mut(),
        };
        // SAFETY: all pointers are to live values of this function. The configuration and the message are freed here.
        unsafe {
            let mut state = (functions.create_config)(&raw mut config);
            for (name, value) in &settings {
                state |= (functions.set_config)(config, name.as_ptr(), value.as_ptr());
            }
            if state == 0 {
                state = (functions.open_ext)(path, &raw mut made.database, config, &raw mut error);
            }
            (functions.destroy_config)(&raw mut config);
            if state == 0 {
                state = (functions.connect)(made.database, &raw mut made.handle);
            }
            if state == 0 {
                return Ok(made);
            }
            let said = copied(error);
            (functions.free)(error.cast());
            Err(said.unwrap_or_else(|| "it refuses its settings".to_owned()))
        }
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        // SAFETY: this value owns the handles, which may be null. Whatever borrows the connection is gone.
        unsafe {
            (self.functions.disconnect)(&raw mut self.handle);
            (self.functions.close)(&raw mut self.database);
        }
    }
}

impl Connection<'_> {
    /// Executes a text of our own.
    pub(super) fn query(&self, text: &str) -> Result<Given<'_>, Said> {
        let text = c_text(text)?;
        // SAFETY: the connection is open, the text lives.
        self.given(|raw| unsafe { (self.functions.query)(self.handle, text.as_ptr(), raw) })
    }

    fn given(&self, execute: impl FnOnce(*mut RawResult) -> State) -> Result<Given<'_>, Said> {
        let mut given = Given {
            functions: self.functions,
            raw: RawResult([0; 6]),
        };
        match execute(&raw mut given.raw) {
            0 => Ok(given),
            _ => Err(given.error()),
        }
    }

    /// Parses a text. `Err(None)`: there is no statement in it.
    pub(super) fn statements(&self, text: &str) -> Result<Statements<'_>, Option<Said>> {
        let text = c_text(text)?;
        let mut handle = null_mut();
        // SAFETY: the connection is open, the text lives. `Statements` frees what was made.
        unsafe {
            let count =
                (self.functions.extract_statements)(self.handle, text.as_ptr(), &raw mut handle);
            let made = Statements {
                connection: self,
                handle,
                count,
            };
            if count == 0 {
                return Err(copied((self.functions.extract_statements_error)(handle)));
            }
            Ok(made)
        }
    }
}

impl<'c> Statements<'c> {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Prepares the statement of that index.
    pub(super) fn prepare(&self, index: u64) -> Result<Prepared<'c>, Said> {
        let functions = self.connection.functions;
        let mut handle = null_mut();
        // SAFETY: the statements are of this connection. `Prepared` frees what was made.
        unsafe {
            let state = (functions.prepare_extracted_statement)(
                self.connection.handle,
                self.handle,
                index,
                &raw mut handle,
            );
            let made = Prepared {
                connection: self.connection,
                handle,
            };
            if state == 0 {
                return Ok(made);
            }
            Err(copied((functions.prepare_error)(handle)).unwrap_or_default())
        }
    }
}

impl Drop for Statements<'_> {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle, which may be null.
        unsafe { (self.connection.functions.destroy_extracted)(&raw mut self.handle) }
    }
}

impl<'c> Prepared<'c> {
    /// The number that `duckdb.h` gives the kind of the statement.
    pub(super) fn kind(&self) -> i32 {
        // SAFETY: the statement is prepared.
        unsafe { (self.connection.functions.prepared_statement_type)(self.handle) }
    }

    /// The names of its parameters. One without a name has its number.
    pub(super) fn parameters(&self) -> Vec<String> {
        let functions = self.connection.functions;
        // SAFETY: the statement is prepared. The library allocates each name for the caller.
        let name = |index| unsafe {
            let name = (functions.parameter_name)(self.handle, index);
            let copy = copied(name);
            (functions.free)(name.cast_mut().cast());
            copy.unwrap_or_default()
        };
        // SAFETY: the statement is prepared.
        let count = unsafe { (functions.nparams)(self.handle) };
        (1..=count).map(name).collect()
    }

    pub(super) fn bind(&self, name: &str, value: &Bound<'_>) -> Result<(), Said> {
        let (functions, handle) = (self.connection.functions, self.handle);
        let text = c_text(name)?;
        let mut at = 0;
        // SAFETY: the statement is prepared, the name and the value live. The library copies texts.
        let state = unsafe {
            if (functions.bind_parameter_index)(handle, &raw mut at, text.as_ptr()) != 0 {
                return Err(format!("it does not know the parameter ${name}"));
            }
            match value {
                Bound::Null => (functions.bind_null)(handle, at),
                Bound::Boolean(value) => (functions.bind_boolean)(handle, at, *value),
                Bound::Integer(value) => (functions.bind_int64)(handle, at, *value),
                Bound::Unsigned(value) => (functions.bind_uint64)(handle, at, *value),
                Bound::Double(value) => (functions.bind_double)(handle, at, *value),
                Bound::Text(text) => {
                    let length = text.len() as u64;
                    (functions.bind_varchar_length)(handle, at, text.as_ptr().cast(), length)
                }
                Bound::Huge(value) => {
                    let bytes = value.to_le_bytes();
                    let (low, high) = bytes.split_at(8);
                    let half = |half: &[u8]| half.try_into().map_or([0; 8], |half: [u8; 8]| half);
                    let huge = Huge(
                        u64::from_le_bytes(half(low)),
                        i64::from_le_bytes(half(high)),
                    );
                    (functions.bind_hugeint)(handle, at, huge)
                }
            }
        };
        // SAFETY: the statement is prepared.
        let said = || unsafe { copied((functions.prepare_error)(handle)) };
        match state {
            0 => Ok(()),
            _ => Err(said().unwrap_or_else(|| format!("it does not take the value of ${name}"))),
        }
    }

    pub(super) fn execute(&self) -> Result<Given<'c>, Said> {
        let execute = self.connection.functions.execute_prepared;
        // SAFETY: the statement is prepared.
        self.connection
            .given(|raw| unsafe { execute(self.handle, raw) })
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle, which may be null.
        unsafe { (self.connection.functions.destroy_prepare)(&raw mut self.handle) }
    }
}

impl Given<'_> {
    /// The rows, if the statement gives rows (`DUCKDB_RESULT_TYPE_QUERY_RESULT`).
    pub(super) fn rows(&mut self) -> Option<u64> {
        // SAFETY: the result is whole.
        unsafe {
            let gives_rows = (self.functions.result_return_type)(self.raw) == 3;
            gives_rows.then(|| (self.functions.row_count)(&raw mut self.raw))
        }
    }

    pub(super) fn changed(&mut self) -> u64 {
        // SAFETY: the result is whole.
        unsafe { (self.functions.rows_changed)(&raw mut self.raw) }
    }

    /// The texts in the first two columns of each row: of `DESCRIBE`, the names and the types.
    pub(super) fn pairs(&mut self) -> Vec<(String, String)> {
        let functions = self.functions;
        // SAFETY: the result is whole.
        let count = unsafe { (functions.row_count)(&raw mut self.raw) };
        let mut text = |column, row| {
            // SAFETY: a place that does not exist gives null. The library allocates each text for the caller.
            unsafe {
                let text = (functions.value_varchar)(&raw mut self.raw, column, row);
                let copy = copied(text);
                (functions.free)(text.cast_mut().cast());
                copy.unwrap_or_default()
            }
        };
        (0..count).map(|row| (text(0, row), text(1, row))).collect()
    }

    /// The integer in the first column of the first row.
    pub(super) fn integer(&mut self) -> i64 {
        // SAFETY: the result is whole. A place that does not exist gives 0.
        unsafe { (self.functions.value_int64)(&raw mut self.raw, 0, 0) }
    }

    fn error(&mut self) -> Said {
        // SAFETY: the library has written an error into the result.
        unsafe { copied((self.functions.result_error)(&raw mut self.raw)) }.unwrap_or_default()
    }
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        // SAFETY: this value owns the result.
        unsafe { (self.functions.destroy_result)(&raw mut self.raw) }
    }
}
