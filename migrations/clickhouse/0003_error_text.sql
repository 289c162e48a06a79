-- oldest code: 0003

-- An error may be as large as a request, and a run is written anew whenever a run below it spends something. So its text is written where
-- it changes, as payloads are, and `failure` only says whether there is one: one empty text, or none. Rows of before have the text there;
-- where there is no error, no text may be left for a search. The index of before stays: taking it away would wait for all rows to be written anew.
alter table trace_runs add column if not exists error_text Nullable(String) default if(empty(failure), '', nullIf(failure[1], '')) codec(ZSTD(1));
alter table trace_runs modify column error Nullable(String) alias if(empty(failure), null, ifNull(error_text, ''));
alter table trace_runs add index if not exists words_of_error_text lowerUTF8(error_text) type text(tokenizer = splitByNonAlpha);
alter table trace_runs materialize index words_of_error_text settings mutations_sync = 0;
