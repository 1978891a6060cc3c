//! Enums whose variants have names in contract files and machine output.

/// Declares an enum, its variants with their names, and the way from one to the other.
macro_rules! named_enum {
    ($(#[$meta:meta])* $vis:vis enum $enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        $vis enum $enum { $($(#[$doc])* $variant,)* }

        impl $enum {
            /// Every variant, in the order of its declaration.
            $vis const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word in contract files and machine output.
            $vis fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The variant of that name.
            $vis fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.name() == name)
            }
        }
    };
}

pub(crate) use named_enum;
