-- Feedback that came before its run is looked for every so often: without reading all the other feedback.
-- oldest code: 0100
create index trace_feedback_early on trace_feedback (created_at desc, id desc) where project_id is null and run_id is not null;
