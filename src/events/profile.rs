//! Which reading of the protocol a log is held to.

use super::named::named;

named! {
    /// How the contradictions of the document are decided.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum Profile {
        /// The document by its letter; where it contradicts itself the table beats the diagram.
        #[default]
        Strict "strict",
        /// Any reading that the text supports.
        Lenient "lenient",
        /// What the published server really accepts and sends.
        Origin "origin",
    }
}
