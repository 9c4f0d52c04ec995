-- id: aborted_list
-- title: the broken-off responses that are exposed or show foreign text
-- needs: responses
-- version: 1
-- why: people who received a part of an answer received what stood in it
SELECT
    exchange_id, request_id, tenant, grade, exposure, disclosure, source_tenant, event_time
FROM responses
WHERE aborted AND (exposed OR disclosure IN ('proven', 'likely'))
ORDER BY exchange_id
