//! `setters!`: setters of the optional members of model types, for values that an application builds.

/// A setter: of a type in parentheses, or of everything that converts into it; of exactly the type in brackets.
/// Integer literals do not convert into `u64`, so numbers and flags have brackets.
macro_rules! setter {
    ($field:ident ($Type:ty)) => {
        #[doc = concat!("Sets [`", stringify!($field), "`](field@Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $field(mut self, $field: impl Into<$Type>) -> Self {
            self.$field = Some($field.into());
            self
        }
    };
    ($field:ident [$Type:ty]) => {
        #[doc = concat!("Sets [`", stringify!($field), "`](field@Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $field(mut self, $field: $Type) -> Self {
            self.$field = Some($field);
            self
        }
    };
}

/// The setters of a type: `setters! { Completion { total[u64] has_more[bool] } }`.
macro_rules! setters {
    ($Name:ident { $($field:ident $Type:tt)+ }) => {
        impl<'a> $Name<'a> {
            $($crate::model::setters::setter! { $field $Type })+
        }
    };
}

/// The same as `setters!`, for types that borrow nothing.
macro_rules! plain_setters {
    ($Name:ident { $($field:ident $Type:tt)+ }) => {
        impl $Name {
            $($crate::model::setters::setter! { $field $Type })+
        }
    };
}

pub(super) use setter;
