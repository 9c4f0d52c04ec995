//! The Rust types that columns hold.

use super::{Cell, CellError, CellProblem, ColumnBuilder, ColumnReader, PrivateText};
use crate::schema::{ColumnKind, Word};
use arrow::array::{Array, AsArray};
use pentimento_core::exchange::{
    ContentState, Correlation, CorrelationKind, Modalities, Outcome, RejectReason, Role,
    TenantCandidate, TimeZoneSource,
};

impl<T: Cell> Cell for Option<T> {
    const KIND: ColumnKind = T::KIND;
    const NULLABLE: bool = true;

    fn put(&self, builder: &mut ColumnBuilder) -> Result<usize, CellError> {
        match self {
            Some(value) => value.put(builder),
            None => builder.put_null(),
        }
    }

    fn get(column: &ColumnReader<'_>, row: usize) -> Result<Self, CellError> {
        if row < column.array().len() && column.array().is_null(row) {
            return Ok(None);
        }
        T::get(column, row).map(Some)
    }
}

/// Cells that lie in the columns as fixed-width values.
macro_rules! plain_cell {
    ($ty:ty, $kind:ident, $bytes:literal, $($variant:ident)|+) => {
        impl Cell for $ty {
            const KIND: ColumnKind = ColumnKind::$kind;

            fn put(&self, builder: &mut ColumnBuilder) -> Result<usize, CellError> {
                match builder {
                    $( ColumnBuilder::$variant(b) => b.append_value(*self), )+
                    _ => return Err(CellError::new(CellProblem::Type)),
                }
                Ok($bytes)
            }

            fn get(column: &ColumnReader<'_>, row: usize) -> Result<Self, CellError> {
                column.check_value(row)?;
                match column {
                    $( ColumnReader::$variant(a) => Ok(a.value(row)), )+
                    _ => Err(CellError::new(CellProblem::Type)),
                }
            }
        }
    };
}

plain_cell!(i64, Int64, 8, Int64 | Time);
plain_cell!(i32, Int32, 4, Int32);
plain_cell!(f64, Float, 8, Float);
plain_cell!(bool, Bool, 1, Bool);

/// Cells that lie in the columns as text: how to see the text, how to make the value from it.
macro_rules! text_cell {
    ($ty:ty, $kind:ident, $as_str:expr, $parse:expr) => {
        impl Cell for $ty {
            const KIND: ColumnKind = ColumnKind::$kind;

            fn put(&self, builder: &mut ColumnBuilder) -> Result<usize, CellError> {
                let as_str: fn(&$ty) -> &str = $as_str;
                builder.put_text(as_str(self))
            }

            fn get(column: &ColumnReader<'_>, row: usize) -> Result<Self, CellError> {
                let parse: fn(&str) -> Option<$ty> = $parse;
                parse(column.text(row)?).ok_or(CellError::new(CellProblem::Word))
            }
        }
    };
}

text_cell!(String, Text, |v| v, |s| Some(s.to_owned()));
text_cell!(Word, Text, |v| v, |s| Some(Word::Owned(s.to_owned())));
text_cell!(PrivateText, LargeText, |v| &v.0, |s| Some(PrivateText(
    s.to_owned()
)));
text_cell!(Role, Text, |v| v.as_str(), Role::parse);
text_cell!(ContentState, Text, |v| v.as_str(), ContentState::parse);
text_cell!(Outcome, Text, |v| v.as_str(), |s| {
    use Outcome::*;
    [Ok, Error, Aborted, Rejected, Unknown]
        .into_iter()
        .find(|v| v.as_str() == s)
});
text_cell!(TimeZoneSource, Text, |v| v.as_str(), |s| {
    use TimeZoneSource::*;
    [Utc, Offset, Assumed, Unknown, Relative]
        .into_iter()
        .find(|v| v.as_str() == s)
});
text_cell!(RejectReason, Text, |v| v.as_str(), |s| {
    use RejectReason::*;
    [
        InvalidJson,
        UnknownShape,
        InvalidField,
        InvalidUtf8,
        TooLong,
        TooDeep,
        Truncated,
        CorruptStream,
        Unreadable,
        UnknownFormat,
        RatioLimit,
        Empty,
        Hang,
        NotAFile,
        Unsupported,
        DepthLimit,
        EntryLimit,
        SizeLimit,
    ]
    .into_iter()
    .find(|v| v.as_str() == s)
});

impl Cell for Modalities {
    const KIND: ColumnKind = ColumnKind::TextList;

    fn put(&self, builder: &mut ColumnBuilder) -> Result<usize, CellError> {
        let ColumnBuilder::TextList(list) = builder else {
            return Err(CellError::new(CellProblem::Type));
        };
        let mut bytes = 4;
        for name in self.names() {
            list.values().append_value(name);
            bytes += name.len() + 4;
        }
        list.append(true);
        Ok(bytes)
    }

    fn get(column: &ColumnReader<'_>, row: usize) -> Result<Self, CellError> {
        let items = column.list(row)?;
        let names = items
            .as_string_opt::<i32>()
            .ok_or(CellError::new(CellProblem::Type))?;
        let mut all = Modalities::default();
        for index in 0..names.len() {
            let one = Modalities::parse(names.value(index));
            if one == Modalities::default() {
                return Err(CellError::new(CellProblem::Word));
            }
            all.insert(one);
        }
        Ok(all)
    }
}

impl Cell for Vec<TenantCandidate> {
    const KIND: ColumnKind = ColumnKind::PairList;

    fn put(&self, builder: &mut ColumnBuilder) -> Result<usize, CellError> {
        builder.put_pairs(self.iter().map(|c| (c.kind.as_str(), c.value.as_str())))
    }

    fn get(column: &ColumnReader<'_>, row: usize) -> Result<Self, CellError> {
        column.pairs(row, |kind, value| {
            Ok(TenantCandidate {
                kind: kind.to_owned(),
                value: value.to_owned(),
            })
        })
    }
}

impl Cell for Vec<Correlation> {
    const KIND: ColumnKind = ColumnKind::PairList;

    fn put(&self, builder: &mut ColumnBuilder) -> Result<usize, CellError> {
        builder.put_pairs(self.iter().map(|c| (c.kind.as_str(), c.value.as_str())))
    }

    fn get(column: &ColumnReader<'_>, row: usize) -> Result<Self, CellError> {
        column.pairs(row, |kind, value| {
            let kind = CorrelationKind::ALL
                .into_iter()
                .find(|k| k.as_str() == kind)
                .ok_or(CellError::new(CellProblem::Word))?;
            Ok(Correlation {
                kind,
                value: value.to_owned(),
            })
        })
    }
}
