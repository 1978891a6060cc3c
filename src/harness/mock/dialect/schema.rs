//! JSON Schemas of an API, compiled once a process.

use std::sync::LazyLock;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::data;
use crate::harness::mock::request::{ApiRequest, Body};
use crate::harness::mock::validate::{MOST_FINDINGS, RequestFinding, finding};

/// A schema below `apis/`, or why it cannot be used.
pub(crate) type Schema = LazyLock<Result<Validator, String>>;

pub(crate) fn compile(path: &str) -> Result<Validator, String> {
    let schema: Value = serde_json::from_str(data::file(path)).map_err(|error| error.to_string())?;
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .offline()
        .build(&schema)
        .map_err(|error| error.to_string())
}

/// What the schema finds in the body of a request; the body, where there is one to look at further.
pub(crate) fn check_request<'r>(
    request: &'r ApiRequest,
    schema: &Result<Validator, String>,
    findings: &mut Vec<RequestFinding>,
) -> Option<&'r Value> {
    let schema = match schema {
        Ok(schema) => schema,
        Err(message) => {
            findings.push(finding("", format!("the schemas are broken: {message}")));
            return None;
        }
    };
    match &request.body {
        Body::Empty => findings.push(finding("", "the body is empty")),
        Body::Broken(error) => findings.push(finding("", format!("the body is not JSON: {error}"))),
        Body::Json(body) => {
            if !schema.is_valid(body) {
                findings.extend(schema.iter_errors(body).take(MOST_FINDINGS).map(|error| {
                    // Masked: a message that repeats the value could repeat a secret.
                    finding(error.instance_path().as_str(), error.masked().to_string())
                }));
            }
            return Some(body);
        }
    }
    None
}

/// What is wrong with a body that the server is about to send.
pub(crate) fn check(schema: &Result<Validator, String>, body: &Value) -> Result<(), String> {
    let schema = schema.as_ref().map_err(Clone::clone)?;
    if schema.is_valid(body) {
        return Ok(());
    }
    Err(schema.iter_errors(body).next().map_or("not valid".to_owned(), |error| {
        let path = error.instance_path().as_str();
        format!("{error} (at {})", if path.is_empty() { "/" } else { path })
    }))
}
