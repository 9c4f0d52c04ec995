//! One column of a person's query.

use super::session::CaseSession;
use anyhow::Context;
use arrow::array::{Array, StringArray};
use std::collections::HashSet;

impl CaseSession {
    /// The values of one text column of a query, nulls left out.
    ///
    /// # Errors
    /// As [`CaseSession::stream`], and where the query gives no such column of text.
    pub fn text_column(&self, sql: &str, name: &str) -> anyhow::Result<HashSet<String>> {
        let mut values = HashSet::new();
        self.stream(sql, Vec::new(), |schema, batch| {
            let column = schema
                .index_of(name)
                .with_context(|| format!("it gives no column {name}"))?;
            if !schema.field(column).data_type().is_string() {
                anyhow::bail!("its column {name} is no text");
            }
            let Some(batch) = batch else { return Ok(()) };
            let texts = batch.column(column).as_any().downcast_ref::<StringArray>();
            let texts = texts.with_context(|| format!("its column {name} is no plain text"))?;
            let known = (0..texts.len()).filter(|&i| texts.is_valid(i));
            values.extend(known.map(|i| texts.value(i).to_owned()));
            Ok(())
        })?;
        Ok(values)
    }
}
