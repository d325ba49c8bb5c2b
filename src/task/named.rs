//! Enums whose variants have names.

/// Makes an enum from a table of its variants and their names, which serde uses too.
macro_rules! named {
    (
        $(#[$of_enum:meta])*
        pub enum $enum:ident { $($(#[$of_variant:meta])* $variant:ident = $name:literal,)* }
    ) => {
        $(#[$of_enum])*
        pub enum $enum {
            $($(#[$of_variant])* #[serde(rename = $name)] $variant,)*
        }

        impl $enum {
            /// In the order of the table.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

pub(super) use named;
