//! Structs made of the members of an object.

/// Declares a struct of optional members of an object, and how to find them all in one pass.
macro_rules! members {
    ($(#[$of_struct:meta])* $vis:vis struct $Struct:ident {
        $($(#[$of_field:meta])* $field_vis:vis $field:ident $name:literal,)*
    }) => {
        $(#[$of_struct])*
        #[derive(Debug, Clone, Copy, Default)]
        $vis struct $Struct<'a> {
            $($(#[$of_field])* $field_vis $field: Option<$crate::json::Node<'a>>,)*
        }

        impl<'a> $Struct<'a> {
            fn of(object: $crate::json::Node<'a>) -> Self {
                let [$($field),*] = object.pick(const { [$($crate::json::Key::new($name)),*] });
                Self { $($field),* }
            }
        }
    };
}

pub(crate) use members;
