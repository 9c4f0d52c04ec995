-- id: reconciliation
-- title: records read against records accounted for, per source
-- needs: sources
-- version: 1
-- why: nothing is lost silently; a source that does not sum is a fault of the program
SELECT
    source_id,
    path,
    format,
    status,
    bytes,
    bytes_decoded,
    sha256,
    records_read,
    records_exchange,
    records_event,
    records_other,
    records_rejected,
    records_duplicate,
    records_out_of_window,
    exchanges,
    first_time,
    last_time,
    records_read = records_exchange + records_event + records_other + records_rejected
        + records_duplicate + records_out_of_window AS sums
FROM sources
ORDER BY source_id
