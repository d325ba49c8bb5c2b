//! The catalog of this repository.

use std::collections::HashSet;

use serde_json::json;

use crate::{
    catalog::{
        Catalog, Entry, enough_for,
        entry::{
            compile::{Capability, compile},
            rules::{FormatRule, ResultKind},
            server,
        },
    },
    task::{Fault, Format, RefStatus},
};

use super::{input, object, parameters, ref_id, refused, resolved, task};

const SHIPPED: &str = include_str!("../../../catalog.toml");

/// The application's mapping: server, capability, tool, parameters (R-000-59, R-000-60).
const MAPPING: &str = "\
acquisition CAP-ACQ-001 url_validator url platform
acquisition CAP-ACQ-002 platform_a_downloader url output_path format
acquisition CAP-ACQ-003 platform_b_downloader url output_path
acquisition CAP-ACQ-004 platform_c_downloader url output_path
acquisition CAP-ACQ-005 upload_registrar file_path output_path
acquisition CAP-ACQ-006 integrity_checker file_uri expected_format
acquisition CAP-ACQ-007 metadata_extractor file_uri
media-processing CAP-PRE-001 format_converter input_uri target_format target_codec
media-processing CAP-PRE-002 audio_extractor input_uri output_format sample_rate
media-processing CAP-PRE-003 frame_extractor input_uri interval_seconds output_format
media-processing CAP-PRE-004 video_segmenter input_uri method segment_duration
media-processing CAP-PRE-005 resolution_normalizer input_uri target_resolution
audio-analysis CAP-AUD-001 transcriber audio_uri language timestamps
audio-analysis CAP-AUD-002 diarizer audio_uri min_speakers max_speakers
audio-analysis CAP-AUD-003 speech_emotion_analyzer audio_uri diarization_ref
audio-analysis CAP-AUD-004 language_detector audio_uri
audio-analysis CAP-AUD-005 audio_event_detector audio_uri
speaker-analysis CAP-SPK-001 sentiment_analyzer transcript_ref diarization_ref
speaker-analysis CAP-SPK-002 stance_analyzer sentiment_ref facial_ref audio_emotion_ref
speaker-analysis CAP-SPK-003 speaker_profiler diarization_ref sentiment_ref
audience-analysis CAP-AUD-R001 audience_sentiment_analyzer frame_set_ref audience_regions
audience-analysis CAP-AUD-R002 crowd_density_estimator frame_set_ref
audience-analysis CAP-AUD-R003 engagement_scorer audience_sentiment_ref facial_ref
visual-analysis CAP-VIS-001 object_detector frame_set_ref target_classes confidence_threshold
visual-analysis CAP-VIS-002 banner_detector frame_set_ref
visual-analysis CAP-VIS-003 ocr_extractor detection_results_ref target_regions
visual-analysis CAP-VIS-004 action_recognizer frame_set_ref video_uri
visual-analysis CAP-VIS-005 scene_classifier frame_set_ref
visual-analysis CAP-VIS-006 facial_analyzer frame_set_ref diarization_ref
visual-analysis CAP-VIS-007 deepfake_detector frame_set_ref video_uri
data-management CAP-DAT-001 result_indexer results_data metadata
data-management CAP-DAT-002 file_storer file_data target_path
data-management CAP-DAT-003 context_cacher context_data cache_key ttl
data-management task_create task_create task_text";

#[test]
fn a_todo_is_enough_for_its_standard_action_r_003_38() {
    let catalog = Catalog::from_text(SHIPPED);
    let tables = catalog.tables().unwrap();
    for text in ["wb/todo call Ada", "todo: buy milk", "create a new task"] {
        let action = enough_for(&tables, &[text.to_owned()]).unwrap();
        assert_eq!(action.as_deref(), Some("task_create"), "{text}");
    }
}

fn entries() -> Vec<Entry> {
    let catalog = Catalog::from_text(SHIPPED);
    let tables = catalog.tables().unwrap();
    let names = tables.names("capability").unwrap();
    let tool = |id: &&str| match compile(&tables, id).unwrap().unwrap() {
        Capability::Tool(entry) => Some(*entry),
        Capability::FilePlan(_) | Capability::Workflow(_) => None,
    };
    names.iter().filter_map(tool).collect()
}

#[test]
fn it_is_the_applications_mapping_and_every_entry_compiles_r_000_56() {
    let rows = MAPPING
        .lines()
        .map(|row| row.split(' ').collect::<Vec<_>>());
    let entries = entries();
    assert_eq!(entries.len(), 34);
    for (entry, row) in entries.iter().zip(rows) {
        assert_eq!([entry.server.as_str(), &entry.id, &entry.tool], row[..3]);
        for parameter in &row[3..] {
            let declared = entry.schema.as_ref().unwrap().property(parameter);
            assert!(declared.is_some(), "{} {parameter}", entry.id);
        }
    }
}

#[test]
fn every_server_it_names_is_declared() {
    let catalog = Catalog::from_text(SHIPPED);
    let tables = catalog.tables().unwrap();
    for entry in entries() {
        let server = server::of(&tables, &entry).unwrap();
        assert!(!server.command.is_empty());
    }
}

#[test]
fn every_schema_of_it_compiles() {
    for entry in entries() {
        let schemas = [entry.schema.as_ref(), entry.result.schema.as_ref()];
        for schema in schemas.into_iter().flatten() {
            jsonschema::meta::validate(&schema.value).unwrap();
            jsonschema::validator_for(&schema.value).unwrap();
        }
    }
}

#[test]
fn every_parameter_it_speaks_of_is_in_the_schema() {
    for entry in entries() {
        let schema = entry.schema.as_ref().unwrap();
        let mut spoken: Vec<&str> = entry.defaults.keys().map(String::as_str).collect();
        spoken.extend(entry.bind.iter().map(|bound| bound.parameter.as_str()));
        spoken.extend(
            entry
                .extract
                .iter()
                .flat_map(|pattern| pattern.capture_names().flatten()),
        );
        for rule in &entry.retry {
            spoken.extend(rule.set.keys().map(String::as_str));
            spoken.extend(rule.multiply.iter().map(|scale| scale.0.as_str()));
        }
        for name in spoken {
            assert!(schema.property(name).is_some(), "{}: {name}", entry.id);
        }
    }
}

#[test]
fn no_text_is_the_alias_of_two_entries() {
    let document: toml::Table = SHIPPED.parse().unwrap();
    let mut seen = HashSet::new();
    for (id, entry) in document["capability"].as_table().unwrap() {
        let aliases = entry.get("aliases").and_then(toml::Value::as_array);
        for alias in aliases.into_iter().flatten() {
            let alias = alias.as_str().unwrap().to_owned();
            assert!(seen.insert(alias), "{id} has an alias of another");
        }
        let description = entry["description"].as_str().unwrap();
        assert!(description.chars().count() <= 160, "{id}");
    }
}

#[test]
fn the_specifications_audio_task_gets_the_specifications_parameters_r_000_62_63() {
    let mut task = task(&["CAP-PRE-002"]);
    "Extract audio content from store_1 and save as derived_1".clone_into(&mut task.action);
    task.expected = vec![ref_id("derived_1")];
    let job = resolved(SHIPPED, &task).unwrap();
    let step = &job.steps[0];
    assert_eq!(
        serde_json::to_string(&step.parameters).unwrap(),
        r#"{"input_uri":"media/fox.mp4","output_format":"wav","sample_rate":16000}"#
    );
    assert_eq!(step.server.name, "media-processing");
    let output = step.output.as_ref().unwrap();
    assert_eq!(output.file_name, "derived_1.wav");
    assert_eq!(output.asset_type, "audio_track");
    assert_eq!(job.storage.uri, "agent_outputs/assets");
}

#[test]
fn the_action_text_decides_rate_and_format_of_audio_r_000_143() {
    for (action, rate, format) in [
        ("Extract audio at 8000 Hz", 8000, "wav"),
        ("Extract audio at 44100hz as FLAC", 44100, "flac"),
        ("Extract audio at 8 kHz, as flacon", 16000, "wav"),
        ("Extract 48000 seconds of audio", 16000, "wav"),
    ] {
        let mut task = task(&["CAP-PRE-002"]);
        action.clone_into(&mut task.action);
        let wanted =
            json!({"input_uri": "media/fox.mp4", "output_format": format, "sample_rate": rate});
        assert_eq!(parameters(SHIPPED, &task), wanted, "{action}");
    }
}

#[test]
fn audio_asked_for_as_flac_is_stored_and_checked_as_flac() {
    let mut task = task(&["CAP-PRE-002"]);
    task.parameters = vec![object(&json!({"output_format": "flac"}))];
    let job = resolved(SHIPPED, &task).unwrap();
    let output = job.steps[0].output.as_ref().unwrap();
    assert_eq!(output.format, Format::Flac);
    assert_eq!(output.file_name, "task_5_output.flac");
}

#[test]
fn a_source_is_validated_and_downloaded_as_it_is_r_000_117() {
    let mut task = task(&["CAP-ACQ-001"]);
    task.inputs = vec![input(
        "src_1",
        "https://example-source.com/video",
        RefStatus::Reference,
    )];
    assert_eq!(
        parameters(SHIPPED, &task),
        json!({"url": "https://example-source.com/video", "platform": "generic_video_platform"})
    );
    task.capability_ids = vec!["CAP-ACQ-002".to_owned()];
    task.expected = vec![ref_id("store_1")];
    assert_eq!(
        parameters(SHIPPED, &task),
        json!({"url": "https://example-source.com/video", "output_path": "/scratch/store_1.mp4", "format": "mp4"})
    );
}

#[test]
fn a_raw_source_is_no_stored_input_r_000_140() {
    let mut task = task(&["CAP-PRE-002"]);
    task.inputs = vec![input(
        "src_1",
        "https://example-source.com/video",
        RefStatus::Reference,
    )];
    let failure = refused(SHIPPED, &task);
    assert_eq!(failure.fault, Fault::InputUnresolved);
    assert!(failure.message.contains("src_1"), "{}", failure.message);
}

#[test]
fn the_transcriber_takes_a_language_from_the_action_text_and_smaller_batches_on_retries() {
    let mut task = task(&["CAP-AUD-001"]);
    "Transcribe the speech in ta".clone_into(&mut task.action);
    task.attempt = 3;
    assert_eq!(
        parameters(SHIPPED, &task),
        json!({"audio_uri": "media/fox.mp4", "language": "ta", "timestamps": true, "batch_size": 4})
    );
}

#[test]
fn every_format_can_be_expected() {
    let entries = entries();
    let property = |entry: &'_ Entry| {
        let property = entry.schema.as_ref()?.property("expected_format")?;
        property.get("enum").cloned()
    };
    let listed: Vec<_> = entries.iter().filter_map(property).collect();
    assert_eq!(listed, [json!(Format::names())]);
}

#[test]
fn every_entry_says_what_its_asset_is() {
    for entry in entries() {
        match &entry.result.kind {
            ResultKind::Asset => assert!(!entry.result.take.is_empty(), "{}", entry.id),
            ResultKind::Analysis => {
                let format = &entry.result.asset.as_ref().unwrap().format;
                assert_eq!(*format, FormatRule::Fixed(Format::Json), "{}", entry.id);
                let schema = &entry.result.schema.as_ref().unwrap().value;
                assert!(
                    !schema["required"].as_array().unwrap().is_empty(),
                    "{}",
                    entry.id
                );
            }
            ResultKind::Metadata => assert!(entry.result.schema.is_some(), "{}", entry.id),
        }
    }
}
