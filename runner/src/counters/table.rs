//! The profiler's table: CSV with a header, a row of units, and a row for each launch, among the
//! messages of its log.

use csv::StringRecord;

use crate::config::number;
use crate::model::{AbsentMetric, CounterLaunch, CounterValue, ProfileFailure};

/// The most launches of a table: far more than any entry asks for in any process.
const MOST_LAUNCHES: usize = 1_000;

/// The most columns: a chip's attributes and metrics are hundreds.
const MOST_COLUMNS: usize = 10_000;

/// Larger values are no counts of anything.
const LARGEST: f64 = 1e300;

/// How the header begins.
const HEADER: &str = "\"ID\",";

/// The launches of a table, and what has no value in any of them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) launches: Vec<CounterLaunch>,
    pub(super) absent: Vec<AbsentMetric>,
}

/// Whether a log holds a table at all.
pub(super) fn is_in(log: &str) -> bool {
    log.lines().any(|line| line.starts_with(HEADER))
}

/// Reads the table of a log: the profiler prints one, when the command has ended. Of its columns
/// those of the `wanted` metrics are read: it prints many more, texts among them.
///
/// # Errors
/// [`ProfileFailure::NotUnderstood`] with the line at fault.
pub(super) fn read(log: &str, wanted: &[String]) -> Result<Table, ProfileFailure> {
    let table = lines_of(log)?;
    let records = records(&table)?;
    let [header, units, rows @ ..] = records.as_slice() else {
        return Err(not_understood(table[0], "the table has no row of units"));
    };
    let columns = Columns::find(header, table[0], wanted)?;
    if units.get(0) != Some("") {
        return Err(not_understood(
            table.get(1).copied().unwrap_or_default(),
            "the second line of the table should hold the units",
        ));
    }
    let mut read = Table::default();
    for (row, line) in rows.iter().zip(&table[2..]) {
        let launch = columns.launch(row, units, line)?;
        read.launches.push(launch);
    }
    read.absent = columns.absent(&read.launches, wanted);
    Ok(read)
}

/// The lines of the only table.
fn lines_of(log: &str) -> Result<Vec<&str>, ProfileFailure> {
    let mut headers = log.lines().enumerate();
    let mut next = || headers.find(|(_, line)| line.starts_with(HEADER));
    let Some((first, header)) = next() else {
        let last = log.lines().rev().find(|line| !line.trim().is_empty());
        return Err(not_understood(
            last.unwrap_or_default(),
            "the profiler printed no table",
        ));
    };
    if let Some((_, second)) = next() {
        return Err(not_understood(second, "there is more than one table"));
    }
    let lines = log.lines().skip(first).map(str::trim_end);
    let lines = lines.take_while(|line| line.starts_with('"'));
    // One more than there may be, so that it is seen to be too many.
    let table: Vec<&str> = lines.take(MOST_LAUNCHES + 3).collect();
    match table.len() > MOST_LAUNCHES + 2 {
        true => Err(not_understood(
            header,
            format!("the table has more than {MOST_LAUNCHES} launches"),
        )),
        false => Ok(table),
    }
}

/// A record for each line.
fn records(lines: &[&str]) -> Result<Vec<StringRecord>, ProfileFailure> {
    let text = lines.join("\n");
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut records = Vec::with_capacity(lines.len());
    for (record, line) in reader.records().zip(lines) {
        let record = record.map_err(|error| not_understood(line, error.to_string()))?;
        // A quote that is not closed on its line takes the next ones in.
        let at = record.position().map(csv::Position::line);
        if at != Some(records.len() as u64 + 1) {
            return Err(not_understood(line, "a line before it does not end"));
        }
        records.push(record);
    }
    match (records.len() == lines.len(), lines.get(records.len())) {
        (false, Some(line)) => Err(not_understood(line, "a line before it does not end")),
        _ => Ok(records),
    }
}

pub(super) fn not_understood(line: &str, why: impl Into<String>) -> ProfileFailure {
    ProfileFailure::NotUnderstood {
        line: crate::judge::shortened(line, 120),
        why: why.into(),
    }
}

/// Where in a row what stands.
struct Columns {
    kernel: usize,
    block: Option<usize>,
    grid: Option<usize>,
    cc: Option<usize>,
    metrics: Vec<(usize, String)>,
    width: usize,
}

impl Columns {
    fn find(
        header: &StringRecord,
        line: &str,
        wanted: &[String],
    ) -> Result<Columns, ProfileFailure> {
        let at = |name: &str| header.iter().position(|column| column == name);
        let Some(kernel) = at("Kernel Name") else {
            return Err(not_understood(line, "there is no column `Kernel Name`"));
        };
        if header.len() > MOST_COLUMNS {
            let why = format!("the table has more than {MOST_COLUMNS} columns");
            return Err(not_understood(line, why));
        }
        let mut metrics: Vec<(usize, String)> = Vec::new();
        for (at, column) in header.iter().enumerate() {
            let asked = wanted.iter().any(|metric| metric == column);
            if asked && !metrics.iter().any(|(_, known)| known == column) {
                metrics.push((at, column.to_owned()));
            }
        }
        if metrics.is_empty() {
            let why = "none of the metrics that were asked for has a column";
            return Err(not_understood(line, why));
        }
        Ok(Columns {
            kernel,
            block: at("Block Size"),
            grid: at("Grid Size"),
            cc: at("CC"),
            metrics,
            width: header.len(),
        })
    }

    fn launch(
        &self,
        row: &StringRecord,
        units: &StringRecord,
        line: &str,
    ) -> Result<CounterLaunch, ProfileFailure> {
        if row.len() != self.width {
            return Err(not_understood(
                line,
                format!("it has {} fields and the header {}", row.len(), self.width),
            ));
        }
        let text = |at: Option<usize>| at.and_then(|at| row.get(at)).unwrap_or_default();
        let kernel = text(Some(self.kernel));
        if kernel.is_empty() {
            return Err(not_understood(line, "it names no kernel"));
        }
        let mut values = Vec::new();
        for (at, metric) in &self.metrics {
            let printed = text(Some(*at));
            if let Some(value) = value(printed)
                .ok_or_else(|| not_understood(line, format!("`{printed}` is not a number")))?
            {
                values.push(CounterValue {
                    metric: metric.clone(),
                    unit: units.get(*at).unwrap_or_default().to_owned(),
                    value,
                });
            }
        }
        Ok(CounterLaunch {
            kernel: kernel.to_owned(),
            arch: arch(text(self.cc)),
            grid: text(self.grid).to_owned(),
            block: text(self.block).to_owned(),
            values,
        })
    }

    /// The metrics that have no value in any launch.
    fn absent(&self, launches: &[CounterLaunch], wanted: &[String]) -> Vec<AbsentMetric> {
        let has = |metric: &str| launches.iter().any(|launch| launch.value(metric).is_some());
        let reason = |metric: &String| match self.metrics.iter().any(|(_, known)| known == metric) {
            true => "the profiler gave no value for it (`n/a`)",
            false => "the profiler printed no column for it",
        };
        let empty = wanted.iter().filter(|metric| !has(metric));
        empty
            .map(|metric| AbsentMetric {
                metric: metric.clone(),
                reason: reason(metric).to_owned(),
            })
            .collect()
    }
}

/// A printed number; `Some(None)` where the profiler has no value, `None` for anything else.
fn value(printed: &str) -> Option<Option<f64>> {
    let printed = printed.trim();
    if ["", "n/a", "nan", "-nan", "inf", "(n/a)"].contains(&printed.to_lowercase().as_str()) {
        return Some(None);
    }
    let scanned = number::scan(printed)?;
    (scanned.rest.is_empty() && scanned.value < LARGEST).then_some(Some(scanned.value))
}

/// `9.0` as `sm_90`.
fn arch(cc: &str) -> Option<String> {
    let (major, minor) = cc.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (digits(major) && digits(minor)).then(|| format!("sm_{major}{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"==PROF== Connected to process 4242 (/work/build/gpu)
==WARNING== a message of the profiler
==PROF== Disconnected from process 4242
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum","smsp__inst_executed.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed","dram__bytes_read.sum"
"","","","","","","","","","","","","inst","%","byte"
"0","4242","gpu","127.0.0.1","mmq_wide_kd4(const uint4 *, const uint4 *, float *, int)","1","7","(256, 1, 1)","(28, 21, 1)","0","9.0","16,859,307","189928256","41.25","n/a"
"1","4242","gpu","127.0.0.1","mmq_wide_kd4(const uint4 *, const uint4 *, float *, int)","1","7","(256, 1, 1)","(28, 21, 1)","0","9.0","16,859,136","189,928,256","41.30","n/a"

"#;

    /// The output as a table of what these tests ask for.
    fn of(output: &str) -> Result<Table, ProfileFailure> {
        let wanted = [
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
            "smsp__inst_executed.sum",
            "sm__throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__bytes_read.sum",
        ];
        read(output, &wanted.map(str::to_owned))
    }

    /// What Nsight Compute printed on an H200: hundreds of columns, with texts among the device's
    /// attributes, for four metrics that were asked for and one that the chip does not have.
    #[test]
    fn a_real_table_is_read() {
        let asked = [
            (
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                Some(10_005.0),
            ),
            (
                "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum",
                Some(0.0),
            ),
            (
                "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                Some(12_644_352.0),
            ),
            (
                "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
                Some(5_531_904.0),
            ),
            (
                "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                None,
            ),
        ];
        let wanted = asked.map(|(metric, _)| metric.to_owned());
        let real = include_str!("../../../docs/h200/mmq/ncu-raw.csv");
        let table = read(real, &wanted).expect("a table");
        let [launch] = table.launches.as_slice() else {
            panic!("one launch, not {}", table.launches.len());
        };
        assert_eq!(launch.kernel, "mmq_nb");
        assert_eq!(launch.grid, "(28, 42, 1)");
        for (metric, value) in asked {
            assert_eq!(launch.value(metric), value, "{metric}");
        }
        assert_eq!(launch.values.len(), 4);
        assert_eq!(table.absent.len(), 1);
        assert_eq!(
            table.absent[0].reason,
            "the profiler printed no column for it"
        );
    }

    #[test]
    fn every_launch_is_read_whatever_stands_before_the_table() {
        let table = of(OUTPUT).expect("a table");
        assert_eq!(table.launches.len(), 2);
        let first = &table.launches[0];
        assert_eq!(
            first.kernel,
            "mmq_wide_kd4(const uint4 *, const uint4 *, float *, int)"
        );
        assert_eq!(first.arch.as_deref(), Some("sm_90"));
        assert_eq!(
            (&*first.grid, &*first.block),
            ("(28, 21, 1)", "(256, 1, 1)")
        );
        let conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
        assert_eq!(first.value(conflicts), Some(16_859_307.0));
        assert_eq!(table.launches[1].value(conflicts), Some(16_859_136.0));
        assert_eq!(first.value("smsp__inst_executed.sum"), Some(189_928_256.0));
        assert_eq!(first.values[1].unit, "inst");
        assert_eq!(first.value("dram__bytes_read.sum"), None);
        assert_eq!(table.absent.len(), 1);
        assert_eq!(table.absent[0].metric, "dram__bytes_read.sum");
    }

    /// `OUTPUT` with a change must not be understood, for the reason and at the line given.
    #[track_caller]
    fn wrong(from: &str, to: &str, line_has: &str, why_has: &str) {
        let text = OUTPUT.replacen(from, to, 1);
        assert_ne!(text, OUTPUT, "{from}");
        let Err(ProfileFailure::NotUnderstood { line, why }) = of(&text) else {
            panic!("{to} is understood");
        };
        assert!(
            line.contains(line_has) && why.contains(why_has),
            "{line}: {why}"
        );
    }

    #[test]
    fn what_is_not_understood_is_quoted() {
        wrong(
            "41.25",
            "4l.25",
            "\"0\",\"4242\"",
            "`4l.25` is not a number",
        );
        wrong(
            "16,859,307",
            "16,85",
            "\"0\",\"4242\"",
            "`16,85` is not a number",
        );
        wrong("16,859,307", "-3", "\"0\",\"4242\"", "`-3` is not a number");
        wrong(
            "\"9.0\",\"16,859,307\"",
            "\"9.0\"",
            "\"0\",\"4242\"",
            "14 fields",
        );
        wrong("\"Kernel Name\",", "", "\"ID\"", "`Kernel Name`");
        let units =
            "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"inst\",\"%\",\"byte\"\n";
        wrong(units, "", "\"0\",\"4242\"", "units");
        let Err(ProfileFailure::NotUnderstood { line, .. }) = of("hello\n\n") else {
            panic!("understood");
        };
        assert_eq!(line, "hello");
        assert!(of("").is_err());
        assert!(of("\"ID\",\"Kernel Name\"\n").is_err());
    }

    #[test]
    fn a_second_table_or_one_of_something_else_is_not_understood() {
        let Err(ProfileFailure::NotUnderstood { why, .. }) = of(&OUTPUT.repeat(2)) else {
            panic!("two tables are understood");
        };
        assert_eq!(why, "there is more than one table");
        let other = "\"ID\",\"Kernel Name\",\"other\"\n\"\",\"\",\"\"\n\"0\",\"k\",\"1\"\n";
        let Err(ProfileFailure::NotUnderstood { why, .. }) = of(other) else {
            panic!("a table of something else is understood");
        };
        assert!(why.contains("none of the metrics"), "{why}");
    }

    #[test]
    fn a_quote_that_is_not_closed_takes_no_launch_in() {
        wrong(
            "\"41.25\",\"n/a\"",
            "\"41.25\",\"n/a",
            "\"1\",\"4242\"",
            "does not end",
        );
    }

    /// Nothing in a table may be more than the record takes.
    #[test]
    fn a_table_that_no_profiler_prints_does_no_harm() {
        let twice = "\"ID\",\"Kernel Name\",\"smsp__inst_executed.sum\",\"smsp__inst_executed.sum\"\n\"\",\"\",\"\",\"\"\n\
                     \"0\",\"k\",\"1\",\"2\"\n";
        let values = &of(twice).expect("a table").launches[0].values;
        assert_eq!(values.len(), 1);
        assert!(of(&twice.replace("\"1\"", "\"1e301\"")).is_err());
        let row = "\"0\",\"k\",\"1\",\"2\"\n";
        let many = |n: usize| of(&format!("{twice}{}", row.repeat(n)));
        assert_eq!(
            many(MOST_LAUNCHES - 1).expect("a table").launches.len(),
            MOST_LAUNCHES
        );
        assert!(many(MOST_LAUNCHES).is_err());
        let started = std::time::Instant::now();
        assert!(many(1_000_000).is_err());
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }

    proptest::proptest! {
        #[test]
        fn no_output_makes_it_panic(cut in 0usize..1500, junk in "[\"\\\\,\n a-zµ0-9./()]{0,16}") {
            let mut text = OUTPUT.to_owned();
            let at = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            text.insert_str(at.unwrap_or(0), &junk);
            let _ = of(&text);
            let _ = of(&text[..at.unwrap_or(0)]);
        }
    }
}
