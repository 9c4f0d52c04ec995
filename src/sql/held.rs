//! Small tables are held in memory: a run asks dozens of queries, and opening every file for each
//! of them is most of what a small case costs.

use super::session::{CaseSession, engine_error};
use arrow::datatypes::SchemaRef;
use datafusion::datasource::MemTable;
use pentimento_store::reader;
use pentimento_store::schema::Table;
use std::path::Path;
use std::sync::Arc;

/// A table whose files are no larger is held in memory; decoded, rows take some ten times as much.
const SMALL_TABLE_BYTES: u64 = 1 << 20;

impl CaseSession {
    /// Holds the rows of a registered table, if it is small.
    pub(super) fn hold_small(&self, table: Table, tables: &Path) -> anyhow::Result<()> {
        let files = reader::part_files(tables, table)?;
        let bytes = files.iter().try_fold(0, |sum, file| {
            std::fs::metadata(file).map(|facts| sum + facts.len())
        })?;
        if bytes > SMALL_TABLE_BYTES || table == Table::Texts {
            return Ok(());
        }
        let name = table.as_str();
        let frame = self.wait(self.context.table(name))?;
        let schema: SchemaRef = Arc::new(frame.schema().as_arrow().clone());
        let batches = self.wait(frame.collect())?;
        let rows = MemTable::try_new(schema, vec![batches]).map_err(engine_error)?;
        self.context.deregister_table(name).map_err(engine_error)?;
        self.context
            .register_table(name, Arc::new(rows))
            .map_err(engine_error)?;
        Ok(())
    }
}
