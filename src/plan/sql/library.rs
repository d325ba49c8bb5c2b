//! DuckDB's library, loaded at run time: the functions of its C API that oneact calls, behind safe types.
//!
//! The process performs one query and ends, so the library, its database and the parsed texts stay until then. What each
//! statement makes is freed. Texts of the library are copied before anything else is called.
#![expect(
    unsafe_code,
    reason = "a library that is loaded at run time has no safe interface"
)]

use std::{
    error::Error as _,
    ffi::{CStr, CString, c_char, c_double, c_int, c_void},
    ptr::{null, null_mut},
};

use camino::Utf8Path;
use libloading::os::unix::{Library as Loaded, RTLD_LAZY, RTLD_LOCAL};
use serde_json::Value;

type State = c_int;
type Handle = *mut c_void;
type Text = *const c_char;

/// `duckdb_result`. Its fields are the library's own.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawResult([u64; 6]);

/// `duckdb_hugeint`: the lower and the upper half.
#[repr(C)]
struct Huge(u64, u64);

impl From<i128> for Huge {
    fn from(value: i128) -> Self {
        let half = |value: i128| u64::try_from(value & i128::from(u64::MAX)).unwrap_or_default();
        Self(half(value), half(value >> 64))
    }
}

/// The functions, each under its name without `duckdb_`.
macro_rules! functions {
    ($($name:ident($($type:ty),*) $(-> $result:ty)?;)*) => {
        /// A loaded library.
        pub(super) struct Library {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Library {
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
    open_ext(Text, *mut Handle, Handle, *mut *mut c_char) -> State;
    connect(Handle, *mut Handle) -> State;
    free(*mut c_void);
    query(Handle, Text, *mut RawResult) -> State;
    destroy_result(*mut RawResult);
    result_error(*mut RawResult) -> Text;
    result_return_type(RawResult) -> c_int;
    row_count(*mut RawResult) -> u64;
    rows_changed(*mut RawResult) -> u64;
    value_varchar(*mut RawResult, u64, u64) -> Text;
    extract_statements(Handle, Text, *mut Handle) -> u64;
    extract_statements_error(Handle) -> Text;
    prepare_extracted_statement(Handle, Handle, u64, *mut Handle) -> State;
    prepare_error(Handle) -> Text;
    destroy_prepare(*mut Handle);
    prepared_statement_type(Handle) -> c_int;
    nparams(Handle) -> u64;
    parameter_name(Handle, u64) -> Text;
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

/// A connection to the database.
#[derive(Clone, Copy)]
pub(super) struct Connection {
    library: &'static Library,
    handle: Handle,
}

/// The statements of a text.
pub(super) struct Statements {
    connection: Connection,
    handle: Handle,
    pub(super) count: u64,
}

/// A statement that can be executed once its parameters are bound.
pub(super) struct Prepared {
    library: &'static Library,
    handle: Handle,
}

/// What a statement gave.
pub(super) struct Given {
    library: &'static Library,
    raw: RawResult,
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
    pub(super) fn load(path: &Utf8Path) -> Result<&'static Self, Said> {
        let said = |error: libloading::Error| {
            let why = error.source().map(|why| format!(": {why}"));
            format!("{error}{}", why.unwrap_or_default())
        };
        // SAFETY: loading it runs its code. The operator chose the library, and this process is jailed.
        let loaded = unsafe { Loaded::open(Some(path.as_std_path()), RTLD_LAZY | RTLD_LOCAL) };
        let loaded = Box::leak(Box::new(loaded.map_err(said)?));
        // SAFETY: a library with all these names is DuckDB's.
        let functions = unsafe { Self::of(loaded) }.map_err(said)?;
        Ok(Box::leak(Box::new(functions)))
    }

    /// `v1.5.6`
    pub(super) fn version(&self) -> String {
        // SAFETY: the library gives a constant.
        unsafe { copied((self.library_version)()) }.unwrap_or_default()
    }

    /// Opens a database file, or one in memory, with these settings.
    pub(super) fn open(
        &'static self,
        path: Option<&Utf8Path>,
        settings: &[(&str, String)],
    ) -> Result<Connection, Said> {
        let path = path.map(|path| c_text(path.as_str())).transpose()?;
        let path = path.as_ref().map_or(null(), |path| path.as_ptr());
        let (mut config, mut database, mut handle) = (null_mut(), null_mut(), null_mut());
        let mut error = null_mut();
        // SAFETY: all pointers are to live values of this function.
        unsafe {
            let mut state = (self.create_config)(&raw mut config);
            for (name, value) in settings {
                let (name, value) = (c_text(name)?, c_text(value)?);
                state |= (self.set_config)(config, name.as_ptr(), value.as_ptr());
            }
            if state == 0 {
                state = (self.open_ext)(path, &raw mut database, config, &raw mut error);
            }
            if state == 0 {
                state = (self.connect)(database, &raw mut handle);
            }
            let said = || copied(error).unwrap_or_else(|| "it refuses its settings".to_owned());
            let library = self;
            (state == 0)
                .then_some(Connection { library, handle })
                .ok_or_else(said)
        }
    }

    /// A copy of a text that the library has allocated for us, and that is freed.
    ///
    /// # Safety
    /// It is null, or ends with a zero byte.
    unsafe fn taken(&self, text: Text) -> String {
        // SAFETY: the caller says so. Nobody else has it.
        unsafe {
            let copy = copied(text);
            (self.free)(text.cast_mut().cast());
            copy.unwrap_or_default()
        }
    }

    fn given(&'static self, execute: impl FnOnce(*mut RawResult) -> State) -> Result<Given, Said> {
        let (library, raw) = (self, RawResult([0; 6]));
        let mut given = Given { library, raw };
        match execute(&raw mut given.raw) {
            0 => Ok(given),
            // SAFETY: the library has written an error into the result.
            _ => {
                Err(unsafe { copied((self.result_error)(&raw mut given.raw)) }.unwrap_or_default())
            }
        }
    }
}

impl Connection {
    /// Executes a text of our own.
    pub(super) fn query(&self, text: &str) -> Result<Given, Said> {
        let text = c_text(text)?;
        // SAFETY: the connection is open, the text lives.
        let query = |raw| unsafe { (self.library.query)(self.handle, text.as_ptr(), raw) };
        self.library.given(query)
    }

    /// Parses a text.
    pub(super) fn statements(&self, text: &str) -> Result<Statements, Said> {
        let text = c_text(text)?;
        let (library, mut handle) = (self.library, null_mut());
        // SAFETY: the connection is open, the text lives.
        let (count, error) = unsafe {
            let count = (library.extract_statements)(self.handle, text.as_ptr(), &raw mut handle);
            (count, copied((library.extract_statements_error)(handle)))
        };
        let connection = *self;
        match error {
            Some(said) => Err(said),
            None => Ok(Statements {
                connection,
                handle,
                count,
            }),
        }
    }
}

impl Statements {
    /// Prepares the statement of that index.
    pub(super) fn prepare(&self, index: u64) -> Result<Prepared, Said> {
        let Connection { library, handle } = self.connection;
        let mut prepared = Prepared {
            library,
            handle: null_mut(),
        };
        let into = &raw mut prepared.handle;
        // SAFETY: the statements are of this connection.
        match unsafe { (library.prepare_extracted_statement)(handle, self.handle, index, into) } {
            0 => Ok(prepared),
            _ => Err(prepared.error()),
        }
    }
}

impl Prepared {
    /// The number that `duckdb.h` gives the kind of the statement.
    pub(super) fn kind(&self) -> i32 {
        // SAFETY: the statement is prepared.
        unsafe { (self.library.prepared_statement_type)(self.handle) }
    }

    /// The numbers of its parameters with their names. One without a name has its number as a name.
    pub(super) fn parameters(&self) -> Vec<(u64, String)> {
        // SAFETY: the statement is prepared.
        let count = unsafe { (self.library.nparams)(self.handle) };
        // SAFETY: the statement is prepared. The library allocates each name for the caller.
        let name = |at| unsafe {
            self.library
                .taken((self.library.parameter_name)(self.handle, at))
        };
        (1..=count).map(|at| (at, name(at))).collect()
    }

    /// Gives a parameter its value. An integer is never bound as a double, which has 53 bits (R-001-190).
    pub(super) fn bind(&self, at: u64, value: &Value) -> Result<(), Said> {
        let (library, handle) = (self.library, self.handle);
        let text = value.to_string();
        let double = value.as_f64().filter(|double| double.is_finite());
        let double = double.filter(|_| text.contains(['.', 'e', 'E']));
        // SAFETY: the statement is prepared, and the value lives. The library copies texts.
        let state = unsafe {
            if value.is_null() {
                (library.bind_null)(handle, at)
            } else if let Some(value) = value.as_bool() {
                (library.bind_boolean)(handle, at, value)
            } else if let Some(text) = value.as_str() {
                let length = text.len() as u64;
                (library.bind_varchar_length)(handle, at, text.as_ptr().cast(), length)
            } else if let Some(integer) = value.as_i64() {
                (library.bind_int64)(handle, at, integer)
            } else if let Some(integer) = value.as_u64() {
                (library.bind_uint64)(handle, at, integer)
            } else if let Ok(integer) = text.parse::<i128>() {
                (library.bind_hugeint)(handle, at, Huge::from(integer))
            } else if let Some(double) = double {
                (library.bind_double)(handle, at, double)
            } else {
                let told = "is an array, an object, or a number outside of HUGEINT, which has 127 bits and a sign, and of DOUBLE";
                return Err(format!(
                    "{told}; give it as a text, and cast it in the query"
                ));
            }
        };
        match state {
            0 => Ok(()),
            _ => Err(format!("is not taken: {}", self.error())),
        }
    }

    pub(super) fn execute(&self) -> Result<Given, Said> {
        // SAFETY: the statement is prepared.
        let execute = |raw| unsafe { (self.library.execute_prepared)(self.handle, raw) };
        self.library.given(execute)
    }

    fn error(&self) -> Said {
        // SAFETY: the library has made the handle, also of a statement that it could not prepare.
        unsafe { copied((self.library.prepare_error)(self.handle)) }.unwrap_or_default()
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle, which may be null.
        unsafe { (self.library.destroy_prepare)(&raw mut self.handle) }
    }
}

impl Given {
    /// The rows, if the statement gives rows (`DUCKDB_RESULT_TYPE_QUERY_RESULT`).
    pub(super) fn rows(&mut self) -> Option<u64> {
        // SAFETY: the result is whole.
        unsafe {
            let gives_rows = (self.library.result_return_type)(self.raw) == 3;
            gives_rows.then(|| (self.library.row_count)(&raw mut self.raw))
        }
    }

    pub(super) fn changed(&mut self) -> u64 {
        // SAFETY: the result is whole.
        unsafe { (self.library.rows_changed)(&raw mut self.raw) }
    }

    /// The value in that place as a text. It is empty if there is no such place.
    pub(super) fn text(&mut self, column: u64, row: u64) -> String {
        let value = self.library.value_varchar;
        // SAFETY: the result is whole. The library allocates the text for the caller.
        unsafe { self.library.taken(value(&raw mut self.raw, column, row)) }
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // SAFETY: this value owns the result.
        unsafe { (self.library.destroy_result)(&raw mut self.raw) }
    }
}
