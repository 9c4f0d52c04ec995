//! One case opened for reading: its tables, the shipped views, and the engine behind them.

use super::catalog::{Catalog, QueryFile, QueryKind};
use super::json;
use anyhow::{Context, anyhow, bail};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::{MemTable, TableProvider};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{DataFrame, SQLOptions, SessionConfig, SessionContext};
use pentimento_store::reader;
use pentimento_store::rows::{self, Row, VerdictRow};
use pentimento_store::schema::Table;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::future::{Future, poll_fn};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Rows of one batch: wide rows of a batch must not outgrow the memory limit.
const BATCH_ROWS: usize = 4096;

/// Most bytes that a sort keeps back for merging: the engine's default.
const SORT_MERGE_BYTES: usize = 10 << 20;

/// Below this limit the sorts of several partitions would leave each other nothing.
const PARTITIONED_BYTES: usize = 512 << 20;

/// Bytes that one exchange may take on the held side of a join: a few ids and counts.
const JOIN_ROW_BYTES: usize = 256;

/// How a case is opened.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Most bytes that the operators of a query may hold before they spill; none: no limit.
    pub memory_limit: Option<usize>,
    /// Worker threads and partitions; 0 reads as 1.
    pub threads: usize,
    /// Where operators spill to; none: the system's folder for temporary files.
    pub spill_folder: Option<PathBuf>,
    /// Whether the table `texts` may be read. The caller has asked for a reason and logged it.
    pub reveal: bool,
}

/// A case opened for SQL. Read-only: no statement can write a file or change a table.
pub struct CaseSession {
    pub(super) runtime: Runtime,
    pub(super) context: SessionContext,
    catalog: Catalog,
    /// Views that stand in the context now.
    views: BTreeSet<&'static str>,
}

/// Opens the tables of a case.
///
/// `tables` is the folder that holds one folder per table. A table whose folder is missing is left
/// out: what needs it then fails and says so.
///
/// # Errors
/// A table folder that cannot be listed, or an engine that cannot be set up.
pub fn open_case(tables: &Path, options: &SessionOptions) -> anyhow::Result<CaseSession> {
    let mut session = CaseSession::empty(options)?;
    session.choose_joins(tables, options)?;
    for table in Table::ALL {
        let folder = tables.join(table.as_str());
        if (table == Table::Texts && !options.reveal) || !folder.is_dir() {
            continue;
        }
        session
            .register_folder(table, &folder)
            .and_then(|()| session.hold_small(table, tables))
            .with_context(|| format!("table {table}"))?;
    }
    Ok(session)
}

impl CaseSession {
    /// A session without tables.
    ///
    /// # Errors
    /// An engine that cannot be set up.
    pub fn empty(options: &SessionOptions) -> anyhow::Result<CaseSession> {
        let threads = options.threads.max(1);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("sql")
            .build()
            .context("cannot start the threads of the SQL engine")?;
        let mut environment = RuntimeEnvBuilder::new();
        if let Some(limit) = options.memory_limit {
            environment = environment.with_memory_pool(Arc::new(FairSpillPool::new(limit)));
        }
        if let Some(folder) = &options.spill_folder {
            environment = environment.with_temp_file_path(folder);
        }
        let environment = environment.build_arc().context("SQL engine")?;
        // Every sort keeps this much back to merge what it spilled; the engine's own figure is
        // made for machines, not for a limit that several sorts share.
        let merge_bytes = options.memory_limit.map_or(SORT_MERGE_BYTES, |limit| {
            (limit / 64).clamp(1 << 16, SORT_MERGE_BYTES)
        });
        let mut config = SessionConfig::new()
            .with_target_partitions(threads)
            .with_batch_size(BATCH_ROWS)
            .with_sort_spill_reservation_bytes(merge_bytes)
            .with_information_schema(false);
        let settings = config.options_mut();
        settings.execution.time_zone = Some("UTC".to_owned());
        settings.execution.parquet.schema_force_view_types = false;
        settings.execution.parquet.pushdown_filters = true;
        settings.sql_parser.map_string_types_to_utf8view = false;
        // Beside a MIN or MAX over an expression, the filter that MIN or MAX over a plain column
        // pushes into the scan drops the files that hold the other one's answer.
        settings.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
        Ok(CaseSession {
            runtime,
            context: SessionContext::new_with_config_rt(config, environment),
            catalog: Catalog::embedded()?,
            views: BTreeSet::new(),
        })
    }

    /// A hash join holds one side in memory and cannot spill; a sorted merge can. The merge is
    /// slower, so it is taken only where a side could outgrow the limit.
    fn choose_joins(&mut self, tables: &Path, options: &SessionOptions) -> anyhow::Result<()> {
        let Some(limit) = options.memory_limit else {
            return Ok(());
        };
        if !tables.join(Table::Exchanges.as_str()).is_dir() {
            return Ok(());
        }
        let rows = reader::row_count(tables, Table::Exchanges)?;
        let side = usize::try_from(rows)
            .unwrap_or(0)
            .saturating_mul(JOIN_ROW_BYTES);
        if side > limit / 16 {
            let state = self.context.state_ref();
            let mut state = state.write();
            let config = state.config_mut();
            // A plan holds dozens of sorts, each once per partition, and each wants whole batches.
            *config = config.clone().with_batch_size(BATCH_ROWS / 4);
            let settings = config.options_mut();
            settings.optimizer.prefer_hash_join = false;
            if limit < PARTITIONED_BYTES {
                settings.execution.target_partitions = 1;
            }
        }
        Ok(())
    }

    /// The files of the program.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn register_folder(&self, table: Table, folder: &Path) -> anyhow::Result<()> {
        let mut listing =
            ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
        if let Some(key) = table.partition_key() {
            listing = listing.with_table_partition_cols(vec![(key.to_owned(), DataType::Utf8)]);
        }
        let config = ListingTableConfig::new(folder_url(folder)?)
            .with_listing_options(listing)
            .with_schema(table.schema());
        let provider = ListingTable::try_new(config).map_err(engine_error)?;
        self.context
            .register_table(table.as_str(), Arc::new(provider))
            .map_err(engine_error)?;
        Ok(())
    }

    /// Puts rows in the place of a table; views that read it are dropped and made anew on demand.
    ///
    /// # Errors
    /// Rows that do not fit the schema.
    pub fn set_table<R: Row>(&mut self, rows: &[R]) -> anyhow::Result<()> {
        let batch = rows::encode(rows)?;
        self.set_batches(R::TABLE, R::TABLE.schema(), vec![batch])
    }

    pub(super) fn set_batches(
        &mut self,
        table: Table,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> anyhow::Result<()> {
        self.drop_views_over(table)?;
        let name = table.as_str();
        let provider = MemTable::try_new(schema, vec![batches]).map_err(engine_error)?;
        self.context.deregister_table(name).map_err(engine_error)?;
        self.context
            .register_table(name, Arc::new(provider))
            .map_err(engine_error)?;
        Ok(())
    }

    /// A view's plan holds on to the tables it was made over, so it must not outlive them.
    fn drop_views_over(&mut self, table: Table) -> anyhow::Result<()> {
        let stale: Vec<&'static str> = self
            .views
            .iter()
            .copied()
            .filter(|view| self.catalog.reaches(view, table.as_str()))
            .collect();
        for view in stale {
            self.context.deregister_table(view).map_err(engine_error)?;
            self.views.remove(view);
        }
        Ok(())
    }

    /// Registers the views that a file needs, the inner ones first.
    pub(super) fn prepare(&mut self, needs: &[String]) -> anyhow::Result<()> {
        for name in self.view_order(needs) {
            self.register_view(name)
                .with_context(|| format!("view {name}"))?;
        }
        for need in needs {
            self.must_exist(need)?;
        }
        Ok(())
    }

    fn register_view(&mut self, name: &'static str) -> anyhow::Result<()> {
        let view = self
            .catalog
            .view(name)
            .ok_or_else(|| anyhow!("no such view"))?;
        for need in &view.needs {
            self.must_exist(need)?;
        }
        let frame = self.wait(self.context.sql_with_options(view.sql, read_only()))?;
        let provider: Arc<dyn TableProvider> = if view.keep_rows {
            let schema = all_nullable(frame.schema().as_arrow());
            let batches = self
                .wait(frame.collect())?
                .into_iter()
                .map(|batch| {
                    Ok(RecordBatch::try_new(
                        schema.clone(),
                        batch.columns().to_vec(),
                    )?)
                })
                .collect::<anyhow::Result<Vec<_>>>()?;
            Arc::new(MemTable::try_new(schema, vec![batches]).map_err(engine_error)?)
        } else {
            frame.into_view()
        };
        self.context
            .register_table(name, provider)
            .map_err(engine_error)?;
        self.views.insert(name);
        Ok(())
    }

    /// The views below `needs` that are not registered, each after those it reads.
    fn view_order(&self, needs: &[String]) -> Vec<&'static str> {
        let mut order: Vec<&'static str> = Vec::new();
        // (name, whether its own needs were put before it already)
        let mut open: Vec<(&str, bool)> = needs.iter().rev().map(|n| (n.as_str(), false)).collect();
        while let Some((name, ready)) = open.pop() {
            let Some(view) = self.catalog.view(name) else {
                continue;
            };
            if self.views.contains(view.id) || order.contains(&view.id) {
                continue;
            }
            if ready {
                order.push(view.id);
            } else {
                open.push((view.id, true));
                open.extend(view.needs.iter().rev().map(|n| (n.as_str(), false)));
            }
        }
        order
    }

    fn must_exist(&self, name: &str) -> anyhow::Result<()> {
        if self.context.table_exist(name).unwrap_or(false) {
            return Ok(());
        }
        bail!("table {name:?} is not in the case")
    }

    /// Registers the shipped views that a person's statement names, where their tables are there.
    ///
    /// # Errors
    /// A view that does not plan or run.
    pub fn prepare_views_of(&mut self, sql: &str) -> anyhow::Result<()> {
        let sql = sql.to_lowercase();
        let usable: Vec<String> = self
            .catalog
            .of_kind(QueryKind::View)
            // A name inside a string or comment costs time, nothing else.
            .filter(|view| sql.contains(view.id))
            .filter(|view| {
                Table::ALL.into_iter().all(|table| {
                    !self.catalog.reaches(view.id, table.as_str())
                        || self.context.table_exist(table.as_str()).unwrap_or(false)
                })
            })
            .map(|view| view.id.to_owned())
            .collect();
        self.prepare(&usable)
    }

    pub(super) fn frame(&mut self, file: &QueryFile) -> anyhow::Result<DataFrame> {
        self.prepare(&file.needs)
            .with_context(|| format!("queries/{}.sql", file.path))?;
        self.runtime
            .block_on(self.context.sql_with_options(file.sql, read_only()))
            .map_err(engine_error)
            .with_context(|| format!("queries/{}.sql", file.path))
    }

    pub(super) fn collect(&self, frame: DataFrame) -> anyhow::Result<Vec<RecordBatch>> {
        self.wait(frame.collect())
    }

    pub(super) fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, DataFusionError>>,
    ) -> anyhow::Result<T> {
        self.runtime.block_on(work).map_err(engine_error)
    }

    /// Runs a shipped file, named by its path below `queries/` or its id.
    ///
    /// # Errors
    /// An unknown name, a missing table, or a query that fails.
    pub fn run_file(&mut self, name: &str) -> anyhow::Result<Vec<RecordBatch>> {
        let file = self.file(name)?;
        let frame = self.frame(&file)?;
        self.collect(frame)
            .with_context(|| format!("queries/{}.sql", file.path))
    }

    /// The rows of a shipped file as JSON objects: 64-bit integers exact, times in RFC 3339.
    ///
    /// # Errors
    /// As [`CaseSession::run_file`].
    pub fn json_rows(&mut self, name: &str) -> anyhow::Result<Vec<json::Object>> {
        let mut rows = Vec::new();
        for batch in self.run_file(name)? {
            json::append_rows(&batch, &mut rows)?;
        }
        Ok(rows)
    }

    /// The rows of a shipped file, each read into a struct whose fields are the columns.
    ///
    /// # Errors
    /// As [`CaseSession::run_file`], and a row that does not fit the struct.
    pub fn typed_rows<T: serde::de::DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> anyhow::Result<Vec<T>> {
        self.json_rows(name)?
            .into_iter()
            .map(|row| {
                serde_json::from_value(serde_json::Value::Object(row.into_iter().collect()))
                    .with_context(|| format!("row of {name}"))
            })
            .collect()
    }

    /// All tables of the report: id of the file to its rows.
    ///
    /// # Errors
    /// As [`CaseSession::run_file`].
    pub fn report_tables(&mut self) -> anyhow::Result<Vec<(&'static str, Vec<json::Object>)>> {
        let files: Vec<_> = self
            .catalog
            .of_kind(QueryKind::Report)
            .map(|f| (f.id, f.path))
            .collect();
        files
            .into_iter()
            .map(|(id, path)| Ok((id, self.json_rows(path)?)))
            .collect()
    }

    /// Grades every delivered response of the window. Rules must have been run, or findings read.
    ///
    /// # Errors
    /// As [`CaseSession::run_file`].
    pub fn run_verdicts(&mut self) -> anyhow::Result<Vec<VerdictRow>> {
        let mut verdicts = Vec::new();
        for batch in self.run_file("verdicts")? {
            verdicts.extend(rows::decode::<VerdictRow>(&batch)?);
        }
        self.set_table(&verdicts)?;
        Ok(verdicts)
    }

    /// Runs a person's own statement and hands each batch on as it comes.
    ///
    /// `parameters` are bound to `$name`, never pasted in.
    ///
    /// # Errors
    /// A statement that is not one read-only query, a query that fails, or a sink that fails.
    pub fn stream(
        &self,
        sql: &str,
        parameters: Vec<(String, ScalarValue)>,
        mut sink: impl FnMut(&SchemaRef, Option<&RecordBatch>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut stream = self.wait(async {
            let mut frame = self.context.sql_with_options(sql, read_only()).await?;
            if !parameters.is_empty() {
                frame = frame.with_param_values(parameters)?;
            }
            frame.execute_stream().await
        })?;
        let schema = stream.schema();
        sink(&schema, None)?;
        while let Some(batch) = self.next_batch(&mut stream)? {
            sink(&schema, Some(&batch))?;
        }
        Ok(())
    }

    fn next_batch(
        &self,
        stream: &mut SendableRecordBatchStream,
    ) -> anyhow::Result<Option<RecordBatch>> {
        self.runtime
            .block_on(poll_fn(|task| stream.as_mut().poll_next(task)))
            .transpose()
            .map_err(engine_error)
    }

    pub(super) fn file(&self, name: &str) -> anyhow::Result<QueryFile> {
        self.catalog
            .find(name)
            .cloned()
            .ok_or_else(|| anyhow!("no query is called {name:?}; see `pentimento query list`"))
    }
}

/// Reading only: no DDL, no DML (`COPY … TO` among it), no `SET`.
fn read_only() -> SQLOptions {
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
}

/// The same columns without promises: plan and result may differ in what can be null.
fn all_nullable(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter();
    Arc::new(Schema::new(
        fields
            .map(|f| Field::new(f.name(), f.data_type().clone(), true))
            .collect::<Vec<_>>(),
    ))
}

/// The engine's error in one line, without a backtrace.
pub(super) fn engine_error(error: DataFusionError) -> anyhow::Error {
    anyhow!("{}", error.strip_backtrace())
}

/// A folder as a URL with every unusual byte escaped: the engine reads `*`, `?` and `[` of a plain
/// path as a pattern.
fn folder_url(folder: &Path) -> anyhow::Result<ListingTableUrl> {
    let folder = std::path::absolute(folder)?;
    let text = folder
        .to_str()
        .ok_or_else(|| anyhow!("the folder's path is not UTF-8, which the SQL engine needs"))?;
    let mut url = String::from("file://");
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url.push('/');
    ListingTableUrl::parse(&url).map_err(engine_error)
}
