//! `report.json` against its published schema, `schema/report.schema.json`.
//!
//! The checker below knows the keywords that the schema uses and refuses any other, so that none
//! is passed over. It is stricter than the schema in one thing: a member that the schema does not
//! describe is an error, so that what is written is also documented.

use serde_json::Value;

use iotriage_reports::export::REPORT_SCHEMA;
use iotriage_reports::view::ReportView;
use iotriage_reports::{Options, export};

use crate::golden::small;
use crate::synthetic;
use crate::written::{few_pictures, written};

/// What does not fit, as `place: reason`.
fn errors(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, document, "$", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let mut fail = |reason: String| found.push(format!("{place}: {reason}"));
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => {}
            "type" => {
                let names: Vec<&str> =
                    rule.as_str().map_or_else(|| rule.as_array().unwrap().iter().filter_map(Value::as_str).collect(), |n| vec![n]);
                if !names.iter().any(|name| is(value, name)) {
                    fail(format!("{value} is not {names:?}"));
                }
            }
            "const" if value != rule => fail(format!("{value} is not {rule}")),
            "const" => {}
            "enum" if !rule.as_array().unwrap().contains(value) => fail(format!("{value} is not one of {rule}")),
            "enum" => {}
            "minimum" | "maximum" => {
                let (value, limit) = (value.as_f64(), rule.as_f64().unwrap());
                if value.is_some_and(|v| if keyword == "minimum" { v < limit } else { v > limit }) {
                    fail(format!("{value:?} is beyond {keyword} {limit}"));
                }
            }
            "minItems" | "maxItems" => {
                let (items, limit) = (value.as_array().map_or(0, Vec::len) as u64, rule.as_u64().unwrap());
                if if keyword == "minItems" { items < limit } else { items > limit } {
                    fail(format!("{items} items, {keyword} is {limit}"));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap().iter().filter_map(Value::as_str) {
                    if value.is_object() && value.get(name).is_none() {
                        fail(format!("{name} is missing"));
                    }
                }
            }
            "properties" | "items" | "anyOf" | "$ref" => {}
            other => panic!("the checker does not know the keyword {other}"),
        }
    }
    below(root, schema, value, place, found);
}

/// The rules that lead to other schemas.
fn below(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    if let (Some(rules), Some(members)) = (schema.get("properties"), value.as_object()) {
        for (name, member) in members {
            match rules.get(name) {
                Some(rule) => check(root, rule, member, &format!("{place}.{name}"), found),
                None => found.push(format!("{place}.{name}: the schema does not describe it")),
            }
        }
    }
    if let (Some(rule), Some(items)) = (schema.get("items"), value.as_array()) {
        for (i, item) in items.iter().enumerate() {
            check(root, rule, item, &format!("{place}[{i}]"), found);
        }
    }
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        let fits = |choice: &Value| {
            let mut errors = Vec::new();
            check(root, choice, value, place, &mut errors);
            errors.is_empty()
        };
        if !choices.iter().any(fits) {
            found.push(format!("{place}: {value} fits none of the choices"));
        }
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let rule = root.pointer(target.trim_start_matches('#')).unwrap_or_else(|| panic!("{target} is not there"));
        check(root, rule, value, place, found);
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no such type: {other}"),
    }
}

fn schema() -> Value {
    serde_json::from_str(REPORT_SCHEMA).unwrap()
}

fn document(view: &ReportView, options: &Options) -> Value {
    serde_json::from_slice(&written(view, options).unwrap()["report.json"]).unwrap()
}

#[test]
fn every_report_fits_the_published_schema_and_says_nothing_that_it_does_not_describe() {
    let nothing = ReportView { features: synthetic::fleet().features, ..ReportView::default() };
    for view in [small(), synthetic::fleet(), nothing] {
        assert_eq!(errors(&schema(), &document(&view, &few_pictures())), [""; 0]);
    }
}

#[test]
fn figures_that_are_no_numbers_still_fit() {
    let mut view = small();
    view.classes[0].time_percent = f64::NAN;
    view.verdicts[0].confidence = Some(f64::NAN);
    view.scaling[0].points[0].iops = f64::INFINITY;
    assert_eq!(errors(&schema(), &document(&view, &few_pictures())), [""; 0]);
}

#[test]
fn the_schema_finds_what_does_not_fit() {
    let whole = document(&small(), &few_pictures());
    let wrong = |change: &dyn Fn(&mut Value)| {
        let mut document = whole.clone();
        change(&mut document);
        errors(&schema(), &document).join("\n")
    };
    assert!(wrong(&|d| d["schema_version"] = 2.into()).starts_with("$.schema_version: 2 is not 1"));
    assert!(wrong(&|d| d["classes"][0]["class"] = 9.into()).contains("beyond maximum 8"));
    assert!(wrong(&|d| d["devices"][0]["trust"] = "E".into()).contains("is not one of"));
    assert!(wrong(&|d| d["run"]["window_ns"] = 1.5.into()).contains("is not [\"integer\"]"));
    assert!(wrong(&|d| drop(d["run"].as_object_mut().unwrap().remove("hosts"))).contains("hosts is missing"));
    assert!(wrong(&|d| d["verdicts"][0]["span"] = "now".into()).contains("fits none"));
    assert!(wrong(&|d| drop(d["features"].as_array_mut().unwrap().pop())).contains("minItems"));
}

#[test]
fn the_schema_is_of_the_version_that_is_written_and_lies_beside_the_report() {
    assert_eq!(schema()["properties"]["schema_version"]["const"], export::SCHEMA_VERSION);
    assert_eq!(schema()["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(written(&small(), &few_pictures()).unwrap()["report.schema.json"], REPORT_SCHEMA.as_bytes());
}
