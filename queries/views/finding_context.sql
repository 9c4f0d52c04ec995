-- id: finding_context
-- title: what a finding repeats of its exchange
-- needs: exchanges, call_requests
-- version: 1
-- why: rules name the exchange only; request, call, tenant and time follow from it
SELECT
    e.exchange_id AS context_exchange_id,
    COALESCE(
        CASE WHEN e.role = 'gateway' THEN e.request_id END, r.request_id, e.request_id
    ) AS context_request_id,
    e.call_id AS context_call_id,
    e.tenant AS context_tenant,
    e.t_start AS context_time
FROM exchanges AS e
LEFT JOIN call_requests AS r ON r.call_id = e.call_id
