-- Who wrote a line of a build log: the platform, or a command of the project. Null where it was not recorded.
alter table deployment_logs add column origin text
  constraint deployment_logs_origin_check check (origin in ('platform', 'project'));
