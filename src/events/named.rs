//! Enums whose variants have a name in the protocol.

/// Declares an enum, and for each variant the name that messages or contract files spell.
macro_rules! named {
    ($(#[$of_enum:meta])* $vis:vis enum $Enum:ident {
        $($(#[$of_variant:meta])* $Variant:ident $name:literal,)*
    }) => {
        $(#[$of_enum])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $Enum {
            $($(#[$of_variant])* $Variant,)*
        }

        impl $Enum {
            /// Every variant, in the order of their declaration.
            $vis const ALL: [Self; Self::NAMES.len()] = [$(Self::$Variant,)*];
            pub(crate) const NAMES: &'static [&'static str] = &[$($name,)*];

            /// The name in messages, contract files and on the command line.
            $vis fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            /// The variant of this name, if there is one.
            $vis fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|variant| variant.name() == name)
            }
        }

        impl std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use named;
