//! Dumps that SGLang writes of its requests: every thousand where it is asked to, or when it
//! crashes. Pickles of request objects with their answers, whole texts and ids, nothing cut.

use super::super::json::{Fault, Json};
use super::super::{DecodeContext, LogFormat, envelope, pickle, time};
use super::decode_record;
use crate::exchange::{Exchange, RecordKind, RejectReason};

/// The format; see the module.
pub struct SglangDump;

impl LogFormat for SglangDump {
    fn name(&self) -> &'static str {
        "sglang_dump"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        if !pickle::is_pickle(record) {
            return 0;
        }
        let own = envelope::holds(record, "GenerateReqInput")
            || envelope::holds(record, "sglang.srt")
            || envelope::holds(record, "EmbeddingReqInput");
        if own { 100 } else { 0 }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let dump = pickle::read(record).map_err(|error| match error {
            pickle::PickleError::Cut => RejectReason::Truncated,
            pickle::PickleError::Broken(_) => RejectReason::UnknownShape,
            pickle::PickleError::Deep => RejectReason::TooDeep,
        })?;
        let mut found = exchanges(&dump, context).map_err(|fault| match fault {
            Fault::Reject(reason) => reason,
            Fault::Json(_) => RejectReason::InvalidField,
        })?;
        if found.is_empty() {
            return Ok(RecordKind::Other);
        }
        out.append(&mut found);
        Ok(RecordKind::Exchange)
    }
}

fn exchanges(dump: &Json<'_>, context: &DecodeContext<'_>) -> Result<Vec<Exchange>, Fault> {
    let requests = match dump {
        Json::Array(requests) => requests.as_slice(),
        dump => match dump.some("requests") {
            Some(requests) => requests.items(),
            None => return Err(RejectReason::UnknownShape.into()),
        },
    };
    let named = ["served_model_name", "model_path"];
    let model = dump.some("server_args").and_then(|args| args.any(&named));
    let model = model.and_then(Json::as_id);
    let mut found = Vec::new();
    for request in requests {
        let mut call = exchange(request, context)?;
        for exchange in &mut call {
            exchange.model_raw.clone_from(&model);
        }
        envelope::append(&mut found, call);
    }
    Ok(found)
}

/// A request, its answer, and when it came and ended, in unix seconds. What had no answer yet when
/// the engine crashed is a first half.
fn exchange(request: &Json<'_>, context: &DecodeContext<'_>) -> Result<Vec<Exchange>, Fault> {
    let [obj @ Json::Object(_), answer, times @ ..] = request.items() else {
        return Err(RejectReason::InvalidField.into());
    };
    let answered = matches!(answer, Json::Object(entries) if !entries.is_empty())
        || !answer.items().is_empty();
    let moment = |at: usize| times.get(at).filter(|t| time::from_seconds(t).is_some());
    let (created, ended) = (moment(0), moment(1));
    let event = if answered {
        "request.finished"
    } else {
        "request.received"
    };
    let mut record = vec![
        ("event".into(), Json::Str(event.into())),
        ("obj".into(), obj.borrowed()),
    ];
    let stamp = if answered { ended } else { created };
    if let Some(stamp) = stamp {
        record.push(("timestamp".into(), stamp.borrowed()));
    }
    if answered {
        record.push(("out".into(), answer.borrowed()));
    }
    if let Some(rid) = obj.some("rid") {
        record.push(("rid".into(), rid.borrowed()));
    }
    let (_, mut found) = decode_record(&Json::Object(record), context)?;
    for exchange in &mut found {
        if let Some(created) = created.and_then(time::from_seconds) {
            exchange.t_start = Some(created);
        }
    }
    Ok(found)
}
