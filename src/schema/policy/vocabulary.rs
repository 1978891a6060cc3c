//! The words in which a policy speaks: what changed, and what that does to a reader.

use serde::Serialize;

use super::super::named::named_enum;

named_enum! {
    /// What a change does to somebody who reads the output.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum Effect {
        /// Something that a reader may rely on is gone or means something else.
        Breaking = "breaking",
        /// There is more than before.
        Additive = "additive",
        /// Something is different that no contract promises.
        Info = "info",
    }
}

named_enum! {
    /// The kind of a change between what a program printed and what it prints.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum Kind {
        /// The process ends in another way.
        ExitCode = "exit-code",
        /// Messages that stood on one stream stand on the other.
        Channel = "channel",
        /// What was JSON is text, or the other way round.
        Form = "form",
        /// Text stands among the messages.
        TextAmongMessages = "text-among-messages",
        /// A kind of message is no longer sent.
        MessageRemoved = "message-removed",
        /// A kind of message is new.
        MessageAdded = "message-added",
        /// A kind of message that came once at most comes several times.
        MessageRepeated = "message-repeated",
        /// There are more or fewer messages of a kind.
        MessageCount = "message-count",
        /// Kinds of messages come in another order.
        Order = "order",
        /// A field is gone.
        FieldRemoved = "field-removed",
        /// A field is new.
        FieldAdded = "field-added",
        /// A field has another type.
        FieldRetyped = "field-retyped",
        /// A field that was always there sometimes is not.
        FieldOptional = "field-optional",
        /// A field that was always there with a value is null.
        FieldNull = "field-null",
        /// A field that was always null has a value.
        FieldFilled = "field-filled",
        /// A kind of element of a list is gone.
        ElementRemoved = "element-removed",
        /// A kind of element of a list is new.
        ElementAdded = "element-added",
        /// A word that a field never held before.
        EnumValueAdded = "enum-value-added",
        /// A word that a field no longer holds.
        EnumValueRemoved = "enum-value-removed",
        /// A field holds another value.
        ValueChanged = "value-changed",
        /// A field or a stream holds another text.
        TextChanged = "text-changed",
        /// More or fewer requests to the API.
        RequestCount = "request-count",
        /// A request that was made is not.
        RequestRemoved = "request-removed",
        /// A request that was not made is.
        RequestAdded = "request-added",
        /// A request looks different.
        RequestChanged = "request-changed",
        /// A file is no longer written.
        FileRemoved = "file-removed",
        /// A file is written that was not.
        FileAdded = "file-added",
        /// A file that is named after a command holds the answer of another one.
        OtherCommand = "other-command",
        /// A case that only the old side has.
        CaseRemoved = "case-removed",
        /// A case that only the new side has.
        CaseAdded = "case-added",
    }
}

impl Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
