//! Row ids as distinct types, and the two other values that need a type of their own.

use serde::{Deserialize, Serialize};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Decode, Encode, Sqlite, Type};

macro_rules! row_id {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Type,
        )]
        #[serde(transparent)]
        #[sqlx(transparent)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

row_id! {
    /// A row of `run`. Later runs have larger ids.
    RunId
    /// A row of `build`.
    BuildId
    /// A row of `machine`.
    MachineId
    /// A row of `toolchain`.
    ToolchainId
    /// A row of `judgement`.
    JudgementId
    /// A row of `decision`.
    DecisionId
    /// A row of `correction`.
    CorrectionId
    /// A row of `anchor`.
    AnchorId
}

/// A seed: any unsigned 64-bit number, kept as decimal text since SQLite's integers are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Type<Sqlite> for Seed {
    fn type_info() -> SqliteTypeInfo {
        <String as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for Seed {
    fn encode_by_ref(
        &self,
        buffer: &mut SqliteArgumentsBuffer,
    ) -> std::result::Result<IsNull, BoxDynError> {
        Encode::<Sqlite>::encode(self.0.to_string(), buffer)
    }
}

impl Decode<'_, Sqlite> for Seed {
    fn decode(value: SqliteValueRef<'_>) -> std::result::Result<Self, BoxDynError> {
        Ok(Seed(<&str as Decode<Sqlite>>::decode(value)?.parse()?))
    }
}

/// What a run's events say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Type)]
#[serde(rename_all = "kebab-case")]
#[sqlx(rename_all = "kebab-case")]
pub enum RunState {
    /// Neither ended nor found interrupted: in progress, or killed and not yet noticed.
    Open,
    /// Came to its end, well or not.
    Ended,
    /// Cut short; its samples are kept and never pooled.
    Interrupted,
}

/// What a run is for. Only a [`Purpose::Lever`] is a round of its campaign and an attempt at its
/// registration.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Type,
)]
#[serde(rename_all = "kebab-case")]
#[sqlx(rename_all = "kebab-case")]
pub enum Purpose {
    /// A proposed change against its base.
    #[default]
    Lever,
    /// Base against base, to learn the machine's noise.
    Calibration,
    /// A commit against the campaign's pinned anchor.
    Anchor,
    /// A step of the search for the commit that made a bench slower.
    Bisect,
}
